"""Rows whose number is private: what everybody may know in its place is a noisy count."""

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
from dpmean.rows.permutation import sampled, shuffled


@final
@dataclass(frozen=True, slots=True, eq=False)
class PrivateSizeRows:
    """Other rows, of which there are about ``n``; one row more or less changes every answer by one row at most.

    Counts at or below a point are told as ``n`` minus the exact number beyond it, so that the last one, all rows, is
    public.
    """

    rows: Rows
    n: int
    noise: Noise
    depth: int = 0
    """These are all rows, a sample of them, a sample of a sample, ..."""

    @property
    def d(self) -> int:
        """How many coordinates a row has."""
        return self.rows.d

    @property
    def domain(self) -> Domain:
        """Through what the rows are seen."""
        return self.rows.domain

    def through(self, domain: Domain) -> PrivateSizeRows:
        """Return the same rows, seen through another domain."""
        return replace(self, rows=self.rows.through(domain))

    def take(self, positions: Ints) -> PrivateSizeRows:
        """Return about as many rows as there are positions, in an order that nobody knows.

        A position among ``n`` rows means nothing where one row more would shift all others. So each row is taken or
        not, whatever becomes of others, and put in its place by coins that are never shown. A sample of a sample has
        coins of its own.
        """
        share, which = Fraction(len(positions), max(self.n, 1)), f" {self.depth + 1}" if self.depth else ""
        taken = sampled(self.rows.n, share, self.noise, f"places{which}")
        order = shuffled(len(taken), self.noise, f"order{which}")
        return replace(self, rows=self.rows.take(taken[order]), n=len(positions), depth=self.depth + 1)

    def held(self) -> PrivateSizeRows:
        """Return all rows where they can be read again and again."""
        return replace(self, rows=self.rows.held())

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
        """Return the exact total that a query asks for, with the public number in place of the private one.

        Pairs are made of samples alone: in an order that is known, one row more would change all of them.
        """
        if not self.depth and isinstance(query, PairQuery):
            raise ArgumentError("where the number of rows is private, ask a sample about pairs: take one first")
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
    """Let the last count, which everybody may know, be the public number."""
    return Histogram(histogram.counts - histogram.counts[:, -1:] + public)
