// The two passes of a resize over 8-bit pixels. Integer arithmetic alone: how it is vectorised
// changes the speed and never a byte.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/stages/transform/resample_coefficients.h"

namespace penstock {

// The weights of two neighbouring taps, each as high * 32768 + low: what fits the processors'
// multiplication of 16-bit pairs. The second is 0 behind an odd number of taps.
struct WeightPair {
  int16_t low[2] = {}, high[2] = {};
  void Set(int tap, int32_t weight) {
    low[tap] = static_cast<int16_t>(weight & 0x7FFF);
    high[tap] = static_cast<int16_t>(weight >> 15);
  }
  int32_t weight(int tap) const { return high[tap] * 32768 + low[tap]; }
};

// Taps and weights of every output item of an axis.
struct AxisWeights {
  std::vector<TapRange> taps;
  std::vector<int32_t> at;  // Index of each one's first pair.
  std::vector<WeightPair> pairs;
};

// Rows of interleaved pixels, `pitch` bytes apart. `data` starts with item `first_row`,
// `first_column` of the axes.
struct PixelRows {
  const uint8_t* data = nullptr;
  int64_t pitch = 0;
  int32_t first_row = 0, rows = 0;
  int32_t first_column = 0, columns = 0;
};

// A part of an output axis.
struct OutputRange {
  int32_t begin = 0, count = 0;
};

// Writes output columns `range` of every row of `in`, `out_pitch` bytes apart. Channels: 1 to 4.
// `strip` is the pass's own memory, worth keeping.
void ResampleHorizontally(const PixelRows& in, int channels, const AxisWeights& weights,
                          OutputRange range, uint8_t* out, int64_t out_pitch,
                          std::vector<uint8_t>& strip);

// Writes output rows `range`, `row_bytes` bytes each, one directly after the other.
void ResampleVertically(const PixelRows& in, int64_t row_bytes, const AxisWeights& weights,
                        OutputRange range, uint8_t* out);

}  // namespace penstock
