"""The interfaces between engines, noise, trust models and estimators."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from dpmean.queries.domain import Domain
from dpmean.queries.queries import (
    Ball,
    BallSquares,
    Bins,
    Columns,
    Coordinates,
    Ints,
    Octaves,
    Present,
    Radial,
    Shells,
    Squares,
)
from dpmean.queries.totals import BinSums, Histogram, ShellSums, Tally


class Rows(Protocol):
    """Rows in an engine, which answer every query with an exact total.

    A total consists of integers, and does not depend on blocks, threads or order: counts by distance for a radial view,
    counts on demand for coordinates, the sum of the clipped rows for a ball, sums of rows and of their directions for
    shells, and both counts and sums for bins.
    """

    @property
    def n(self) -> int:
        """The number of rows (public)."""
        ...

    @property
    def d(self) -> int:
        """The number of coordinates of a row."""
        ...

    @property
    def domain(self) -> Domain:
        """The domain that is applied to the rows (public)."""
        ...

    @overload
    def answer(self, query: Radial) -> Histogram: ...
    @overload
    def answer(self, query: Coordinates | Columns) -> Tally: ...
    @overload
    def answer(self, query: Ball | BallSquares | Octaves | Squares | Present) -> Ints: ...
    @overload
    def answer(self, query: Shells) -> ShellSums: ...
    @overload
    def answer(self, query: Bins) -> BinSums: ...

    def through(self, domain: Domain) -> Rows:
        """Return the same rows with another domain."""
        ...

    def take(self, positions: Ints) -> Rows:
        """Return the rows at the given public positions, in memory or on their device."""
        ...

    def collect(self) -> Rows:
        """Return all rows in memory or on their device: for few rows that answer many queries."""
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
        """Draw uniform integers below 2^64."""
        ...


class Noise(Protocol):
    """A source of private randomness; a seeded one is a function of (seed, step, index) only."""

    @property
    def seeded(self) -> bool:
        """Whether others who know the seed can compute the noise."""
        ...

    def at(self, step: str, start: int = 0) -> Sampler:
        """Return the sampler of a named step, beginning at variate number ``start``."""
        ...


class RankCounter(Protocol):
    """Noisy counts that are already paid for (NoisyRC in the paper), for ``size`` values at once."""

    size: int
    points: int
    questions: int
    noise_std: float

    def count_at_most(self, index: Ints) -> Ints:
        """Return the noisy number of rows at or below each point; this uses one of the paid queries."""
        ...
