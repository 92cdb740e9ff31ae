"""Exact totals over rows. They are not private: only the curator may see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from dpmean.queries.queries import Ints


class Tally(Protocol):
    """Exact counts, for a trust model only: one row changes each of them by at most one."""

    def count_at_most(self, index: Ints) -> Ints:
        """Count, for each value of the view, the rows at or below the point with the given index."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Exact cumulative counts on the ladder, for a trust model only: one line per value of the view.

    Replacing one row changes the counts of a line by 0 or 1, all in the same direction. There is one count for every
    point, and a last one, n, which includes rows beyond the ladder.
    """

    counts: Ints

    @property
    def points(self) -> int:
        """The number of points (public)."""
        return int(self.counts.shape[1]) - 1

    def count_at_most(self, index: Ints) -> Ints:
        """Count, for each value of the view, the rows at or below the point with the given index."""
        found: Ints = self.counts[np.arange(len(self.counts)), index]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ShellSums:  # not final: a subclass waits for the sums of a device
    """Exact sums by shell, for a trust model only; shell s lies within the s largest balls and no other.

    ``inner[s]`` is the sum of the rows of shell s, and ``outer[s]`` that of their directions. Shell 0, outside of all
    balls, has directions only; the last shell, inside all of them, has rows only.
    """

    inner: Ints
    outer: Ints
    fine: int = 0
    """The unit of ``inner`` is 2^fine times smaller than that of the shells; its integers are unbounded then."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class BinSums:
    """Exact counts, and exact sums by bin of rows and of their directions, for a trust model only."""

    histogram: Histogram
    inner: Ints
    outer: Ints


Total = Histogram | Tally | Ints | ShellSums | BinSums
"""The answer of rows to a query: a histogram, counts on demand, a sum, sums by shell, or counts and sums by bin."""
