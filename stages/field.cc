#include "penstock/stages/field.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock {

Region Region::ClippedTo(ImageSize size) const {
  const int32_t top = std::clamp(y, 0, size.height), left = std::clamp(x, 0, size.width);
  const int32_t bottom = std::clamp(y + height, top, size.height);
  const int32_t right = std::clamp(x + width, left, size.width);
  return {top, left, bottom - top, right - left};
}

FieldSpec FieldSpec::Encoded(absl::string_view name) {
  FieldSpec spec;
  spec.name = std::string(name);
  spec.encoded = true;
  return spec;
}

FieldSpec FieldSpec::Image(absl::string_view name, ImageSize size, int64_t channels) {
  FieldSpec spec;
  spec.name = std::string(name);
  spec.shape = {kUnknownExtent, kUnknownExtent, channels};
  if (size != ImageSize{}) spec.set_size(size);
  return spec;
}

FieldSpec FieldSpec::Scalar(absl::string_view name, DLDataType dtype) {
  FieldSpec spec;
  spec.name = std::string(name);
  spec.dtype = dtype;
  return spec;
}

bool FieldSpec::fixed() const {
  return !encoded && std::find(shape.begin(), shape.end(), kUnknownExtent) == shape.end();
}

int64_t FieldSpec::items() const {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

ImageSize FieldSpec::size() const {
  if (!is_image() || !fixed()) return {};
  const size_t first = layout == ImageLayout::kHwc ? 0 : 1;
  return {static_cast<int32_t>(shape[first]), static_cast<int32_t>(shape[first + 1])};
}

int64_t FieldSpec::channels() const {
  return is_image() ? shape[layout == ImageLayout::kHwc ? 2 : 0] : 1;
}

void FieldSpec::set_size(ImageSize size) {
  const size_t first = layout == ImageLayout::kHwc ? 0 : 1;
  shape[first] = size.height;
  shape[first + 1] = size.width;
}

std::string FieldSpec::ToString() const {
  if (encoded) return "encoded";
  return absl::StrCat(Name(dtype), " [",
                      absl::StrJoin(shape, ", ",
                                    [](std::string* out, int64_t extent) {
                                      extent == kUnknownExtent ? absl::StrAppend(out, "?")
                                                               : absl::StrAppend(out, extent);
                                    }),
                      "]");
}

int SampleSpec::Find(absl::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::string SampleSpec::Names() const {
  return absl::StrJoin(fields, ", ", [](std::string* out, const FieldSpec& field) {
    absl::StrAppend(out, "'", field.name, "'");
  });
}

FieldView WholeView(const FieldSpec& spec, const std::byte* data) {
  FieldView view;
  view.address = reinterpret_cast<uint64_t>(data);
  view.bytes = spec.bytes();
  view.region = Region::Whole(spec.size());
  view.channels = static_cast<int32_t>(spec.channels());
  view.dtype = spec.dtype;
  return view;
}

}  // namespace penstock
