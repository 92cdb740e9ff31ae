"""One vector per person: the mean of that person's rows, wherever in the table they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import DataError
from dpmean.noise.jit import compiled
from dpmean.queries.queries import Floats, Ints
from dpmean.rows.missing_values import refuse_missing

_ROWS = 4096
_LARGEST = 1e308
"""A sum of finite values stays finite."""


def means_of_persons(
    blocks: Iterable[NDArray[Any]], persons: Ints, count: int, d: int, strict: NDArray[np.bool_]
) -> Floats:
    """Average the rows of each person, column by column; ``persons`` numbers them, and rows below zero are left out.

    A value that is not finite is left out of its mean, and a mean of nothing is NaN; in ``strict`` columns it is an
    error. What becomes of one person depends on no other's rows, nor on how rows come in blocks.
    """
    room = _room(count, d)
    if room is None:
        raise DataError(
            "there is not enough memory for one vector of each person, so nothing was released: use fewer columns, or "
            "a machine with more"
        )
    (sums, counts), start = room, 0
    for block in blocks:
        for first in range(0, len(block), _ROWS):
            with np.errstate(over="ignore"):
                some = np.ascontiguousarray(block[first : first + _ROWS], dtype=np.float64)
            if not _add(some, persons[start : start + len(some)], strict, sums, counts):
                refuse_missing()
            start += len(some)
    with np.errstate(invalid="ignore"):
        means: Floats = sums / np.where(counts, counts, 1)
        means[counts == 0] = np.nan
    return means


def _room(count: int, d: int) -> tuple[Floats, Ints] | None:
    """Return room for sums and counts; None if there is none, as NumPy's own error tells how many persons there are."""
    try:
        return np.zeros((count, d)), np.zeros((count, d), dtype=np.int64)
    except MemoryError:
        return None


@compiled
def _add(block: Floats, persons: Ints, strict: NDArray[np.bool_], sums: Floats, counts: Ints) -> bool:
    for i in range(block.shape[0]):
        person = persons[i]
        if person < 0:
            continue
        for j in range(block.shape[1]):
            value = block[i, j]
            if np.isfinite(value):
                sums[person, j] = min(max(sums[person, j] + value, -_LARGEST), _LARGEST)
                counts[person, j] += 1
            elif strict[j]:
                return False
    return True
