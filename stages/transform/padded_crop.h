// A crop that may reach beyond the image: what CenterCrop and RandomCrop share.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "penstock/stages/field.h"

namespace penstock {

// What stands beyond an image's border. Of the row 1 2 3, padded by two:
enum class PadMode : uint8_t {
  kConstant,   // f f 1 2 3 f f
  kEdge,       // 1 1 1 2 3 3 3
  kReflect,    // 3 2 1 2 3 2 1
  kSymmetric,  // 2 1 1 2 3 3 2
};

// One axis of a crop out of an image that is padded twice, each time in the same mode: by `before`
// and `after`, and what came of that by `more` on either side (it may matter to a reflection).
struct CropAxis {
  int32_t size = 0;  // Of the image, at least 1.
  int32_t before = 0, after = 0;
  int32_t more = 0;
  int32_t offset = 0;  // Of the crop in the padded image.
  PadMode mode = PadMode::kConstant;

  // The image's item at item `i` of the crop, or -1 where the constant stands.
  int32_t Source(int32_t i) const;
  // Added to an item of the crop, it gives the image's item, as long as that is within the image.
  int32_t shift() const { return offset - more - before; }
};

// The part of the image that `out`, a region of the crop, needs; empty if all of it is the
// constant.
Region CropInput(const CropAxis& y, const CropAxis& x, const Region& out);

// Writes out.region of the crop; `in` holds CropInput(). `fill`: the constant, one a channel.
void Crop(const CropAxis& y, const CropAxis& x, absl::Span<const uint8_t> fill, const FieldView& in,
          const FieldView& out);

}  // namespace penstock
