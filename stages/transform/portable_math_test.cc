#include "penstock/stages/transform/portable_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/stages/transform/references.h"

namespace penstock {
namespace {

const References& Refs() {
  static const auto* references = new References("number_references.bin");
  return *references;
}

// Doubles between a and b, for finite numbers.
int64_t UlpsBetween(double a, double b) {
  const auto ordered = [](double v) {
    const auto bits = std::bit_cast<int64_t>(v);
    return bits < 0 ? INT64_MIN - bits : bits;
  };
  return std::abs(ordered(a) - ordered(b));
}

void Compare(const std::string& name, double (*function)(double), int64_t max_ulps) {
  const auto x = Refs().at(name + "/x").as<double>();
  const auto same_steps = Refs().at(name + "/same_steps").as<double>();
  const auto libm = Refs().at(name + "/libm").as<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    const double y = function(x[i]);
    EXPECT_EQ(std::bit_cast<uint64_t>(y), std::bit_cast<uint64_t>(same_steps[i])) << x[i];
    EXPECT_LE(UlpsBetween(y, libm[i]), max_ulps) << x[i];
  }
}

TEST(PortableMath, ExpIsAsDocumented) { Compare("exp", PortableExp, 1); }
TEST(PortableMath, LogIsAsDocumented) { Compare("log", PortableLog, 2); }

TEST(PortableMath, HasTheSameBitsOnEveryMachine) {
  EXPECT_EQ(PortableExp(0.0), 1.0);
  EXPECT_EQ(PortableExp(1.0), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(PortableExp(-0.2876820724517809), 0x1.8p-1);
  EXPECT_EQ(PortableLog(1.0), 0.0);
  EXPECT_EQ(PortableLog(2.0), 0x1.62e42fefa39efp-1);
  EXPECT_EQ(PortableLog(0.75), -0x1.269621134db92p-2);
  EXPECT_EQ(PortableLog(4.0 / 3.0), 0x1.269621134db92p-2);
}

TEST(PortableMath, RoundsAsPythonDoes) {
  const auto x = Refs().at("round/x").as<double>();
  const auto y = Refs().at("round/y").as<int64_t>();
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(RoundHalfToEven(x[i]), y[i]) << x[i];
  EXPECT_EQ(RoundHalfToEven(0.5), 0);
  EXPECT_EQ(RoundHalfToEven(1.5), 2);
  EXPECT_EQ(RoundHalfToEven(2.5), 2);
  EXPECT_EQ(RoundHalfToEven(-0.5), 0);
  EXPECT_EQ(RoundHalfToEven(-1.5), -2);
  EXPECT_EQ(RoundHalfToEven(0.49999999999999994), 0);
}

}  // namespace
}  // namespace penstock
