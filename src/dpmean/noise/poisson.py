"""Exact Poisson numbers by inversion of a uniform real number, whose bits are extended until they decide.

The table of probabilities is computed in integers, from the most likely number outwards, with every rounding outward.
The probability of all numbers left out is bounded by a geometric series, and is part of the bounds. This module needs
no array library.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import final

from dpmean.errors import ArgumentError
from dpmean.noise.exact import Bits

LARGEST_PIECE = 1 << 14
"""Larger means are divided into equal pieces: a sum of Poisson numbers is Poisson."""
_PRECISION = 192
_LARGEST_MEAN = 1 << 48


def _chances(mean: Fraction, bits: int) -> tuple[int, list[tuple[int, int]]]:
    """Return a first number, and bounds on 2^bits P[K <= k] for it and the numbers that follow.

    Weights are relative to that of the most likely number, in units of 2^-digits; they end where they fall below one.
    """
    digits = bits + 64
    num, den = mean.numerator, mean.denominator
    middle = num // den
    up, down = [(1 << digits, 1 << digits)], []
    for k in count(middle + 1):  # w(k) = w(k - 1) mean / k
        low, high = up[-1]
        up.append((low * num // (den * k), -(-high * num // (den * k))))
        if up[-1][1] <= 1:
            break
    low, high = up[0]
    for k in range(middle, 0, -1):  # w(k - 1) = w(k) k / mean
        low, high = low * k * den // num, -(-high * k * den // num)
        down.append((low, high))
        if high <= 1:
            break
    first, last = middle - len(down), middle + len(up) - 1
    # Beyond the last number ratios are at most mean / (last + 1), before the first one first / mean.
    above = math.ceil(up[-1][1] * mean / (last + 1 - mean))
    below = math.ceil((down[-1] if down else up[0])[1] * Fraction(first) / (mean - first)) if first else 0
    weights = [*reversed(down), *up]
    total_low, total_high = sum(low for low, _ in weights), below + above + sum(high for _, high in weights)
    bounds, sum_low, sum_high = [], 0, below
    for low, high in weights:
        sum_low, sum_high = sum_low + low, sum_high + high
        bounds.append(((sum_low << bits) // total_high, min(1 << bits, -(-(sum_high << bits) // total_low))))
    return first, bounds


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A table for 64-bit inversion: ``bounds[i]`` is at most 2^64 P[K <= first + i], and at least that minus 2."""

    mean: Fraction
    first: int
    bounds: tuple[int, ...]


@lru_cache(maxsize=256)
def table(mean: Fraction) -> Table:
    """Return the table of a mean of at most ``LARGEST_PIECE``."""
    first, precise = _chances(mean, _PRECISION)
    bounds = []
    for low, high in precise:
        if -(-high >> (_PRECISION - 64)) - (low >> (_PRECISION - 64)) > 2:
            raise AssertionError("the table of probabilities is not tight enough: raise _PRECISION")
        bounds.append(low >> (_PRECISION - 64))
        if high >> (_PRECISION - 64) >= (1 << 64) - 1:
            break
    while len(bounds) > 1 and bounds[1] == 0:  # numbers that 64 bits never pick
        del bounds[0]
        first += 1
    return Table(mean, first, tuple(bounds))


def pieces(mean: Fraction) -> int:
    """Return the number of equal pieces into which a mean is divided."""
    if not 0 <= mean <= _LARGEST_MEAN:
        raise ArgumentError(f"the mean of a Poisson number must be in [0, 2^48], got {float(mean):.3g}")
    return max(1, math.ceil(mean / LARGEST_PIECE))


def settle(u: int, mean: Fraction, more: Bits) -> int:
    """Return the number for a uniform real whose first 64 bits are u; draw more bits as needed."""
    for have in count(64, 64):
        first, bounds = _chances(mean, have + 64)
        for i, (low, high) in enumerate(bounds):  # U lies in [u, u + 1) / 2^have
            if (u + 1) << 64 <= low and (i > 0 or first == 0 or u):
                return first + i
            if u << 64 < high:
                break
        u = (u << 64) | more(64)
    raise AssertionError("unreachable")


def poisson(mean: Fraction, bits: Bits) -> int:
    """Draw one Poisson number."""
    if not mean:
        return 0
    parts = pieces(mean)
    law = table(mean / parts)
    total = 0
    for _ in range(parts):
        u = bits(64)
        i = bisect_right(law.bounds, u)
        decided = i < len(law.bounds) and u - (law.bounds[i - 1] if i else 0) >= 2
        total += law.first + i if decided else settle(u, law.mean, bits)
    return total
