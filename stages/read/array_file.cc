#include "penstock/stages/read/array_file.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/read/file_reader.h"
#include "penstock/stages/read/npy_header.h"
#include "penstock/stages/read/printable.h"

namespace penstock {
namespace {

constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max();

// Of a row: images have 32-bit sides.
constexpr int64_t kMaxSide = std::numeric_limits<int32_t>::max();

std::string ToString(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// Bytes of an array; nullopt if there is no such number.
std::optional<int64_t> ArrayBytes(DLDataType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = ItemBytes(dtype);
  for (const int64_t extent : shape) {
    if (extent > 0 && bytes > kMaxBytes / extent) return std::nullopt;
    bytes *= extent;
  }
  return bytes;
}

// The first `wanted` bytes of the file, or all that it has.
absl::StatusOr<std::string> ReadStart(const Extent& file, int64_t file_bytes, int64_t wanted) {
  std::string start(static_cast<size_t>(std::min(file_bytes, wanted)), '\0');
  const Extent extent = {.file = file.file, .bytes = static_cast<int64_t>(start.size())};
  PENSTOCK_RETURN_IF_ERROR(FileReader().Read(
      extent, absl::MakeSpan(reinterpret_cast<std::byte*>(start.data()), start.size())));
  return start;
}

absl::StatusOr<NpyArray> ReadHeader(const std::string& path, int64_t file_bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string start,
                            ReadStart({.file = path}, file_bytes, kNpyPrefixBytes));
  const absl::StatusOr<int64_t> bytes = NpyHeaderBytes(start);
  if (!bytes.ok()) return Prefixed(Printable(path), bytes.status());
  PENSTOCK_ASSIGN_OR_RETURN(const std::string header,
                            ReadStart({.file = path}, file_bytes, *bytes));
  absl::StatusOr<NpyArray> array = ParseNpyHeader(header);
  if (!array.ok()) return Prefixed(Printable(path), array.status());
  return array;
}

absl::Status CheckShape(const NpyArray& npy) {
  if (npy.shape.empty()) {
    return absl::FailedPreconditionError(
        "the array is a single number, expected a first dimension of samples");
  }
  if (std::find(npy.shape.begin(), npy.shape.end(), 0) != npy.shape.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the array is empty: its shape is ", ToString(npy.shape)));
  }
  const bool wide =
      std::any_of(npy.shape.begin() + 1, npy.shape.end(), [](int64_t n) { return n > kMaxSide; });
  if (wide || !ArrayBytes(npy.dtype, npy.shape)) {
    return absl::DataLossError(
        absl::StrCat("its shape ", ToString(npy.shape), " is too large to be true"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ArrayFile> OpenNpyFile(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const int64_t file_bytes, FileReader().Measure({.file = path}));
  PENSTOCK_ASSIGN_OR_RETURN(NpyArray npy, ReadHeader(path, file_bytes));
  if (absl::Status status = CheckShape(npy); !status.ok()) {
    return Prefixed(Printable(path), status);
  }
  ArrayFile array;
  array.dtype = npy.dtype;
  array.rows = npy.shape.front();
  array.shape.assign(npy.shape.begin() + 1, npy.shape.end());
  array.row_bytes = *ArrayBytes(array.dtype, array.shape);
  array.offset = npy.data_offset;
  array.file_bytes = file_bytes;
  const int64_t wanted = array.rows * array.row_bytes, there = file_bytes - array.offset;
  if (there < wanted) {
    return absl::DataLossError(absl::StrCat(
        Printable(path), ": the array is cut off: ", Name(array.dtype), " ", ToString(npy.shape),
        " has ", wanted, " bytes, but behind the header there are ", there, ": ",
        there / array.row_bytes, " of ", array.rows, " rows; copy or write the file again"));
  }
  return array;
}

absl::StatusOr<ArrayFile> OpenRawFile(const std::string& path, const RawArray& raw) {
  const std::optional<int64_t> row_bytes = ArrayBytes(raw.dtype, raw.shape);
  if (!row_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("raw.shape is ", ToString(raw.shape), ": such a row is larger than any file"));
  }
  const Extent rows = {.file = path, .offset = raw.offset};
  PENSTOCK_ASSIGN_OR_RETURN(const int64_t bytes, FileReader().Measure(rows));
  if (raw.offset == 0) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string start, ReadStart(rows, bytes, kNpyPrefixBytes));
    if (HasNpyMagic(start)) {
      return absl::FailedPreconditionError(absl::StrCat(
          Printable(path), ": this is a .npy file, which describes itself; leave raw out"));
    }
  }
  const int64_t rest = bytes % *row_bytes;
  if (bytes == 0 || rest != 0) {
    return absl::DataLossError(
        absl::StrCat(Printable(path), ": ", bytes, " bytes",
                     raw.offset > 0 ? absl::StrCat(" behind the first ", raw.offset) : "",
                     " are no whole number of rows of ", *row_bytes, " bytes (", Name(raw.dtype),
                     " ", ToString(raw.shape), "): after ", bytes / *row_bytes, " rows there are ",
                     rest, " bytes; check raw.dtype, raw.shape and raw.offset"));
  }
  return ArrayFile{.dtype = raw.dtype,
                   .shape = raw.shape,
                   .rows = bytes / *row_bytes,
                   .row_bytes = *row_bytes,
                   .offset = raw.offset,
                   .file_bytes = raw.offset + bytes};
}

}  // namespace penstock
