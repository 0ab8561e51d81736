// The kernel that gathers images, crops and flips them, and normalises them. Knows no stage and no
// proto, so that nvcc has little to read.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "penstock/stages/gather_launch.h"

namespace penstock {

// One image of the batch.
struct GatherImageEntry {
  uint64_t address = 0;  // uint8, interleaved.
  uint32_t y = 0;        // Of the crop's corner in the padded image; the highest bit: flip.
  uint32_t x = 0;
  static constexpr uint32_t kFlip = uint32_t{1} << 31;
};

// What is the same for all batches. `bits`, `source_y` and `source_x` are read by the constructor
// of GatherImagesKernel.
struct GatherImagesShape {
  static constexpr int kMaxChannels = 4;
  static constexpr int kMaxSide = 1024;  // Of a padded image.

  int32_t in_width = 0, channels = 3;
  int32_t height = 0, width = 0;  // Of what comes out.
  bool planar = true;             // Whether that has one plane a channel.
  int32_t item_bytes = 2;         // Of that: 2 or 4.
  // By channel and value, the bits of the result.
  const uint32_t (*bits)[256] = nullptr;
  // By place on the padded axis: the image's row or column, or -1 for `fill`.
  const int16_t* source_y = nullptr;
  const int16_t* source_x = nullptr;
  int32_t padded_height = 0, padded_width = 0;
  uint8_t fill[kMaxChannels] = {};
};

// Immutable; thread-safe. Launches have up to 12 KB of parameters: CUDA 12.1 and driver 530 at
// least.
class GatherImagesKernel {
 public:
  explicit GatherImagesKernel(const GatherImagesShape& shape);
  ~GatherImagesKernel();

  // Asynchronous, on the current device. Neither allocates nor synchronises. Reads whole 16-byte
  // words around each image. Images whose rows are multiples of 16 bytes are fastest.
  cudaError_t Launch(const GatherLaunch<GatherImageEntry>& launch, cudaStream_t stream) const;

  class Form;

 private:
  std::unique_ptr<const Form> form_;
};

}  // namespace penstock
