"""Rows that count how often they are read, so that a release can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpmean.queries.protocols import Rows, Tally
from dpmean.queries.queries import Ball, Bins, BinSums, Histogram, Ints, Radial, Shells, ShellSums, View


@final
@dataclass(slots=True, eq=False)
class CountedRows:
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

    def tally(self, view: View) -> Tally:
        """Prepare to count rows by where a view puts them."""
        self.passes += 1
        return self.rows.tally(view)

    def histogram(self, view: Radial) -> Histogram:
        """Count rows, or pairs of rows, by their distance."""
        self.passes += 1
        return self.rows.histogram(view)

    def add_up(self, ball: Ball) -> Ints:
        """Add up the clipped rows."""
        self.passes += 1
        return self.rows.add_up(ball)

    def add_up_shells(self, shells: Shells) -> ShellSums:
        """Add up rows and their directions, shell by shell."""
        self.passes += 1
        return self.rows.add_up_shells(shells)

    def add_up_bins(self, bins: Bins) -> BinSums:
        """Count rows by their distance and add them up, and their directions, bin by bin."""
        self.passes += 1
        return self.rows.add_up_bins(bins)
