// The kernel of Normalize on CUDA. Knows no stage and no proto, so that nvcc has little to read.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "penstock/stages/field.h"

namespace penstock {

// Which rows of a batch are to be normalised, and how. All pointers but `bits` are the device's.
struct NormalizeWork {
  const int32_t* rows = nullptr;  // `count` indices of `in` and `out`.
  int32_t count = 0;
  const FieldView* in = nullptr;  // uint8, interleaved.
  const FieldView* out = nullptr;
  int64_t pixels = 0;  // Of each row.
  int channels = 3;    // 1 to 4.
  bool planar = true;  // Whether `out` has one plane a channel.
  int item_bytes = 4;  // Of `out`: 2 or 4.
  // By channel and value, the bits of the result. Host memory, read before the call returns.
  const uint32_t (*bits)[256] = nullptr;
};

// Asynchronous, on the current device. Neither allocates nor synchronises. Any alignment and any
// number of pixels will do; rows that start at a multiple of 16 bytes, with planes that do, are
// fastest.
cudaError_t LaunchNormalize(const NormalizeWork& work, cudaStream_t stream);

}  // namespace penstock
