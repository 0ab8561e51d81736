#include "penstock/stages/transform/half.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "penstock/stages/transform/references.h"

namespace penstock {
namespace {

// Every float16, the middle of every two neighbours and the doubles next to it, and a wide range.
TEST(Half, Float16EqualsNumpy) {
  const References references("number_references.bin");
  const auto x = references.at("half/x").as<double>();
  const auto bits = references.at("half/float16").as<uint16_t>();
  ASSERT_GT(x.size(), 200000u);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(Float16Bits(x[i]), bits[i]) << x[i];
}

TEST(Half, Bfloat16EqualsExactRounding) {
  const References references("number_references.bin");
  const auto x = references.at("bfloat/x").as<double>();
  const auto bits = references.at("bfloat/bits").as<uint16_t>();
  ASSERT_GT(x.size(), 40000u);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(Bfloat16Bits(x[i]), bits[i]) << x[i];
}

TEST(Half, RoundsOnceAndNotThroughFloat) {
  // Just above the middle of 1 and 1 + 2^-10; as a float it is that middle, and would round to 1.
  EXPECT_EQ(Float16Bits(1.0 + 0x1p-11 + 0x1p-40), 0x3C01);
  EXPECT_EQ(Float16Bits(1.0 + 0x1p-11), 0x3C00);
  EXPECT_EQ(Bfloat16Bits(1.0 + 0x1p-8 + 0x1p-40), 0x3F81);
  EXPECT_EQ(Bfloat16Bits(1.0 + 0x1p-8), 0x3F80);
}

TEST(Half, KeepsSignsInfinitiesAndNan) {
  EXPECT_EQ(Float16Bits(-0.0), 0x8000);
  EXPECT_EQ(Float16Bits(-HUGE_VAL), 0xFC00);
  EXPECT_EQ(Bfloat16Bits(HUGE_VAL), 0x7F80);
  EXPECT_EQ(Float16Bits(std::numeric_limits<double>::quiet_NaN()) & 0x7FFF, 0x7E00);
  EXPECT_EQ(Bfloat16Bits(std::numeric_limits<double>::quiet_NaN()) & 0x7FFF, 0x7FC0);
}

}  // namespace
}  // namespace penstock
