"""The computation that an engine runs on each block of rows: it turns rows into integers.

It depends on a public query and a public domain only. Blocks may have any size, come in any order and be read on any
machine: their results are added with ``+``.
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
"""Size of a block of converted rows: it fits in a CPU cache."""
_NOTHING = np.empty((0, 0))


def safe_radius(domain: Domain, centre: Floats) -> float:
    """Return a radius around the centre within which no row is shortened."""
    return (domain.sure - float(np.linalg.norm(centre))) * (1 - 2**-20)


def safe_rung(domain: Domain, view: Distances) -> int:
    """Return the last rung up to which rows are certainly not shortened; a rung below all others if there is none.

    If the centre is out of reach, a row that is shortened in working units moves to the centre, up to rounding.
    """
    space = safe_radius(domain, view.centre)
    if space > 0:
        return radius_index(space) - 1
    return numba_kernels.BELOW_ALL_RUNGS - 1 if domain.maps_last else view.low - 1


def block_rows(domain: Domain) -> int:
    """Return the number of converted rows that fit in a cache: complete groups, if at least one fits."""
    rows, group = max(numba_kernels.LANES, BLOCK_BYTES // (8 * domain.d)), domain.lines.shape[1] // domain.d
    return rows - rows % group if rows > group else rows


def is_loop_ready(rows: NDArray[Any], domain: Domain) -> bool:
    """Whether compiled loops can read the rows without conversion; the loops apply working units themselves."""
    plain = rows.dtype == np.float64 and rows.dtype.isnative and rows.flags.c_contiguous
    return bool(plain and not domain.strict)


def copy_as_floats(rows: NDArray[Any], block: Floats) -> None:
    """Copy rows into a block of the same shape; each value becomes the nearest float64."""
    if rows.strides[0] == rows.itemsize < rows.strides[1] and rows.dtype.char in "fd" and rows.dtype.isnative:
        numba_kernels.transpose(rows.T, block)
    else:
        with np.errstate(over="ignore"):  # values beyond float64 become infinite, and are treated as such
            block[:] = rows


def convert(rows: NDArray[Any], domain: Domain, block: Floats) -> None:
    """Copy rows into a block of the same shape, as C-ordered floats in the user's units."""
    copy_as_floats(rows, block)
    if domain.strict and not np.isfinite(select_complete_rows(block, domain)[:, domain.strict]).all():
        refuse_missing()


def find_complete_rows(block: Floats, domain: Domain) -> NDArray[np.bool_]:
    """Return which rows are complete: finite in every column where a missing value drops the row.

    The result for a row depends on that row only.
    """
    counted = np.empty(len(block), dtype=np.bool_)
    numba_kernels.mark_complete_rows(_freeze(block), np.array(domain.dropped, dtype=np.int64), counted)
    return counted


def select_complete_rows(block: Floats, domain: Domain) -> Floats:
    """Return the complete rows; usually this is the block itself."""
    if not domain.dropped:
        return block
    counted = find_complete_rows(block, domain)
    return block if counted.all() else block[counted]


def group_rows(rows: Floats, domain: Domain) -> list[numba_kernels.Rows]:
    """Return C-ordered rows in the form that loops accept: groups of equal size, then the smaller rest."""
    lines, rows, (n, d) = domain.lines, _freeze(rows), rows.shape
    if len(lines) == 1:
        return [(rows, lines, rows, _NOTHING, rows)]
    size = lines.shape[1] // d
    whole, block = n - n % size, np.empty((size, d))
    found = [_make_group(rows[:whole], lines, block, domain)] if whole else []
    if left := n - whole:
        found.append(_make_group(rows[whole:], np.ascontiguousarray(lines[:, : left * d]), block[:left], domain))
    return found


def _make_group(rows: Floats, lines: Floats, block: Floats, domain: Domain) -> numba_kernels.Rows:
    """Return rows in groups of the size of a block; the block is scratch memory for a loop."""
    wide, line, block = rows.reshape(-1, block.size), block.reshape(1, -1), _freeze(block)
    return wide, lines, block, line, rows if domain.maps_last else block


def _freeze(rows: Floats) -> Floats:
    """Return a read-only view of rows, so that loops are compiled for one type only."""
    fixed = rows.view()
    fixed.flags.writeable = False
    return fixed


def run(loop: Callable[..., bool], domain: Domain, block: Floats, *arguments: object) -> None:
    """Run a compiled loop over a block in the user's units; refuse non-finite values unless they are imputed."""
    for some in group_rows(block, domain):
        run_group(loop, domain, some, *arguments)


def run_group(loop: Callable[..., bool], domain: Domain, some: numba_kernels.Rows, *arguments: object) -> None:
    """Run a compiled loop over groups of rows."""
    entry: numba_kernels.Entry = (domain.limit, domain.impute, norm_bits(domain.d), domain.maps_last)
    if not loop(some, entry, *arguments):
        refuse_missing()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A public query and the domain of the rows. ``dpmean`` creates it, and an engine runs it on blocks of rows.

    Attributes:
        question: The query to be answered over all rows. It is public.
        domain: The rule that brings each row within the bound. It is public.

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
        """Return the total over zero rows: an array of zeros."""
        return np.zeros(self.shape, dtype=np.int64)

    def add(self, rows: NDArray[Any], total: Ints) -> None:
        """Add the contribution of a block of rows to a total.

        Args:
            rows: A block of rows: an array of real numbers with d columns and any number of rows.
            total: The total so far, which begins as ``zeros()``. It is changed in place.

        """
        if not isinstance(rows, np.ndarray):
            raise ArgumentTypeError(f"kernel.add takes an array of rows, got {type(rows).__name__}: use numpy.asarray")
        for block in self._readable(rows):
            self.add_block(block, total)

    def add_block(self, block: Floats, total: Ints) -> None:
        """Add the contribution of a block that compiled loops can read without conversion.

        Args:
            block: A C-ordered block of floats, in the user's units.
            total: The total so far. It is changed in place.

        """
        asked, every = self.question, block
        block = select_complete_rows(block, self.domain)
        match asked:
            case Present():
                numba_kernels.count_present(_freeze(every), total)
                total[-1] += len(block)
            case Distances():
                inner = safe_rung(self.domain, asked)
                run(numba_kernels.count_distances, self.domain, block, asked.centre, inner, asked.low, total[0])
            case Sides():
                run(numba_kernels.count_sides, self.domain, block, asked.centre, asked.low, total)
            case Ball():
                roomy = asked.radius * asked.unit < safe_radius(self.domain, asked.centre)
                run(numba_kernels.add_clipped, self.domain, block, asked.centre, roomy, asked.unit, asked.radius, total)
            case Shells():
                roomy = asked.radii[0] * asked.unit < safe_radius(self.domain, asked.centre)
                line = (asked.centre, roomy, asked.unit, np.array(asked.radii, dtype=np.int64), asked.length)
                run(numba_kernels.add_shells, self.domain, block, *line, total[0], total[1])
            case Bins():
                edge, low = safe_rung(self.domain, asked.distances), asked.distances.low
                wholes, units = np.array(asked.radii, dtype=np.int64), np.ldexp(1.0, -np.array(asked.exponents))
                bins = (asked.first, asked.stride, wholes, units, asked.length, *bin_parts(asked, total))
                run(numba_kernels.add_bins, self.domain, block, asked.centre, edge, low, *bins)

    def total(self, found: Ints) -> Histogram | Ints | ShellSums | BinSums:
        """Return the exact answer to the query.

        Args:
            found: The sum of the totals of all blocks.

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
        if is_loop_ready(rows, self.domain):
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
    """Split the flat answer to ``Bins`` into counts, sums of rows and sums of directions."""
    counts, sums = np.split(total, [bins.distances.points + 1])
    inner, outer = sums.reshape(2, len(bins.radii), -1)
    return counts, inner, outer


def bin_sums(bins: Bins, total: Ints) -> BinSums:
    """Return the answer to ``Bins`` in the form that a trust model uses."""
    counts, inner, outer = bin_parts(bins, total)
    return BinSums(Histogram(np.cumsum(counts)[np.newaxis]), inner, outer)
