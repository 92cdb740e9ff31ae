"""Rows whose number is private: what everybody may know in its place is a noisy count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from dpmean.queries.protocols import Noise, Rows, Tally
from dpmean.queries.queries import Ball, Bins, BinSums, Histogram, Ints, Pairs, Radial, Shells, ShellSums, View
from dpmean.rows.permutation import shuffled

_WORD = 1 << 64
_AT_ONCE = 1 << 22  # coins, so that they need little memory


@final
@dataclass(frozen=True, slots=True, eq=False)
class UncountedRows:
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

    def take(self, positions: Ints) -> UncountedRows:
        """Return about as many rows as there are positions, in an order that nobody knows.

        A position among ``n`` rows means nothing where one row more would shift all others. So each row is taken or
        not, and put in its place, by coins of its own, which are never shown.
        """
        last = np.uint64(min(_WORD * len(positions) // self.n, _WORD) - 1)
        kept = [np.empty(0, dtype=np.int64)]
        for start in range(0, self.rows.n, _AT_ONCE):
            coins = self.noise.at("places", start).words(min(_AT_ONCE, self.rows.n - start))
            kept.append(start + np.flatnonzero(coins <= last))
        taken = np.concatenate(kept)
        order = shuffled(len(taken), self.noise, "order")
        return replace(self, rows=self.rows.take(taken[order]), n=len(positions))

    def held(self) -> UncountedRows:
        """Return all rows where they can be read again and again."""
        return replace(self, rows=self.rows.held())

    def tally(self, view: View) -> Tally:
        """Prepare to count rows by where a view puts them."""
        found = self.rows.tally(view)
        return _ending_at(self.n, found) if isinstance(found, Histogram) else found

    def histogram(self, view: Radial) -> Histogram:
        """Count rows, or pairs of rows, by their distance."""
        return _ending_at(self.n // 2 if isinstance(view, Pairs) else self.n, self.rows.histogram(view))

    def add_up(self, ball: Ball) -> Ints:
        """Add up the clipped rows."""
        return self.rows.add_up(ball)

    def add_up_shells(self, shells: Shells) -> ShellSums:
        """Add up rows and their directions, shell by shell."""
        return self.rows.add_up_shells(shells)

    def add_up_bins(self, bins: Bins) -> BinSums:
        """Count rows by their distance and add them up, and their directions, bin by bin."""
        found = self.rows.add_up_bins(bins)
        return replace(found, histogram=_ending_at(self.n, found.histogram))


def _ending_at(public: int, histogram: Histogram) -> Histogram:
    """Let the last count, which everybody may know, be the public number."""
    return Histogram(histogram.counts - histogram.counts[:, -1:] + public)
