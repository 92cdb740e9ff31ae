"""For few columns: clip where rows beyond move the mean about as far as the noise does, and say how far that is.

Clipping deeper pays in many columns, where a bias in one direction is lost in the noise of all others, and can be
measured. In few, the bias is most of the error, and no margin of error is tighter than what is known of it.

The rows beyond the end of a search follow a law: if numbers of rows fall like x^-index, the search with a given slope
leaves about slope / index / epsilon of them, give or take the square root of that over epsilon. The index comes from a
count of rows further in, and is taken with caution: some rows may have a heavier tail than most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

from dpmean.estimators.refined import plan
from dpmean.estimators.refined.centre import Centre
from dpmean.estimators.refined.extent import Extent
from dpmean.estimators.refined.problem import Problem
from dpmean.estimators.refined.radius import Distances, End, upper_end
from dpmean.estimators.refined.release import release_in_ball, release_in_bins, release_on_ladder
from dpmean.release.estimate import Estimate
from dpmean.trust.central.handles import Counts

LEAST_INDEX, LEAST_OF_ONE = 2.2, 2.0
"""No tail is taken to be heavier: with an index of 2 the variance would be infinite. One column has no others that
lengthen its rows, and its values may be far apart."""
TRUST, TRUST_IN_ONE = 0.7, 0.33
"""How much of the index beyond the least is believed."""
_STEEPEST_INDEX = 50.0
"""Of rows that end like a wall."""
_GUARD = 1.3
"""The index near the end is at most so many times that between the spread and the end."""
GOAL_OF_ONE, GOAL, GOAL_OF_MORE = 1.5, 1.9, 2.5
"""How far rows beyond the end may move the mean: in radii, times 1 / (n sqrt(rho)). For one column, for less than
plan.LADDER_FROM, and for more."""
_GENTLE, _STEEP_OF_ONE, STEEP, _STEEPEST = 5.0, 8.0, 20.0, 100.0
"""The slopes of a search: where there is no tail to go by, at least in one column, at least in more if a row is
replaced, and at most."""
_PART_OF_GOAL = 0.5
"""The slope is such that rows beyond the end exceed it by this part of the goal, if that is steep enough."""
_ROWS_BEYOND_OF_ONE, _ROWS_BEYOND = 1 / 70, 1 / 22
"""A search may leave so many times n / index rows beyond its end. One column may have few values: those beyond the end
are then all equal, and more than the law of a tail says."""
_FARTHER_OF_ONE, _FARTHER = 1.3, 1.8
"""The end moves out by this factor at most."""
_HEAVY = 2.8
"""With an index below this, and columns enough, clipping deeper pays if its bias is measured."""
_ENOUGH = 8.0
"""In standard deviations: so many rows tell the index well."""


@final
@dataclass(frozen=True, slots=True)
class Inner:
    """A radius well within the end, and how many rows are beyond it, at least."""

    radius: float
    rows: float


@final
@dataclass(frozen=True, slots=True)
class Tail:
    """How the number of rows falls beyond the end of a search."""

    end: End
    index: float

    @property
    def rows(self) -> float:
        """How many rows are beyond the end, about."""
        return self.end.pressure / self.index

    def excess(self, radius: float) -> float:
        """Return by how much rows exceed a radius from the end on, added up."""
        return self.rows * self.end.radius * math.pow(self.end.radius / radius, self.index - 1) / (self.index - 1)

    def radius(self, goal: float, farther: float) -> float:
        """Return the radius from the end on that rows exceed by ``goal`` radii, added up, if that is not too far."""
        times = math.pow(self.excess(self.end.radius) / (goal * self.end.radius), 1 / self.index)
        return self.end.radius * min(max(times, 1.0), farther)

    def cut(self, radius: float) -> End:
        """Return the end moved to a radius, with what is known of the rows beyond."""
        excess = self.excess(radius)
        return replace(self.end, radius=radius, tail=excess, tail_std=excess * math.sqrt(self.index / self.end.slope))


def look_within(problem: Problem, seen: Distances, outline: End) -> Inner | None:
    """Count rows somewhat within the outline, where there are enough to tell how their number falls.

    Not with one column: what it takes is better spent on the mean.
    """
    if problem.d == 1:
        return None
    inner = Inner(outline.radius, 1.0)
    for halves, step in ((1, "profile, near"), (2, "profile, far")):
        index = problem.index(outline.radius / 2 ** (halves / 2), seen.counts)
        rows = problem.curator.count_beyond(seen.counts, index, problem.shares.profile / 2, step)
        inner = Inner(problem.radius(index), max(min(rows.value, problem.n) - rows.std, 1.0))
        if rows.value > _ENOUGH * rows.std:
            break
    return inner


def index_at(problem: Problem, extent: Extent, inner: Inner | None, end: End) -> float:
    """Return how fast the number of rows falls at an end, with caution."""
    index = _index_between(Inner(extent.spread, problem.n / 4), end)
    if inner is not None:
        index = min(_index_between(inner, end), _GUARD * index)
    least, trust = (LEAST_OF_ONE, TRUST_IN_ONE) if problem.d == 1 else (LEAST_INDEX, TRUST)
    return least + max(index - least, 0.0) * trust


def _index_between(inner: Inner, end: End) -> float:
    """Return the power that joins the rows beyond an inner radius to the pressure / index rows beyond an end."""
    if end.radius <= inner.radius:
        return _STEEPEST_INDEX
    stretch, index = math.log(end.radius / inner.radius), _STEEPEST_INDEX
    for _ in range(60):
        fall = math.log(max(inner.rows * index / end.pressure, 1.01))
        index = min(max(fall / stretch, 1.0), _STEEPEST_INDEX)
    return index


def release_few_columns(
    problem: Problem,
    extent: Extent,
    centre: Centre,
    seen: Distances,
    inner: Inner | None,
    outline: End,
    noticed: float,
) -> Estimate:
    """Search for the end with a slope that fits the rows, move it to where the bias is as wanted, and release.

    So many rows far out would have been ``noticed``.
    """
    end = _search(problem, seen, extent.spread / 4, index_at(problem, extent, inner, outline))
    end = replace(end, unseen=min(end.unseen, noticed))
    return _release(problem, extent, centre, seen, Tail(end, index_at(problem, extent, inner, end)))


def release_interval(problem: Problem, extent: Extent, centre: Centre) -> Estimate:
    """Search for an end on both sides of the centre, which need not be equally far, move both, and release."""
    sides, least = problem.curator.count(problem.rows, problem.grid.sides(centre.at)), extent.spread / 4
    tails = []
    for line, name in enumerate(("upper", "lower")):
        cost = problem.shares.outline / 2
        outline = upper_end(problem, sides, centre.at, least, STEEP, cost, f"{name} outline", line=line)
        end = _search_side(problem, centre, sides, line, least, index_at(problem, extent, None, outline))
        tails.append(Tail(end, index_at(problem, extent, None, end)))
    return _release_interval(problem, extent, centre, tails[0], tails[1])


def release_from(problem: Problem, extent: Extent, centre: Centre, seen: Distances, least: float) -> Estimate:
    """Release the mean of rows that end about here, with no tail to go by: most are equal, or some are far out."""
    return _release(problem, extent, centre, seen, Tail(_search(problem, seen, least, None), _least_index(problem)))


def release_interval_from(problem: Problem, extent: Extent, centre: Centre, least: tuple[float, float]) -> Estimate:
    """Release the mean of numbers most of which are equal, and of which the others end about here on both sides."""
    sides, index = problem.curator.count(problem.rows, problem.grid.sides(centre.at)), _least_index(problem)
    ends = [_search_side(problem, centre, sides, line, least[line], None) for line in (0, 1)]
    return _release_interval(problem, extent, centre, Tail(ends[0], index), Tail(ends[1], index))


def two_sided(problem: Problem) -> bool:
    """Whether an interval serves better than a ball: not if what a row adds counts, but by how much it replaces."""
    return problem.d == 1 and problem.curator.neighbours.contributions == 2 and not problem.one_pass


def _least_index(problem: Problem) -> float:
    return LEAST_OF_ONE if problem.d == 1 else LEAST_INDEX


def _goal(problem: Problem) -> float:
    """Return by how much rows may exceed the end, added up, in radii."""
    goal = GOAL_OF_ONE if problem.d == 1 else GOAL if problem.d < plan.LADDER_FROM else GOAL_OF_MORE
    return goal * problem.curator.neighbours.contributions / math.sqrt(problem.rho)


def _slope(problem: Problem, index: float | None, goal: float, epsilon: float) -> float:
    """Return the slope of the search: the steeper, the better it tells the end, and the more rows are beyond it."""
    if index is None:
        return _GENTLE
    most = epsilon * problem.n * (_ROWS_BEYOND_OF_ONE if problem.d == 1 else _ROWS_BEYOND * max(index / 5, 1.0))
    fitting = _PART_OF_GOAL * goal * epsilon * index * (index - 1)
    if problem.d == 1:
        return min(max(2 * fitting, _STEEP_OF_ONE), STEEP, max(most, 2.0))
    steep = STEEP * problem.curator.neighbours.contributions / 2
    return min(max(fitting, min(steep, most)), _STEEPEST, max(most, 2.0))


def _search(problem: Problem, seen: Distances, least: float, index: float | None) -> End:
    cost = problem.shares.radius
    slope = _slope(problem, index, _goal(problem), math.sqrt(8 * cost))
    return upper_end(problem, seen.counts, seen.centre, least, slope, cost, "radius")


def _search_side(problem: Problem, centre: Centre, sides: Counts, line: int, least: float, index: float | None) -> End:
    cost = problem.shares.radius / 2
    slope = _slope(problem, index, _goal(problem) / 2, math.sqrt(8 * cost))
    step = "lower end" if line else "upper end"
    return upper_end(problem, sides, centre.at, least, slope, cost, step, line=line)


def _release(problem: Problem, extent: Extent, centre: Centre, seen: Distances, tail: Tail) -> Estimate:
    wanted = tail.radius(_goal(problem), _FARTHER_OF_ONE if problem.d == 1 else _FARTHER)
    end = tail.cut(problem.radius(problem.index(wanted, seen.counts)))
    if problem.d >= plan.LADDER_FROM and tail.index < _HEAVY:
        return release_on_ladder(problem, extent, centre, seen, end)
    if problem.one_pass:
        return release_in_bins(problem, extent, centre, seen, end)
    return release_in_ball(problem, extent, centre, seen.centre, end.radius, end)


def _release_interval(problem: Problem, extent: Extent, centre: Centre, up: Tail, down: Tail) -> Estimate:
    """Move both ends to where their biases, which point against each other, are as wanted, and release."""
    above, below = up.end.radius, down.end.radius
    for _ in range(4):
        wanted = _goal(problem) / 2 * (above + below) / 2
        above, below = up.radius(wanted / above, _FARTHER_OF_ONE), down.radius(wanted / below, _FARTHER_OF_ONE)
    ends = sorted((up.cut(above), down.cut(below)), key=lambda end: (end.tail or 0.0, end.tail_std))
    at, radius = centre.at + (above - below) / 2, (above + below) / 2
    return release_in_ball(problem, extent, centre, at, radius, replace(ends[1], radius=max(above, below)))
