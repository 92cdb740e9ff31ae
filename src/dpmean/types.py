"""The parts that combine: where rows live, what may be asked of them, who is trusted, where noise comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpmean.budget import Zcdp
from dpmean.found import Found
from dpmean.receipt import Receipt

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# --- what is asked: public data, never a closure, so that any engine can run it ------------------------------


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


# --- where rows live -----------------------------------------------------------------------------------------


class Tally(Protocol):
    """Exact counts, for a trust model's eyes only: one row changes each of them by at most one."""

    def count_at_most(self, index: Ints) -> Ints:
        """For each of the view's values, count the rows at or below the point with that index."""
        ...


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


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShellSums:
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


class Rows(Protocol):
    """Rows in some engine. All verbs return exact whole numbers, whatever the blocks, threads or order."""

    @property
    def n(self) -> int:
        """How many rows there are (public)."""
        ...

    @property
    def d(self) -> int:
        """How many coordinates a row has."""
        ...

    def tally(self, view: View) -> Tally:
        """Prepare to count rows by where a view puts them."""
        ...

    def histogram(self, view: Radial) -> Histogram:
        """Count rows, or pairs of rows, by their distance."""
        ...

    def add_up(self, ball: Ball) -> Ints:
        """Add up the clipped rows."""
        ...

    def add_up_shells(self, shells: Shells) -> ShellSums:
        """Add up rows and their directions, shell by shell: enough to clip them at any of the radii afterwards."""
        ...

    def add_up_bins(self, bins: Bins) -> BinSums:
        """Count rows by their distance and add them up, and their directions, bin by bin, in one pass."""
        ...

    def take(self, positions: Ints) -> Rows:
        """Return the rows at the given public positions, where they can be read again and again."""
        ...

    def held(self) -> Rows:
        """Return all rows where they can be read again and again: for few rows, that need many questions."""
        ...


# --- where noise comes from ----------------------------------------------------------------------------------


class Sampler(Protocol):
    """Exact random variates for one step of a mechanism."""

    def gaussian(self, variance: Fraction, count: int) -> Ints:
        """Draw from the discrete Gaussian: probability proportional to ``exp(-x^2 / (2 variance))``."""
        ...

    def poisson(self, mean: Fraction, count: int) -> Ints:
        """Draw Poisson numbers: probability ``exp(-mean) mean^x / x!``."""
        ...

    def choose(self, exponents: Sequence[int], unit: int) -> int:
        """Choose an index i with probability proportional to ``exp(-exponents[i] / unit)``."""
        ...

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw uniform whole numbers below 2^64."""
        ...


class Noise(Protocol):
    """A source of private randomness; a seeded one is a function of (seed, step, index) alone."""

    @property
    def seeded(self) -> bool:
        """Whether the noise can be computed by others."""
        ...

    def at(self, step: str, start: int = 0) -> Sampler:
        """Return the sampler of a named step, from variate number ``start`` on."""
        ...


# --- who is trusted ------------------------------------------------------------------------------------------


class RankCounter(Protocol):
    """Noisy counts, already paid for (NoisyRC in the paper), for ``size`` values at once."""

    size: int
    points: int
    questions: int
    noise_std: float

    def count_at_most(self, index: Ints) -> Ints:
        """Answer one of the paid questions: the number of rows at or below each point, with noise."""
        ...


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


class TrustModel(Protocol):
    """Two private operations, and the rules that go with them: all that an estimator needs to know about trust."""

    name: str

    def divide(self, budget: Zcdp, *shares: int) -> Sequence[Zcdp]:
        """Split a budget in proportion to ``shares``."""
        ...

    def open_counter(
        self, rows: Rows, view: View, budget: Zcdp, noise: Noise, step: str
    ) -> tuple[RankCounter, Receipt]:
        """Pay for one binary search per value of the view."""
        ...

    def bounded_sum(self, rows: Rows, ball: Ball, budget: Zcdp, noise: Noise, step: str) -> tuple[VectorSum, Receipt]:
        """Pay for the sum of all rows, each clipped to the ball."""
        ...

    def count_std(self, points: int, size: int, budget: Zcdp) -> float:
        """Return the standard deviation of the noise on the counts of ``open_counter``, before anything is asked."""
        ...

    def rows_to_clip(self, d: int, budget: Zcdp) -> float:
        """How many rows are best clipped: the balance of bias and noise (section 3.1)."""
        ...


# --- what comes out ------------------------------------------------------------------------------------------


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


class Estimator(Protocol):
    """Asks its questions in its order; ours and every baseline."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def __call__(self, rows: Rows, budget: Zcdp, noise: Noise) -> Estimate:
        """Estimate the mean of the rows within the budget."""
        ...
