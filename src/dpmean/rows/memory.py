"""Rows in memory: cache-sized blocks of an array, on all cores, never copied whole."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, DataError
from dpmean.frame import Frame
from dpmean.grid import norm_bits
from dpmean.rows import kernels
from dpmean.types import Ball, Coordinates, Distances, Floats, Ints, Tally, View

_SPAN_BYTES = 4 << 20  # what a thread takes at a time when rows need no conversion
_BLOCK_BYTES = 256 << 10  # what fits a cache when they do
_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def threads_to_use() -> int:
    """Return the number of cores this process may use, or what DPMEAN_THREADS says."""
    asked = os.environ.get("DPMEAN_THREADS", "")
    if not asked:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdecimal() or int(asked) < 1:
        raise ArgumentError(f"DPMEAN_THREADS must be a whole number of at least 1, got {asked!r}")
    return int(asked)


@final
@dataclass(frozen=True, slots=True, eq=False)
class MemoryRows:
    """The rows of a two-dimensional array, or those at some positions, seen through a frame."""

    array: NDArray[Any]
    frame: Frame
    positions: Ints | None = None
    threads: int = field(default_factory=threads_to_use)
    block_bytes: int | None = None

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
        return self._by_distance(view) if isinstance(view, Distances) else self._by_coordinate(view)

    def add_up(self, ball: Ball) -> Ints:
        """Add up the rows, each clipped to the ball."""

        def clipped(span: range) -> Ints:
            total = np.zeros(self.d, dtype=np.int64)
            for _, block in self._blocks(span):
                self._run(kernels.add_clipped, block, ball.centre, self._bits, ball.unit, ball.radius, total)
            return total

        return sum(self._each(clipped, self._spans()), start=np.zeros(self.d, dtype=np.int64))

    def _by_distance(self, view: Distances) -> Cumulative:
        def counted(span: range) -> Ints:
            counts = np.zeros(view.points + 1, dtype=np.int64)
            for _, block in self._blocks(span):
                self._run(kernels.count_distances, block, view.centre, self._bits, view.low, counts)
            return counts

        start = np.zeros(view.points + 1, dtype=np.int64)
        return Cumulative(np.cumsum(sum(self._each(counted, self._spans()), start=start)))

    def _by_coordinate(self, view: Coordinates) -> Places:
        width = np.int32 if view.points < 2**31 else np.int64
        indices = np.empty((view.size, self.n), dtype=width)

        def placed(span: range) -> None:
            for start, block in self._blocks(span):
                self._run_rotation(block, view, indices, start)

        self._each(placed, self._spans())
        return Places(indices, self._each)

    # --- blocks and threads ----------------------------------------------------------------------------------

    @property
    def _bits(self) -> int:
        return norm_bits(self.d)

    @property
    def _as_it_is(self) -> bool:
        """Whether a kernel can read the array without any conversion."""
        plain = self.array.dtype == np.float64 and self.array.dtype.isnative and self.array.flags.c_contiguous
        return plain and self.positions is None and self.frame.lower is None

    def _spans(self) -> list[range]:
        size = self.block_bytes or _SPAN_BYTES
        rows = max(1, size // (8 * self.d), -(-self.n // 4096))
        rows = -(-rows // kernels.LANES) * kernels.LANES
        return [range(start, min(start + rows, self.n)) for start in range(0, self.n, rows)]

    def _blocks(self, span: range) -> Iterator[tuple[int, Floats]]:
        """Yield the rows of a span in working units, as C-ordered float64 blocks, with their first position."""
        if self._as_it_is:
            yield span.start, self.array[span.start : span.stop]
            return
        rows = max(1, _BLOCK_BYTES // (8 * self.d))
        buffer = np.empty((min(rows, len(span)), self.d))
        for start in range(span.start, span.stop, rows):
            stop = min(start + rows, span.stop)
            block = buffer[: stop - start]
            where = slice(start, stop) if self.positions is None else self.positions[start:stop]
            block[:] = self.array[where]
            frame = self.frame
            if frame.lower is not None and frame.upper is not None:
                kernels.rescale(block, frame.lower, frame.upper, frame.middle, frame.scale)
            yield start, block

    def _run(self, kernel: Callable[..., bool], block: Floats, *arguments: object) -> None:
        frame = self.frame
        safe = int(np.float64(frame.reach / math.sqrt(self.d) * (1 - 2**-40)).view(np.int64))
        if not kernel(block, frame.reach, safe, frame.impute, *arguments):
            raise DataError(
                "the rows contain NaN or infinity, so nothing was released: "
                'clean them, or pass nan="impute" to put the public centre in their place'
            )

    def _run_rotation(self, block: Floats, view: Coordinates, indices: kernels.Indices, start: int) -> None:
        line = (view.step, view.first, view.low, view.spacing, view.points)
        self._run(kernels.index_rotated, block, self._bits, view.signs, *line, indices, start)

    def _each(self, work: Callable[[_Part], _Result], parts: list[_Part]) -> list[_Result]:
        """Do the work on every part, on all threads; results come in the order of the parts."""
        if self.threads == 1 or len(parts) == 1:
            return [work(part) for part in parts]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, parts))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cumulative:
    """Counts of one value per row at or below each point."""

    counts: Ints

    def count_at_most(self, index: Ints) -> Ints:
        """Look the counts up."""
        return self.counts[index]


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

        size = max(1, len(index) // 8)
        self.each(count, [slice(start, start + size) for start in range(0, len(index), size)])
        return counts
