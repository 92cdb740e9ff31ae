"""Combining sums by shell: the sum of rows clipped at any radius, and the difference between two radii.

``ShellSums`` add up rows, their directions, or both, by the number of balls that contain the row. All functions here
are linear in the contributions of single rows, so one replaced row changes a result by at most twice the largest
contribution of a row (adding or removing one row, by once that), plus the rounding of the total.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmean.queries.queries import Bins, Ints, Shells
from dpmean.queries.totals import BinSums, ShellSums

FACTOR_ONE = 1 << 12
"""Correction factors are integer multiples of 1 / FACTOR_ONE."""
_WRAPS_FROM = 2.0**62  # a difference below this is correct in 64 bits, even if its terms have overflowed


def root_up(d: int) -> int:
    """Return the square root of d, rounded up: rounding d coordinates down adds at most this to a distance."""
    return math.isqrt(d - 1) + 1


def _clipped(sums: ShellSums, shells: Shells, k: int) -> NDArray[Any]:
    """Return ``length 2^fine`` times the sum of all rows clipped at radius k, in unbounded integers."""
    inside = sums.inner[k + 1 :].sum(axis=0).astype(object)
    outside = sums.outer[: k + 1].sum(axis=0).astype(object)
    total: NDArray[Any] = inside * shells.length + outside * (shells.radii[k] << sums.fine)
    return total


def _in_lengths(sums: ShellSums, shells: Shells, k: int) -> tuple[Ints, Ints]:
    """Return the same for ``fine = 0`` as ``whole * length + rest``, in 64 bits, with 0 <= rest < length.

    The length is a power of two. Directions, below 2^62 in all, are multiplied by a radius below 2^31 in two halves.
    """
    inside, outside = sums.inner[k + 1 :].sum(axis=0), sums.outer[: k + 1].sum(axis=0)
    bits = shells.length.bit_length() - 1
    low = min(bits, 31)
    upper, lower = (outside >> low) * shells.radii[k], (outside & ((1 << low) - 1)) * shells.radii[k]
    rest = ((upper & ((1 << (bits - low)) - 1)) << low) + lower
    return inside + (upper >> (bits - low)) + (rest >> bits), rest & (shells.length - 1)


def _is_short(sums: ShellSums, shells: Shells) -> bool:
    """Whether 64 bits are enough for ``_in_lengths``."""
    plain = sums.fine == 0 and sums.inner.dtype == np.int64 and shells.length & (shells.length - 1) == 0
    return plain and shells.length < 1 << 60 and shells.radii[0] < 1 << 31


def clipped_sum(sums: ShellSums, shells: Shells, k: int) -> Ints:
    """Return the sum of all rows clipped at radius k, rounded down to integer units."""
    if _is_short(sums, shells):
        return _in_lengths(sums, shells, k)[0]
    return (_clipped(sums, shells, k) // (shells.length << sums.fine)).astype(np.int64)


def clipped_sum_sensitivity(shells: Shells, k: int, contributions: int = 2) -> int:
    """Return the l2 sensitivity of ``clipped_sum``; one replaced row makes two contributions.

    A row inside ball k contributes itself; outside, radius / length times its direction, whose norm is at most length.
    """
    return contributions * shells.radii[k] + root_up(len(shells.centre))


def bias_gap(sums: ShellSums, shells: Shells, k: int, factors: list[int]) -> int:
    """Return the distance between the sums clipped at radius k and at the largest radius, each times its factor.

    It is the norm, rounded down, of a difference that is rounded down to integer units in every coordinate.
    """
    if _is_short(sums, shells):
        (small, rest), (large, other) = _in_lengths(sums, shells, k), _in_lengths(sums, shells, 0)
        a, b, bits = factors[k], factors[0], shells.length.bit_length() - 1
        if max(a, b) < 1 << 14 and bits < 48 and np.abs(small * float(a) - large * float(b)).max() < _WRAPS_FROM:
            wholes = (small * a - large * b + ((rest * a - other * b) >> bits)) >> (FACTOR_ONE.bit_length() - 1)
            return math.isqrt(sum(whole * whole for whole in wholes.tolist()))
    difference = _clipped(sums, shells, k) * factors[k] - _clipped(sums, shells, 0) * factors[0]
    wholes = difference // (shells.length * FACTOR_ONE << sums.fine)
    return math.isqrt(int((wholes * wholes).sum()))


def bias_gap_sensitivity(shells: Shells, k: int, factors: list[int], contributions: int = 2) -> int:
    """Return the sensitivity of ``bias_gap``; one replaced row makes two contributions.

    Let R and S be radius k and the largest one, a and b their factors. A row x with direction u contributes

    - (a - b) x, if |x| <= R;
    - a R u - b x, if R < |x| <= S, which is (a R - b |x|) u + b (|x| u - x); the first part is largest at an end of
      that range. In the second, u is q x / length with the integer q = length // ceil(|x|), so it has the
      direction of x, and |x| u falls short of x by at most 1 + |x|^2 / length;
    - (a R - b S) u, if |x| > S.

    If shells are made of bins, a row between the balls may be shorter than R, by their slack: then the range begins at
    R minus the slack.

    The result is the largest of these times the contributions, plus the rounding of d coordinates and of the norm.
    """
    small, large, d = shells.radii[k], shells.radii[0], len(shells.centre)
    a, b = factors[k], factors[0]
    row = max(abs(a - b) * small + b * shells.slack, abs(a * small - b * large))
    row += b * (2 + large**2 // shells.length)
    return contributions * -(-row // FACTOR_ONE) + root_up(d) + 1


def make_shells(bins: Bins, edges: list[int]) -> Shells:
    """Return balls whose radii are those of some bins, the largest first.

    The unit is half that of the largest. The radius of a ball is rounded up to an integer, so it holds all rows of its
    bins. The bound of ``bias_gap_sensitivity`` on directions holds for rows of any bin: in a unit 2^-t times this one,
    t >= -1, ``|x| u`` falls short of x by at most 1 + |x|^2 / length, that is 2^-t times as much here. For t = -1,
    |x| is at most radii[0] / 2, and it is 2 + radii[0]^2 / (2 length); otherwise |x| <= length / 2^12 <= radii[0], and
    it is 1 + radii[0]^2 / length. Both are at most 2 + radii[0]^2 // length, as that quotient is not below one.

    A row is in a bin because its distance exceeds the end of the bin before. It is then truncated to integers in the
    unit of its bin, at most 2 of these units, so it may be shorter by up to 2 sqrt(d); and a ball is up to one unit
    larger than the end of its bins. The slack covers both.
    """
    exponent = bins.exponents[edges[0]] - 1
    radii = tuple(-(-bins.radii[b] << 1 >> (exponent + 1 - bins.exponents[b])) for b in edges)
    return Shells(bins.centre, math.ldexp(1.0, exponent), radii, bins.length, 2 * root_up(len(bins.centre)) + 1)


def shell_sums(sums: BinSums, bins: Bins, edges: list[int]) -> ShellSums:
    """Combine the sums of bins to the sums by shell for ``make_shells``."""
    unit = bins.exponents[edges[0]] - 1
    finest = min(bins.exponents[0], unit)
    inner = np.zeros((len(edges) + 1, sums.inner.shape[1]), dtype=object)
    outer = np.zeros((len(edges) + 1, sums.outer.shape[1]), dtype=np.int64)
    for shell in range(len(edges) + 1):
        low = edges[shell] + 1 if shell < len(edges) else 0
        high = edges[shell - 1] + 1 if shell else len(bins.radii)
        for b in range(low, high):
            if shell:
                inner[shell] += sums.inner[b].astype(object) << (bins.exponents[b] - finest)
            outer[shell] += sums.outer[b]
    return ShellSums(inner, outer, unit - finest)
