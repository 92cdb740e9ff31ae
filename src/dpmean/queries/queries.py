"""What goes from part to part: public questions one way, exact totals and private answers the other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.privacy.receipts import Receipt
from dpmean.release.diagnostics import Found

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# --- public questions: data, never a closure, so that any engine can run them -----------------------------------


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


Radial = Distances | Sides | Pairs
View = Radial | Coordinates
Question = Distances | Sides | Ball | Shells | Bins
"""What is answered by a sum over rows, one by one: all that an engine must be able to ask of rows it does not hold."""


# --- exact totals, for a trust model's eyes only ---------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Exact cumulative counts on the ladder, for a trust model's eyes only: a line per value of the view.

    Replacing one row moves the counts of a line by 0 or +1, all of them, or by 0 or -1, all of them. There is one
    count for every point, and a last one, n, for what lies beyond.
    """

    counts: Ints

    @property
    def points(self) -> int:
        """How many points there are (public)."""
        return int(self.counts.shape[1]) - 1

    def count_at_most(self, index: Ints) -> Ints:
        """For each of the view's values, count the rows at or below the point with that index."""
        found: Ints = self.counts[np.arange(len(self.counts)), index]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ShellSums:  # not final: those of a device may still be on their way
    """Exact sums by shell, for a trust model's eyes only; shell s lies within the s largest balls and no other.

    ``inner[s]`` adds up the rows of shell s, ``outer[s]`` their directions. Of shell 0, outside all balls, only the
    directions are there; of the last one, inside all of them, only the rows.
    """

    inner: Ints
    outer: Ints
    fine: int = 0
    """The rows of ``inner`` are in units 2^fine times smaller than those of the shells, in unbounded whole numbers."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class BinSums:
    """Exact counts, and exact sums by bin, of rows and of their directions, for a trust model's eyes only."""

    histogram: Histogram
    inner: Ints
    outer: Ints


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


@final
@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A private mean in the working units of the estimator, before it is put back into the user's."""

    mean: Floats
    noise_std: float
    centre: Floats
    radius: float
    receipts: tuple[Receipt, ...]
    found: Found | None = None
    moved: Floats | None = None
    """How far the mean is from what the rows were measured around, if that is not the centre."""
    note: str = ""
    """What went wrong on the way, as far as others may know."""
    radius_unit: str = ""
    """Said after the radius, if it is not in working units."""
