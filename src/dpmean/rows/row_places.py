"""Positions of values on a line of candidate points: a noisy search counts them many times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.queries.queries import Ints
from dpmean.rows import numba_kernels
from dpmean.rows.threads import run_parts

_BUSY_BYTES = 8 << 20  # fewer bytes are not worth several threads


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowPlaces:
    """For several values per row, the index of the first point that is not below it: one line of ``indices`` each."""

    indices: NDArray[Any]
    threads: int

    def count_at_most(self, index: Ints) -> Ints:
        """Count, in every line, the entries at or below its index."""
        counts = np.empty(len(index), dtype=np.int64)

        def count(lines: slice) -> None:
            numba_kernels.count_at_most(self.indices[lines], index[lines], counts[lines])

        busy = self.indices.nbytes > _BUSY_BYTES
        size = max(1, len(index) // 8) if busy else len(index)
        run_parts(count, [slice(start, start + size) for start in range(0, len(index), size)], self.threads)
        return counts
