"""The parts that combine: where rows live, where noise comes from, who is trusted, what is asked in which order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import Trust
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.receipts import Receipt
from dpmean.queries.queries import (
    Ball,
    Bins,
    BinSums,
    Estimate,
    Histogram,
    Ints,
    Radial,
    Shells,
    ShellSums,
    VectorSum,
    View,
)


class Tally(Protocol):
    """Exact counts, for a trust model's eyes only: one row changes each of them by at most one."""

    def count_at_most(self, index: Ints) -> Ints:
        """For each of the view's values, count the rows at or below the point with that index."""
        ...


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


class RankCounter(Protocol):
    """Noisy counts, already paid for (NoisyRC in the paper), for ``size`` values at once."""

    size: int
    points: int
    questions: int
    noise_std: float

    def count_at_most(self, index: Ints) -> Ints:
        """Answer one of the paid questions: the number of rows at or below each point, with noise."""
        ...


class TrustModel(Protocol):
    """Two private operations, and the rules that go with them: all that an estimator needs to know about trust."""

    @property
    def name(self) -> Trust:
        """Which one it is."""
        ...

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


class Estimator(Protocol):
    """Asks its questions in its order; ours and every baseline."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def __call__(self, rows: Rows, budget: Zcdp, noise: Noise) -> Estimate:
        """Estimate the mean of the rows within the budget."""
        ...
