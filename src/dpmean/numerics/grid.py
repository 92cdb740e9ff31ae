"""From real numbers to integers: the grid of the data, the ladder of radii, and the number of bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.queries.queries import Ball, BallSquares, Bins, Distances, Floats, Ints, Pairs, Shells, Sides

RADII_PER_OCTAVE = 64  # a power of two; cached kernels contain it: touch rows/numba_kernels.py when it changes
SQUARE_BITS = 32
"""The largest number of bits of the sum of squares of one row, so that its noise fits in 64 bits at any budget."""
_EXACT = 2.0**52  # integers up to here, and their sums, are exact in a float


def power_of_two_at_most(x: float) -> float:
    """Return the largest power of two at or below x."""
    return math.ldexp(1.0, math.frexp(x)[1] - 1)


def format_power(power: float) -> str:
    """Return a power of two as a Python expression."""
    return f"2.0**{math.frexp(power)[1] - 1}"


def padded(d: int) -> int:
    """Return the smallest power of two at or above d (remark 3.1)."""
    return 1 << (d - 1).bit_length()


def finest_step(reach: float, d: int) -> float:
    """Return the smallest step, a power of two, for which rotated rows are exact integers."""
    return 2 * power_of_two_at_most(reach * math.sqrt(padded(d)) / _EXACT)


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of multiples of ``step``, a power of two, for rows of norm at most ``reach`` (remark 3.2)."""

    step: float
    reach: float
    d: int

    def __post_init__(self) -> None:
        finest = finest_step(self.reach, self.d)
        if self.step < finest:
            raise ArgumentError(
                f"step {format_power(self.step)} is too fine for d={self.d} and a reach of {self.reach:.3g}: "
                f"raise it to at least {format_power(finest)}"
            )
        if self.step * math.sqrt(self.d) > self.reach:
            raise ArgumentError(
                f"step {format_power(self.step)} is too coarse for d={self.d} and a reach of {self.reach:.3g}: "
                f"lower it to {format_power(power_of_two_at_most(self.reach / math.sqrt(self.d)))} or less"
            )

    @staticmethod
    def at_least(step: float, reach: float, d: int) -> Grid:
        """Return a grid with the largest power of two up to ``step``, or the finest one that arithmetic allows."""
        fine = max(power_of_two_at_most(step), finest_step(reach, d))
        return Grid(min(fine, power_of_two_at_most(reach / math.sqrt(d))), reach, d)

    def round(self, values: Floats) -> Floats:
        """Round to the nearest multiples of the step."""
        return np.rint(values / self.step) * self.step

    def distances(self, centre: Floats) -> Distances:
        """Return the query for distances from the centre, from the grid's resolution to the largest distance."""
        return Distances(centre=centre, low=self.lowest, points=self._points(float(np.linalg.norm(centre))))

    def sides(self, centre: Floats) -> Sides:
        """Return the query for distances above and below the centre, for d = 1."""
        return Sides(centre=centre, low=self.lowest, points=self._points(float(np.linalg.norm(centre))))

    def pairs(self) -> Pairs:
        """Return the query for distances in pairs; its ladder begins half an octave above the others."""
        return Pairs(low=self.lowest + RADII_PER_OCTAVE // 2, points=self._points(self.reach))

    @property
    def lowest(self) -> int:
        """The first rung of the ladder: the grid's resolution."""
        return radius_index(self.step * math.sqrt(self.d) / 2)

    def _points(self, length: float) -> int:
        return radius_index(self.reach + length) - self.lowest + 1

    def ball(self, centre: Floats, radius: float) -> Ball:
        """Return the ball of a radius in the finest unit that integer arithmetic allows."""
        unit = power_of_two_at_most(radius) / 2.0 ** (norm_bits(self.d) - 2)
        return Ball(centre=centre, unit=unit, radius=int(radius / unit))

    def ball_squares(self, centre: Floats, radius: float, n: int) -> BallSquares:
        """Return the query for squares of n rows in a ball, in a unit in which their sum fits in 64 bits."""
        ball = self.ball(centre, radius)
        bits = min(SQUARE_BITS, 61 - n.bit_length())
        return BallSquares(centre, ball.unit, ball.radius, max(2 * ball.radius.bit_length() - bits, 0))

    def shells(self, centre: Floats, radii: Sequence[float], n: int) -> Shells:
        """Return balls of the given radii, the largest first, for n rows.

        Directions have 12 bits more than rows. The unit is coarse enough that n directions add up to less than 2^62.
        """
        room = 62 - n.bit_length()
        bits = min(norm_bits(self.d) - 1, room - 12)
        unit = 2 * power_of_two_at_most(radii[0]) / 2.0**bits
        wholes = tuple(int(radius / unit) for radius in radii)
        length = 1 << (bits + 12)
        if length // max(wholes[-1], 1) >= 1 << 31:  # a kernel multiplies rows by this
            raise ArgumentError(
                f"the smallest radius, {radii[-1]:.3g}, is too small for the largest one, {radii[0]:.3g}"
            )
        return Shells(centre, unit, wholes, length)

    def bins(self, centre: Floats, least: float, n: int) -> Bins:
        """Return bins for n rows, from the radius ``least`` to the largest distance.

        In its own unit, each radius is an integer between half of 2^bits and 2^bits.
        """
        distances = self.distances(centre)
        first = max(radius_index(least), self.lowest)
        count = -(-(self.lowest + distances.points - first) // Bins.stride) + 1
        bits = min(norm_bits(self.d) - 1, 62 - n.bit_length() - 12)
        if bits < 12:
            raise ArgumentError(f"one pass is not precise enough for n={n} and d={self.d}: give passes=2")
        edges = [radius_at(first + Bins.stride * b) for b in range(max(count, 1))]
        exponents = tuple(math.frexp(edge)[1] - bits for edge in edges)
        radii = tuple(int(math.ldexp(edge, -e)) for edge, e in zip(edges, exponents, strict=True))
        return Bins(distances, first, radii, exponents, 1 << (bits + 12))


def norm_bits(d: int) -> int:
    """Return the largest number of bits per coordinate, at most 30, for which d squares add up to less than 2^62."""
    return min(30, (62 - (d - 1).bit_length()) // 2)


def radius_index(radius: float) -> int:
    """Return the first rung of the ladder of radii at or above ``radius``."""
    return math.ceil(math.log2(radius) * RADII_PER_OCTAVE - 1e-9)


def radius_at(index: int) -> float:
    """Return rung ``index`` of the ladder of radii, ``2^(index / 64)``."""
    octave, rung = divmod(index, RADII_PER_OCTAVE)
    return math.ldexp(2.0 ** (rung / RADII_PER_OCTAVE), octave)


def squared_rungs() -> Ints:
    """Return the squares of the rungs of one octave, ``4^(rung / 64)``, as integer multiples of 2^-60."""
    wholes = [1 << (60 * RADII_PER_OCTAVE + 2 * rung) for rung in range(RADII_PER_OCTAVE)]
    for _ in range(RADII_PER_OCTAVE.bit_length() - 1):
        wholes = [math.isqrt(whole) for whole in wholes]
    return np.array(wholes, dtype=np.int64)
