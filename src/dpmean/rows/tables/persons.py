"""One vector per person: the mean of that person's rows, in any order of the table."""

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
"""The limit for sums, so that a sum of finite values stays finite."""


def average_by_person(
    blocks: Iterable[NDArray[Any]], persons: Ints, count: int, d: int, strict: NDArray[np.bool_]
) -> Floats:
    """Average the rows of each person, column by column; ``persons`` has a number per row, and -1 leaves a row out.

    Non-finite values are left out of a mean, and a mean without values is NaN; in ``strict`` columns non-finite values
    are an error. The mean of one person does not depend on other persons' rows, nor on the division into blocks.
    """
    room = _allocate(count, d)
    if room is None:
        raise DataError(
            "there is not enough memory for one vector of each person, so nothing was released: use fewer columns, or "
            "a machine with more memory"
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


def _allocate(count: int, d: int) -> tuple[Floats, Ints] | None:
    """Allocate sums and counts; None if memory is short, as NumPy's own error would reveal the number of persons."""
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
