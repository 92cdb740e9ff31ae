"""The fast sampler of the discrete Gaussian, in blocks: it provably has the distribution of the reference.

A variate is a function of one infinite string of fair bits. The line of magnitudes 0, 1, 2, ... is divided into cells
whose width w is a power of two, at most a sixteenth of the standard deviation:

1. a uniform real U picks cell c with probability proportional to exp(-(c w)^2 / (2 v)), by inversion;
2. log2 w bits pick the offset o inside the cell; the magnitude is m = c w + o;
3. a uniform real V accepts it if V < exp(-(2 c w o + o^2) / (2 v)); otherwise the procedure restarts;
4. one bit picks the sign; minus zero is rejected.

So x has probability proportional to exp(-x^2 / (2 v)). The kernel uses only the first 64 bits of U and 63 of V; if they
do not decide a comparison with certainty, ``settle`` extends the same string, in integer arithmetic, until they do. For
U the bounds are integers (``_cells``). For V they rely on IEEE 754 addition,
multiplication and division only: the exponent g is at most 0.63, its relative error at most 6 * 2^-53, the
Taylor polynomial of degree 18 is within 0.63^19 / 19! < 2^-69 of exp(-g), its Horner evaluation within
40 * 2^-53, and V is rounded once: together less than 2^-47. The kernel calls anything within 2^-45 undecided.

This is one file because the bounds above apply to the loops below.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError
from dpmean.noise import exact
from dpmean.noise import poisson as tables
from dpmean.noise.exact import Bits, exactly_below, exp_bounds
from dpmean.noise.jit import compiled
from dpmean.queries.queries import Ints

Words = NDArray[np.uint64]
MoreWords = Callable[[int], Words]

_PRECISION = 112  # bits of the table of cells before it is cut to 64
_LARGEST_VARIANCE = 1 << 112
_CELLS_PER_STD = 16
_TOLERANCE = 2.0**-45
_BLOCK = 1 << 14
_FAR = 30.0  # units: weights that much below the largest are proposed with the smallest power of two
_LARGEST_UNIT = 1 << 44  # 7213 times 31 of it are below 2^63
_MOST_CHOICES = 1 << 22  # this many powers of two add up to less than 2^63

ACCEPTED, REJECTED, UNDECIDED = 0, 1, 2


def _cells(variance: Fraction, width: int, bits: int) -> Iterator[tuple[int, int]]:
    """Yield bounds on ``2^bits P[cell <= c]`` for c = 0, 1, ... until the rest is below one unit or so.

    Weights follow w(c+1) = w(c) a^(2c+1) with a = exp(-width^2 / (2 variance)), every product rounded outward.
    """
    digits = bits + 64
    ratio_low, ratio_high = exp_bounds(Fraction(width * width) / (2 * variance), digits)
    square_low, square_high = ratio_low**2 >> digits, -(-(ratio_high**2) >> digits)
    low = high = sum_low = sum_high = 1 << digits
    sums = [(sum_low, sum_high)]
    while high > 1:
        low, high = low * ratio_low >> digits, -(-high * ratio_high >> digits)
        ratio_low, ratio_high = ratio_low * square_low >> digits, -(-ratio_high * square_high >> digits)
        sum_low, sum_high = sum_low + low, sum_high + high
        sums.append((sum_low, sum_high))
    # The omitted weights: the last weight a^(c^2) is at most one unit, 2^-digits, so later ones shrink by at least
    # a^(2c) <= 2^(-2 digits / c); as width >= std / 32, c is at most 32 sqrt(1.4 digits) + 1 and that factor at
    # most 0.67. Together they are less than 3 units; 2^32 are set aside.
    all_low, all_high = sum_low, sum_high + (1 << 32)
    for low, high in sums:  # few of them are used
        yield (low << bits) // all_high, min(1 << bits, -(-(high << bits) // all_low))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Law:
    """The data that the kernel needs for one variance."""

    variance: Fraction
    width: int
    bounds: Words
    half_precision: float


@lru_cache(maxsize=64)
def _law(variance: Fraction) -> _Law:
    if not 0 < variance <= _LARGEST_VARIANCE:
        raise ArgumentError(f"variance must be in (0, 2^112], got {float(variance):.3g}")
    width = 1
    while (2 * width * _CELLS_PER_STD) ** 2 <= variance:
        width *= 2
    table = []
    for low, high in _cells(variance, width, _PRECISION):
        first, last = low >> (_PRECISION - 64), -(-high >> (_PRECISION - 64))
        if last - first > 2:
            raise AssertionError("the table of cells is not tight enough: raise _PRECISION")
        table.append(first)
        if last >= 1 << 64:
            break
    if width > 1 and width * (2 * len(table) * width + width) > Fraction(63, 50) * variance:
        raise AssertionError("the exponent of step 3 may exceed 0.63")
    return _Law(variance, width, np.array(table, dtype=np.uint64), float(1 / (2 * variance)))


@compiled
def _decide(words: Words, bounds: Words, width: int, half_precision: float, values: Ints, status: Ints) -> None:
    """Decide those candidates that 3 words each decide with certainty."""
    last = len(bounds) - 1
    mask = np.uint64(width - 1)
    one = np.uint64(1)
    for i in range(len(values)):
        u = words[i, 0]
        low, high = 0, last + 1
        while low < high:  # the first cell whose bound is above u
            middle = (low + high) >> 1
            if u < bounds[middle]:
                high = middle
            else:
                low = middle + 1
        if low > last or (low > 0 and u - bounds[low - 1] < np.uint64(2)):
            status[i] = UNDECIDED
            continue
        start = low * width
        offset = np.int64(words[i, 1] & mask)
        status[i] = ACCEPTED
        if offset:
            g = np.float64(offset) * (2.0 * np.float64(start) + np.float64(offset)) * half_precision
            p = 1.0
            for k in range(18, 0, -1):
                p = 1.0 - (g * p) / k
            v = np.float64(words[i, 2] >> one) * 2.0**-63
            if v > p - _TOLERANCE:
                status[i] = REJECTED if v > p + _TOLERANCE else UNDECIDED
        value = start + offset
        if words[i, 2] & one:
            if value == 0 and status[i] == ACCEPTED:
                status[i] = REJECTED
            value = -value
        values[i] = value


def settle(words: Words, variance: Fraction, width: int, more: Bits) -> int | None:
    """Decide one candidate exactly, extending its bits as far as needed; None means that it is rejected."""
    first, second, third = (int(word) for word in words)
    cell = _exact_cell(first, variance, width, more)
    offset = second & (width - 1)
    exponent = Fraction(offset * (2 * cell * width + offset)) / (2 * variance)
    if not exactly_below(third >> 1, 63, exponent, more):
        return None
    magnitude = cell * width + offset
    if third & 1:
        return None if magnitude == 0 else -magnitude
    return magnitude


def _exact_cell(u: int, variance: Fraction, width: int, more: Bits) -> int:
    for have in itertools.count(64, 64):
        # U lies in [u, u + 1) / 2^have.
        for cell, (low, high) in enumerate(_cells(variance, width, have + 64)):
            if (u + 1) << 64 <= low:
                return cell
            if u << 64 < high:
                break
        u = (u << 64) | more(64)
    raise AssertionError("unreachable")


def discrete_gaussian(variance: Fraction, count: int, words: MoreWords) -> Ints:
    """Draw ``count`` variates from uniform 64-bit words."""
    law = _law(variance)
    out = np.empty(count, dtype=np.int64)
    for start in range(0, count, _BLOCK):
        _fill(out[start : start + _BLOCK], law, words)
    return out


@compiled
def _pick(words: Words, bounds: Words, first: int, values: Ints, status: Ints) -> None:
    """Pick Poisson numbers by inversion, where one word each decides with certainty."""
    last = len(bounds)
    for i in range(len(values)):
        u = words[i]
        low, high = 0, last
        while low < high:  # the first number whose bound is above u
            middle = (low + high) >> 1
            if u < bounds[middle]:
                high = middle
            else:
                low = middle + 1
        before = bounds[low - 1] if low > 0 else np.uint64(0)
        status[i] = ACCEPTED if low < last and u - before >= np.uint64(2) else UNDECIDED
        values[i] = first + low


def poisson(mean: Fraction, count: int, words: MoreWords) -> Ints:
    """Draw ``count`` Poisson numbers from uniform 64-bit words; for a large mean, add up the numbers of its pieces."""
    total = np.zeros(count, dtype=np.int64)
    if not mean:
        return total
    parts, more = tables.pieces(mean), as_bits(words)
    first, bounds = _poisson_law(mean / parts)
    for _ in range(parts):
        for start in range(0, count, _BLOCK):
            out = total[start : start + _BLOCK]
            bits = words(len(out))
            values, status = np.empty(len(out), dtype=np.int64), np.empty(len(out), dtype=np.int64)
            _pick(bits, bounds, first, values, status)
            for i in np.flatnonzero(status == UNDECIDED):
                values[i] = tables.settle(int(bits[i]), mean / parts, more)
            out += values
    return total


@lru_cache(maxsize=64)
def _poisson_law(mean: Fraction) -> tuple[int, Words]:
    law = tables.table(mean)
    return law.first, np.array(law.bounds, dtype=np.uint64)


def as_bits(words: MoreWords) -> Bits:
    """Return coin flips made of uniform 64-bit words."""
    return lambda width: int.from_bytes(words(-(-width // 64)).tobytes(), "little") & ((1 << width) - 1)


@compiled
def _keep(out: Ints, waiting: Ints, values: Ints, status: Ints) -> int:
    """Store accepted values at their positions; return how many positions still wait, first in the list."""
    left = 0
    for i in range(len(values)):
        if status[i] == REJECTED:
            waiting[left] = waiting[i]
            left += 1
        else:
            out[waiting[i]] = values[i]
    return left


@compiled
def _try(words: Words, bounds: Words, width: int, half_precision: float, line: Ints, out: Ints) -> int:
    """Decide all candidates and store the accepted ones; if one is undecided, store nothing, and return -1."""
    waiting, values, status = line
    _decide(words.reshape(-1, 3), bounds, width, half_precision, values, status)
    for i in range(len(status)):
        if status[i] == UNDECIDED:
            return -1
    return _keep(out, waiting, values, status)


def _fill(out: Ints, law: _Law, words: MoreWords) -> None:
    line = np.empty((3, len(out)), dtype=np.int64)  # for each candidate: its position, its value, its status
    line[0] = np.arange(len(out))
    while line.shape[1]:
        bits = words(3 * line.shape[1])
        left = _try(bits, law.bounds, law.width, law.half_precision, line, out)
        if left < 0:
            more = as_bits(words)
            waiting, values, status = line
            for i in np.flatnonzero(status == UNDECIDED):
                settled = settle(bits[3 * i : 3 * i + 3], law.variance, law.width, more)
                values[i], status[i] = (settled, ACCEPTED) if settled is not None else (0, REJECTED)
            left = _keep(out, waiting, values, status)
        line = line[:, :left]


def choose(exponents: Sequence[int], unit: int, bits: Bits) -> int:
    """Choose like ``exact.choose``, from the same bits; floats find the indices with the smallest power of two.

    The relative error of an exponent in floats is at most 2^-51, so exponents below 2^44 units are known to 2^-7 of a
    unit. An exponent that seems more than ``_FAR`` units above the least is then more than 28 units above it.
    """
    near_to = np.asarray(exponents, dtype=np.float64)
    if len(near_to) >= _MOST_CHOICES or unit > _LARGEST_UNIT or not np.abs(near_to).max() < 2.0**44 * unit:
        return exact.choose(exponents, unit, bits)
    near = np.flatnonzero(near_to <= near_to.min() + _FAR * unit)
    few = slice(int(near[0]), int(near[-1]) + 1)
    exactly = exponents[few]
    least, most = min(exactly), int(_FAR + 1) * unit
    excess = np.array([min(exponent - least, most) for exponent in exactly], dtype=np.int64)
    powers = np.ones(len(near_to), dtype=np.int64)
    powers[few] = 1 << np.maximum(0, exact.CHOICE_BITS - exact.halvings(excess, unit))
    ends = np.cumsum(powers)
    while True:
        drawn = exact.below(int(ends[-1]), bits)
        i = int(np.searchsorted(ends, drawn, side="right"))
        rest = drawn - int(ends[i] - powers[i])
        if exactly_below(rest, exact.CHOICE_BITS, Fraction(exponents[i] - least, unit), bits):
            return i
