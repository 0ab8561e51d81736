// The inverse DCT of libjpeg-turbo's jidctint ("islow"), one dimension at a time.
#pragma once

#include <cstdint>

namespace penstock::jpeg_device {

// Fixed-point constants of 13 bits, named as libjpeg does.
inline constexpr int kIdctBits = 13;
inline constexpr int kFix0298 = 2446, kFix0390 = 3196, kFix0541 = 4433, kFix0765 = 6270,
                     kFix0899 = 7373, kFix1175 = 9633, kFix1501 = 12299, kFix1847 = 15137,
                     kFix1961 = 16069, kFix2053 = 16819, kFix2562 = 20995, kFix3072 = 25172;
// The first pass keeps two more bits, which the second takes away, with the division by 8.
inline constexpr int kFirstPassShift = kIdctBits - 2, kSecondPassShift = kIdctBits + 2 + 3;
// The second pass adds the middle of the samples' range.
inline constexpr int kSampleMiddle = 128;

// libjpeg-turbo has versions of this in C and for several processors. They agree as long as the
// sums of 16 bits in the last ones do not overflow. Absolute values of a pass's 8 inputs that
// together do not exceed this cannot make them: the results of the first pass are at most 4 * 1.388
// times their sum. An image made of samples of 8 bits comes near neither.
inline constexpr unsigned kFirstPassLimit = 5900, kSecondPassLimit = 32767;
// Quantisation values are taken as no larger: with a coefficient that is not 0 they are beyond the
// limit all the same, and the sum of eight products stays within 32 bits.
inline constexpr int kLargestScale = 8191;

template <int kShift>
__device__ inline void Idct(const int (&in)[8], int (&out)[8]) {
  constexpr int kRounding =
      (kShift == kSecondPassShift ? kSampleMiddle << kShift : 0) + (1 << (kShift - 1));
  // Even part.
  const int z = (in[2] + in[6]) * kFix0541;
  const int t2 = z - in[6] * kFix1847, t3 = z + in[2] * kFix0765;
  const int t0 = ((in[0] + in[4]) << kIdctBits) + kRounding;
  const int t1 = ((in[0] - in[4]) << kIdctBits) + kRounding;
  const int t10 = t0 + t3, t13 = t0 - t3, t11 = t1 + t2, t12 = t1 - t2;
  // Odd part.
  int a0 = in[7], a1 = in[5], a2 = in[3], a3 = in[1];
  int z1 = a0 + a3, z2 = a1 + a2, z3 = a0 + a2, z4 = a1 + a3;
  const int z5 = (z3 + z4) * kFix1175;
  a0 *= kFix0298;
  a1 *= kFix2053;
  a2 *= kFix3072;
  a3 *= kFix1501;
  z1 *= -kFix0899;
  z2 *= -kFix2562;
  z3 = z3 * -kFix1961 + z5;
  z4 = z4 * -kFix0390 + z5;
  a0 += z1 + z3;
  a1 += z2 + z4;
  a2 += z2 + z3;
  a3 += z1 + z4;
  out[0] = (t10 + a3) >> kShift;
  out[7] = (t10 - a3) >> kShift;
  out[1] = (t11 + a2) >> kShift;
  out[6] = (t11 - a2) >> kShift;
  out[2] = (t12 + a1) >> kShift;
  out[5] = (t12 - a1) >> kShift;
  out[3] = (t13 + a0) >> kShift;
  out[4] = (t13 - a0) >> kShift;
}

__device__ inline unsigned AbsoluteSum(const int (&in)[8]) {
  unsigned sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum = __sad(in[i], 0, sum);
  return sum;
}

// Eight 16-bit items from or to 16 bytes.
__device__ inline void Unpack(const uint4& items, int (&out)[8]) {
  const uint32_t words[4] = {items.x, items.y, items.z, items.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    out[2 * i] = static_cast<int16_t>(words[i]);
    out[2 * i + 1] = static_cast<int>(words[i]) >> 16;
  }
}

// Four values saturated to samples, the first in the low byte.
__device__ inline uint32_t Saturate(int a, int b, int c, int d) {
  uint32_t high, all;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(d), "r"(c));
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(high));
  return all;
}

}  // namespace penstock::jpeg_device
