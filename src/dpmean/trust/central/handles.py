"""Handles: what an estimator holds in place of rows and totals. They tell what everybody may know, and no more.

A curator keeps what a handle stands for. To ask about a handle costs something each time; to hold one costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Bins, Ints, Shells


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Sample:
    """Some rows, or all of them."""

    n: int
    """How many there are, as everybody may know."""
    d: int
    domain: Domain
    """How they are brought within a bound, which is public."""


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Counts:
    """Counts of rows, or of pairs of rows, by their distance, on a ladder of radii."""

    points: int
    n: int
    """How many are counted, as everybody may know."""
    of_pairs: bool = False


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Sums:
    """Sums of rows by shell: enough to clip the rows at any radius of these."""

    shells: Shells


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Binned:
    """Counts of rows by their distance, and sums bin by bin: one pass that serves every radius."""

    bins: Bins
    counts: Counts


def check_positions(positions: Ints, n: int) -> None:
    """Refuse positions that are not those of different rows among n: a row that is there twice would cost twice."""
    integers = isinstance(positions, np.ndarray) and positions.ndim == 1 and positions.dtype.kind in "iu"
    ordered = np.sort(positions) if integers else np.array([-1])
    if len(ordered) and (ordered[0] < 0 or ordered[-1] >= n or np.any(ordered[1:] == ordered[:-1])):
        raise ArgumentError(f"positions must be different integers from 0 to {n - 1}")
