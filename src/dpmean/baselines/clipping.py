"""Clipping around zero: at the bound, at a fixed quantile of the norms, or at a radius found by online updates."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from dpmean.baselines.peer import Common, last_release, read_fraction, read_rounds, run_peer
from dpmean.errors import ArgumentError
from dpmean.estimators.clipped import clipped_around
from dpmean.numerics.grid import Grid, radius_at, radius_index
from dpmean.privacy.budgets import exact
from dpmean.release.estimate import Estimate
from dpmean.release.release import Release
from dpmean.trust.central.curator import Curator


def gaussian_mechanism(X: ArrayLike, **common: Unpack[Common]) -> Release:
    """Release the mean with noise in proportion to the bound, without any adaptive clipping.

    Args:
        X: The rows, an (n, d) array.
        **common: As for ``dpmean.mean``: the budget ``rho``, or ``epsilon`` and ``delta``; ``norm_bound`` or
            ``bounds``; ``sigma_min`` and ``sigma_max``; the resolution ``step``; ``nan``; and ``seed``.

    """

    def ask(grid: Grid, curator: Curator) -> Estimate:
        return last_release(curator, grid, np.zeros(grid.d), grid.reach)

    return run_peer("gaussian mechanism", ask, X, **common)


def quantile_clipping(X: ArrayLike, *, quantile: float = 0.5, **common: Unpack[Common]) -> Release:
    """Release the mean of rows clipped around zero at a fixed quantile of their norms (by default the median).

    A quarter of the budget finds the quantile.

    Args:
        X: The rows, an (n, d) array.
        quantile: The quantile of the norms to clip at, between 0 and 1.
        **common: As for ``dpmean.mean``: the budget ``rho``, or ``epsilon`` and ``delta``; ``norm_bound`` or
            ``bounds``; ``sigma_min`` and ``sigma_max``; the resolution ``step``; ``nan``; and ``seed``.

    """
    fraction = read_fraction(quantile, "quantile")

    def ask(grid: Grid, curator: Curator) -> Estimate:
        return clipped_around(curator, np.zeros(grid.d), grid, fraction)

    return run_peer("quantile clipping", ask, X, **common)


def adaptive_clipping(
    X: ArrayLike, *, quantile: float = 0.5, rounds: int = 100, learning_rate: float = 0.2, **common: Unpack[Common]
) -> Release:
    """Release the mean of rows clipped around zero at a radius found by online updates (Andrew et al. 2019).

    The radius starts at the bound. In each round it is multiplied by ``exp(-learning_rate * (share - quantile))``,
    where ``share`` is the noisy share of rows within it. The rounds cost a quarter of the budget.

    Args:
        X: The rows, an (n, d) array.
        quantile: The target share of rows within the radius.
        rounds: The number of updates.
        learning_rate: The rate at which an update changes the radius: above 0, at most 10. The usual value is 0.2.
        **common: As for ``dpmean.mean``: the budget ``rho``, or ``epsilon`` and ``delta``; ``norm_bound`` or
            ``bounds``; ``sigma_min`` and ``sigma_max``; the resolution ``step``; ``nan``; and ``seed``.

    """
    fraction, number = read_fraction(quantile, "quantile"), read_rounds(rounds, "rounds")
    if not 0 < exact(learning_rate, "learning_rate") <= 10:
        raise ArgumentError(f"learning_rate must lie between 0 and 10, got {learning_rate!r}: 0.2 is usual")

    def ask(grid: Grid, curator: Curator) -> Estimate:
        rho, radius = curator.left, grid.reach
        norms = curator.count(curator.rows, grid.distances(np.zeros(grid.d)))
        for round_ in range(1, number + 1):
            index = min(max(radius_index(radius) - grid.lowest, 0), norms.points - 1)
            beyond = curator.count_beyond(norms, index, rho / (4 * number), f"share {round_}")
            share = 1 - beyond.value / curator.rows.n
            moved = radius * math.exp(-float(learning_rate) * min(max(share - fraction, -1.0), 1.0))
            radius = min(max(moved, radius_at(grid.lowest)), grid.reach)
        return last_release(curator, grid, np.zeros(grid.d), radius)

    return run_peer("adaptive clipping", ask, X, **common)
