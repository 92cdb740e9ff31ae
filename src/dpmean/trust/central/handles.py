"""Handles: what an estimator holds in place of rows and totals. They tell what everybody may know, and no more.

A curator keeps what a handle stands for. To ask about a handle costs something each time; to hold one costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpmean.queries.queries import Bins, Shells


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Sample:
    """Some rows, or all of them."""

    n: int
    """How many there are, as everybody may know."""
    d: int


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Counts:
    """Counts of rows, or of pairs of rows, by their distance, on a ladder of radii."""

    points: int
    n: int
    """How many are counted, as everybody may know."""


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
