#include "penstock/stages/read/read_array_stage.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/read/npy_header.h"
#include "penstock/stages/read/printable.h"
#include "penstock/stages/read/root_folder.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

const StageRegistration<ReadArrayStage> kHostForm;

constexpr int kMaxChannels = 4;

// By ReadArray::Raw::DType.
constexpr DLDataType kTypes[] = {
    {kDLUInt, 8, 1},    {kDLUInt, 8, 1},   {kDLUInt, 16, 1}, {kDLUInt, 32, 1}, {kDLUInt, 64, 1},
    {kDLInt, 8, 1},     {kDLInt, 16, 1},   {kDLInt, 32, 1},  {kDLInt, 64, 1},  {kDLFloat, 16, 1},
    {kDLBfloat, 16, 1}, {kDLFloat, 32, 1}, {kDLFloat, 64, 1}};
static_assert(std::size(kTypes) == ReadArray::Raw::DType_ARRAYSIZE);

absl::StatusOr<RawArray> ParseRaw(const ReadArray::Raw& options) {
  if (!ReadArray::Raw::DType_IsValid(options.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat("raw.dtype is ", options.dtype(), ", expected UINT8 to FLOAT64"));
  }
  if (options.offset() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("raw.offset is ", options.offset(), ", expected at least 0"));
  }
  const auto& shape = options.shape();
  const bool fits = std::all_of(shape.begin(), shape.end(), [](int64_t extent) {
    return extent >= 1 && extent <= std::numeric_limits<int32_t>::max();
  });
  if (!fits || static_cast<size_t>(shape.size()) >= kMaxNpyDimensions) {
    return absl::InvalidArgumentError(absl::StrCat("raw.shape is [", absl::StrJoin(shape, ", "),
                                                   "], expected at most ", kMaxNpyDimensions - 1,
                                                   " extents, each from 1 to 2^31 - 1"));
  }
  return RawArray{
      kTypes[options.dtype()], {options.shape().begin(), options.shape().end()}, options.offset()};
}

absl::StatusOr<FileAccess> ParseAccess(ReadArray::Access access) {
  switch (access) {
    case ReadArray::ACCESS_UNSPECIFIED:
    case ReadArray::AUTO:
      return FileAccess::kAuto;
    case ReadArray::PAGE_CACHE:
      return FileAccess::kPageCache;
    case ReadArray::DIRECT:
      return FileAccess::kDirect;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("access is ", access, ", expected AUTO, PAGE_CACHE or DIRECT"));
  }
}

// It names the tensor, and so the files of a dump.
absl::Status CheckFieldName(absl::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
  if (plain && !name.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("field is '", Printable(name), "', expected letters, digits and '_'"));
}

// Where the path comes from, which the user of a graph may not see.
absl::Status WithHint(const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(status.message(),
                                   " (the graph's `path`, filled by --data where it is "
                                   "\"${data}\")"));
}

bool IsImage(const ArrayFile& array) {
  return Same(array.dtype, kUint8) && array.shape.size() == 3 && array.shape[2] <= kMaxChannels;
}

}  // namespace

absl::Status ReadArrayStage::Init() {
  if (options().path().empty()) {
    return WithHint(absl::InvalidArgumentError("path is not set, expected a file"));
  }
  if (options().has_field()) PENSTOCK_RETURN_IF_ERROR(CheckFieldName(options().field()));
  PENSTOCK_ASSIGN_OR_RETURN(access_, ParseAccess(options().access()));
  absl::StatusOr<ArrayFile> array;
  if (options().has_raw()) {
    PENSTOCK_ASSIGN_OR_RETURN(const RawArray raw, ParseRaw(options().raw()));
    array = OpenRawFile(options().path(), raw);
  } else {
    array = OpenNpyFile(options().path());
  }
  if (absl::IsNotFound(array.status()) || absl::IsPermissionDenied(array.status())) {
    return WithHint(array.status());
  }
  PENSTOCK_RETURN_IF_ERROR(array.status());
  array_ = *std::move(array);
  return absl::OkStatus();
}

SampleSpec ReadArrayStage::fields() const {
  FieldSpec field;
  field.name = options().has_field() ? options().field() : IsImage(array_) ? "image" : "data";
  field.dtype = array_.dtype;
  field.shape = array_.shape;
  return {{field}};
}

// Of what the array is, not where it lies.
uint64_t ReadArrayStage::fingerprint() const {
  Fingerprint fingerprint;
  fingerprint.Add(Name(array_.dtype));
  fingerprint.Add(absl::StrCat(array_.rows));
  fingerprint.Add(absl::StrJoin(array_.shape, ","));
  return fingerprint.value();
}

std::string ReadArrayStage::summary() const {
  const int64_t behind = array_.file_bytes - array_.offset - array_.rows * array_.row_bytes;
  return absl::StrCat(
      array_.rows, " rows of ", fields().fields[0].ToString(), " in '", Printable(options().path()),
      "'", behind > 0 ? absl::StrCat("; ", behind, " bytes behind them are left out") : "");
}

std::optional<StoredRows> ReadArrayStage::stored_rows() const {
  return StoredRows{options().path(), array_.offset};
}

std::string ReadArrayStage::key(int64_t id) const { return absl::StrCat(id); }

Extent ReadArrayStage::Locate(int64_t id) const {
  return {.file = options().path(),
          .offset = array_.offset + id * array_.row_bytes,
          .bytes = array_.row_bytes,
          .access = access_};
}

absl::Status ReadArrayStage::Finish(absl::Span<const std::byte> /*bytes*/, Sample& /*sample*/,
                                    SampleContext& /*context*/) const {
  return absl::OkStatus();  // A row is what it is.
}

}  // namespace penstock
