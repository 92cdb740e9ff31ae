"""Rows that count how often they are read, so that a release can report it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

from dpmean.queries.domain import Domain
from dpmean.queries.interfaces import Rows
from dpmean.queries.queries import Ints, Query


@final
@dataclass(slots=True)
class Reads:
    """The number of passes over all rows, and of rows that were read by their position."""

    passes: int = 0
    sampled: int = 0


@final
@dataclass(frozen=True, slots=True, eq=False)
class PassCounter:
    """A wrapper around rows that counts how often they were read, with any domain."""

    rows: Rows
    reads: Reads = field(default_factory=Reads)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.rows.n

    @property
    def d(self) -> int:
        """The number of coordinates of a row."""
        return self.rows.d

    @property
    def domain(self) -> Domain:
        """The domain that is applied to the rows."""
        return self.rows.domain

    @property
    def passes(self) -> int:
        """The number of passes over all rows."""
        return self.reads.passes

    @property
    def sampled(self) -> int:
        """The number of rows that were read by their position."""
        return self.reads.sampled

    def through(self, domain: Domain) -> PassCounter:
        """Return the same rows with another domain; reading them is counted here, too."""
        return replace(self, rows=self.rows.through(domain))

    def take(self, positions: Ints) -> Rows:
        """Return the rows at the given positions; reading these is not counted."""
        self.reads.sampled += len(positions)
        return self.rows.take(positions)

    def collect(self) -> Rows:
        """Return all rows in memory or on their device; reading these is not counted."""
        self.reads.passes += 1
        return self.rows.collect()

    def answer(self, query: Query) -> Any:
        """Return the answer of the wrapped rows, which takes one pass over all of them."""
        self.reads.passes += 1
        return self.rows.answer(query)
