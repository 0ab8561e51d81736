// The kernels behind the decoder: from planes to resized, cropped, mirrored and normalised rows of
// a batch. Three launches, in this order: LaunchImagePlan (needs no planes yet), LaunchImageRows,
// LaunchImageColumns. Each is asynchronous, on the current device, and neither allocates nor
// synchronises. Needs no CUDA compiler.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "penstock/stages/decode/image_chain/image_geometry.cuh"
#include "penstock/stages/decode/jpeg_cuda/jpeg_descriptor.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_planes.h"
#include "penstock/stages/field.h"

namespace penstock {

// What happens to all images of a call. Pointers are the device's but for those named `host`.
struct ImageChainWork {
  int32_t count = 0;
  const int32_t* rows = nullptr;  // `count` indices of what is by row.
  const int32_t* host_rows = nullptr;
  const JpegDescriptor* descriptors = nullptr;
  const JpegPlanes* planes = nullptr;  // `count`, in the order of `rows`.
  // By row: `region` is the part of the image that is needed, not empty; and the result.
  const FieldView* pixels = nullptr;
  const FieldView* host_pixels = nullptr;
  const FieldView* out = nullptr;
  const FieldView* host_out = nullptr;
  GeometryTables geometry;
  ResampleMethod method;
  // Of a result's items: 1 (the pixels themselves, interleaved), 2 or 4.
  int item_bytes = 1;
  bool planar = false;                            // One plane a channel; only of 2 or 4 bytes.
  const uint32_t (*host_results)[256] = nullptr;  // By channel and value, of 2 or 4 bytes.
  std::byte* scratch = nullptr;  // At a multiple of 256; from the first launch to the last's end.
};

// Device memory that a call needs: for itself and at most `images` images, and for each image.
size_t ImageChainCallBytes(int64_t images);
size_t ImageChainImageBytes(const Region& pixels, const Region& out, ResampleFilter filter);

cudaError_t LaunchImagePlan(const ImageChainWork& work, cudaStream_t stream);
cudaError_t LaunchImageRows(const ImageChainWork& work, cudaStream_t stream);
cudaError_t LaunchImageColumns(const ImageChainWork& work, cudaStream_t stream);

}  // namespace penstock
