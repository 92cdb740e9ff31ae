"""Rows that count how often they are read, so that a release can tell."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

from dpmean.queries.domain import Domain
from dpmean.queries.interfaces import Rows
from dpmean.queries.queries import Ints, Query


@final
@dataclass(slots=True)
class Reads:
    """How often all rows were read, and how many were read by their position."""

    passes: int = 0
    sampled: int = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class PassCounter:
    """Other rows, and how they were read so far, through whatever domain."""

    rows: Rows
    reads: Reads = field(default_factory=Reads)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.rows.n

    @property
    def d(self) -> int:
        """How many coordinates a row has."""
        return self.rows.d

    @property
    def domain(self) -> Domain:
        """Through what the rows are seen."""
        return self.rows.domain

    @property
    def passes(self) -> int:
        """How often all rows were read."""
        return self.reads.passes

    @property
    def sampled(self) -> int:
        """How many rows were read by their position."""
        return self.reads.sampled

    def through(self, domain: Domain) -> PassCounter:
        """Return the same rows, seen through another domain; what is asked of those counts here, too."""
        return replace(self, rows=self.rows.through(domain))

    def take(self, positions: Ints) -> Rows:
        """Return the rows at the given positions; what is asked of those does not count."""
        self.reads.sampled += len(positions)
        return self.rows.take(positions)

    def held(self) -> Rows:
        """Return all rows where they can be read again and again; what is asked of those does not count."""
        self.reads.passes += 1
        return self.rows.held()

    def answer(self, query: Query) -> Any:
        """Return the answer of the other rows, which read all of them once for it."""
        self.reads.passes += 1
        return self.rows.answer(query)
