// Sums of eight neighbouring 8-bit items over taps: the innermost loop of a resize.
#pragma once

#include <algorithm>
#include <cstdint>

#include "penstock/stages/transform/resample_kernels.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace penstock {

inline constexpr int32_t kHalfWeight = 1 << (kWeightBits - 1);

// The item that a sum of weighted items, kHalfWeight among them, stands for.
inline uint8_t RoundedItem(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

#if defined(__SSE2__)

// Each x86-64 has SSE2. pmaddwd multiplies pairs of 16-bit numbers, so weights go in as two halves;
// the partial sums may wrap around, their total does not.
class SumOf8 {
 public:
  // Eight items of one tap at `a`, of the next tap at `b`.
  void Add(const uint8_t* a, const uint8_t* b, const WeightPair& weights) {
    const __m128i pairs = _mm_unpacklo_epi8(Load(a), Load(b));
    const __m128i first = _mm_unpacklo_epi8(pairs, _mm_setzero_si128());
    const __m128i last = _mm_unpackhi_epi8(pairs, _mm_setzero_si128());
    const __m128i low = Broadcast(weights.low), high = Broadcast(weights.high);
    low_[0] = _mm_add_epi32(low_[0], _mm_madd_epi16(first, low));
    low_[1] = _mm_add_epi32(low_[1], _mm_madd_epi16(last, low));
    high_[0] = _mm_add_epi32(high_[0], _mm_madd_epi16(first, high));
    high_[1] = _mm_add_epi32(high_[1], _mm_madd_epi16(last, high));
  }
  void Store(uint8_t* items) const {
    const __m128i words = _mm_packs_epi32(Total(0), Total(1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(items), _mm_packus_epi16(words, words));
  }

 private:
  static __m128i Load(const uint8_t* items) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(items));
  }
  static __m128i Broadcast(const int16_t* pair) {
    return _mm_set1_epi32(static_cast<int32_t>(static_cast<uint16_t>(pair[0]) |
                                               static_cast<uint32_t>(pair[1]) << 16));
  }
  __m128i Total(int i) const {
    return _mm_srai_epi32(_mm_add_epi32(low_[i], _mm_slli_epi32(high_[i], 15)), kWeightBits);
  }

  __m128i low_[2] = {_mm_set1_epi32(kHalfWeight), _mm_set1_epi32(kHalfWeight)};
  __m128i high_[2] = {_mm_setzero_si128(), _mm_setzero_si128()};
};

#else

class SumOf8 {
 public:
  void Add(const uint8_t* a, const uint8_t* b, const WeightPair& weights) {
    const int32_t first = weights.weight(0), second = weights.weight(1);
    for (int i = 0; i < 8; ++i) sum_[i] += a[i] * first + b[i] * second;
  }
  void Store(uint8_t* items) const {
    for (int i = 0; i < 8; ++i) items[i] = RoundedItem(sum_[i]);
  }

 private:
  int32_t sum_[8] = {kHalfWeight, kHalfWeight, kHalfWeight, kHalfWeight,
                     kHalfWeight, kHalfWeight, kHalfWeight, kHalfWeight};
};

#endif

}  // namespace penstock
