#include "penstock/stages/transform/normalize_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/transform/half.h"

namespace penstock {
namespace {

using Numbers = google::protobuf::RepeatedField<double>;

double At(const Numbers& numbers, int channel, double fallback) {
  return numbers.empty() ? fallback : numbers[std::min(channel, numbers.size() - 1)];
}

absl::Status CheckNumbers(absl::string_view option, const Numbers& numbers, double above,
                          absl::string_view expected) {
  if (numbers.size() > NormalizeTable::kMaxChannels) {
    return absl::InvalidArgumentError(absl::StrCat(
        option, " has ", numbers.size(), " numbers, expected one, or one a channel (1 to ",
        NormalizeTable::kMaxChannels, ")"));
  }
  for (double number : numbers) {
    if (!std::isfinite(number) || number <= above) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " is ", number, ", expected ", expected));
    }
  }
  return absl::OkStatus();
}

// People copy means from papers that do not divide by 255; the result would train, badly.
absl::Status CheckUnit(const Numbers& mean, double scale) {
  if (std::abs(scale * 255 - 1) > 1e-2) return absl::OkStatus();
  for (double number : mean) {
    if (std::isfinite(number) && std::abs(number) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("mean is ", number, " and scale 1/255; means in 0..255 need scale: 1"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCounts(const Normalize& options) {
  const int means = options.mean_size(), stds = options.std_size();
  if (means <= 1 || stds <= 1 || means == stds) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("mean has ", means, " numbers and std ", stds, ", expected as many, or one"));
}

absl::Status CheckScale(double scale) {
  if (std::isfinite(scale) && scale != 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("scale is ", scale, ", expected a finite number other than 0"));
}

absl::Status CheckLayout(Normalize::Layout layout) {
  if (Normalize::Layout_IsValid(layout)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("layout is ", static_cast<int>(layout), ", expected NCHW or NHWC"));
}

absl::Status CheckOptions(const Normalize& options, double scale) {
  return CombineErrors({CheckNumbers("mean", options.mean(), -HUGE_VAL, "a finite number"),
                        CheckNumbers("std", options.std(), 0, "a finite number above 0"),
                        CheckCounts(options), CheckScale(scale), CheckLayout(options.layout()),
                        CheckUnit(options.mean(), scale)});
}

absl::StatusOr<DLDataType> DTypeOf(Normalize::DType dtype) {
  switch (dtype) {
    case Normalize::DTYPE_UNSPECIFIED:
    case Normalize::FLOAT32:
      return kFloat32;
    case Normalize::FLOAT16:
      return kFloat16;
    case Normalize::BFLOAT16:
      return kBfloat16;
    default:
      return absl::InvalidArgumentError(absl::StrCat("dtype is ", static_cast<int>(dtype),
                                                     ", expected FLOAT32, FLOAT16 or BFLOAT16"));
  }
}

uint32_t Bits(double value, DLDataType dtype) {
  if (Same(dtype, kFloat16)) return Float16Bits(value);
  if (Same(dtype, kBfloat16)) return Bfloat16Bits(value);
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

double Largest(DLDataType dtype) {
  if (Same(dtype, kFloat16)) return 65504.0;
  if (Same(dtype, kBfloat16)) return 0x1.FEp127;
  return std::numeric_limits<float>::max();
}

}  // namespace

absl::StatusOr<NormalizeTable> NormalizeTable::Create(const Normalize& options) {
  const double scale = options.has_scale() ? options.scale() : 1.0 / 255.0;
  PENSTOCK_RETURN_IF_ERROR(CheckOptions(options, scale));
  NormalizeTable table;
  PENSTOCK_ASSIGN_OR_RETURN(table.dtype, DTypeOf(options.dtype()));
  table.planar = options.layout() != Normalize::NHWC;
  table.channels = std::max({1, options.mean_size(), options.std_size()});
  for (int c = 0; c < kMaxChannels; ++c) {
    const double mean = At(options.mean(), c, 0.0), std = At(options.std(), c, 1.0);
    for (int x = 0; x < 256; ++x) {
      const double value = (x * scale - mean) / std;
      if (std::abs(value) > Largest(table.dtype)) {
        return absl::InvalidArgumentError(
            absl::StrCat("pixels of ", x, " become ", value, ", and ", Name(table.dtype),
                         " holds numbers up to ", Largest(table.dtype), "; check scale and std"));
      }
      table.bits[c][x] = Bits(value, table.dtype);
    }
  }
  return table;
}

}  // namespace penstock
