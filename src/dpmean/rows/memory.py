"""Rows in memory: cache-sized blocks of an array, on all cores, never copied whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import DataError
from dpmean.queries.domain import Frame
from dpmean.queries.protocols import Tally
from dpmean.queries.queries import (
    Ball,
    Bins,
    BinSums,
    Coordinates,
    Floats,
    Histogram,
    Ints,
    Pairs,
    Question,
    Radial,
    Shells,
    ShellSums,
    View,
)
from dpmean.rows import numba_kernels as kernels
from dpmean.rows.block_query import NOT_FINITE, Kernel, as_it_is, bin_sums, block_rows, convert, run
from dpmean.rows.threads import each, threads_to_use

_SPAN_BYTES = 1 << 20  # less than this is not worth a thread's turn


class Pieces(Protocol):
    """What is as good as an array: it gives some of its rows as one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows and how many columns there are."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, where: Any) -> NDArray[Any]: ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class MemoryRows:
    """The rows of a two-dimensional array, or those at some positions, seen through a frame."""

    array: NDArray[Any] | Pieces
    frame: Frame
    positions: Ints | None = None
    threads: int = field(default_factory=threads_to_use)
    span_rows: int | None = None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.array) if self.positions is None else len(self.positions)

    @property
    def d(self) -> int:
        """How many coordinates a row has."""
        return int(self.array.shape[1])

    def take(self, positions: Ints) -> MemoryRows:
        """Return the rows at the given positions, without copying them."""
        chosen = positions if self.positions is None else self.positions[positions]
        return replace(self, positions=chosen)

    def held(self) -> MemoryRows:
        """Return these rows: they are in memory."""
        return self

    def tally(self, view: View) -> Tally:
        """Prepare to count rows by where a view puts them."""
        return self._by_coordinate(view) if isinstance(view, Coordinates) else self.histogram(view)

    def histogram(self, view: Radial) -> Histogram:
        """Count rows, or pairs of rows, by their distance."""
        return Histogram(np.cumsum(self._pairs(view) if isinstance(view, Pairs) else self._sum(view), axis=1))

    def add_up(self, ball: Ball) -> Ints:
        """Add up the rows, each clipped to the ball."""
        return self._sum(ball)

    def add_up_shells(self, shells: Shells) -> ShellSums:
        """Add up rows and their directions, shell by shell."""
        return ShellSums(*self._sum(shells))

    def add_up_bins(self, bins: Bins) -> BinSums:
        """Count rows by their distance and add them up, and their directions, bin by bin."""
        return bin_sums(bins, self._sum(bins))

    def values(self) -> Floats:
        """Return the rows in working units and within reach, in floats: for peers that work on them as they are."""
        rows = np.concatenate([block.copy() for _, block in self._blocks(range(self.n))])
        finite = np.isfinite(rows)
        if not finite.all():
            if not self.frame.impute:
                raise DataError(NOT_FINITE)
            rows[~finite] = 0.0
        rows /= self.frame.reach
        largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)
        lengths = largest * np.linalg.norm(rows / largest, axis=1, keepdims=True)  # squares of large rows overflow
        rows *= self.frame.reach / np.maximum(lengths, 1.0)
        return rows

    def _sum(self, question: Question) -> Ints:
        """Answer a question by a sum over all rows."""
        kernel = Kernel(question, self.frame)

        def summed(span: range) -> Ints:
            total = kernel.zeros()
            for _, block in self._blocks(span):
                kernel.add_block(block, total)
            return total

        return sum(each(summed, self._spans(self.n), self.threads), start=kernel.zeros())

    def _pairs(self, view: Pairs) -> Ints:
        half, shape = self.n // 2, (view.size, view.points + 1)

        def counted(span: range) -> Ints:
            counts = np.zeros(shape, dtype=np.int64)
            partners = self._blocks(range(span.start + half, span.stop + half))
            for (_, block), (_, partner) in zip(self._blocks(span), partners, strict=True):
                run(kernels.count_pairs, self.frame, block, partner, view.low, counts[0])
            return counts

        return sum(each(counted, self._spans(half), self.threads), start=np.zeros(shape, dtype=np.int64))

    def _by_coordinate(self, view: Coordinates) -> Places:
        indices = np.empty((view.size, self.n), dtype=np.int32)

        def placed(span: range) -> None:
            for start, block in self._blocks(span):
                line = (view.step, view.first, view.low, view.spacing, view.points)
                run(kernels.index_rotated, self.frame, block, view.signs, *line, indices, start)

        each(placed, self._spans(self.n), self.threads)
        return Places(indices, self.threads)

    # --- blocks and threads ----------------------------------------------------------------------------------

    def _spans(self, count: int) -> list[range]:
        """Divide the rows, or pairs, among the threads, each getting several turns so that they finish together."""
        rows = self.span_rows or max(-(-count // (8 * self.threads)), _SPAN_BYTES // (8 * self.d))
        rows = -(-rows // kernels.LANES) * kernels.LANES
        return [range(start, min(start + rows, count)) for start in range(0, count, rows)]

    def _blocks(self, span: range) -> Iterator[tuple[int, Floats]]:
        """Yield the rows of a span in working units, as C-ordered float64 blocks, with their first position."""
        if self.positions is None and isinstance(self.array, np.ndarray) and as_it_is(self.array, self.frame):
            yield span.start, self.array[span.start : span.stop]
            return
        rows = block_rows(self.d)
        buffer = np.empty((min(rows, len(span)), self.d))
        for start in range(span.start, span.stop, rows):
            stop = min(start + rows, span.stop)
            block = buffer[: stop - start]
            where = slice(start, stop) if self.positions is None else self.positions[start:stop]
            convert(self.array[where], self.frame, block)
            yield start, block


@final
@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """For many values of each row, the first point not below it: one line of ``indices`` per value."""

    indices: kernels.Indices
    threads: int

    def count_at_most(self, index: Ints) -> Ints:
        """Count in every line."""
        counts = np.empty(len(index), dtype=np.int64)

        def count(lines: slice) -> None:
            kernels.count_at_most(self.indices[lines], index[lines], counts[lines])

        busy = self.indices.nbytes > _SPAN_BYTES * 8
        size = max(1, len(index) // 8) if busy else len(index)
        each(count, [slice(start, start + size) for start in range(0, len(index), size)], self.threads)
        return counts
