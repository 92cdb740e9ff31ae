"""The last query of the refined mean, if population intervals are requested: the variances of the columns.

The squared coordinates of the rows around the released centre are added up, column by column, with rows clipped at the
ceiling. The rows are those that found the centre: they are in memory, so no row is read again. The cost is reserved
before any other query.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpmean.estimators.refined import plan
from dpmean.estimators.refined.problem import Problem
from dpmean.privacy.neighbours import Neighbours
from dpmean.release.estimate import Estimate
from dpmean.release.variances import STEP, Variances
from dpmean.trust.central.curator import Curator

LEAST, MOST = 0.01, 0.1
"""The smallest and the largest part of the budget for the variances."""
WIDER = 0.02
"""Noise on the variance may make a population interval longer by half of this part, if ``MOST`` allows."""


def share(n: int, d: int, rho: float) -> float:
    """Return the part of the budget for the variances; public.

    Rows are clipped at about sqrt(2 d) standard deviations, or sqrt(12) in one dimension. The square of this radius,
    times 1 / sqrt(2 rho'), is the noise on the sum of squares. It is compared with the errors of the mean and of
    sampling.
    """
    m, radius = max(plan.rows_to_locate(n, d, rho), 1), 12.0 if d == 1 else 2.0 * d
    sampled = 2 * rho * n / (2 * rho * n + radius)  # the part of the squared error that is due to sampling
    squared = (sampled * radius / m) ** 2 / (2 * rho)  # the relative variance, for the whole budget
    return min(MOST, max(LEAST, 1.21 * squared / WIDER))


def price(n: int, d: int, rho: Fraction) -> Fraction:
    """Return the cost of the variances, given a budget of rho; public."""
    return plan.part(rho, share(n, d, float(rho)))


def put_aside(curator: Curator) -> None:
    """Reserve the cost of the variances, so that the earlier steps share the rest."""
    curator.put_aside(price(curator.rows.n, curator.rows.d, curator.left))


def add_variances(problem: Problem, estimate: Estimate, cost: Fraction) -> Estimate:
    """Return an estimate with the variances of the columns, in working units."""
    curator, some, at, d = problem.curator, problem.some, estimate.centre, problem.d
    ceiling = 0.0 if estimate.found is None or d == 1 else estimate.found.ceiling
    query = problem.grid.ball_squares(at, max(estimate.radius, ceiling), some.n)
    answer = curator.ball_squares(some, query, cost, STEP)
    squares, std = answer.values * (query.square_unit / some.n), answer.std * query.square_unit / some.n
    moved, noise = estimate.mean - at, estimate.noise_std
    values = np.maximum((squares - moved**2 + noise**2) * (some.n / max(some.n - 1, 1)), 0.0)
    sampling = np.zeros(d) if problem.all_find_the_centre else np.sqrt(values / some.n)
    counted = 0.0
    if not problem.all_find_the_centre and curator.neighbours is Neighbours.ADD_OR_REMOVE_ONE:
        counted = 1 / math.sqrt(some.n)  # the size of a secret sample is random
    errors = np.hypot(np.hypot(std, 2 * np.abs(moved) * np.hypot(noise, sampling)), counted * np.abs(squares))
    clipped = _clipped(problem, estimate, float(values.sum()))
    found = Variances(tuple(values.tolist()), tuple(errors.tolist()), some.n, clipped)
    return replace(estimate, variances=found, receipts=curator.receipts)


def _clipped(problem: Problem, estimate: Estimate, variance: float) -> float:
    """Return how much the rows beyond the ceiling may add to the variance, as a part of the variance.

    A row at distance x beyond the ceiling C adds x^2 - C^2, which is about 2 C (x - C). The tail is an upper bound on
    the sum of all x - C. The sum is divided among the columns in proportion to their variances.
    """
    if estimate.found is None or not variance > 0:
        return 0.0
    metric = problem.metric
    tail = estimate.found.tail / (metric.longest if problem.d <= plan.FEW else metric.typical)
    return min(2 * estimate.found.ceiling * tail / variance, 1.0)
