"""Exact totals over rows, for the curator's eyes only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from dpmean.queries.queries import Ints


class Tally(Protocol):
    """Exact counts, for a trust model's eyes only: one row changes each of them by at most one."""

    def count_at_most(self, index: Ints) -> Ints:
        """For each of the view's values, count the rows at or below the point with that index."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Exact cumulative counts on the ladder, for a trust model's eyes only: a line per value of the view.

    Replacing one row moves the counts of a line by 0 or +1, all of them, or by 0 or -1, all of them. There is one
    count for every point, and a last one, n, for what lies beyond.
    """

    counts: Ints

    @property
    def points(self) -> int:
        """How many points there are (public)."""
        return int(self.counts.shape[1]) - 1

    def count_at_most(self, index: Ints) -> Ints:
        """For each of the view's values, count the rows at or below the point with that index."""
        found: Ints = self.counts[np.arange(len(self.counts)), index]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ShellSums:  # not final: those of a device may still be on their way
    """Exact sums by shell, for a trust model's eyes only; shell s lies within the s largest balls and no other.

    ``inner[s]`` adds up the rows of shell s, ``outer[s]`` their directions. Of shell 0, outside all balls, only the
    directions are there; of the last one, inside all of them, only the rows.
    """

    inner: Ints
    outer: Ints
    fine: int = 0
    """The rows of ``inner`` are in units 2^fine times smaller than those of the shells, in unbounded whole numbers."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class BinSums:
    """Exact counts, and exact sums by bin, of rows and of their directions, for a trust model's eyes only."""

    histogram: Histogram
    inner: Ints
    outer: Ints


Total = Histogram | Tally | Ints | ShellSums | BinSums
"""What rows answer to a query: a histogram, counts on demand, a sum, sums by shell, counts and sums by bin."""
