"""COINPRESS (Biswas, Dong, Kamath, Ullman 2020): MVMRec, a ball that shrinks in t steps, for identity covariance."""

from __future__ import annotations

import math

import numpy as np

from bench.baselines import noise_std, noisy_mean_in_ball
from bench.problem import Floats

_FAILURE = 0.01


def budgets(rho: float, steps: int) -> list[float]:
    """Split the budget: three quarters for the last step, the rest shared by those before it, if any."""
    if steps == 1:
        return [rho]
    return [rho / (4 * (steps - 1))] * (steps - 1) + [3 * rho / 4]


def mean(
    rows: Floats, norm_bound: float, rho: float, steps: int, generator: np.random.Generator | None = None
) -> Floats:
    """Estimate the mean: it lies within ``radius`` of ``centre``, from the bound down to the noise of each step."""
    n, d = rows.shape
    log = math.log(1 / _FAILURE)
    spread = math.sqrt(d + 2 * math.sqrt(d * log) + 2 * log)  # the norm of a standard normal row, nearly always
    centre, radius = np.zeros(d), norm_bound
    for budget in budgets(rho, steps):
        clip = min(math.sqrt(radius**2 + 6 * radius + spread**2), radius + spread)
        centre = noisy_mean_in_ball(rows, centre, clip, budget, generator)
        radius = math.sqrt(1 / n + noise_std(n, clip, budget) ** 2) * spread
    return centre
