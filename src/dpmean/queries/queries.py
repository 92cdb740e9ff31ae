"""Public queries about rows, and the noisy sums that answer some of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# --- public queries: data, never a closure, so that any engine can run them -----------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """Count rows by their distance from ``centre``, on ``points`` rungs of the ladder of radii from ``low`` on."""

    centre: Floats
    low: int
    points: int

    size = 1
    first = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """For d = 1: count numbers by their distance above ``centre`` and below it, one line of counts for each side."""

    centre: Floats
    low: int
    points: int

    size = 2
    first = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Count pairs by the distance between row i and row i + n/2; each row is in at most one pair."""

    low: int
    points: int

    size = 1
    first = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Octaves:
    """Count pairs by the octave of their difference in each column: ``points`` octaves from 2^low on.

    A pair whose difference in a column is below 2^low is not counted there.
    """

    low: int
    points: int

    def __post_init__(self) -> None:
        if self.points < 1:
            raise ArgumentError(f"points must be at least 1, got {self.points}")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """Add up the squared differences of pairs, column by column; each pair has norm ``length``.

    The squared differences of a pair form a non-negative vector. Only its direction counts: it is scaled to norm
    ``length`` and rounded down to integers. Pairs of equal rows add nothing.
    """

    length: int

    def __post_init__(self) -> None:
        if not 0 < self.length <= 1 << 30:  # loops check the square of a norm in 64 bits
            raise ArgumentError(f"length must lie between 1 and 2^30, got {self.length}")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Count the values of each column j on its own line of points, low[j] + spacing[j] * k for k = 0, ..., last[j]."""

    low: Floats
    spacing: Floats
    last: Ints

    def __post_init__(self) -> None:
        if not len(self.low) == len(self.spacing) == len(self.last):
            raise ArgumentError("low, spacing and last must have one entry per column")
        if np.any(self.last < 0) or np.any(self.last > 1 << 52) or not np.all(self.spacing > 0):
            raise ArgumentError("every line must have at most 2^52 points and a positive spacing")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Count ``size`` rotated coordinates of rows, from ``first`` on, on a line with ``points`` points.

    A row is rounded to integers (multiples of ``step``) and rotated to ``H D row``; the points of the line are
    ``low + spacing * index``.
    """

    signs: Floats
    step: float
    first: int
    size: int
    low: float
    spacing: float
    points: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """Add up rows minus ``centre``, in integer multiples of ``unit``, clipped to norm at most ``radius`` units."""

    centre: Floats
    unit: float
    radius: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class BallSquares:
    """Add up the squared coordinates of rows minus ``centre``, clipped to norm at most ``radius`` units.

    Rows are clipped as for a ``Ball``; the squares are then divided by 2^shift and rounded down, so that the total fits
    in 64 bits. The squares of one row add up to at most ``length``.
    """

    centre: Floats
    unit: float
    radius: int
    shift: int

    def __post_init__(self) -> None:
        if not 0 < self.radius < 1 << 30 or not 0 <= self.shift < 62:
            raise ArgumentError(
                f"radius must be below 2^30 and shift from 0 to 61, got radius={self.radius}, shift={self.shift}"
            )

    @property
    def length(self) -> int:
        """The largest sum of the squares of one row."""
        return self.radius**2 >> self.shift

    @property
    def square_unit(self) -> float:
        """The value of one unit of the sum, in squared units of the rows."""
        return self.unit * self.unit * 2.0**self.shift


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shells:
    """Add up rows between concentric balls: ``radii`` in integer multiples of ``unit``, the largest first.

    Where a row is reduced to its direction, the integer ``length`` represents norm 1.
    """

    centre: Floats
    unit: float
    radii: tuple[int, ...]
    length: int
    slack: int = 0
    """A row that counts as outside of a ball may be shorter than its radius by this many units."""

    def __post_init__(self) -> None:
        if any(inner > outer for outer, inner in pairwise(self.radii)) or self.radii[-1] < 0 or self.slack < 0:
            raise ArgumentError("radii must be in descending order, and radii and slack must not be negative")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Count rows by their distance from ``centre`` and add them up bin by bin, so that one pass serves every radius.

    Counts are those of ``distances``. Bin b holds the rows that fit in no smaller bin: in the bin's own unit
    2^exponents[b], their norm is at most radii[b]. The radii grow by a constant factor, from rung ``first`` of the
    ladder on. Where a row is reduced to its direction, the integer ``length`` represents norm 1.
    """

    distances: Distances
    first: int
    radii: tuple[int, ...]
    exponents: tuple[int, ...]
    length: int

    stride = 4
    """The number of rungs of the ladder from one bin to the next."""

    @property
    def centre(self) -> Floats:
        """The point from which distances are measured."""
        return self.distances.centre

    def at(self, rung: int) -> int:
        """Return the smallest bin whose radius is at or above a rung of the ladder."""
        return min(max(-((self.first - rung) // self.stride), 0), len(self.radii) - 1)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """Count, for each column, the rows with a finite value in it, and, as the last number, the complete rows.

    Every row adds 0 or 1 to each of these numbers.
    """


Radial = Distances | Sides | Pairs
PairQuery = Pairs | Octaves | Squares
View = Radial | Coordinates | Columns
Query = View | Octaves | Squares | Ball | BallSquares | Shells | Bins | Present
Question = Distances | Sides | Ball | Shells | Bins | Present
"""Queries that are sums over single rows: the only ones that an engine must answer for rows outside of memory."""


# --- private answers ------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class VectorSum:
    """A noisy sum over rows in integer multiples of ``unit``, and the variance of the noise in those units."""

    total: Ints
    unit: float
    variance: Fraction

    def times(self, scale: float) -> Floats:
        """Return the sum as floats, times ``scale``."""
        return np.asarray(self.total * scale, dtype=np.float64)
