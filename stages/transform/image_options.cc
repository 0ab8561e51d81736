#include "penstock/stages/transform/image_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"

namespace penstock {

absl::Status CheckUint8Image(const FieldSpec& field) {
  constexpr char kExpected[] = "expected a decoded image (uint8, height x width x channels)";
  if (field.encoded) {
    return absl::InvalidArgumentError(
        absl::StrCat(kExpected, ", got '", field.name, "' encoded; put DecodeImage before it"));
  }
  if (!field.is_image() || !Same(field.dtype, kUint8) || field.layout != ImageLayout::kHwc) {
    return absl::InvalidArgumentError(
        absl::StrCat(kExpected, ", got '", field.name, "' as ", field.ToString(),
                     field.layout == ImageLayout::kChw ? " (channels first)" : "",
                     "; stages on pixels come before Normalize"));
  }
  if (field.channels() < 1 || field.channels() > kMaxImageChannels) {
    return absl::InvalidArgumentError(absl::StrCat("'", field.name, "' has ", field.channels(),
                                                   " channels, expected 1 to ", kMaxImageChannels));
  }
  return absl::OkStatus();
}

absl::Status CheckSide(absl::string_view option, std::optional<int32_t> value) {
  if (value && *value >= 1 && *value <= kMaxImageSide) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      option, " is ", value ? absl::StrCat(*value) : "not set", ", expected 1 to ", kMaxImageSide));
}

absl::Status CheckSides(std::optional<int32_t> height, std::optional<int32_t> width) {
  PENSTOCK_RETURN_IF_ERROR(CombineErrors({CheckSide("height", height), CheckSide("width", width)}));
  if (int64_t{*height} * *width > kMaxImageArea) {
    return absl::InvalidArgumentError(absl::StrCat("height is ", *height, " and width is ", *width,
                                                   ", expected at most ", kMaxImageArea,
                                                   " pixels together"));
  }
  return absl::OkStatus();
}

absl::Status CheckInterpolation(int interpolation) {
  if (Interpolation_IsValid(interpolation)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("interpolation is ", interpolation, ", expected BILINEAR, NEAREST or BICUBIC"));
}

std::string ToString(ImageSize size) {
  return absl::StrCat("height ", size.height, ", width ", size.width);
}

}  // namespace penstock
