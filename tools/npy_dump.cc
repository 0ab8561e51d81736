#include "penstock/tools/npy_dump.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "penstock/memory/status_macros.h"
#include "penstock/tools/files.h"

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "items are written as they are");

// Items of a .npy file begin at a multiple of this, so that they can be mapped.
constexpr size_t kNpyAlignment = 64;
constexpr size_t kNpyPrefix = 10;  // Magic, version, and the length of the rest.

absl::StatusOr<std::string> NpyType(DLDataType dtype) {
  if (Same(dtype, kBfloat16)) return "<u2";
  const bool whole_bytes = dtype.bits % 8 == 0 && dtype.lanes == 1;
  const int bytes = dtype.bits / 8;
  const std::string order = bytes == 1 ? "|" : "<";
  if (whole_bytes && dtype.code == kDLUInt) return absl::StrCat(order, "u", bytes);
  if (whole_bytes && dtype.code == kDLInt) return absl::StrCat(order, "i", bytes);
  if (whole_bytes && dtype.code == kDLFloat) return absl::StrCat(order, "f", bytes);
  return absl::UnimplementedError(absl::StrCat("numpy has no type for ", Name(dtype)));
}

std::string Ids(const BatchInfo& info) {
  std::string lines;
  for (size_t row = 0; row < info.ids.size(); ++row) {
    // A key may hold anything; a line has one tab and one end.
    const std::string key = absl::StrReplaceAll(info.key(row), {{"\n", "\\n"}, {"\t", "\\t"}});
    absl::StrAppend(&lines, info.ids[row], "\t", key, "\n");
  }
  return lines;
}

}  // namespace

absl::StatusOr<std::string> NpyHeader(DLDataType dtype, absl::Span<const int64_t> shape) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string type, NpyType(dtype));
  // A tuple of one item needs its comma.
  std::string text = absl::StrCat("{'descr': '", type, "', 'fortran_order': False, 'shape': (",
                                  absl::StrJoin(shape, ", "), shape.size() == 1 ? ",), }" : "), }");
  const size_t unpadded = kNpyPrefix + text.size() + 1;
  text.append((kNpyAlignment - unpadded % kNpyAlignment) % kNpyAlignment, ' ');
  text.push_back('\n');
  const char size[] = {static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(size, 2) + text;
}

absl::Status NpyDump::Write(const DeviceBatch& batch, StreamRef stream) {
  const BatchInfo& info = batch.info();
  const std::string stem = absl::StrFormat("%s/e%04d_b%08d", folder_, info.epoch, info.sequence);
  for (const auto& [name, tensor] : batch.tensors()) {
    PENSTOCK_RETURN_IF_ERROR(WriteTensor(absl::StrCat(stem, ".", name, ".npy"), tensor, stream));
  }
  return WriteFile(absl::StrCat(stem, ".ids.txt"), {Ids(info)});
}

absl::Status NpyDump::WriteTensor(const std::string& path, const TensorView& tensor,
                                  StreamRef stream) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string header, NpyHeader(tensor.dtype, tensor.shape));
  items_.resize(tensor.bytes());
  PENSTOCK_RETURN_IF_ERROR(device_->CopyToHost(items_.data(), tensor.data, items_.size(), stream));
  PENSTOCK_RETURN_IF_ERROR(device_->Synchronize(stream));
  return WriteFile(path, {header, absl::string_view(reinterpret_cast<const char*>(items_.data()),
                                                    items_.size())});
}

}  // namespace penstock
