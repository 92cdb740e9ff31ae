"""Rows that are read again for every query: an engine provides two methods, and this module builds rows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, final, overload

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentTypeError, DataError
from dpmean.queries.domain import Domain
from dpmean.queries.interfaces import Rows
from dpmean.queries.queries import (
    Ball,
    BallSquares,
    Bins,
    Columns,
    Coordinates,
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
from dpmean.rows.block_query import Kernel
from dpmean.rows.dtype_names import KINDS
from dpmean.rows.memory import MemoryRows


class Source(Protocol):
    """Rows in any storage, before a domain is applied to them."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, if they have names."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        ...

    def rows(self, domain: Domain) -> Rows:
        """Return the rows with a domain applied."""
        ...


class Engine(Protocol):
    """The interface of an engine: it reads rows that need not fit in memory. It has two methods."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        ...

    def add_up(self, kernel: Kernel) -> tuple[Ints, int]:
        """Read all rows once, and return the sum of the totals of all blocks, and the number of rows that were read.

        Args:
            kernel: The computation to run on each block of rows. It can be pickled, to run on other machines.

        """
        ...

    def gather(self, positions: Ints) -> NDArray[Any]:
        """Return the rows at the given positions.

        Args:
            positions: The positions, in ascending order.

        """
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Streamed:
    """The rows that an engine reads: pass it to ``dpmean.mean`` as ``X``.

    Attributes:
        engine: The engine that reads the rows.
        names: The names of the columns, if they have names.

    """

    engine: Engine
    names: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return self.engine.shape

    def rows(self, domain: Domain) -> StreamedRows:
        """Return the rows with a domain applied.

        Args:
            domain: The bound, and the rule for non-finite values.

        """
        return StreamedRows(self.engine, domain)


@final
@dataclass(frozen=True, slots=True, eq=False)
class StreamedRows:
    """All rows of an engine with a domain applied; only rows at public positions are ever collected."""

    engine: Engine
    domain: Domain

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.engine.shape[0]

    @property
    def d(self) -> int:
        """The number of coordinates of a row."""
        return self.engine.shape[1]

    def through(self, domain: Domain) -> StreamedRows:
        """Return the same rows with another domain."""
        return StreamedRows(self.engine, domain)

    def take(self, positions: Ints) -> MemoryRows:
        """Collect the rows at the given positions; for an empty list the engine is not called."""
        if not len(positions):
            return MemoryRows(np.empty((0, self.d)), self.domain)
        order = np.argsort(positions, kind="stable")
        found = _check_gathered(self.engine.gather(positions[order]), self.d)
        if len(found) != len(positions):
            raise DataError(_MISCOUNTED)
        back = np.empty(len(positions), dtype=np.int64)
        back[order] = np.arange(len(positions))
        return MemoryRows(found, self.domain, back).drop_incomplete()

    def collect(self) -> MemoryRows:
        """Collect all rows."""
        return MemoryRows(self.take(np.arange(self.n)).array, self.domain)

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
            case Coordinates() | Columns() | Pairs() | Octaves() | Squares() | BallSquares():
                return self.collect().answer(query)
            case _:
                return self._sum(query)

    def _sum(self, question: Question) -> Total:
        kernel = Kernel(question, self.domain)
        if not self.n:
            return kernel.total(kernel.zeros())
        total, seen = _check_total(self.engine.add_up(kernel), kernel)
        if seen != self.n:
            raise DataError(_MISCOUNTED)
        return kernel.total(total)


def _check_total(found: object, kernel: Kernel) -> tuple[Ints, int]:
    """Check that an engine returned a total and a number of rows; errors show neither, as both may be private."""
    if not isinstance(found, tuple) or len(found) != 2:
        raise ArgumentTypeError(
            "add_up of the engine must return the total and the number of rows as a tuple, got "
            f"{'a tuple of another length' if isinstance(found, tuple) else type(found).__name__}: return total, count"
        )
    total, seen = found
    if not isinstance(total, np.ndarray) or total.dtype != np.int64 or total.shape != kernel.shape:
        right = isinstance(total, np.ndarray) and total.dtype == np.int64
        raise ArgumentTypeError(
            "add_up of the engine must return a total of int64 in the shape kernel.shape, got "
            f"{'another shape' if right else _kind(total)}: begin with kernel.zeros(), and add totals with +"
        )
    if isinstance(seen, bool) or not isinstance(seen, int | np.integer):
        raise ArgumentTypeError(
            f"add_up of the engine must return the number of rows as an integer, got {type(seen).__name__}: count the "
            "rows of each block"
        )
    return total, int(seen)


def _check_gathered(found: object, d: int) -> NDArray[Any]:
    """Check that an engine returned an array of rows; errors do not show how many."""
    if isinstance(found, np.ndarray) and found.dtype.kind in "biuf" and found.ndim == 2 and found.shape[1] == d:
        return found
    numbers = isinstance(found, np.ndarray) and found.dtype.kind in "biuf"
    raise ArgumentTypeError(
        "gather of the engine must return an array of numbers with one row per position and all columns, got "
        f"{'another shape' if numbers else _kind(found)}: return a NumPy array of shape (len(positions), d)"
    )


def _kind(found: object) -> str:
    """Return a general name for what an engine returned: an exact type may reveal a single row."""
    if not isinstance(found, np.ndarray):
        return type(found).__name__
    return f"an array of {'floats' if found.dtype.kind == 'f' else KINDS.get(found.dtype.kind, 'objects')}"


CHANGED = (
    "the rows changed while they were read, so nothing was released: wait until writing to them has finished, or read "
    "a copy"
)
"""The error if two passes over the rows differ."""
_MISCOUNTED = f"{CHANGED}; an engine of your own must read each row exactly once"
"""The same error where the engine may have been written by the caller."""
