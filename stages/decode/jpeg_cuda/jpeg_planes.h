// What the decoder leaves of an image on the device before colours are made of it: the sample
// planes of luma and chroma, as the inverse DCT gives them.
#pragma once

#include <cstdint>

namespace penstock {

// Planes hold the rectangle of MCUs that the wanted region draws on; addresses are those that the
// first sample of the WHOLE plane would have, so that no reader sees an offset. Each sample that
// the region's pixels draw on (chroma: with one sample around) is there; reading 16 bytes to either
// side of a plane's rectangle stays within the decoder's scratch memory.
struct JpegPlanes {
  uint64_t plane[3] = {};  // Y, Cb, Cr; or R, G, B; gray has the first alone. Multiples of 8.
  int32_t stride[3] = {};  // Bytes from row to row, a multiple of 8.
  int32_t width = 0, height = 0;                // Of the image, pixels.
  int32_t chroma_width = 0, chroma_height = 0;  // ceil(width / h), ceil(height / v).
  uint8_t components = 0;                       // 1 or 3.
  uint8_t h = 1, v = 1;                         // See JpegDescriptor.
  uint8_t is_ycc = 0;
  uint32_t damaged = 0;  // Not 0: the samples are not the image's.
};

}  // namespace penstock
