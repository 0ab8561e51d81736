// Pictures made by arithmetic: the same bytes on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

// RGB of 8 bits, interleaved.
struct SyntheticPicture {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

inline constexpr int kPictureKinds = 10;

// `kind` gives the colours and the shape (stripes, checks, a disc, ...), so that pictures of one
// kind look alike; `seed` their place and the clouds over them. Smooth, with some grain, as
// photographs are.
SyntheticPicture MakePicture(int width, int height, int kind, uint32_t seed);

}  // namespace penstock
