"""Where one row lies, in integers: on the grid, rotated, away from a centre. No array library."""

from __future__ import annotations

import math
from collections.abc import Sequence

FARTHEST = 2.0**40
"""Beyond so many units from zero all numbers are alike."""


def number(x: object) -> float:
    """Read a number of a row; what is none is NaN, and the row answers as the centre would."""
    try:
        return float(x)  # type: ignore[arg-type]  # anything may be tried
    except (TypeError, ValueError, OverflowError):
        return math.nan


def on_grid(row: Sequence[float], step: int, reach: int, centre: Sequence[int]) -> list[int]:
    """Return a row in multiples of 2^step.

    One that is too long is shortened; one that is not finite is put at the centre (zero if there is none).
    """
    if not all(map(math.isfinite, row)):
        return list(centre) or [0] * len(row)
    unit, square = math.ldexp(1.0, step), 0.0
    scaled = [max(-FARTHEST, min(x / unit, FARTHEST)) for x in row]
    for x in scaled:  # in floats and in the order of the columns, so that arrays can do the same
        square += x * x
    if math.sqrt(square) <= reach:
        return [round(x) for x in scaled]
    shorter = (reach - 1) / math.sqrt(square)
    return [int(x * shorter) for x in scaled]


def rotated(row: Sequence[int], signs: Sequence[int], j: int) -> int:
    """Return coordinate j of the row, multiplied by signs and a Hadamard matrix."""
    parity = (-1 if (j & k).bit_count() & 1 else 1 for k in range(len(row)))
    return sum(p * s * x for p, s, x in zip(parity, signs, row, strict=False))


def moved(row: Sequence[int], centre: Sequence[int]) -> list[int]:
    """Return the row minus the centre (zero if there is none)."""
    return [x - c for x, c in zip(row, centre, strict=True)] if centre else list(row)


def length(row: Sequence[int]) -> int:
    """Return the norm, rounded up."""
    square = sum(x * x for x in row)
    return math.isqrt(square - 1) + 1 if square else 0
