"""The clipped mean (sections 3.1 and 3.2 of the paper): choose a radius privately, clip at it, and add noise once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.estimators.feasibility import Need, rows_for_radius_and_mean
from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid, radius_at
from dpmean.numerics.noisy_search import questions, rank_error
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.queries import Floats, VectorSum
from dpmean.release.estimate import Estimate
from dpmean.trust.central.costs import rows_to_clip, split
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.handles import Counts

FAILURE = 0.1
"""The probability beta that a comparison errs by more than the rank error."""


@final
@dataclass(frozen=True, slots=True)
class ClippedMean:
    """The mean of rows that are clipped around the origin (CM in the paper)."""

    grid: Grid
    coins: PublicCoins
    one_pass: bool = False
    name = "clipped"

    def __call__(self, curator: Curator) -> Estimate:
        """Estimate the mean of the rows within the budget."""
        clip = clipped_in_one_pass if self.one_pass else clipped_around
        return clip(curator, np.zeros(self.grid.d), self.grid)

    def rows_needed(self, budget: Zcdp, neighbours: Neighbours) -> Need:
        """Return the number of rows that this estimator needs."""
        return rows_for_radius_and_mean(self.grid.d, budget, neighbours)


def clipped_around(curator: Curator, centre: Floats, grid: Grid, quantile: float | None = None) -> Estimate:
    """Choose a radius around the centre with a quarter of the remaining budget, clip at it, and release with the rest.

    The radius is the given ``quantile`` of the distances; without one, it balances noise and bias.
    """
    budget, rows = Zcdp(curator.left), curator.rows
    for_radius, for_mean = split(budget, 1, 3)
    counts = curator.count(rows, grid.distances(centre))
    rank = _rank(curator, counts, budget, for_radius) if quantile is None else quantile * rows.n
    radius = radius_at(grid.lowest + curator.quantile(counts, rank, for_radius.rho, "radius"))
    total = curator.ball_sum(rows, grid.ball(centre, radius), for_mean.rho, "mean")
    return _estimate(curator, centre, radius, total)


def clipped_in_one_pass(curator: Curator, centre: Floats, grid: Grid) -> Estimate:
    """Do the same in one pass over the rows; the radius is that of one of the bins."""
    budget, rows = Zcdp(curator.left), curator.rows
    for_radius = budget.share(1, 4)
    binned = curator.bin(rows, grid.bins(centre, radius_at(grid.lowest), rows.n))
    rank = _rank(curator, binned.counts, budget, for_radius)
    found = grid.lowest + curator.quantile(binned.counts, rank, for_radius.rho, "radius")
    sums = curator.add_up_bins(binned, [binned.bins.at(found)])
    total = curator.clipped_sum(sums, 0, curator.left, "mean")
    return _estimate(curator, centre, sums.shells.radii[0] * sums.shells.unit, total)


def _rank(curator: Curator, counts: Counts, budget: Zcdp, for_radius: Zcdp) -> float:
    """Return the number of rows within the radius: all except those that are best clipped, or that noise hides."""
    std = curator.quantile_std(counts, for_radius.rho)
    hidden = rank_error(std, questions(counts.points), FAILURE)
    return max(counts.n - max(rows_to_clip(curator.rows.d, budget, curator.neighbours), hidden), 1)


def _estimate(curator: Curator, centre: Floats, radius: float, total: VectorSum) -> Estimate:
    return Estimate(
        mean=centre + total.total * (total.unit / curator.rows.n),
        noise_std=math.sqrt(total.variance) * total.unit / curator.rows.n,
        centre=centre,
        radius=radius,
        receipts=curator.receipts,
    )
