#include "penstock/stages/transform/resample_kernels.h"

#include <algorithm>
#include <cstring>

#include "penstock/stages/transform/weighted_sum.h"

namespace penstock {
namespace {

// Adds up kBlocks x 8 neighbouring items; tap t lies at `from` + t x `pitch`. An odd last tap is
// paired with `pitch_behind_last`, whose weight is 0.
template <int kBlocks>
inline void SumTaps(const uint8_t* from, int64_t pitch, int32_t taps, int64_t pitch_behind_last,
                    const WeightPair* pairs, uint8_t* to) {
  SumOf8 sum[kBlocks];
  for (; taps > 1; taps -= 2, from += 2 * pitch, ++pairs) {
    for (int i = 0; i < kBlocks; ++i) sum[i].Add(from + 8 * i, from + pitch + 8 * i, *pairs);
  }
  if (taps == 1) {
    const uint8_t* behind = from + pitch_behind_last;
    for (int i = 0; i < kBlocks; ++i) sum[i].Add(from + 8 * i, behind + 8 * i, *pairs);
  }
  for (int i = 0; i < kBlocks; ++i) sum[i].Store(to + 8 * i);
}

// Copies a pixel. Of three channels it may copy a fourth byte, which the next pixel then
// overwrites.
template <int kChannels, bool kLast>
inline void CopyPixel(const uint8_t* from, uint8_t* to) {
  std::memcpy(to, from, kChannels == 3 && !kLast ? 4 : kChannels);
}

// A strip is eight rows turned on their side: column by column, their pixels one after the other.
// On it a horizontal pass sums whole vectors, as a vertical pass does on rows.
constexpr int kStripRows = 8;

template <int kChannels>
void FillStrip(const uint8_t* in, int64_t pitch, int rows, int32_t columns, uint8_t* strip) {
  for (int32_t x = 0; x + 1 < columns; ++x, in += kChannels, strip += kStripRows * kChannels) {
    for (int r = 0; r < rows; ++r) {
      CopyPixel<kChannels, false>(in + r * pitch, strip + r * kChannels);
    }
  }
  for (int r = 0; r < rows; ++r) CopyPixel<kChannels, true>(in + r * pitch, strip + r * kChannels);
}

template <int kChannels>
void EmptyStrip(const uint8_t* strip, uint8_t* out, int64_t pitch, int rows, int32_t columns) {
  for (int32_t x = 0; x + 1 < columns; ++x, out += kChannels, strip += kStripRows * kChannels) {
    for (int r = 0; r < rows; ++r) {
      CopyPixel<kChannels, false>(strip + r * kChannels, out + r * pitch);
    }
  }
  for (int r = 0; r < rows; ++r) CopyPixel<kChannels, true>(strip + r * kChannels, out + r * pitch);
}

// An odd number of taps reads one more column, and CopyPixel touches one more byte.
constexpr size_t StripBytes(int channels, int32_t columns) {
  return size_t{kStripRows} * channels * (columns + 1) + 1;
}

template <int kChannels>
void HorizontalPass(const PixelRows& in, const AxisWeights& weights, OutputRange range,
                    uint8_t* out, int64_t out_pitch, uint8_t* in_strip, uint8_t* out_strip) {
  constexpr int kColumn = kStripRows * kChannels;
  for (int32_t row = 0; row < in.rows; row += kStripRows) {
    const int rows = std::min(kStripRows, in.rows - row);
    FillStrip<kChannels>(in.data + row * in.pitch, in.pitch, rows, in.columns, in_strip);
    uint8_t* to = out_strip;
    for (int32_t i = range.begin; i < range.begin + range.count; ++i, to += kColumn) {
      const TapRange taps = weights.taps[i];
      SumTaps<kChannels>(in_strip + int64_t{taps.begin - in.first_column} * kColumn, kColumn,
                         taps.count(), kColumn, &weights.pairs[weights.at[i]], to);
    }
    EmptyStrip<kChannels>(out_strip, out + row * out_pitch, out_pitch, rows, range.count);
  }
}

uint8_t SumItem(const uint8_t* from, int64_t pitch, int32_t taps, const WeightPair* pairs) {
  int32_t sum = kHalfWeight;
  for (int32_t t = 0; t < taps; ++t) sum += from[t * pitch] * pairs[t / 2].weight(t % 2);
  return RoundedItem(sum);
}

}  // namespace

void ResampleHorizontally(const PixelRows& in, int channels, const AxisWeights& weights,
                          OutputRange range, uint8_t* out, int64_t out_pitch,
                          std::vector<uint8_t>& strip) {
  const size_t in_bytes = StripBytes(channels, in.columns);
  const size_t bytes = in_bytes + StripBytes(channels, range.count);
  if (strip.size() < bytes) strip.resize(bytes);
  const auto pass = channels == 1   ? HorizontalPass<1>
                    : channels == 2 ? HorizontalPass<2>
                    : channels == 3 ? HorizontalPass<3>
                                    : HorizontalPass<4>;
  pass(in, weights, range, out, out_pitch, strip.data(), strip.data() + in_bytes);
}

void ResampleVertically(const PixelRows& in, int64_t row_bytes, const AxisWeights& weights,
                        OutputRange range, uint8_t* out) {
  constexpr int kBlocks = 3;  // What fits into 16 registers.
  for (int32_t i = range.begin; i < range.begin + range.count; ++i, out += row_bytes) {
    const int32_t taps = weights.taps[i].count();
    const WeightPair* pairs = &weights.pairs[weights.at[i]];
    const uint8_t* from = in.data + int64_t{weights.taps[i].begin - in.first_row} * in.pitch;
    int64_t x = 0;
    for (; x + 8 * kBlocks <= row_bytes; x += 8 * kBlocks) {
      SumTaps<kBlocks>(from + x, in.pitch, taps, 0, pairs, out + x);
    }
    for (; x + 8 <= row_bytes; x += 8) {
      SumTaps<1>(from + x, in.pitch, taps, 0, pairs, out + x);
    }
    for (; x < row_bytes; ++x) out[x] = SumItem(from + x, in.pitch, taps, pairs);
  }
}

}  // namespace penstock
