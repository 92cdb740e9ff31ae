"""What a worker of a cluster does: whole numbers from one part of the rows, and never an error that quotes them."""

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
    """What some of the rows give, how many they are, and what went wrong; merged by ``+``."""

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
        """Return the total and the number of rows, or raise what went wrong."""
        if self.fault or self.total is None:
            raise DataError(self.fault or "there are no rows")
        return self.total, self.seen


def partial(kernel: Kernel, blocks: Iterable[NDArray[Any]]) -> Partial:
    """Add up what blocks give; this does not raise, since an error on a worker is logged with what it worked on."""
    total, seen = kernel.zeros(), 0
    try:
        for block in blocks:
            if len(block) and (block.ndim != 2 or block.shape[1] != kernel.domain.d):
                return Partial(None, 0, "the rows differ in length, so nothing was released")
            kernel.add(block, total)
            seen += len(block)
    except Exception as error:
        return Partial(None, 0, fault_of(error))
    return Partial(total, seen)


def fault_of(error: Exception) -> str:
    """Return what may be said of an error: ours in its own words, of others the kind alone."""
    if isinstance(error, DataError):
        return str(error)
    return f"a worker failed ({type(error).__name__}), so nothing was released"


def merged(parts: Iterable[Partial]) -> Partial:
    """Merge parts, in any order."""
    return sum(parts, start=Partial(None, 0))
