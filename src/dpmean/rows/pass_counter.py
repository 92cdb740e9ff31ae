"""Rows that count how often they are read, so that a release can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from dpmean.queries.interfaces import Rows
from dpmean.queries.queries import Ints, Query


@final
@dataclass(slots=True, eq=False)
class PassCounter:
    """Other rows, and how often all of them were read, and how many were read by their position."""

    rows: Rows
    passes: int = 0
    sampled: int = 0

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.rows.n

    @property
    def d(self) -> int:
        """How many coordinates a row has."""
        return self.rows.d

    def take(self, positions: Ints) -> Rows:
        """Return the rows at the given positions; what is asked of those does not count."""
        self.sampled += len(positions)
        return self.rows.take(positions)

    def held(self) -> Rows:
        """Return all rows where they can be read again and again; what is asked of those does not count."""
        self.passes += 1
        return self.rows.held()

    def answer(self, query: Query) -> Any:
        """Return the answer of the other rows, which read all of them once for it."""
        self.passes += 1
        return self.rows.answer(query)

    @property
    def domain(self):
        return self.rows.domain

    def through(self, domain):
        return _View(self, self.rows.through(domain))


class _View:
    def __init__(self, counter, rows):
        self.counter, self.rows = counter, rows
        self.n, self.d, self.domain = rows.n, rows.d, rows.domain

    def take(self, positions):
        self.counter.sampled += len(positions)
        return self.rows.take(positions)

    def answer(self, query):
        self.counter.passes += 1
        return self.rows.answer(query)
