"""The refined mean: shape, extent, centre, radius, release. It has no parameters to tune, and needs no rotation.

All numbers come from the curator, which answers with noise and keeps the receipts. Budgets and queries depend on
earlier answers, and the curator's filter bounds their total cost. Each step returns its result to the next one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from dpmean.enums import Shaping
from dpmean.estimators.feasibility import Need, rows_for_radius_and_mean
from dpmean.estimators.refined import plan
from dpmean.estimators.refined.centre import Centre, locate
from dpmean.estimators.refined.extent import Extent, find_extent
from dpmean.estimators.refined.few_columns import (
    STEEP,
    look_within,
    release_few_columns,
    release_from,
    release_interval,
    release_interval_from,
    two_sided,
)
from dpmean.estimators.refined.posing import draw_samples, find_shape, pose
from dpmean.estimators.refined.problem import Problem
from dpmean.estimators.refined.radius import WELL_BEYOND, end_of_rows, far_rows, measure, upper_end
from dpmean.estimators.refined.release import release_in_ball, release_in_bins, release_on_ladder
from dpmean.estimators.refined.shape import OrderedScales, in_shape
from dpmean.estimators.refined.variances import add_variances, put_aside
from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.release.estimate import Estimate
from dpmean.trust.central.curator import Curator

NEAR = 0.6
"""The error of a centre, in spreads, that is small enough to measure distances from it."""
ASTRAY = 0.25
"""The possible error of a centre found from clipped rows, as a part of the distance at which rows end."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class RefinedMean:
    """The mean of rows that are clipped around a centre and at a radius which are refined step by step."""

    grid: Grid
    coins: PublicCoins
    one_pass: bool = False
    """Whether to read all rows once instead of twice, if a sample finds the centre; see ``Bins``."""
    shaping: OrderedScales = Shaping.AUTO
    """Whether to find scales of columns (``AUTO``) or not (``ROUND``), or the scales, in the user's units."""
    population: bool = False
    """Whether to find the variances of columns as well."""
    name = "refined"

    def __call__(self, curator: Curator) -> Estimate:
        """Estimate the mean of the rows within the budget."""
        if self.population:
            put_aside(curator)
        samples = draw_samples(curator, self.coins, self.shaping)
        shape = find_shape(curator, samples, self.shaping, self.grid)
        problem = pose(curator, samples, shape, self.grid, one_pass=self.one_pass)
        extent = find_extent(problem)
        start = Centre(np.zeros(problem.d), extent.error, problem.rho - problem.shares.total)
        centre = locate(problem, start, extent.spread, until=NEAR if problem.all_find_the_centre else 0.0)
        if extent.lumpy:
            found = _release_lumps(problem, extent, centre)
        else:
            found = (release_interval if two_sided(problem) else _release_ball)(problem, extent, centre)
        if self.population:
            curator.take_back()
            found = add_variances(problem, found, curator.left)
        return found if shape is None else in_shape(found, shape, extent.spread)

    def rows_needed(self, budget: Zcdp, neighbours: Neighbours) -> Need:
        """Return the number of rows that this estimator needs."""
        return rows_needed(self.grid.d, budget, neighbours)


def rows_needed(d: int, budget: Zcdp, neighbours: Neighbours) -> Need:
    """Return the number of rows that the refined mean needs.

    With few columns, the minimum is the recommended number: if many rows are equal, the ends may be missed, and no
    margin of error would show it. Both ends of an interval are harder to find than the radius of a ball.
    """
    need, root = rows_for_radius_and_mean(d, budget, neighbours), math.sqrt(budget.rho)
    if d > plan.FEW:
        return need
    least = (240 if neighbours.contributions == 2 else 200) if d == 1 else 140
    return need.and_also(Need(least / root, least / root))


def _release_ball(problem: Problem, extent: Extent, centre: Centre) -> Estimate:
    """Find the radius in two steps, refine the centre in between, and release the mean of the clipped rows."""
    shares, few = problem.shares, problem.d <= plan.FEW
    least = extent.spread / 4 if few else extent.spread / 2
    steep = STEEP if few else 10 + 2 * math.sqrt(problem.d)
    seen = measure(problem, extent, centre.at)
    outline = upper_end(problem, seen.counts, centre.at, least, steep, shares.outline, "outline")
    expected = math.hypot(extent.spread, centre.error)
    far, noticed = None, math.inf
    if shares.alarm:
        alarm = far_rows(problem, seen.counts, max(outline.radius, expected), centre.left)
        centre, noticed = replace(centre, left=centre.left - alarm.cost), alarm.noticed
        far = alarm.far if alarm.far is not None and alarm.far.radius > 1.25 * outline.radius else None

    if problem.all_find_the_centre:
        heavy = outline.radius > WELL_BEYOND * expected
        width = far.radius / 1.05 if far else outline.radius / 1.1 if heavy else extent.spread
        if far or heavy:
            centre = replace(centre, error=max(centre.error, ASTRAY * width))
        found = locate(problem, centre, extent.spread, until=0.0, width=width)
        seen = seen if found is centre else measure(problem, extent, found.at)
        centre = found
    if few and far:
        return release_from(problem, extent, centre, seen, far.radius)
    if few:
        inner = look_within(problem, seen, outline)
        return release_few_columns(problem, extent, centre, seen, inner, outline, noticed)
    end = far or upper_end(problem, seen.counts, centre.at, least, steep, shares.radius, "radius", noticed=noticed)
    return release_on_ladder(problem, extent, centre, seen, end)


def _release_lumps(problem: Problem, extent: Extent, centre: Centre) -> Estimate:
    """Release the mean of rows most of which are almost equal: search all distances for where the others end.

    If no others are found, and the lump is far from the origin (such as zeros with bounds 0 and 1), clip nothing.
    """
    grid, d, cost = problem.grid, problem.d, min(plan.part(problem.rho, 0.25), centre.left / 3)
    seen = None
    if two_sided(problem) and problem.n * math.sqrt(problem.rho) >= 2000:
        sides = problem.curator.count(problem.rows, grid.sides(centre.at))
        up = end_of_rows(problem, sides, cost / 2, "far rows above")
        down = end_of_rows(problem, sides, cost / 2, "far rows below", line=1)
    else:
        seen = measure(problem, extent, centre.at)
        up = down = end_of_rows(problem, seen.counts, cost, "far rows")
    farthest = max(up.radius, down.radius)
    if farthest < grid.reach / 256 and extent.reach > grid.reach / 2:
        if problem.one_pass and seen is not None:
            whole = replace(down, unseen=0.0, radius=problem.farthest(centre.at))
            return release_in_bins(problem, extent, centre, seen, whole)
        whole = replace(down, unseen=0.0, radius=grid.reach)
        return release_in_ball(problem, extent, centre, np.zeros(d), grid.reach, whole)
    if d <= plan.FEW and farthest > grid.reach / 2048:
        if seen is None:
            return release_interval_from(problem, extent, centre, (up.radius, down.radius))
        return release_from(problem, extent, centre, seen, farthest)
    nothing = replace(down, unseen=2 * down.unseen)  # the search may also miss as many rows as it leaves
    if seen is None or (d < plan.LADDER_FROM and not problem.one_pass):
        return release_in_ball(problem, extent, centre, centre.at, farthest, nothing)
    release = release_on_ladder if d >= plan.LADDER_FROM else release_in_bins
    return release(problem, extent, centre, seen, nothing if d <= plan.FEW else down)
