"""Rows in memory: cache-sized blocks of an array, on all cores, never copied whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, DataError
from dpmean.frame import Frame
from dpmean.grid import norm_bits, radius_index
from dpmean.rows import kernels
from dpmean.types import (
    Ball,
    Coordinates,
    Distances,
    Floats,
    Histogram,
    Ints,
    Pairs,
    Radial,
    Shells,
    ShellSums,
    Sides,
    Tally,
    View,
)

_SPAN_BYTES = 1 << 20  # less than this is not worth a thread's turn
_BLOCK_BYTES = 256 << 10  # converted rows at a time: what fits a cache
_NOT_FINITE = (
    "the rows contain NaN or infinity, so nothing was released: "
    'clean them, or pass nan="impute" to put the public centre in their place'
)
_Part = TypeVar("_Part")
_Result = TypeVar("_Result")
Counting = Callable[[range, Ints], None]
"""Adds the rows of a span to counts."""


def threads_to_use() -> int:
    """Return the number of cores this process may use, or what DPMEAN_THREADS says."""
    asked = os.environ.get("DPMEAN_THREADS", "")
    if not asked:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdecimal() or int(asked) < 1:
        raise ArgumentError(f"DPMEAN_THREADS must be a whole number of at least 1, got {asked!r}")
    return int(asked)


@lru_cache(maxsize=1)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001  a forked process has no threads yet
    """Return the threads of this process; starting them anew for every question would cost more than the work."""
    return ThreadPoolExecutor(threads, thread_name_prefix="dpmean")


@final
@dataclass(frozen=True, slots=True, eq=False)
class MemoryRows:
    """The rows of a two-dimensional array, or those at some positions, seen through a frame."""

    array: NDArray[Any]
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

    def tally(self, view: View) -> Tally:
        """Prepare to count rows by where a view puts them."""
        return self._by_coordinate(view) if isinstance(view, Coordinates) else self.histogram(view)

    def histogram(self, view: Radial) -> Histogram:
        """Count rows, or pairs of rows, by their distance."""
        shape = (view.size, view.points + 1)
        match view:
            case Distances():
                count = self._distances(view)
            case Sides():
                count = self._sides(view)
            case Pairs():
                count = self._pairs(view)

        def counted(span: range) -> Ints:
            counts = np.zeros(shape, dtype=np.int64)
            count(span, counts)
            return counts

        spans = self._spans(self.n // 2 if isinstance(view, Pairs) else self.n)
        counts = sum(self._each(counted, spans), start=np.zeros(shape, dtype=np.int64))
        return Histogram(np.cumsum(counts, axis=1))

    def add_up(self, ball: Ball) -> Ints:
        """Add up the rows, each clipped to the ball."""
        roomy = ball.radius * ball.unit < self._room(ball.centre)

        def clipped(span: range) -> Ints:
            total = np.zeros(self.d, dtype=np.int64)
            for _, block in self._blocks(span):
                self._run(kernels.add_clipped, block, ball.centre, roomy, ball.unit, ball.radius, total)
            return total

        return sum(self._each(clipped, self._spans(self.n)), start=np.zeros(self.d, dtype=np.int64))

    def add_up_shells(self, shells: Shells) -> ShellSums:
        """Add up rows and their directions, shell by shell."""
        roomy = shells.radii[0] * shells.unit < self._room(shells.centre)
        radii, shape = np.array(shells.radii, dtype=np.int64), (2, len(shells.radii) + 1, self.d)

        def added(span: range) -> Ints:
            sums = np.zeros(shape, dtype=np.int64)
            for _, block in self._blocks(span):
                line = (shells.centre, roomy, shells.unit, radii, shells.length, sums[0], sums[1])
                self._run(kernels.add_shells, block, *line)
            return sums

        return ShellSums(*sum(self._each(added, self._spans(self.n)), start=np.zeros(shape, dtype=np.int64)))

    def values(self) -> Floats:
        """Return the rows in working units and within reach, in floats: for peers that work on them as they are."""
        rows = np.concatenate([block.copy() for _, block in self._blocks(range(self.n))])
        finite = np.isfinite(rows)
        if not finite.all():
            if not self.frame.impute:
                raise DataError(_NOT_FINITE)
            rows[~finite] = 0.0
        rows /= self.frame.reach
        largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)
        lengths = largest * np.linalg.norm(rows / largest, axis=1, keepdims=True)  # squares of large rows overflow
        rows *= self.frame.reach / np.maximum(lengths, 1.0)
        return rows

    def _distances(self, view: Distances) -> Counting:
        room = self._room(view.centre)
        inner = radius_index(room) - 1 if room > 0 else view.low - 1

        def count(span: range, counts: Ints) -> None:
            for _, block in self._blocks(span):
                self._run(kernels.count_distances, block, view.centre, inner, view.low, counts[0])

        return count

    def _sides(self, view: Sides) -> Counting:
        def count(span: range, counts: Ints) -> None:
            for _, block in self._blocks(span):
                self._run(kernels.count_sides, block, view.centre, view.low, counts)

        return count

    def _pairs(self, view: Pairs) -> Counting:
        half = self.n // 2

        def count(span: range, counts: Ints) -> None:
            partners = self._blocks(range(span.start + half, span.stop + half))
            for (_, block), (_, partner) in zip(self._blocks(span), partners, strict=True):
                self._run(kernels.count_pairs, block, partner, view.low, counts[0])

        return count

    def _by_coordinate(self, view: Coordinates) -> Places:
        indices = np.empty((view.size, self.n), dtype=np.int32)

        def placed(span: range) -> None:
            for start, block in self._blocks(span):
                self._run_rotation(block, view, indices, start)

        self._each(placed, self._spans(self.n))
        return Places(indices, self._each)

    # --- blocks and threads ----------------------------------------------------------------------------------

    def _room(self, centre: Floats) -> float:
        """Return a distance from the centre up to which every row is within reach."""
        return (self.frame.reach - float(np.linalg.norm(centre))) * (1 - 2**-20)

    @property
    def _as_it_is(self) -> bool:
        """Whether a kernel can read the array without any conversion."""
        plain = self.array.dtype == np.float64 and self.array.dtype.isnative and self.array.flags.c_contiguous
        return plain and self.positions is None and self.frame.lower is None

    def _spans(self, count: int) -> list[range]:
        """Divide the rows, or pairs, among the threads, each getting several turns so that they finish together."""
        rows = self.span_rows or max(-(-count // (8 * self.threads)), _SPAN_BYTES // (8 * self.d))
        rows = -(-rows // kernels.LANES) * kernels.LANES
        return [range(start, min(start + rows, count)) for start in range(0, count, rows)]

    def _blocks(self, span: range) -> Iterator[tuple[int, Floats]]:
        """Yield the rows of a span in working units, as C-ordered float64 blocks, with their first position."""
        if self._as_it_is:
            yield span.start, self.array[span.start : span.stop]
            return
        rows = max(kernels.LANES, _BLOCK_BYTES // (8 * self.d))
        buffer = np.empty((min(rows, len(span)), self.d))
        for start in range(span.start, span.stop, rows):
            stop = min(start + rows, span.stop)
            block = buffer[: stop - start]
            where = slice(start, stop) if self.positions is None else self.positions[start:stop]
            with np.errstate(over="ignore"):  # what exceeds a float64 becomes infinite, and is treated as such
                block[:] = self.array[where]
            frame = self.frame
            if frame.lower is not None and frame.upper is not None:
                kernels.rescale(block, frame.lower, frame.upper, frame.middle, frame.scale)
            yield start, block

    def _run(self, kernel: Callable[..., bool], block: Floats, *arguments: object) -> None:
        if not kernel(block, self.frame.reach, self.frame.impute, norm_bits(self.d), *arguments):
            raise DataError(_NOT_FINITE)

    def _run_rotation(self, block: Floats, view: Coordinates, indices: kernels.Indices, start: int) -> None:
        line = (view.step, view.first, view.low, view.spacing, view.points)
        self._run(kernels.index_rotated, block, view.signs, *line, indices, start)

    def _each(self, work: Callable[[_Part], _Result], parts: list[_Part]) -> list[_Result]:
        """Do the work on every part, on all threads; results come in the order of the parts."""
        if self.threads == 1 or len(parts) == 1:
            return [work(part) for part in parts]
        return list(_pool(self.threads, os.getpid()).map(work, parts))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """For many values of each row, the first point not below it: one line of ``indices`` per value."""

    indices: kernels.Indices
    each: Callable[[Callable[[slice], None], list[slice]], list[None]]

    def count_at_most(self, index: Ints) -> Ints:
        """Count in every line."""
        counts = np.empty(len(index), dtype=np.int64)

        def count(lines: slice) -> None:
            kernels.count_at_most(self.indices[lines], index[lines], counts[lines])

        busy = self.indices.nbytes > _SPAN_BYTES * 8
        size = max(1, len(index) // 8) if busy else len(index)
        self.each(count, [slice(start, start + size) for start in range(0, len(index), size)])
        return counts
