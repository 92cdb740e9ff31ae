"""Handles, which an estimator holds in place of rows and totals. They contain public information only.

The curator keeps the data of a handle. Each query about a handle has a cost; the handle itself has none.
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
    """A handle for some rows, or for all."""

    n: int
    """The public number of rows."""
    d: int
    domain: Domain
    """The public domain of the rows."""


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Counts:
    """A handle for counts of rows, or of pairs of rows, by their distance, on a ladder of radii."""

    points: int
    n: int
    """The public number of rows or pairs that are counted."""
    of_pairs: bool = False


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Sums:
    """A handle for sums of rows by shell, which give the sum clipped at any of the radii."""

    shells: Shells


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Binned:
    """A handle for counts of rows by their distance, and sums bin by bin, from one pass for all radii."""

    bins: Bins
    counts: Counts


def check_positions(positions: Ints, n: int) -> None:
    """Refuse positions that are not distinct or not below n: a repeated row would cost twice."""
    integers = isinstance(positions, np.ndarray) and positions.ndim == 1 and positions.dtype.kind in "iu"
    ordered = np.sort(positions) if integers else np.array([-1])
    if len(ordered) and (ordered[0] < 0 or ordered[-1] >= n or np.any(ordered[1:] == ordered[:-1])):
        raise ArgumentError(f"positions must be different integers from 0 to {n - 1}")
