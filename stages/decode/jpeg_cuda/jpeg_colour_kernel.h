// The kernel that makes RGB pixels of decoded planes. Needs no CUDA compiler.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "penstock/stages/decode/jpeg_cuda/jpeg_planes.h"
#include "penstock/stages/field.h"

namespace penstock {

// Pointers are the device's, but for host_pixels.
struct JpegColourWork {
  const int32_t* rows = nullptr;  // `count` indices of `pixels`.
  int32_t count = 0;
  const int32_t* host_rows = nullptr;
  const JpegPlanes* planes = nullptr;  // `count`, in the order of `rows`.
  // Where the pixels of `region` go: 8 bits, interleaved, 3 channels, one row after the other.
  const FieldView* pixels = nullptr;
  const FieldView* host_pixels = nullptr;
};

// Asynchronous, on the current device. Neither allocates nor synchronises. Of an image whose planes
// are damaged nothing is written.
cudaError_t LaunchJpegColour(const JpegColourWork& work, cudaStream_t stream);

}  // namespace penstock
