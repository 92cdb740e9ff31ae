"""Rows in memory: an array is read in cache-sized blocks, on all cores, without a complete copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, final, overload

import numpy as np
from numpy.typing import NDArray

from dpmean.queries.domain import Domain
from dpmean.queries.queries import (
    Ball,
    BallSquares,
    Bins,
    Columns,
    Coordinates,
    Floats,
    Ints,
    Octaves,
    Pairs,
    Present,
    Query,
    Question,
    Radial,
    Shells,
    Squares,
)
from dpmean.queries.totals import BinSums, Histogram, ShellSums, Tally, Total
from dpmean.rows import numba_kernels
from dpmean.rows.block_query import (
    Kernel,
    block_rows,
    convert,
    find_complete_rows,
    group_rows,
    is_loop_ready,
    run,
    run_group,
    safe_radius,
)
from dpmean.rows.missing_values import refuse_missing
from dpmean.rows.row_places import RowPlaces
from dpmean.rows.threads import run_parts, threads_to_use

_SPAN_BYTES = 1 << 20  # fewer bytes are not worth a separate task of a thread


class Pieces(Protocol):
    """An array-like object that returns some of its rows as an array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and of columns."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, where: Any) -> NDArray[Any]: ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class MemoryRows:
    """The rows of a two-dimensional array, or those at some positions, with a domain applied."""

    array: NDArray[Any] | Pieces
    domain: Domain
    positions: Ints | None = None
    threads: int = field(default_factory=threads_to_use)
    span_rows: int | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.array) if self.positions is None else len(self.positions)

    @property
    def d(self) -> int:
        """The number of coordinates of a row."""
        return int(self.array.shape[1])

    def take(self, positions: Ints) -> MemoryRows:
        """Return the complete rows among those at the given positions, without copying them."""
        chosen = positions if self.positions is None else self.positions[positions]
        return replace(self, positions=chosen).drop_incomplete()

    def drop_incomplete(self) -> MemoryRows:
        """Return the complete rows, in the same order."""
        if not self.domain.dropped:
            return self

        def kept(span: range) -> NDArray[np.bool_]:
            found = [find_complete_rows(block, self.domain) for _, block in self._blocks(span)]
            return np.concatenate(found)

        which = run_parts(kept, self._spans(self.n), self.threads)
        places = np.flatnonzero(np.concatenate(which)) if which else np.empty(0, dtype=np.int64)
        if len(places) == self.n:
            return self
        return replace(self, positions=places if self.positions is None else self.positions[places])

    def through(self, domain: Domain) -> MemoryRows:
        """Return the same rows with another domain."""
        return replace(self, domain=domain)

    def collect(self) -> MemoryRows:
        """Return these rows, which are in memory."""
        return self

    @overload
    def answer(self, query: Radial) -> Histogram: ...
    @overload
    def answer(self, query: Coordinates | Columns) -> Tally: ...
    @overload
    def answer(self, query: Ball | BallSquares | Octaves | Squares | Present) -> Ints: ...
    @overload
    def answer(self, query: Shells) -> ShellSums: ...
    @overload
    def answer(self, query: Bins) -> BinSums: ...
    def answer(self, query: Query) -> Total:
        """Return the exact answer to a query over all rows."""
        match query:
            case Coordinates():
                return self.drop_incomplete()._by_coordinate(query)
            case Columns():
                return self.drop_incomplete()._by_column(query)
            case Pairs():
                counts = self.drop_incomplete()._pairs(numba_kernels.count_pairs, (1, query.points + 1), query.low)
                return Histogram(np.cumsum(counts, axis=1))
            case Octaves():
                return self.drop_incomplete()._pairs(numba_kernels.count_octaves, (self.d, query.points), query.low)
            case Squares():
                return self.drop_incomplete()._pairs(numba_kernels.add_squares, (self.d,), query.length)
            case BallSquares():
                return self.drop_incomplete()._ball_squares(query)
            case _:
                return self._sum(query)

    def values(self) -> Floats:
        """Return the rows as floats, within the bound and in working units, for baselines that compute in floats."""
        rows = np.concatenate([block.copy() for _, block in self._blocks(range(self.n))])
        if not self.domain.impute and not np.isfinite(rows).all():
            refuse_missing()
        return self.domain.enter(rows)

    def _sum(self, question: Question) -> Total:
        kernel = Kernel(question, self.domain)

        def summed(span: range) -> Ints:
            total = kernel.zeros()
            for _, block in self._blocks(span):
                kernel.add_block(block, total)
            return total

        return kernel.total(sum(run_parts(summed, self._spans(self.n), self.threads), start=kernel.zeros()))

    def _ball_squares(self, query: BallSquares) -> Ints:
        roomy = query.radius * query.unit < safe_radius(self.domain, query.centre)

        def added(span: range) -> Ints:
            total = np.zeros(self.d, dtype=np.int64)
            for _, block in self._blocks(span):
                line = (query.centre, roomy, query.unit, query.radius, query.shift, total)
                run(numba_kernels.add_ball_squares, self.domain, block, *line)
            return total

        return sum(run_parts(added, self._spans(self.n), self.threads), start=np.zeros(self.d, dtype=np.int64))

    def _pairs(self, loop: Callable[..., bool], shape: tuple[int, ...], *arguments: object) -> Ints:
        """Add up the totals of a loop over pairs: row i and row i + n / 2."""
        half = self.n // 2

        def added(span: range) -> Ints:
            total = np.zeros(shape, dtype=np.int64)
            partners = self._blocks(range(span.start + half, span.stop + half))
            for (_, block), (_, partner) in zip(self._blocks(span), partners, strict=True):
                for some, others in zip(group_rows(block, self.domain), group_rows(partner, self.domain), strict=True):
                    run_group(loop, self.domain, some, others, *arguments, total)
            return total

        return sum(run_parts(added, self._spans(half), self.threads), start=np.zeros(shape, dtype=np.int64))

    def _by_column(self, view: Columns) -> RowPlaces:
        indices = np.empty((self.d, self.n), dtype=np.int64)

        def placed(span: range) -> None:
            for start, block in self._blocks(span):
                for some in group_rows(block, self.domain):
                    line = (view.low, view.spacing, view.last, indices, start)
                    run_group(numba_kernels.index_columns, self.domain, some, *line)
                    start += some[0].size // self.d

        run_parts(placed, self._spans(self.n), self.threads)
        return RowPlaces(indices, self.threads)

    def _by_coordinate(self, view: Coordinates) -> RowPlaces:
        indices = np.empty((view.size, self.n), dtype=np.int32)

        def placed(span: range) -> None:
            for start, block in self._blocks(span):
                line = (view.step, view.first, view.low, view.spacing, view.points)
                for some in group_rows(block, self.domain):
                    run_group(numba_kernels.index_rotated, self.domain, some, view.signs, *line, indices, start)
                    start += some[0].size // self.d

        run_parts(placed, self._spans(self.n), self.threads)
        return RowPlaces(indices, self.threads)

    # --- blocks and threads ----------------------------------------------------------------------------------

    def _spans(self, count: int) -> list[range]:
        """Divide the rows, or pairs, into several tasks per thread, so that the threads finish together."""
        rows = self.span_rows or max(-(-count // (8 * self.threads)), _SPAN_BYTES // (8 * self.d))
        rows = -(-rows // numba_kernels.LANES) * numba_kernels.LANES
        return [range(start, min(start + rows, count)) for start in range(0, count, rows)]

    def _blocks(self, span: range) -> Iterator[tuple[int, Floats]]:
        """Yield the rows of a span as C-ordered float64 blocks in the user's units, each with its first position."""
        if self.positions is None and isinstance(self.array, np.ndarray) and is_loop_ready(self.array, self.domain):
            yield span.start, self.array[span.start : span.stop]
            return
        rows = block_rows(self.domain)
        buffer = np.empty((min(rows, len(span)), self.d))
        for start in range(span.start, span.stop, rows):
            stop = min(start + rows, span.stop)
            block = buffer[: stop - start]
            where = slice(start, stop) if self.positions is None else self.positions[start:stop]
            convert(self.array[where], self.domain, block)
            yield start, block
