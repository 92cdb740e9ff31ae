"""Rows that are read again for every question: an engine needs two verbs, and this makes them into rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import DataError
from dpmean.queries.domain import Frame
from dpmean.queries.protocols import Rows, Tally
from dpmean.queries.queries import (
    Ball,
    Bins,
    BinSums,
    Coordinates,
    Histogram,
    Ints,
    Pairs,
    Question,
    Radial,
    Shells,
    ShellSums,
    View,
)
from dpmean.rows.block_query import Kernel, bin_sums
from dpmean.rows.memory import MemoryRows


class Source(Protocol):
    """Rows somewhere, before anybody has said how large they may be."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the columns are called, if they have names."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and how many columns there are."""
        ...

    def rows(self, frame: Frame) -> Rows:
        """Return the rows as they are seen through a frame."""
        ...


class Engine(Protocol):
    """What can read rows that outgrow this process: two verbs."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and how many columns there are."""
        ...

    def add_up(self, kernel: Kernel) -> tuple[Ints, int]:
        """Read all rows once: return the sum of what blocks of them give, and how many rows there were."""
        ...

    def gather(self, positions: Ints) -> NDArray[Any]:
        """Return the rows at some positions, which are in ascending order."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Streamed:
    """The source that an engine makes."""

    engine: Engine
    names: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and how many columns there are."""
        return self.engine.shape

    def rows(self, frame: Frame) -> StreamedRows:
        """Return the rows as they are seen through a frame."""
        return StreamedRows(self.engine, frame)


@final
@dataclass(frozen=True, slots=True, eq=False)
class StreamedRows:
    """All rows of an engine, seen through a frame; nothing but a public subset is ever collected."""

    engine: Engine
    frame: Frame

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.engine.shape[0]

    @property
    def d(self) -> int:
        """How many coordinates a row has."""
        return self.engine.shape[1]

    def take(self, positions: Ints) -> MemoryRows:
        """Collect the rows at the given positions; for none of them no engine is asked."""
        if not len(positions):
            return MemoryRows(np.empty((0, self.d)), self.frame)
        order = np.argsort(positions, kind="stable")
        found = self.engine.gather(positions[order])
        if len(found) != len(positions):
            raise DataError(CHANGED)
        back = np.empty(len(positions), dtype=np.int64)
        back[order] = np.arange(len(positions))
        return MemoryRows(found, self.frame, back)

    def held(self) -> MemoryRows:
        """Collect all rows."""
        return MemoryRows(self.take(np.arange(self.n)).array, self.frame)

    def tally(self, view: View) -> Tally:
        """Prepare to count rows by where a view puts them."""
        return self.held().tally(view) if isinstance(view, Coordinates) else self.histogram(view)

    def histogram(self, view: Radial) -> Histogram:
        """Count rows, or pairs of rows, by their distance."""
        if isinstance(view, Pairs):
            return self.held().histogram(view)
        return Histogram(np.cumsum(self._sum(view), axis=1))

    def add_up(self, ball: Ball) -> Ints:
        """Add up the rows, each clipped to the ball."""
        return self._sum(ball)

    def add_up_shells(self, shells: Shells) -> ShellSums:
        """Add up rows and their directions, shell by shell."""
        return ShellSums(*self._sum(shells))

    def add_up_bins(self, bins: Bins) -> BinSums:
        """Count rows by their distance and add them up, and their directions, bin by bin."""
        return bin_sums(bins, self._sum(bins))

    def _sum(self, question: Question) -> Ints:
        kernel = Kernel(question, self.frame)
        if not self.n:
            return kernel.zeros()
        total, seen = self.engine.add_up(kernel)
        if seen != self.n:
            raise DataError(CHANGED)
        return total


CHANGED = (
    "the rows changed while they were read, so nothing was released: wait until nobody writes to them any more, "
    "or read a copy"
)
"""What is said when passes over the rows do not agree on what is there."""
