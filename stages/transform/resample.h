// Resizing a part of an image, or any region of the result: what Resize and RandomResizedCrop
// share.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "penstock/stages/field.h"
#include "penstock/stages/sample_context.h"
#include "penstock/stages/transform/interpolation.pb.h"
#include "penstock/stages/transform/resample_kernels.h"

namespace penstock {

// The part `box` of an image becomes an image of `size`; nothing outside of the box is read.
struct Resampling {
  Region box;
  ImageSize size;
  Interpolation interpolation = BILINEAR;
  bool antialias = true;
};

// The part of the source that `out`, a region of the result, needs: no row and no column more.
Region ResampleInput(const Resampling& resampling, const Region& out);

// Does the work; keeps tables and memory from image to image. Thread-compatible: a stage's State.
class Resampler {
 public:
  // Writes out.region of the result, 8-bit items of 1 to 4 channels. `in` holds ResampleInput().
  void Run(const Resampling& resampling, const FieldView& in, const FieldView& out,
           SampleContext& context);

 private:
  struct CachedAxis {
    ResampleFilter filter{};
    bool antialias = false;
    int32_t in_size = 0, out_size = 0;
    int64_t used = 0;  // The larger, the later.
    AxisWeights weights;
  };

  void Filter(const Resampling& resampling, const FieldView& in, const FieldView& out,
              SampleContext& context);
  void Nearest(const Resampling& resampling, const FieldView& in, const FieldView& out);
  // Valid until the call after the next.
  const AxisWeights& Weights(const Resampling& resampling, int32_t in_size, int32_t out_size);

  // Data sets have a few frequent sizes.
  std::array<CachedAxis, 8> cache_;
  int64_t clock_ = 0;
  std::vector<uint8_t> strip_;
  std::vector<int32_t> columns_, rows_;
};

}  // namespace penstock
