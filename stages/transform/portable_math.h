// Logarithm, exponential and rounding that give the same bits on every machine: made of + - * /
// alone, where libm's own differ from release to release.
#pragma once

#include <cstdint>

namespace penstock {

// e to the power of x for -700 <= x <= 700; within 1 unit in the last place.
double PortableExp(double x);

// Natural logarithm of a normal number x > 0; within 2 units in the last place.
double PortableLog(double x);

// The nearest integer, of two equally near ones the even: Python's round(). |x| < 2^53.
int64_t RoundHalfToEven(double x);

}  // namespace penstock
