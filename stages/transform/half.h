// From double to the two 16-bit floating-point formats in one rounding (to nearest, ties to even),
// as bits. Through float there would be two roundings.
#pragma once

#include <bit>
#include <cstdint>

namespace penstock {

// IEEE 754 arithmetic format of 16 bits with `kExponentBits`; too large becomes infinite, too small
// subnormal or zero, and NaN a quiet NaN.
template <int kExponentBits>
constexpr uint16_t RoundToBits16(double value) {
  constexpr int kFractionBits = 15 - kExponentBits, kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr int kDoubleFractionBits = 52, kDoubleBias = 1023;
  constexpr uint32_t kInfinity = ((1U << kExponentBits) - 1) << kFractionBits;

  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint32_t>(bits >> 63) << 15;
  const auto exponent = static_cast<int>(bits >> kDoubleFractionBits & 0x7FF) - kDoubleBias;
  const uint64_t fraction = bits & ((uint64_t{1} << kDoubleFractionBits) - 1);
  if (exponent > kDoubleBias) {
    const uint32_t quiet = fraction == 0 ? 0 : 1U << (kFractionBits - 1);
    return static_cast<uint16_t>(sign | kInfinity | quiet);
  }
  // Below the smallest normal number the fraction loses a bit a power of two. A shift by 54 leaves
  // less than half a unit of anything, subnormal doubles among it.
  const int missing = exponent < 1 - kBias ? 1 - kBias - exponent : 0;
  const int shift = kDoubleFractionBits - kFractionBits + missing;
  if (shift >= 54) return static_cast<uint16_t>(sign);
  const uint64_t significand = uint64_t{1} << kDoubleFractionBits | fraction;
  const uint64_t half = uint64_t{1} << (shift - 1), rest = significand & (2 * half - 1);
  uint64_t rounded = significand >> shift;
  if (rest > half || (rest == half && rounded % 2 != 0)) ++rounded;
  // The significand's leading 1, or a carry out of it, counts as one exponent.
  if (missing == 0) rounded += static_cast<uint64_t>(exponent + kBias - 1) << kFractionBits;
  return static_cast<uint16_t>(sign | (rounded < kInfinity ? rounded : kInfinity));
}

// IEEE 754 binary16.
constexpr uint16_t Float16Bits(double value) { return RoundToBits16<5>(value); }
// The upper half of a binary32.
constexpr uint16_t Bfloat16Bits(double value) { return RoundToBits16<8>(value); }

}  // namespace penstock
