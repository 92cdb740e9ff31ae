"""The work of a cluster's worker: integer totals of one part of the rows, and errors that never quote a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from numpy.typing import NDArray

from dpmean.errors import DataError
from dpmean.queries.queries import Ints
from dpmean.rows.block_query import Kernel

NO_FAULT = ""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """The total over some of the rows, their number, and an error message if it failed; merged with ``+``."""

    total: Ints | None
    seen: int
    fault: str = NO_FAULT

    def __add__(self, other: Partial) -> Partial:
        if self.fault or other.fault:
            return Partial(None, 0, max(self.fault, other.fault))
        if self.total is None or other.total is None:
            return other if self.total is None else self
        return Partial(self.total + other.total, self.seen + other.seen)

    def answer(self) -> tuple[Ints, int]:
        """Return the total and the number of rows, or raise the error."""
        if self.fault or self.total is None:
            raise DataError(self.fault or "there are no rows")
        return self.total, self.seen


def partial(kernel: Kernel, blocks: Iterable[NDArray[Any]]) -> Partial:
    """Add up the totals of blocks. It never raises: clusters log an error on a worker together with its data."""
    total, seen = kernel.zeros(), 0
    try:
        for block in blocks:
            if len(block) and (block.ndim != 2 or block.shape[1] != kernel.domain.d):
                return Partial(None, 0, "the rows differ in length, so nothing was released")
            kernel.add(block, total)
            seen += len(block)
    except Exception as error:
        return Partial(None, 0, describe_fault(error))
    return Partial(total, seen)


def describe_fault(error: Exception) -> str:
    """Return a message that may be shown: our own errors unchanged, and only the type of others."""
    if isinstance(error, DataError):
        return str(error)
    return f"a worker failed ({type(error).__name__}), so nothing was released"


def merge(parts: Iterable[Partial]) -> Partial:
    """Merge parts, in any order."""
    return sum(parts, start=Partial(None, 0))
