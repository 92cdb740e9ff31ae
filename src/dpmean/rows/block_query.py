"""What an engine runs: a question and a frame, public data, that turn a block of rows into whole numbers.

Blocks may be of any size, in any order, on any machine; what they give is merged by ``+``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import DataError
from dpmean.numerics.grid import norm_bits, radius_index
from dpmean.queries.domain import Frame
from dpmean.queries.queries import Ball, Bins, BinSums, Distances, Floats, Histogram, Ints, Question, Shells, Sides
from dpmean.rows import numba_kernels as kernels

BLOCK_BYTES = 256 << 10
"""Converted rows at a time: what fits a cache."""
NOT_FINITE = (
    "the rows contain NaN or infinity, so nothing was released: "
    'clean them, or pass nan="impute" to put the public centre in their place'
)


def room(frame: Frame, centre: Floats) -> float:
    """Return a distance from the centre up to which every row is within reach."""
    return (frame.reach - float(np.linalg.norm(centre))) * (1 - 2**-20)


def innermost(frame: Frame, view: Distances) -> int:
    """Return the rung up to which a row is within reach for certain."""
    space = room(frame, view.centre)
    return radius_index(space) - 1 if space > 0 else view.low - 1


def block_rows(d: int) -> int:
    """Return how many converted rows fit a cache."""
    return max(kernels.LANES, BLOCK_BYTES // (8 * d))


def as_it_is(rows: NDArray[Any], frame: Frame) -> bool:
    """Whether a loop can read the rows without any conversion."""
    plain = rows.dtype == np.float64 and rows.dtype.isnative and rows.flags.c_contiguous
    return bool(plain and frame.lower is None and not frame.strict)


def convert(rows: NDArray[Any], frame: Frame, block: Floats) -> None:
    """Write rows into a block of the same shape, in working units."""
    if rows.strides[0] == rows.itemsize < rows.strides[1] and rows.dtype.char in "fd" and rows.dtype.isnative:
        kernels.turn(rows.T, block)
    else:
        with np.errstate(over="ignore"):  # what exceeds a float64 becomes infinite, and is treated as such
            block[:] = rows
    if frame.strict and not np.isfinite(block[:, frame.strict]).all():
        raise DataError(NOT_FINITE)
    if frame.lower is not None and frame.upper is not None:
        kernels.rescale(block, frame.lower, frame.upper, frame.middle, frame.scale)


def run(loop: Callable[..., bool], frame: Frame, block: Floats, *arguments: object) -> None:
    """Run a compiled loop over a block in working units; a value that is not finite ends it, unless imputed."""
    if not loop(block, frame.reach, frame.impute, norm_bits(block.shape[1]), *arguments):
        raise DataError(NOT_FINITE)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A question to all rows, and the frame through which they are seen."""

    question: Question
    frame: Frame

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answer."""
        match self.question:
            case Distances() | Sides():
                return self.question.size, self.question.points + 1
            case Ball():
                return (self.frame.d,)
            case Shells():
                return 2, len(self.question.radii) + 1, self.frame.d
            case Bins():
                return (self.question.distances.points + 1 + 2 * len(self.question.radii) * self.frame.d,)

    def zeros(self) -> Ints:
        """Return what no rows at all give."""
        return np.zeros(self.shape, dtype=np.int64)

    def add(self, rows: NDArray[Any], total: Ints) -> None:
        """Add what some rows give, an (any number, d) array of real numbers, to a total of this shape."""
        for block in self._working(rows):
            self.add_block(block, total)

    def add_block(self, block: Floats, total: Ints) -> None:
        """Add what a C-ordered block gives that is in working units already."""
        asked = self.question
        match asked:
            case Distances():
                inner = innermost(self.frame, asked)
                run(kernels.count_distances, self.frame, block, asked.centre, inner, asked.low, total[0])
            case Sides():
                run(kernels.count_sides, self.frame, block, asked.centre, asked.low, total)
            case Ball():
                roomy = asked.radius * asked.unit < room(self.frame, asked.centre)
                run(kernels.add_clipped, self.frame, block, asked.centre, roomy, asked.unit, asked.radius, total)
            case Shells():
                roomy = asked.radii[0] * asked.unit < room(self.frame, asked.centre)
                line = (asked.centre, roomy, asked.unit, np.array(asked.radii, dtype=np.int64), asked.length)
                run(kernels.add_shells, self.frame, block, *line, total[0], total[1])
            case Bins():
                edge, low = innermost(self.frame, asked.distances), asked.distances.low
                wholes, units = np.array(asked.radii, dtype=np.int64), np.ldexp(1.0, -np.array(asked.exponents))
                bins = (asked.first, asked.stride, wholes, units, asked.length, *bin_parts(asked, total))
                run(kernels.add_bins, self.frame, block, asked.centre, edge, low, *bins)

    def _working(self, rows: NDArray[Any]) -> Iterator[Floats]:
        if as_it_is(rows, self.frame):
            yield rows
            return
        count = block_rows(self.frame.d)
        buffer = np.empty((min(count, len(rows)), self.frame.d))
        for start in range(0, len(rows), count):
            some = rows[start : start + count]
            block = buffer[: len(some)]
            convert(some, self.frame, block)
            yield block


def bin_parts(bins: Bins, total: Ints) -> tuple[Ints, Ints, Ints]:
    """Return counts, rows and directions, as they lie one after another in the answer to ``Bins``."""
    counts, sums = np.split(total, [bins.distances.points + 1])
    inner, outer = sums.reshape(2, len(bins.radii), -1)
    return counts, inner, outer


def bin_sums(bins: Bins, total: Ints) -> BinSums:
    """Return the answer to ``Bins`` for a trust model."""
    counts, inner, outer = bin_parts(bins, total)
    return BinSums(Histogram(np.cumsum(counts)[np.newaxis]), inner, outer)
