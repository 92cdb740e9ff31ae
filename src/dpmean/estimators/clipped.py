"""The clipped mean (sections 3.1 and 3.2): choose a radius privately, clip there, add noise once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.estimators.feasibility import Need, rows_for_radius_and_mean
from dpmean.numerics.grid import Grid, radius_at
from dpmean.numerics.noisy_search import questions, rank_error, search
from dpmean.numerics.shells import shell_sums, shells_of
from dpmean.privacy.budgets import Zcdp
from dpmean.queries.protocols import Noise, Rows, TrustModel
from dpmean.queries.queries import Estimate, Floats
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.model import Central

FAILURE = 0.1
"""beta: the chance that is left for a comparison to err by more than the rank error."""


@final
@dataclass(frozen=True, slots=True)
class ClippedMean:
    """Clip rows around the origin (CM)."""

    grid: Grid
    trust: Central
    one_pass: bool = False
    name = "clipped"

    def __call__(self, rows: Rows, budget: Zcdp, noise: Noise) -> Estimate:
        """Estimate the mean of the rows within the budget."""
        if self.one_pass:
            return clipped_in_one_pass(np.zeros(rows.d), self.grid, self.trust, rows, budget, noise)
        return clipped_around(np.zeros(rows.d), self.grid, self.trust, rows, budget, noise)

    def rows_needed(self, budget: Zcdp) -> Need:
        """Return how many rows this takes."""
        return rows_for_radius_and_mean(self.grid.d, self.trust, budget)


def clipped_around(
    centre: Floats,
    grid: Grid,
    trust: TrustModel,
    rows: Rows,
    budget: Zcdp,
    noise: Noise,
    quantile: float | None = None,
) -> Estimate:
    """Choose a radius around the centre with a quarter of the budget, and clip there with the rest.

    Without a ``quantile`` of the distances, the radius balances noise and bias.
    """
    for_radius, for_mean = trust.divide(budget, 1, 3)

    distances = grid.distances(centre)
    counter, paid_for_radius = trust.open_counter(rows, distances, for_radius, noise, "radius")
    if quantile is None:
        slack = rank_error(counter.noise_std, counter.questions, FAILURE)
        rank = max(rows.n - max(trust.rows_to_clip(rows.d, budget), slack), 1)
    else:
        rank = quantile * rows.n
    radius = radius_at(distances.low + int(search(counter, rank)[0]))

    total, paid_for_mean = trust.bounded_sum(rows, grid.ball(centre, radius), for_mean, noise, "mean")
    return Estimate(
        mean=centre + total.total * (total.unit / rows.n),
        noise_std=math.sqrt(total.variance) * total.unit / rows.n,
        centre=centre,
        radius=radius,
        receipts=(paid_for_radius, paid_for_mean),
    )


def clipped_in_one_pass(centre: Floats, grid: Grid, trust: Central, rows: Rows, budget: Zcdp, noise: Noise) -> Estimate:
    """Do the same for a trusted curator who reads the rows once; the radius is one of those of the bins."""
    curator, for_radius = Curator(budget, noise, trust), budget.share(1, 4).rho
    bins = grid.bins(centre, radius_at(grid.lowest), rows.n)
    sums = rows.add_up_bins(bins)
    histogram = sums.histogram
    asked, std = questions(histogram.points), curator.quantile_std(histogram, for_radius)
    to_clip = max(curator.trust.rows_to_clip(rows.d, budget), rank_error(std, asked, FAILURE))
    found = grid.lowest + curator.quantile(histogram, max(rows.n - to_clip, 1), for_radius, "radius")
    edges = [bins.at(found)]
    shells = shells_of(bins, edges)
    total = curator.clipped_sum(shell_sums(sums, bins, edges), shells, 0, curator.left, "mean")
    return Estimate(
        mean=centre + total.total * (total.unit / rows.n),
        noise_std=math.sqrt(total.variance) * total.unit / rows.n,
        centre=centre,
        radius=shells.radii[0] * shells.unit,
        receipts=tuple(curator.receipts),
    )
