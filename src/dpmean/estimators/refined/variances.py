"""The last question of the refined mean, if intervals of a population are asked for: the variances of the columns.

The squares of the rows around the released centre are added up, column by column, each row clipped at the ceiling. The
rows are those that find the centre, which are in memory: no row is read once more for it. What it costs is put aside
before anything else is asked.
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
"""What part of the budget the variances take, at least and at most."""
WIDER = 0.02
"""A population's interval may be longer by half of this, as its variance has noise, if ``MOST`` allows."""


def share(n: int, d: int, rho: float) -> float:
    """Return what part of the budget the variances take; public.

    Rows end at about sqrt(2 d) standard deviations, or sqrt(12) in one dimension. Their square is the noise on the sum
    of squares, but for 1 / sqrt(2 rho'); the noise matters beside the error of the mean and that of sampling.
    """
    m, radius = max(plan.rows_to_locate(n, d, rho), 1), 12.0 if d == 1 else 2.0 * d
    sampled = 2 * rho * n / (2 * rho * n + radius)  # what part of the squared error is due to sampling
    squared = (sampled * radius / m) ** 2 / (2 * rho)  # the relative variance, for the whole budget
    return min(MOST, max(LEAST, 1.21 * squared / WIDER))


def price(n: int, d: int, rho: Fraction) -> Fraction:
    """Return what the variances cost, of a budget of rho; public."""
    return plan.part(rho, share(n, d, float(rho)))


def put_aside(curator: Curator) -> None:
    """Keep what the variances cost, so that the steps before share the rest."""
    curator.put_aside(price(curator.rows.n, curator.rows.d, curator.left))


def with_variances(problem: Problem, estimate: Estimate, cost: Fraction) -> Estimate:
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
        counted = 1 / math.sqrt(some.n)  # a secret sample is not exactly as large as it was to be
    errors = np.hypot(np.hypot(std, 2 * np.abs(moved) * np.hypot(noise, sampling)), counted * np.abs(squares))
    clipped = _clipped(problem, estimate, float(values.sum()))
    found = Variances(tuple(values.tolist()), tuple(errors.tolist()), some.n, clipped)
    return replace(estimate, variances=found, receipts=curator.receipts)


def _clipped(problem: Problem, estimate: Estimate, variance: float) -> float:
    """Return how much the rows beyond the ceiling may add to the variance, as a part of it.

    A row at x beyond the ceiling C adds x^2 - C^2, which is 2 C (x - C) and more; what all x - C add up to is the tail,
    an upper bound. They are taken to divide among the columns as the variance does.
    """
    if estimate.found is None or not variance > 0:
        return 0.0
    metric = problem.metric
    tail = estimate.found.tail / (metric.longest if problem.d <= plan.FEW else metric.typical)
    return min(2 * estimate.found.ceiling * tail / variance, 1.0)
