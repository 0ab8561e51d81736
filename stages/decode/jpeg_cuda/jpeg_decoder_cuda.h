// Decodes JPEG files on the SMs of a CUDA device, exactly as libjpeg-turbo does (ISLOW, fancy
// upsampling). A library of its own: it allocates nothing, never synchronises, and tells before
// how much memory it needs. How it works: README.md.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "penstock/stages/decode/jpeg_cuda/jpeg_descriptor.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_planes.h"
#include "penstock/stages/field.h"

namespace penstock {

// Images of one call: `rows` lists `count` numbers, by which the other arrays are indexed. Each
// array exists twice, on the host (which sizes the launches) and on the device (which does the
// work), with equal contents. Both stay valid until the work is done.
struct JpegImages {
  int32_t count = 0;
  const int32_t* host_rows = nullptr;
  const int32_t* rows = nullptr;
  const JpegDescriptor* host_descriptors = nullptr;
  const JpegDescriptor* descriptors = nullptr;
  // The files: `address` and `bytes`. Device memory, or page-locked memory that the device reads;
  // any alignment, 16 is fastest. All 16-byte words that a file touches are read.
  const FieldView* files = nullptr;
  // `region`: the pixels that are wanted, within the image. The rest is not looked at.
  const FieldView* host_pixels = nullptr;
  const FieldView* pixels = nullptr;
  // Written: 0 for a row that is as libjpeg would have it, else 1 + the first MCU row that is
  // damaged. Rows of a damaged image have unspecified pixels.
  int32_t* status = nullptr;
};

// Device memory that a call needs: for itself and at most `images` images, and for each image. All
// of `scratch` in one piece, its address a multiple of 256, used until the call's work is done.
size_t JpegCallScratchBytes(int64_t images);
size_t JpegImageScratchBytes(const JpegDescriptor& descriptor, const Region& region);

// What a call leaves in its scratch memory.
struct JpegDecoded {
  const JpegPlanes* planes = nullptr;  // Device address of `count`, in the order of `rows`.
  // Where what the call uses of `scratch` ends, a multiple of 256: the rest is the caller's.
  std::byte* end = nullptr;
};

// Puts the decoding up to the planes into `stream`, on the current device.
cudaError_t EnqueueJpegPlanes(const JpegImages& images, std::byte* scratch, cudaStream_t stream,
                              JpegDecoded& decoded);

}  // namespace penstock
