// What the kernels of an image chain tell each other, and where in scratch memory it lies.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "penstock/stages/decode/image_chain/image_chain_kernels.h"

namespace penstock::image_chain {

inline constexpr int kChannels = 3;
inline constexpr int kValues = 256;
inline constexpr int64_t kAlignment = 256;

__host__ __device__ inline int64_t Aligned(int64_t bytes, int64_t to = kAlignment) {
  return (bytes + to - 1) / to * to;
}

// An image's rows are filtered in strips. Strip s has rows 8 s - 1 to 8 s + 6: it begins with an
// odd row, as pairs of rows do that share their chroma.
inline constexpr int kStripRows = 8;

struct Strips {
  int32_t first = 0, count = 0;
  __host__ __device__ explicit Strips(const Region& region)
      : first((region.y + 1) / kStripRows),
        count((region.y + region.height) / kStripRows - first + 1) {}
};

// A strip of an image, by the image's place in the call.
struct StripOf {
  int32_t image, strip;
};

// The image between the two passes: by input row and channel a line of `pitch` 8-bit values, one an
// output column. Lines end at a multiple of 16.
__host__ __device__ inline int64_t PitchOf(const Region& out) { return Aligned(out.width, 16); }

// Offsets within an image's memory.
struct ImageSpace {
  int64_t x_taps, y_taps, x_weights, y_weights, between, bytes;

  __host__ __device__ ImageSpace(const Region& pixels, const Region& out, int reach) {
    x_taps = 0;
    y_taps = x_taps + Aligned(out.width * int64_t{sizeof(Taps)}, 16);
    x_weights = y_taps + Aligned(out.height * int64_t{sizeof(Taps)}, 16);
    y_weights = x_weights + Aligned(MostWeights(pixels.width, out.width, reach) * 4, 16);
    between = y_weights + Aligned(MostWeights(pixels.height, out.height, reach) * 4, 16);
    bytes = Aligned(between + int64_t{pixels.height} * kChannels * PitchOf(out));
  }
};

// Addresses of an image's memory.
struct ImageMemory {
  AxisTaps x, y;
  uint8_t* between;
  int32_t pitch;
};

// Offsets within a call's memory.
struct CallSpace {
  static constexpr int64_t kResults = 0;                         // uint32_t by channel and value.
  static constexpr int64_t kMemories = kChannels * kValues * 4;  // ImageMemory by image.
  int64_t strips;                                                // StripOf by strip.
  int64_t images;                                                // What belongs to each image.

  __host__ __device__ CallSpace(int64_t count, int64_t all_strips)
      : strips(kMemories + Aligned(count * int64_t{sizeof(ImageMemory)})),
        images(strips + Aligned(all_strips * int64_t{sizeof(StripOf)})) {}
};

__host__ __device__ inline int ReachOf(ResampleFilter filter) {
  return filter == ResampleFilter::kBilinear ? 1 : 2;
}

// All strips of a call.
int64_t CountStrips(const ImageChainWork& work);

}  // namespace penstock::image_chain
