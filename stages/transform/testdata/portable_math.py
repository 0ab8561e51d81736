"""The steps of portable_math.cc once more: in doubles, each operation rounded on its own."""

import math


def portable_exp(x):
    k = round(x * float.fromhex("0x1.71547652b82fep+0"))
    r = (x - k * float.fromhex("0x1.62e42feep-1")) - k * float.fromhex("0x1.a39ef35793c76p-33")
    reciprocal = [1.0]
    for n in range(1, 15):
        reciprocal.append(reciprocal[-1] / n)
    series = 0.0
    for n in range(14, 1, -1):
        series = series * r + reciprocal[n]
    return math.ldexp(1.0 + (r + series * r * r), k)


def portable_log(x):
    m, k = math.frexp(x)
    if m < float.fromhex("0x1.6a09e667f3bcdp-1"):
        m, k = m * 2.0, k - 1
    s = (m - 1.0) / (m + 1.0)
    series = 0.0
    for n in range(21, 1, -2):
        series = (series + 1.0 / n) * (s * s)
    return k * float.fromhex("0x1.62e42feep-1") + (
        2.0 * (s + s * series) + k * float.fromhex("0x1.a39ef35793c76p-33")
    )
