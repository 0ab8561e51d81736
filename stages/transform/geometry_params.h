// Params of the stages that change an image's geometry: what Resolve settles for a sample, read by
// host and device forms. Knows no stage and no proto, so that nvcc has little to read.
#pragma once

#include <cstdint>

#include "penstock/stages/field.h"

namespace penstock {

struct RandomResizedCropParams {
  Region box;  // Within the image, never empty.
  ImageSize image;
};

struct ResizeParams {
  ImageSize in, out;
};

struct CenterCropParams {
  ImageSize image;
  int32_t y = 0, x = 0;  // Of the crop's corner; below 0 where the image is padded.
};

struct RandomCropParams {
  ImageSize image;
  int32_t y = 0, x = 0;  // Of the crop's corner, in the padded image.
};

struct RandomHorizontalFlipParams {
  int32_t flip = 0;   // 0 or 1.
  int32_t width = 0;  // Of the image.
};

}  // namespace penstock
