"""What an engine runs: a question and a domain, public data, that turn a block of rows into whole numbers.

Blocks may be of any size, in any order, on any machine; what they give is merged by ``+``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentTypeError
from dpmean.numerics.grid import norm_bits, radius_index
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Ball, Bins, Distances, Floats, Ints, Present, Question, Shells, Sides
from dpmean.queries.totals import BinSums, Histogram, ShellSums
from dpmean.rows import numba_kernels
from dpmean.rows.missing_values import refuse_missing

BLOCK_BYTES = 256 << 10
"""Converted rows at a time: what fits a cache."""
_NOTHING = np.empty((0, 0))


def room(domain: Domain, centre: Floats) -> float:
    """Return a distance from the centre up to which no row is shortened."""
    return (domain.sure - float(np.linalg.norm(centre))) * (1 - 2**-20)


def innermost(domain: Domain, view: Distances) -> int:
    """Return the rung up to which a row is not shortened for certain; one below all if that may happen anywhere.

    Rows that are shortened in working units lie at their centre, where that is beyond reach: by rounding at most.
    """
    space = room(domain, view.centre)
    if space > 0:
        return radius_index(space) - 1
    return numba_kernels.BELOW_ALL_RUNGS - 1 if domain.maps_last else view.low - 1


def block_rows(domain: Domain) -> int:
    """Return how many converted rows fit a cache: whole groups, if there is space for one."""
    rows, group = max(numba_kernels.LANES, BLOCK_BYTES // (8 * domain.d)), domain.lines.shape[1] // domain.d
    return rows - rows % group if rows > group else rows


def as_it_is(rows: NDArray[Any], domain: Domain) -> bool:
    """Whether a loop can read the rows without any conversion; loops bring them into working units themselves."""
    plain = rows.dtype == np.float64 and rows.dtype.isnative and rows.flags.c_contiguous
    return bool(plain and not domain.strict)


def copy_as_floats(rows: NDArray[Any], block: Floats) -> None:
    """Write rows into a block of the same shape, each value as the nearest float64."""
    if rows.strides[0] == rows.itemsize < rows.strides[1] and rows.dtype.char in "fd" and rows.dtype.isnative:
        numba_kernels.turn(rows.T, block)
    else:
        with np.errstate(over="ignore"):  # what exceeds a float64 becomes infinite, and is treated as such
            block[:] = rows


def convert(rows: NDArray[Any], domain: Domain, block: Floats) -> None:
    """Write rows into a block of the same shape, as C-ordered floats in the user's units."""
    copy_as_floats(rows, block)
    if domain.strict and not np.isfinite(those_that_count(block, domain)[:, domain.strict]).all():
        refuse_missing()


def which_count(block: Floats, domain: Domain) -> NDArray[np.bool_]:
    """Return which rows have a value wherever a missing one leaves the row out; each is looked at by itself."""
    counted = np.empty(len(block), dtype=np.bool_)
    numba_kernels.find_those_that_count(_fixed(block), np.array(domain.dropped, dtype=np.int64), counted)
    return counted


def those_that_count(block: Floats, domain: Domain) -> Floats:
    """Return the rows that count; most often that is the block itself."""
    if not domain.dropped:
        return block
    counted = which_count(block, domain)
    return block if counted.all() else block[counted]


def grouped(rows: Floats, domain: Domain) -> list[numba_kernels.Rows]:
    """Return C-ordered rows as loops take them: in groups that they map, and a smaller group that is left over."""
    lines, rows, (n, d) = domain.lines, _fixed(rows), rows.shape
    if len(lines) == 1:
        return [(rows, lines, rows, _NOTHING, rows)]
    size = lines.shape[1] // d
    whole, block = n - n % size, np.empty((size, d))
    found = [_group(rows[:whole], lines, block, domain)] if whole else []
    if left := n - whole:
        found.append(_group(rows[whole:], np.ascontiguousarray(lines[:, : left * d]), block[:left], domain))
    return found


def _group(rows: Floats, lines: Floats, block: Floats, domain: Domain) -> numba_kernels.Rows:
    """Return rows in groups of the size of a block, which may be written later."""
    wide, line, block = rows.reshape(-1, block.size), block.reshape(1, -1), _fixed(block)
    return wide, lines, block, line, rows if domain.maps_last else block


def _fixed(rows: Floats) -> Floats:
    """Return rows as what cannot be written: then loops are compiled for one type."""
    fixed = rows.view()
    fixed.flags.writeable = False
    return fixed


def run(loop: Callable[..., bool], domain: Domain, block: Floats, *arguments: object) -> None:
    """Run a compiled loop over a block in the user's units; a value that is not finite ends it, unless imputed."""
    for some in grouped(block, domain):
        run_group(loop, domain, some, *arguments)


def run_group(loop: Callable[..., bool], domain: Domain, some: numba_kernels.Rows, *arguments: object) -> None:
    """Run a compiled loop over groups of rows."""
    entry: numba_kernels.Entry = (domain.limit, domain.impute, norm_bits(domain.d), domain.maps_last)
    if not loop(some, entry, *arguments):
        refuse_missing()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A question to all rows, and the domain through which they are seen. ``dpmean`` makes it, and an engine runs it.

    Attributes:
        question: What is asked of all rows, which is public.
        domain: How rows are brought within the bound, which is public.

    """

    question: Question
    domain: Domain

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answer."""
        match self.question:
            case Distances() | Sides():
                return self.question.size, self.question.points + 1
            case Ball():
                return (self.domain.d,)
            case Present():
                return (self.domain.d + 1,)
            case Shells():
                return 2, len(self.question.radii) + 1, self.domain.d
            case Bins():
                return (self.question.distances.points + 1 + 2 * len(self.question.radii) * self.domain.d,)

    def zeros(self) -> Ints:
        """Return what no rows at all give."""
        return np.zeros(self.shape, dtype=np.int64)

    def add(self, rows: NDArray[Any], total: Ints) -> None:
        """Add what a block of rows gives to a total.

        Args:
            rows: A block of rows, an (any number, d) array of real numbers.
            total: The total, an array as ``zeros`` returns it. It is changed in place.

        """
        if not isinstance(rows, np.ndarray):
            raise ArgumentTypeError(f"kernel.add takes an array of rows, got {type(rows).__name__}: use numpy.asarray")
        for block in self._readable(rows):
            self.add_block(block, total)

    def add_block(self, block: Floats, total: Ints) -> None:
        """Add what a block of rows gives that loops can read as it is.

        Args:
            block: A C-ordered block of floats, in the user's units.
            total: The total, which is changed in place.

        """
        asked, every = self.question, block
        block = those_that_count(block, self.domain)
        match asked:
            case Present():
                numba_kernels.count_present(_fixed(every), total)
                total[-1] += len(block)
            case Distances():
                inner = innermost(self.domain, asked)
                run(numba_kernels.count_distances, self.domain, block, asked.centre, inner, asked.low, total[0])
            case Sides():
                run(numba_kernels.count_sides, self.domain, block, asked.centre, asked.low, total)
            case Ball():
                roomy = asked.radius * asked.unit < room(self.domain, asked.centre)
                run(numba_kernels.add_clipped, self.domain, block, asked.centre, roomy, asked.unit, asked.radius, total)
            case Shells():
                roomy = asked.radii[0] * asked.unit < room(self.domain, asked.centre)
                line = (asked.centre, roomy, asked.unit, np.array(asked.radii, dtype=np.int64), asked.length)
                run(numba_kernels.add_shells, self.domain, block, *line, total[0], total[1])
            case Bins():
                edge, low = innermost(self.domain, asked.distances), asked.distances.low
                wholes, units = np.array(asked.radii, dtype=np.int64), np.ldexp(1.0, -np.array(asked.exponents))
                bins = (asked.first, asked.stride, wholes, units, asked.length, *bin_parts(asked, total))
                run(numba_kernels.add_bins, self.domain, block, asked.centre, edge, low, *bins)

    def total(self, found: Ints) -> Histogram | Ints | ShellSums | BinSums:
        """Return the exact total that the sum over all rows stands for.

        Args:
            found: The sum of what all blocks gave.

        """
        match self.question:
            case Distances() | Sides():
                return Histogram(np.cumsum(found, axis=1))
            case Ball() | Present():
                return found
            case Shells():
                return ShellSums(*found)
            case Bins():
                return bin_sums(self.question, found)

    def _readable(self, rows: NDArray[Any]) -> Iterator[Floats]:
        if as_it_is(rows, self.domain):
            yield rows
            return
        count = block_rows(self.domain)
        buffer = np.empty((min(count, len(rows)), self.domain.d))
        for start in range(0, len(rows), count):
            some = rows[start : start + count]
            block = buffer[: len(some)]
            convert(some, self.domain, block)
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
