"""The second step of the refined mean: release clipped means around the current centre until it is accurate enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np

from dpmean.estimators.refined import plan
from dpmean.estimators.refined.problem import Problem
from dpmean.numerics.grid import Grid
from dpmean.queries.queries import Floats

SAME_RADIUS, SAME_RADIUS_OF_FEW = 0.85, 0.95
"""Releases that clip at less than this part of the last radius do not enter the mean. The limit is higher with few
columns, where the bias of clipping at smaller radii is not measured."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """An intermediate release of the mean."""

    centre: Floats
    moved: Floats
    std: float
    radius: float

    @property
    def mean(self) -> Floats:
        """The released mean: the centre plus the released shift."""
        return self.centre + self.moved


@final
@dataclass(frozen=True, slots=True, eq=False)
class Centre:
    """A centre, its distance from the mean (predicted), and the releases that led to it."""

    at: Floats
    error: float
    left: Fraction
    """The remaining budget for this step."""
    releases: tuple[Partial, ...] = field(default=())

    def alike(self, radius: float) -> list[Partial]:
        """Return the releases that clipped at this radius or a larger one."""
        return [release for release in self.releases if release.radius >= radius]


def locate(problem: Problem, start: Centre, spread: float, until: float, width: float = 0.0) -> Centre:
    """Release clipped means around the current centre until its error is below ``until`` spreads.

    ``width`` is the distance at which rows were found, if it is known already. It then replaces the spread, and earlier
    releases that clipped at a much smaller radius are dropped.
    """
    n, m, budget, unit, found = problem.n, problem.some.n, start.left, width or spread, start
    for step in plan.rounds(n, m, problem.d, problem.as_if_replaced(budget), start.error / unit)[:-1]:
        if found.error <= until * spread:
            break
        cost, radius = plan.part(budget, step.share), step.radius * unit
        ball = problem.grid.ball(found.at, radius)
        name = f"locate {len(found.releases) + 1}"
        total = problem.curator.ball_sum(problem.some, ball, cost, name)
        std = math.sqrt(total.variance) * total.unit / m
        last = Partial(found.at, total.times(total.unit / m), std, radius)
        made = Centre(found.at, step.error * unit, found.left - cost, (*found.releases, last))
        mean, _, _ = combine(made.alike(SAME_RADIUS * width))
        found = Centre(_within_reach(problem.grid, mean), made.error, made.left, made.releases)
    return found


def combine(releases: list[Partial]) -> tuple[Floats, Floats, float]:
    """Return the precision-weighted mean of releases, its shift from their centres, and its noise."""
    least = min(release.std for release in releases)
    weights = [(least / release.std) ** 2 for release in releases]
    mean = sum(release.mean * (weight / sum(weights)) for release, weight in zip(releases, weights, strict=True))
    moved = sum(release.moved * (weight / sum(weights)) for release, weight in zip(releases, weights, strict=True))
    return np.asarray(mean), np.asarray(moved), least / math.sqrt(sum(weights))


def _within_reach(grid: Grid, centre: Floats) -> Floats:
    length = float(np.linalg.norm(centre))
    return grid.round(centre * min(1.0, grid.reach / length) if length else centre)
