"""The third step of the refined mean: how far from the centre rows are, and where they end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpmean.estimators.refined import plan
from dpmean.estimators.refined.extent import Extent
from dpmean.estimators.refined.problem import Problem
from dpmean.queries.queries import Floats
from dpmean.trust.central.handles import Binned, Counts

WELL_BEYOND = 1.5
"""Times as far as rows are expected to be: a radius there tells of a heavy tail, and rows there may raise an alarm."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """All rows, counted by their distance from a centre; in one pass, also added up, bin by bin."""

    centre: Floats
    counts: Counts
    binned: Binned | None


@final
@dataclass(frozen=True, slots=True)
class End:
    """A radius that few rows lie beyond."""

    radius: float
    unseen: float
    """How many rows may lie anywhere beyond it without having been noticed."""
    pressure: float
    """How many rows the search left beyond it, times how fast their number falls (see tail_bias)."""
    slope: float = 3.0
    """How steeply large radii lost weight: the more, the less the number of rows beyond varies."""
    tail: float | None = None
    """By how much rows exceed the radius, added up, if that is known better than from pressure and spread."""
    tail_std: float = 0.0
    """The standard deviation of that."""


@final
@dataclass(frozen=True, slots=True)
class Alarm:
    """Whether more rows lie far out than clipping may cost."""

    far: End | None
    """Where these end, if there are too many."""
    noticed: float
    """So many would have been noticed."""
    cost: Fraction
    """What the search for their end took from what is left for the centre."""


def measure(problem: Problem, extent: Extent, centre: Floats) -> Distances:
    """Count all rows by their distance from a centre."""
    grid, curator, rows = problem.grid, problem.curator, problem.rows
    if not problem.one_pass:
        return Distances(centre, curator.count(rows, grid.distances(centre)), None)
    least = problem.radius(0) if extent.lumpy else extent.spread / 16
    binned = curator.bin(rows, grid.bins(centre, least, problem.n))
    return Distances(centre, binned.counts, binned)


def upper_end(
    problem: Problem,
    counts: Counts,
    centre: Floats,
    least: float,
    steep: float,
    cost: Fraction,
    step: str,
    *,
    line: int = 0,
    noticed: float = math.inf,
) -> End:
    """Find a radius, not below ``least``, beyond which hardly any row lies: large ones lose weight steeply.

    Less steeply if there are few rows.
    """
    epsilon = math.sqrt(8 * cost)
    slope = min(steep, epsilon * problem.n / (2 * math.log(16)))
    start = problem.index(least, counts)
    radius = problem.radius(problem.curator.upper_end(counts, line, start, slope, cost, step))
    unseen = (slope * math.log(problem.farthest(centre) / radius) + 3) / epsilon
    return End(radius, min(unseen, noticed), slope / epsilon, slope)


def end_of_rows(problem: Problem, counts: Counts, cost: Fraction, step: str, start: int = 0, line: int = 0) -> End:
    """Search for the distance that all but a few rows do not exceed, wherever it is, from one rung on."""
    unseen = max(problem.harmless, 3 * problem.curator.quantile_std(counts, cost, start))
    found = problem.curator.quantile(counts, problem.n - unseen, cost, step, start, line)
    return End(problem.radius(found), unseen, 3 * unseen)


def far_rows(problem: Problem, counts: Counts, radius: float, left: Fraction) -> Alarm:
    """Raise an alarm if more rows lie far out than clipping may cost, and find where they end."""
    index = problem.index(WELL_BEYOND * radius, counts)
    far = problem.curator.count_beyond(counts, index, problem.shares.alarm, "alarm")
    certainty = 1.7 if problem.d >= 8 else 3.5  # a false alarm costs more in few dimensions
    noticed = (certainty + 3) * far.std + 0.7 * problem.harmless
    if far.value <= certainty * far.std + 0.7 * problem.harmless:
        return Alarm(None, noticed, Fraction(0))
    cost = min(plan.part(problem.rho, 0.12), left / 4)
    return Alarm(end_of_rows(problem, counts, cost, "far rows", problem.index(radius, counts)), noticed, cost)
