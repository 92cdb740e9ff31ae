"""Rows whose number is private: what everybody may know in its place is a noisy count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final, overload

from dpmean.queries.domain import Domain
from dpmean.queries.interfaces import Noise, Rows
from dpmean.queries.queries import (
    Ball,
    Bins,
    Columns,
    Coordinates,
    Distances,
    Ints,
    Octaves,
    Pairs,
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
        not, whatever becomes of others, and put in its place by coins that are never shown.
        """
        taken = sampled(self.rows.n, Fraction(len(positions), self.n), self.noise, "places")
        order = shuffled(len(taken), self.noise, "order")
        return replace(self, rows=self.rows.take(taken[order]), n=len(positions))

    def held(self) -> PrivateSizeRows:
        """Return all rows where they can be read again and again."""
        return replace(self, rows=self.rows.held())

    @overload
    def answer(self, query: Radial) -> Histogram: ...
    @overload
    def answer(self, query: Coordinates | Columns) -> Tally: ...
    @overload
    def answer(self, query: Ball | Octaves | Squares) -> Ints: ...
    @overload
    def answer(self, query: Shells) -> ShellSums: ...
    @overload
    def answer(self, query: Bins) -> BinSums: ...
    def answer(self, query: Query) -> Total:
        """Return the exact total that a query asks for, with the public number in place of the private one."""
        match query:
            case Distances() | Sides():
                return _ending_at(self.n, self.rows.answer(query))
            case Pairs():
                return _ending_at(self.n // 2, self.rows.answer(query))
            case Bins():
                found = self.rows.answer(query)
                return replace(found, histogram=_ending_at(self.n, found.histogram))
            case Coordinates() | Columns() | Octaves() | Squares() | Ball() | Shells():
                return self.rows.answer(query)


def _ending_at(public: int, histogram: Histogram) -> Histogram:
    """Let the last count, which everybody may know, be the public number."""
    return Histogram(histogram.counts - histogram.counts[:, -1:] + public)
