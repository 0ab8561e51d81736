// What several kernels need.
#pragma once

#include <cstdint>

#include "penstock/stages/decode/jpeg_cuda/jpeg_batch.h"

namespace penstock::jpeg_device {

inline constexpr int kWarp = 32;
inline constexpr uint32_t kAllLanes = ~0U;

// From the order of the scan to blocks that lie column by column.
__constant__ const uint8_t kZigzagToColumns[64] = {
    0,  8,  1,  2,  9,  16, 24, 17, 10, 3,  4,  11, 18, 25, 32, 40, 33, 26, 19, 12, 5,  6,
    13, 20, 27, 34, 41, 48, 56, 49, 42, 35, 28, 21, 14, 7,  15, 22, 29, 36, 43, 50, 57, 58,
    51, 44, 37, 30, 23, 31, 38, 45, 52, 59, 60, 53, 46, 39, 47, 54, 61, 62, 55, 63,
};

__device__ inline int Lane() { return threadIdx.x % kWarp; }
__device__ inline int Warp() { return threadIdx.x / kWarp; }

// The last i of `count` with first[i] <= x: whose item x is. `first` ascends from 0. All lanes of a
// warp take part; each step looks at 32 places.
__device__ inline int FindOwner(const uint32_t* first, int count, uint32_t x) {
  int low = 0;
  while (count > 1) {
    const int step = (count + kWarp - 1) / kWarp, probe = Lane() * step;
    const bool is_below = probe < count && first[low + probe] <= x;
    const int last = 31 - __clz(__ballot_sync(kAllLanes, is_below));
    low += last * step;
    count = min(step, count - last * step);
  }
  return low;
}

__device__ inline uint32_t WarpSum(uint32_t value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

// The sum of the values of this lane and those below.
__device__ inline uint32_t WarpInclusiveSum(uint32_t value) {
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const uint32_t below = __shfl_up_sync(kAllLanes, value, distance);
    if (Lane() >= distance) value += below;
  }
  return value;
}

// Block `block` of an image, in the order of the scan, is not as libjpeg would have it. The first
// one counts; inverted, so that 0 means none.
__device__ inline void ReportDamage(const JpegBatch& batch, int image, uint32_t block) {
  atomicMax(&batch.damage[image], ~block);
}

// Words of a subsequence's data.
__device__ inline int WordsOf(uint32_t contents) {
  return static_cast<int>(ContentBytes(contents) + 3) / 4;
}

}  // namespace penstock::jpeg_device
