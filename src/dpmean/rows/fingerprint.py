"""A fingerprint of rows and their positions: it shows whether two passes read the same rows in the same order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmean.noise.jit import compiled


@compiled
def fingerprint(rows: NDArray[np.uint64], start: int) -> np.uint64:
    """Return the sum of a hash of each row and its position: rows in another order give another sum.

    Sums of blocks add up modulo 2^64, and do not depend on how rows are divided into blocks. The hash misses an
    accidental change with probability 2^-64 or so. It is not cryptographic: collisions can be constructed.
    """
    total = np.uint64(0)
    for i in range(rows.shape[0]):
        word = np.uint64(start + i + 1) * np.uint64(0x9E3779B97F4A7C15)
        for j in range(rows.shape[1]):
            word = (word ^ rows[i, j]) * np.uint64(0xD6E8FEB86659FD93)
            word ^= word >> np.uint64(32)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)  # mix all bits of a row
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        total += word ^ (word >> np.uint64(31))
    return total
