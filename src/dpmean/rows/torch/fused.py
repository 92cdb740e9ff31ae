"""Rows of a GPU tensor: most queries read them once, in one kernel; other queries are answered in blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final, overload

import numpy as np

from dpmean.queries.domain import Domain
from dpmean.queries.queries import (
    Ball,
    BallSquares,
    Bins,
    Columns,
    Coordinates,
    Distances,
    Ints,
    Octaves,
    Pairs,
    Present,
    Query,
    Radial,
    Shells,
    Sides,
    Squares,
)
from dpmean.queries.totals import BinSums, Histogram, ShellSums, Tally, Total
from dpmean.rows.block_query import Kernel, safe_radius, safe_rung
from dpmean.rows.torch import launch
from dpmean.rows.torch.arithmetic import Tensor
from dpmean.rows.torch.blocks import TensorRows, to_histogram

_FEW = 4096  # up to this many rows that kernels leave out, the loops of the host are faster than the device


def read_once(rows: TensorRows) -> TensorRows | RowsReadOnce:
    """Return rows that kernels read, if kernels support such rows."""
    numbers = str(rows.tensor.dtype) != "torch.bool"
    return RowsReadOnce(rows) if numbers and launch.supports(rows.n, rows.d) else rows


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowsReadOnce:
    """The rows of a tensor, read by kernels; ``blocks`` answers the queries that kernels do not support."""

    blocks: TensorRows
    lengths: dict[int, Ints] = field(init=False, default_factory=dict)
    """By-products of queries about pairs: counts of distances from the origin, by the first rung."""

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.blocks.n

    @property
    def d(self) -> int:
        """The number of coordinates of a row."""
        return self.blocks.d

    @property
    def domain(self) -> Domain:
        """The domain that is applied to the rows."""
        return self.blocks.domain

    def take(self, positions: Ints) -> RowsReadOnce | TensorRows:
        """Return the rows at the given positions, on the same device; kernels do not support zero rows."""
        taken = self.blocks.take(positions)
        return RowsReadOnce(taken) if taken.n else taken

    def through(self, domain: Domain) -> RowsReadOnce:
        """Return the same rows with another domain."""
        return RowsReadOnce(self.blocks.through(domain))

    def collect(self) -> RowsReadOnce:
        """Return these rows, which can be read many times."""
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
            case Distances():
                return self._distances(query)
            case Pairs():
                return self._pairs(query)
            case Ball():
                return self._ball(query)
            case Shells():
                return self._shells(query)
            case Sides() | Coordinates() | Columns() | Octaves() | Squares() | BallSquares() | Bins() | Present():
                return self.blocks.answer(query)

    def _ball(self, ball: Ball) -> Ints:
        if ball.radius * ball.unit >= safe_radius(self.domain, ball.centre):
            return self.blocks.answer(ball)
        (core,), odd = launch.add_rows(self.blocks.tensor, self.blocks.arithmetic, ball)()
        added: Ints = core + self._answer_for(odd, ball)
        return added

    def _shells(self, shells: Shells) -> ShellSums:
        """Start adding up rows and their directions, shell by shell, and return without waiting."""
        roomy = shells.radii[0] * shells.unit < safe_radius(self.domain, shells.centre)
        if not roomy or len(shells.radii) != launch.MOST_BALLS:
            return self.blocks.answer(shells)
        begun = launch.add_rows(self.blocks.tensor, self.blocks.arithmetic, shells)

        def wait() -> tuple[Ints, Ints]:
            (core, ring, turned), odd = begun()
            inner, outer = self._answer_for(odd, shells)
            inner[2] += core
            inner[1] += ring
            outer[1] += turned
            return inner, outer

        return launch.PendingSums(wait)

    def _distances(self, view: Distances) -> Histogram:
        if (known := self.lengths.get(view.low)) is not None and view.points < known.shape[1] and not view.centre.any():
            beyond = known[:, view.points :].sum(axis=1, keepdims=True)
            return to_histogram(np.append(known[:, : view.points], beyond, axis=1))
        inmost = safe_rung(self.domain, view)
        counts, odd = launch.count_rows(self.blocks.tensor, self.blocks.arithmetic, view, inmost)
        return to_histogram(counts if odd is None else counts + self._answer_for(odd, view))

    def _pairs(self, view: Pairs) -> Histogram:
        """Count pairs in a kernel if certainly no row is shortened; otherwise in blocks."""
        half, origin = self.n // 2, Distances(np.zeros(self.d), view.low, view.points)
        if half:
            both, inmost = self.blocks.tensor[: 2 * half], safe_rung(self.domain, origin)
            counts, odd = launch.count_rows(both, self.blocks.arithmetic, view, inmost)
            if odd is None and 2 * half == self.n:
                self.lengths[view.low - launch.HALF_AN_OCTAVE] = counts[1:]
            if odd is None:
                return to_histogram(counts[:1])
        return self.blocks.answer(view)

    def _answer_for(self, positions: Tensor, question: Distances | Ball | Shells) -> Ints:
        """Answer for the rows that a kernel left out: for few of them on the host, for many on the device."""
        kernel, torch = Kernel(question, self.domain), self.blocks.arithmetic.torch
        total = kernel.zeros()
        if positions is None:
            return total
        if len(positions) <= _FEW:
            some = torch.index_select(self.blocks.tensor, 0, positions).cpu()
            kernel.add(some.float().numpy() if some.dtype == torch.bfloat16 else some.numpy(), total)
            return total
        others = self.blocks.at(positions)
        match question:
            case Distances():
                return np.diff(others.answer(question).counts, axis=1, prepend=0)
            case Ball():
                return others.answer(question)
            case Shells():
                found = others.answer(question)
                return np.stack((found.inner, found.outer))
