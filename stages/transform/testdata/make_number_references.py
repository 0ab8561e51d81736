"""What the arithmetic must give: numbers of libm, numpy and Python. Usage: MAKE OUTPUT."""

import math
import sys
from fractions import Fraction

import numpy as np
from portable_math import portable_exp, portable_log
from reference_writer import RNG, Writer


def write_portable_math(writer):
    x = np.concatenate([RNG.uniform(-700, 700, 4000), RNG.uniform(-8, 8, 4000), [0.0, 1.0, -1.0]])
    writer.add("exp/x", x)
    writer.add("exp/same_steps", np.array([portable_exp(v) for v in x.tolist()]))
    writer.add("exp/libm", np.array([math.exp(v) for v in x.tolist()]))
    x = np.concatenate([np.exp(RNG.uniform(-700, 700, 4000)), RNG.uniform(0.5, 2, 4000), [1.0]])
    writer.add("log/x", x)
    writer.add("log/same_steps", np.array([portable_log(v) for v in x.tolist()]))
    writer.add("log/libm", np.array([math.log(v) for v in x.tolist()]))
    x = np.concatenate([RNG.integers(-2000, 2000, 2000) / 2, RNG.uniform(-1e6, 1e6, 2000)])
    writer.add("round/x", x)
    writer.add("round/y", np.array([round(v) for v in x.tolist()], np.int64))


def bfloat16_bits(value):
    """Rounds to 8 significant bits by exact fractions, ties to even."""
    sign = 0x8000 if math.copysign(1.0, value) < 0 else 0
    if math.isnan(value):
        return sign | 0x7FC0
    if math.isinf(value):
        return sign | 0x7F80
    exact = abs(Fraction(value))
    if exact == 0:
        return sign
    exponent = max(math.frexp(abs(value))[1] - 1, -126)
    units = round(exact / Fraction(2) ** (exponent - 7))  # Python rounds fractions half to even.
    return sign | min((exponent + 126) * 128 + units, 0x7F80)


def write_halves(writer):
    # Every float16 there is, the middle between it and the next, and a little to both sides.
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    exact = halves[np.isfinite(halves)].astype(np.float64)
    middle = (exact[:-1] + exact[1:]) / 2
    near = np.concatenate([np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)])
    odd = [np.inf, -np.inf, 0.0, -0.0, 65519.99, 65520.0, 1e300, 5e-324, 2.0**-25, 1.5 * 2.0**-24]
    wide = np.ldexp(RNG.uniform(-2, 2, 20000), RNG.integers(-160, 140, 20000))
    x = np.concatenate([exact, middle, near, odd, wide])
    writer.add("half/x", x)
    with np.errstate(over="ignore"):
        writer.add("half/float16", x.astype(np.float16).view(np.uint16))
    # Ties of bfloat16: its numbers and the middles between neighbours.
    bits = RNG.integers(0, 0x7F80, 6000, dtype=np.uint32)
    low = (bits << 16).view(np.float32).astype(np.float64)
    high = ((bits + 1) << 16).view(np.float32).astype(np.float64)
    tie = np.where(np.isfinite(high), (low + high) / 2, low)
    near = [np.nextafter(tie, 0), np.nextafter(tie, 9e99)]
    x = np.concatenate([low, tie, -tie, *near, wide, odd])
    writer.add("bfloat/x", x)
    writer.add("bfloat/bits", np.array([bfloat16_bits(v) for v in x.tolist()], np.uint16))


def write_normalize(writer):
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    values = (np.arange(256)[None, :] * (1 / 255) - mean[:, None]) / std[:, None]
    writer.add("normalize/float32", values.astype(np.float32).view(np.uint32))
    writer.add("normalize/float16", values.astype(np.float16).view(np.uint16))
    bits = [[bfloat16_bits(v) for v in row] for row in values.tolist()]
    writer.add("normalize/bfloat16", np.array(bits, np.uint16))


def main():
    writer = Writer(sys.argv[1])
    write_portable_math(writer)
    write_halves(writer)
    write_normalize(writer)


if __name__ == "__main__":
    main()
