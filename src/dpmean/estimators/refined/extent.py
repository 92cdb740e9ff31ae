"""The first step of the refined mean: the distances between rows, and from the origin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.estimators.refined.problem import Problem

LUMPY = 16
"""If the largest distances in pairs exceed the typical ones by this factor, rows form lumps without a common scale."""


@final
@dataclass(frozen=True, slots=True)
class Extent:
    """The typical distance of rows from each other (``spread``), and from the origin (``reach``)."""

    spread: float
    reach: float
    error: float
    """The largest likely distance of the mean from the origin."""
    lumpy: bool
    """Whether most rows are almost equal."""


def find_extent(problem: Problem) -> Extent:
    """Find the spread from distances in random pairs of rows, and the likely distance of the mean from the origin."""
    curator, shares, half = problem.curator, problem.shares, problem.drawn.n // 2
    pairs = curator.count(problem.drawn, problem.grid.pairs())
    std = curator.quantile_std(pairs, shares.spread)
    rank = half * max(0.5, min(0.75, 1 - 3.5 * std / max(half, 1)))
    typical = problem.radius(curator.quantile(pairs, rank, shares.spread, "spread"))

    norms = curator.count(problem.some, problem.grid.distances(np.zeros(problem.d)))
    reach = problem.radius(curator.quantile(norms, 0.75 * problem.some.n, shares.reach, "reach"))
    spread = min(typical, 1.05 * reach)
    rank = half - 3.5 * curator.quantile_std(pairs, shares.extremes)
    extremes = problem.radius(curator.quantile(pairs, max(rank, 0.0), shares.extremes, "extremes"))
    beyond = math.sqrt(max(reach - spread, 0.0)) * math.sqrt(reach + spread)  # their squares may overflow
    return Extent(
        spread=spread,
        reach=reach,
        error=max(beyond, 0.5 * spread),
        lumpy=spread <= 4 * problem.radius(0) or extremes > LUMPY * spread,
    )
