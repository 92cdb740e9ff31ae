"""The slow reference: exact samplers in integers and fractions, from fair coin flips only.

Algorithms 1 to 3 of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

Bits = Callable[[int], int]
"""A function that returns an integer made of the given number of fair coin flips."""

CHOICE_BITS = 40
"""The number of bits of the draw that proposes an index."""


def below(limit: int, bits: Bits) -> int:
    """Draw uniformly from 0, ..., limit - 1."""
    width = (limit - 1).bit_length()
    while True:
        draw = bits(width) if width else 0
        if draw < limit:
            return draw


def bernoulli(p: Fraction, bits: Bits) -> bool:
    """Return True with probability p."""
    return below(p.denominator, bits) < p.numerator


def bernoulli_exp(gamma: Fraction, bits: Bits) -> bool:
    """Return True with probability exp(-gamma), for gamma >= 0 (Algorithm 1)."""
    while gamma > 1:
        if not bernoulli_exp(Fraction(1), bits):
            return False
        gamma -= 1
    k = 1
    while bernoulli(gamma / k, bits):
        k += 1
    return k % 2 == 1


def discrete_laplace(scale: int, bits: Bits) -> int:
    """Draw x with probability proportional to exp(-|x| / scale) (Algorithm 2 for an integer scale)."""
    while True:
        offset = below(scale, bits)
        if not bernoulli_exp(Fraction(offset, scale), bits):
            continue
        wraps = 0
        while bernoulli_exp(Fraction(1), bits):
            wraps += 1
        magnitude = offset + scale * wraps
        negative = bits(1)
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_gaussian(variance: Fraction, bits: Bits) -> int:
    """Draw x with probability proportional to exp(-x^2 / (2 variance)) (Algorithm 3)."""
    scale = math.isqrt(math.floor(variance)) + 1
    while True:
        candidate = discrete_laplace(scale, bits)
        excess = abs(candidate) - variance / scale
        if bernoulli_exp(excess * excess / (2 * variance), bits):
            return candidate


def poisson(mean: Fraction, bits: Bits) -> int:
    """Draw x with probability ``exp(-mean) mean^x / x!``, in time proportional to the mean.

    A sum of Poisson numbers of mean 1 is Poisson; keeping each counted event with probability p multiplies the mean by
    p.
    """
    whole = math.ceil(mean)
    counted = sum(_poisson_one(bits) for _ in range(whole))
    return sum(bernoulli(mean / whole, bits) for _ in range(counted))


def _poisson_one(bits: Bits) -> int:
    """Draw x with probability proportional to 1 / x!.

    x is proposed with probability 2^-(x+1), and kept with probability 2^(x-1) / x!, which is at most 1.
    """
    while True:
        x = 0
        while bits(1):
            x += 1
        if bernoulli(Fraction(1 << x, 2 * math.factorial(x)), bits):
            return x


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Return integers with ``low <= 2^bits exp(-x) <= high`` that differ by at most 2, for x >= 0.

    The argument is halved until it is at most 1, the alternating series is summed with 2 (bits + halvings)
    guard digits and every rounding outward, and the result is squared as often as the argument was halved.
    """
    if x.numerator * 10 > x.denominator * 7 * (bits + 2):  # then exp(-x) < 2^-(bits + 1)
        return 0, 1
    halvings = max(0, (x.numerator // x.denominator).bit_length())
    digits = bits + 2 * halvings + 16
    one = 1 << digits
    num, den = x.numerator, x.denominator << halvings
    low = high = total_low = total_high = one
    k = 0
    while high:
        k += 1
        low, high = low * num // (den * k), -(-high * num // (den * k))
        if k % 2:
            total_low, total_high = total_low - high, total_high - low
        else:
            total_low, total_high = total_low + low, total_high + high
        if high <= 1 and k > 1:
            break
    # The first omitted term is at most the last one kept, whatever its sign.
    total_low, total_high = max(0, total_low - high), min(one, total_high + high)
    for _ in range(halvings):
        total_low, total_high = total_low**2 >> digits, -(-(total_high**2) >> digits)
    shift = digits - bits
    return total_low >> shift, -(-total_high >> shift)


def exactly_below(v: int, have: int, exponent: Fraction, more: Bits) -> bool:
    """Return whether V, a uniform real whose first ``have`` bits are v, is below exp(-exponent)."""
    if exponent == 0:
        return v < 1 << have
    while True:
        low, high = exp_bounds(exponent, have + 64)
        if (v + 1) << 64 <= low:
            return True
        if v << 64 >= high:
            return False
        v, have = (v << 64) | more(64), have + 64


def choose(exponents: Sequence[int], unit: int, bits: Bits) -> int:
    """Choose an index i with probability proportional to exp(-exponents[i] / unit).

    One uniform draw proposes an index, with probability proportional to a power of two at or above its weight (times
    2^40). The rest of this draw is uniform below that power, and the index is accepted if the rest is below the weight.
    So i is accepted with probability exactly proportional to its weight.
    """
    least = min(exponents)
    falls = (halvings(exponent - least, unit) for exponent in exponents)
    ends = list(accumulate(1 << max(0, CHOICE_BITS - fall) for fall in falls))
    while True:
        drawn = below(ends[-1], bits)
        i = bisect_right(ends, drawn)
        rest = drawn - (ends[i - 1] if i else 0)
        if exactly_below(rest, CHOICE_BITS, Fraction(exponents[i] - least, unit), bits):
            return i


def halvings(excess: Any, unit: int) -> Any:
    """Return the largest k with 2^-k at or above ``exp(-excess / unit)``, or that minus one."""
    return 7213 * excess // (5000 * unit)  # 7213 / 5000 is just below 1 / ln 2
