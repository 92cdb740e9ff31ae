"""The parts that combine: where rows live, where noise comes from, who is trusted, what is asked in which order."""

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
    """Rows in some engine, which answer every query by an exact total.

    A total is made of integers, whatever the blocks, threads or order: counts by distance for a radial view, counts on
    demand for coordinates, the sum of the clipped rows for a ball, sums of rows and of their directions for shells, and
    both counts and sums for bins.
    """

    @property
    def n(self) -> int:
        """How many rows there are (public)."""
        ...

    @property
    def d(self) -> int:
        """How many coordinates a row has."""
        ...

    @property
    def domain(self) -> Domain:
        """Through what the rows are seen (public)."""
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
        """Return the same rows, seen through another domain."""
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
