// Fields: what a sample consists of, at plan time (FieldSpec) and at run time (FieldView).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "penstock/memory/dtype.h"

namespace penstock {

// Pixels. {0, 0} where a size is not known before the run.
struct ImageSize {
  int32_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
};

// A rectangle in the coordinates of a whole image; may be empty.
struct Region {
  int32_t y = 0, x = 0, height = 0, width = 0;
  static Region Whole(ImageSize size) { return {0, 0, size.height, size.width}; }
  int64_t area() const { return int64_t{height} * width; }
  bool empty() const { return height <= 0 || width <= 0; }
  // The part of this rectangle that lies within an image of `size`.
  Region ClippedTo(ImageSize size) const;
  bool operator==(const Region&) const = default;
};

// How an image's items are laid out: pixels of interleaved channels, or one plane a channel.
enum class ImageLayout : uint8_t { kHwc, kChw };

inline constexpr int64_t kUnknownExtent = -1;

// Plan time. An image field has three extents in the order of its layout; of HWC images height and
// width may be kUnknownExtent until a stage fixes them. Other fields (labels) have a fixed shape.
struct FieldSpec {
  std::string name;
  bool encoded = false;  // The bytes of a file; dtype and shape do not apply.
  DLDataType dtype = kUint8;
  std::vector<int64_t> shape;  // Of one sample, without the batch.
  ImageLayout layout = ImageLayout::kHwc;

  // An RGB image that is not decoded yet, and one of `size` ({0, 0}: any) in uint8 HWC.
  static FieldSpec Encoded(absl::string_view name);
  static FieldSpec Image(absl::string_view name, ImageSize size, int64_t channels = 3);
  static FieldSpec Scalar(absl::string_view name, DLDataType dtype);

  bool is_image() const { return !encoded && shape.size() == 3; }
  bool fixed() const;  // Its bytes are known now.
  int64_t items() const;
  int64_t bytes() const { return items() * ItemBytes(dtype); }  // Of one sample; only if fixed().
  ImageSize size() const;  // Of an image; {0, 0} unless both extents are known.
  int64_t channels() const;
  void set_size(ImageSize size);
  // "uint8 [224, 224, 3]", "encoded", "uint8 [?, ?, 3]".
  std::string ToString() const;
};

// Fields keep their index along a graph: stages change them in place, none removes one.
struct SampleSpec {
  std::vector<FieldSpec> fields;
  int Find(absl::string_view name) const;  // -1 if there is none.
  std::string Names() const;               // "'image', 'label'"
};

inline constexpr int kMaxFields = 8;

// Where one sample's field lies: encoded bytes, or the part `region` of an image, interleaved (HWC)
// as `channels` items a pixel. at() takes coordinates of the WHOLE image, so that no stage sees an
// offset. Trivially copyable, and the address is 64 bits: a device stage gets an array of these, by
// row.
struct FieldView {
  uint64_t address = 0;
  int64_t bytes = 0;
  Region region;
  int32_t channels = 3;
  DLDataType dtype = kUint8;

  template <class T = std::byte>
  T* data() const {
    return reinterpret_cast<T*>(address);
  }
  // Of interleaved images. (y, x) must lie within `region`.
  template <class T = uint8_t>
  T* at(int y, int x) const {
    return data<T>() + (int64_t{y - region.y} * region.width + (x - region.x)) * channels;
  }
};

// All of one sample of a fixed spec, at `data`.
FieldView WholeView(const FieldSpec& spec, const std::byte* data);

}  // namespace penstock
