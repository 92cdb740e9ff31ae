"""What goes from part to part: public queries one way, private answers the other."""

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
    """How far is a row from ``centre``? Counted on the ladder of radii, from index ``low``, ``points`` of them."""

    centre: Floats
    low: int
    points: int

    size = 1
    first = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """How far is a number above ``centre``, and how far below? For d = 1: one line of counts for each side."""

    centre: Floats
    low: int
    points: int

    size = 2
    first = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """How far apart are row i and row i + n/2? A row is in one pair at most, so it changes one distance at most."""

    low: int
    points: int

    size = 1
    first = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Octaves:
    """By how much do rows of a pair differ in each column? Counted by octaves, from 2^low on, ``points`` of them.

    A pair whose difference in a column is below 2^low is not counted there.
    """

    low: int
    points: int

    def __post_init__(self) -> None:
        if self.points < 1:
            raise ArgumentError("there must be an octave to count pairs in")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """How do the squares of differences in pairs divide among the columns? Added up, each pair with norm ``length``.

    The squares of a pair are a vector without negative entries. Of each pair only its direction counts, rounded down
    to integers of norm at most ``length``; rows that are equal do not count.
    """

    length: int

    def __post_init__(self) -> None:
        if not 0 < self.length <= 1 << 30:  # loops check the square of a norm in 64 bits
            raise ArgumentError(f"the length of squares must lie between 1 and 2^30, got {self.length}")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Where are the values of each column? Counted on a line of its own: ``last[j] + 1`` points at low + spacing k."""

    low: Floats
    spacing: Floats
    last: Ints

    def __post_init__(self) -> None:
        if not len(self.low) == len(self.spacing) == len(self.last):
            raise ArgumentError("every column needs a line of its own")
        if np.any(self.last < 0) or np.any(self.last > 1 << 52) or not np.all(self.spacing > 0):
            raise ArgumentError("lines must have 2^52 points at most, a positive distance apart")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Where are ``size`` rotated coordinates of a row, from ``first`` on? Counted on a line of ``points``.

    A row becomes whole numbers (multiples of ``step``), then ``H D row``; the line has its points at
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
    """Rows minus ``centre``, in whole multiples of ``unit``, clipped to norm at most ``radius`` units."""

    centre: Floats
    unit: float
    radius: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class BallSquares:
    """The square of each coordinate of the rows minus ``centre``, clipped to norm at most ``radius`` units.

    A row is clipped as for a ``Ball``; its squares are then divided by 2^shift and rounded down, so that all of them
    add up in 64 bits. Those of one row add up to ``length`` at most.
    """

    centre: Floats
    unit: float
    radius: int
    shift: int

    def __post_init__(self) -> None:
        if not 0 < self.radius < 1 << 30 or not 0 <= self.shift < 62:
            raise ArgumentError(f"a ball of squares has a radius below 2^30 units, got {self.radius}, {self.shift}")

    @property
    def length(self) -> int:
        """What the squares of one row add up to at most."""
        return self.radius**2 >> self.shift

    @property
    def square_unit(self) -> float:
        """What one stands for, in the square of the unit of rows."""
        return self.unit * self.unit * 2.0**self.shift


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shells:
    """Balls around one ``centre``, the largest first: ``radii`` in whole multiples of ``unit``.

    ``length`` is the norm, a whole number, that stands for one where a row is reduced to its direction.
    """

    centre: Floats
    unit: float
    radii: tuple[int, ...]
    length: int
    slack: int = 0
    """By so many units a row that counts as outside a ball may be shorter than its radius."""

    def __post_init__(self) -> None:
        if any(inner > outer for outer, inner in pairwise(self.radii)) or self.radii[-1] < 0 or self.slack < 0:
            raise ArgumentError("radii of shells must not grow, and neither they nor the slack may be negative")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Rows by their distance from ``centre``, so that one pass serves every radius: counts, and sums bin by bin.

    Counts are those of ``distances``. Bin b is for rows that no smaller bin has room for, in a unit of its own,
    2^exponents[b], in which they have norm at most radii[b]; radii grow by the same factor from rung ``first`` of
    the ladder on. ``length`` is the norm, a whole number, that stands for one where a row is reduced to its direction.
    """

    distances: Distances
    first: int
    radii: tuple[int, ...]
    exponents: tuple[int, ...]
    length: int

    stride = 4
    """From one bin to the next, in rungs of the ladder."""

    @property
    def centre(self) -> Floats:
        """Where distances begin."""
        return self.distances.centre

    def at(self, rung: int) -> int:
        """Return the smallest bin whose radius is not below a rung of the ladder."""
        return min(max(-((self.first - rung) // self.stride), 0), len(self.radii) - 1)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """Which values are there? How many rows have one in each column, and, as the last number, how many rows count.

    Every row adds a zero or a one to each of these numbers.
    """


Radial = Distances | Sides | Pairs
PairQuery = Pairs | Octaves | Squares
View = Radial | Coordinates | Columns
Query = View | Octaves | Squares | Ball | BallSquares | Shells | Bins | Present
Question = Distances | Sides | Ball | Shells | Bins | Present
"""What is answered by a sum over rows, one by one: all that an engine must be able to ask of rows it does not hold."""


# --- private answers ------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class VectorSum:
    """A noisy sum over rows in whole multiples of ``unit``, and the variance of the noise in those units."""

    total: Ints
    unit: float
    variance: Fraction

    def times(self, scale: float) -> Floats:
        """Return the sum in floats, scaled."""
        return np.asarray(self.total * scale, dtype=np.float64)
