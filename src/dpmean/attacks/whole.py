"""Attacks on whole estimators, each on a number that it releases."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpmean.attacks.central import REACH, UNCOUNTED, rows_of
from dpmean.attacks.target import MakeNoise, Target
from dpmean.budget import Zcdp
from dpmean.coins import PublicCoins
from dpmean.estimators.clipped import ClippedMean
from dpmean.estimators.refined import RefinedMean
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.grid import Grid
from dpmean.interfaces import Estimator
from dpmean.rows.uncounted import UncountedRows
from dpmean.trust.central import Central
from dpmean.types import Estimate, Floats


def _whole(method: str, neighbours: list[Floats], look: Callable[[Estimate], float], make_noise: MakeNoise) -> Target:
    """Attack a whole estimator, at a budget so small that few runs suffice to catch a broken one."""
    claim = Zcdp(Fraction(1, 50))
    grid = Grid(2.0**-20, REACH, neighbours[0].shape[1])
    sides = [rows_of(array) for array in neighbours]
    estimators: dict[str, Estimator] = {
        "clipped": ClippedMean(grid, Central()),
        "shifted": ShiftedClippedMean(grid, Central(), PublicCoins("attack")),
        "refined": RefinedMean(grid, PublicCoins("attack")),
        "uncounted": RefinedMean(grid, PublicCoins("attack"), trust=UNCOUNTED),
        "clipped, one pass": ClippedMean(grid, Central(), one_pass=True),
        "shifted, one pass": ShiftedClippedMean(grid, Central(), PublicCoins("attack"), one_pass=True),
        "refined, one pass": RefinedMean(grid, PublicCoins("attack"), one_pass=True),
    }

    def score(run: int, neighbour: bool) -> float:
        noise = make_noise(2 * run + neighbour)
        rows = sides[neighbour]
        return look(
            estimators[method](UncountedRows(rows, 3000, noise) if method == "uncounted" else rows, claim, noise)
        )

    return Target(score, claim, whole=True)


def _with(rows: list[float], *last: float) -> list[Floats]:
    """Return two neighbours: the same rows, and one of two others."""
    return [np.array([*rows, other])[:, np.newaxis] for other in last]


def _sum_in_radii(estimate: Estimate) -> float:
    """Return what an adversary makes of mean, centre and radius: the noisy sum, freed of the other two."""
    return float(estimate.mean[0] - estimate.centre[0]) / estimate.radius


def _mean_in_radii(estimate: Estimate) -> float:
    return float(estimate.mean[0]) / estimate.radius


def whole_estimators(make_noise: MakeNoise) -> dict[str, Target]:
    """Return each number that a whole estimator releases.

    The replaced row decides the answer: it is far on one side or on the other (mean; with refined, the radius
    follows the many zeros, so that the sign of the mean tells), makes the difference between
    two medians (centre), or sits at the rank that is searched, the second smallest distance (radius).
    """
    apart = _with([0.0] * 30, -1.0, 1.0)
    tied = _with([-0.5] * 15 + [0.5] * 15, -0.5, 0.5)
    alone = _with([0.0] * 3000, -1.0, 1.0)
    missing = [np.zeros((3000, 1)), alone[1]]
    many = _with([0.0] * 17_000, -1.0, 1.0)  # a sample finds the centre: only then is all read once
    planar = [np.hstack((array, np.zeros_like(array))) for array in alone]
    ranked = _with([0.1] + [0.9] * 29, 0.1, 0.9)
    return {
        "clipped: mean": _whole("clipped", apart, _sum_in_radii, make_noise),
        "clipped: radius": _whole("clipped", ranked, lambda estimate: estimate.radius, make_noise),
        "shifted: mean": _whole("shifted", apart, _sum_in_radii, make_noise),
        "shifted: centre": _whole("shifted", tied, lambda estimate: float(estimate.centre[0]), make_noise),
        "refined: mean": _whole("refined", alone, _mean_in_radii, make_noise),
        "refined, private number: mean": _whole("uncounted", missing, _mean_in_radii, make_noise),
        "refined (d = 2): mean": _whole("refined", planar, _mean_in_radii, make_noise),
        "clipped, one pass: mean": _whole("clipped, one pass", apart, _sum_in_radii, make_noise),
        "shifted, one pass: mean": _whole("shifted, one pass", apart, _sum_in_radii, make_noise),
        "refined, one pass: mean": _whole("refined, one pass", many, _mean_in_radii, make_noise),
    }
