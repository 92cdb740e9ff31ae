"""Rows whose number is private: a noisy count is public in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final, overload

from dpmean.errors import ArgumentError
from dpmean.queries.domain import Domain
from dpmean.queries.interfaces import Noise, Rows
from dpmean.queries.queries import (
    Ball,
    BallSquares,
    Bins,
    Columns,
    Coordinates,
    Distances,
    Ints,
    Octaves,
    PairQuery,
    Pairs,
    Present,
    Query,
    Radial,
    Shells,
    Sides,
    Squares,
)
from dpmean.queries.totals import BinSums, Histogram, ShellSums, Tally, Total
from dpmean.rows.permutation import draw_order, draw_sample


@final
@dataclass(frozen=True, slots=True, eq=False)
class PrivateSizeRows:
    """A wrapper around about ``n`` rows; adding or removing one row changes every answer by at most its contribution.

    A count of rows at or below a point is returned as ``n`` minus the exact number of rows beyond the point. So the
    last count, of all rows, is public.
    """

    rows: Rows
    n: int
    noise: Noise
    depth: int = 0
    """0 for all rows, 1 for a sample of them, 2 for a sample of a sample, and so on."""

    @property
    def d(self) -> int:
        """The number of coordinates of a row."""
        return self.rows.d

    @property
    def domain(self) -> Domain:
        """The domain that is applied to the rows."""
        return self.rows.domain

    def through(self, domain: Domain) -> PrivateSizeRows:
        """Return the same rows with another domain."""
        return replace(self, rows=self.rows.through(domain))

    def take(self, positions: Ints) -> PrivateSizeRows:
        """Return a sample of about as many rows as there are positions, in a secret random order.

        Public positions cannot be used: one additional row would shift the positions of all others. So each row is
        sampled independently, and the sample is put in a random order; both are secret. A sample of a sample uses
        randomness of its own.
        """
        share, which = Fraction(len(positions), max(self.n, 1)), f" {self.depth + 1}" if self.depth else ""
        taken = draw_sample(self.rows.n, share, self.noise, f"places{which}")
        order = draw_order(len(taken), self.noise, f"order{which}")
        return replace(self, rows=self.rows.take(taken[order]), n=len(positions), depth=self.depth + 1)

    def collect(self) -> PrivateSizeRows:
        """Return all rows in memory or on their device."""
        return replace(self, rows=self.rows.collect())

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
    def answer(self, query: Query) -> Total:
        """Return the exact answer to a query, with the public number of rows in place of the private one.

        Pairs are formed in samples only: in a public order, one additional row would change all pairs.
        """
        if not self.depth and isinstance(query, PairQuery):
            raise ArgumentError("where the number of rows is private, pairs are formed in a sample: take one first")
        match query:
            case Distances() | Sides():
                return _ending_at(self.n, self.rows.answer(query))
            case Pairs():
                return _ending_at(self.n // 2, self.rows.answer(query))
            case Bins():
                found = self.rows.answer(query)
                return replace(found, histogram=_ending_at(self.n, found.histogram))
            case Coordinates() | Columns() | Octaves() | Squares() | Ball() | BallSquares() | Shells() | Present():
                return self.rows.answer(query)


def _ending_at(public: int, histogram: Histogram) -> Histogram:
    """Shift the counts so that the last one is the public number of rows."""
    return Histogram(histogram.counts - histogram.counts[:, -1:] + public)
