"""Clipping around zero: at the bound, at a fixed quantile of the norms, or where online updates lead."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from dpmean.baselines.peer import last_release, read_fraction, read_whole, run_peer
from dpmean.errors import ArgumentError
from dpmean.estimators.clipped import clipped_around
from dpmean.numerics.grid import Grid, radius_at, radius_index
from dpmean.pipeline.central import Common
from dpmean.privacy.budgets import Zcdp, exact
from dpmean.queries.protocols import Noise, Rows
from dpmean.queries.queries import Estimate
from dpmean.release.release import Release
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.model import Central


def gaussian_mechanism(X: ArrayLike, **common: Unpack[Common]) -> Release:
    """Release the mean with noise for the whole bound: nothing is clipped, nothing is adapted."""

    def ask(grid: Grid, rows: Rows, budget: Zcdp, noise: Noise) -> Estimate:
        return last_release(Curator(budget, noise), rows, grid, np.zeros(rows.d), grid.reach)

    return run_peer("gaussian mechanism", ask, X, **common)


def quantile_clipping(X: ArrayLike, *, quantile: float = 0.5, **common: Unpack[Common]) -> Release:
    """Release the mean of rows that are clipped around zero at a fixed quantile of their norms (default: the median).

    A quarter of the budget finds the quantile.
    """
    fraction = read_fraction(quantile, "quantile")

    def ask(grid: Grid, rows: Rows, budget: Zcdp, noise: Noise) -> Estimate:
        return clipped_around(np.zeros(rows.d), grid, Central(), rows, budget, noise, fraction)

    return run_peer("quantile clipping", ask, X, **common)


def adaptive_clipping(
    X: ArrayLike, *, quantile: float = 0.5, rounds: int = 100, learning_rate: float = 0.2, **common: Unpack[Common]
) -> Release:
    """Release the mean of rows that are clipped around zero where online updates end (Andrew et al. 2019).

    The radius starts at the bound. In each round it is multiplied by ``exp(-learning_rate * (share - quantile))``,
    where ``share`` is the noisy share of rows within it. The rounds cost a quarter of the budget.
    """
    fraction, number = read_fraction(quantile, "quantile"), read_whole(rounds, "rounds")
    if not 0 < exact(learning_rate, "learning_rate") <= 10:
        raise ArgumentError(f"learning_rate must lie between 0 and 10, got {learning_rate!r}: 0.2 is usual")

    def ask(grid: Grid, rows: Rows, budget: Zcdp, noise: Noise) -> Estimate:
        curator, radius = Curator(budget, noise), grid.reach
        norms = rows.histogram(grid.distances(np.zeros(rows.d)))
        for round_ in range(1, number + 1):
            index = min(max(radius_index(radius) - grid.lowest, 0), norms.points - 1)
            beyond = curator.count_beyond(norms, index, budget.rho / (4 * number), f"share {round_}")
            share = 1 - beyond.value / rows.n
            moved = radius * math.exp(-float(learning_rate) * min(max(share - fraction, -1.0), 1.0))
            radius = min(max(moved, radius_at(grid.lowest)), grid.reach)
        return last_release(curator, rows, grid, np.zeros(rows.d), radius)

    return run_peer("adaptive clipping", ask, X, **common)
