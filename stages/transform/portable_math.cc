#include "penstock/stages/transform/portable_math.h"

#include <array>
#include <cmath>

namespace penstock {
namespace {

// ln 2 in two parts: the first has 21 zero bits at its end, so that its product with an exponent is
// exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;

constexpr std::array<double, 15> kReciprocalFactorial = [] {
  std::array<double, 15> table = {1.0};
  for (int n = 1; n < 15; ++n) table[n] = table[n - 1] / n;
  return table;
}();

}  // namespace

// x = k ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor series up to r^14 / 14!, whose next term
// is below 2^-58.
double PortableExp(double x) {
  const int64_t k = RoundHalfToEven(x * kInverseLn2);
  const auto scale = static_cast<double>(k);
  const double r = (x - scale * kLn2High) - scale * kLn2Low;
  double series = 0.0;
  for (int n = 14; n >= 2; --n) series = series * r + kReciprocalFactorial[n];
  return std::ldexp(1.0 + (r + series * r * r), static_cast<int>(k));
}

// x = 2^k m with m around 1; ln m = 2 artanh(s) with s = (m - 1) / (m + 1), |s| <= 0.172, by its
// series s + s^3 / 3 + ... + s^21 / 21, whose next term is below 2^-59 of the sum.
double PortableLog(double x) {
  int k = 0;
  double m = std::frexp(x, &k);  // Exact, as ldexp above is.
  if (m < kSqrtHalf) {
    m *= 2.0;
    --k;
  }
  const double s = (m - 1.0) / (m + 1.0), square = s * s;
  double series = 0.0;
  for (int n = 21; n >= 3; n -= 2) series = (series + 1.0 / n) * square;
  return k * kLn2High + (2.0 * (s + s * series) + k * kLn2Low);
}

int64_t RoundHalfToEven(double x) {
  const double below = std::floor(x);
  const double rest = x - below;  // Exact.
  auto rounded = static_cast<int64_t>(below);
  if (rest > 0.5 || (rest == 0.5 && rounded % 2 != 0)) ++rounded;
  return rounded;
}

}  // namespace penstock
