"""A fingerprint of rows and their positions: whether two passes saw the same rows in the same order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmean.noise.jit import compiled


@compiled
def fingerprint(rows: NDArray[np.uint64], start: int) -> np.uint64:
    """Return a sum over rows of a hash of the row and its position: rows in another order give another sum.

    Sums of blocks add up modulo 2^64, however rows are cut into blocks. The hash finds changes by accident, with a
    chance of about 2^-64 to miss one; it is not meant to resist somebody who looks for a collision.
    """
    total = np.uint64(0)
    for i in range(rows.shape[0]):
        word = np.uint64(start + i + 1) * np.uint64(0x9E3779B97F4A7C15)
        for j in range(rows.shape[1]):
            word = (word ^ rows[i, j]) * np.uint64(0xD6E8FEB86659FD93)
            word ^= word >> np.uint64(32)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)  # every bit of a row reaches all others
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        total += word ^ (word >> np.uint64(31))
    return total
