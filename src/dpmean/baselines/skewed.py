"""PLAN (Aumueller, Lebeda, Nelson, Pagh 2023): noise proportional to a power of each column's standard deviation."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from dpmean.baselines.floats import FloatCurator
from dpmean.baselines.peer import Common, run_peer
from dpmean.estimators.clipped import FAILURE
from dpmean.numerics.grid import Grid
from dpmean.numerics.noisy_search import questions, rank_error
from dpmean.queries.queries import Floats, Ints
from dpmean.release.estimate import Estimate
from dpmean.release.release import Release

_FOR_MEDIANS, _FOR_SPREADS, _FOR_RADIUS = Fraction(1, 5), Fraction(1, 10), Fraction(1, 20)
_MEDIAN_OF_SQUARE = 0.4549  # of a standard normal number
_POINTS = 1 << 28
_PER_OCTAVE = 8


def plan_mean(X: ArrayLike, **common: Unpack[Common]) -> Release:
    """Release the mean by PLAN, with noise that follows the standard deviations of the columns.

    Each column is divided by the square root of its standard deviation, which is estimated from differences in pairs of
    rows. Rows are clipped at a private radius around the medians. Noise is drawn in floats, and differs between
    columns: ``noise_std`` is its root mean square. A fifth of the budget finds the medians, a tenth the standard
    deviations, and a twentieth the radius.

    Args:
        X: The rows, an (n, d) array.
        **common: As for ``dpmean.mean``: the budget ``rho``, or ``epsilon`` and ``delta``; ``norm_bound`` or
            ``bounds``; ``sigma_min`` and ``sigma_max``; the resolution ``step``; ``nan``; and ``seed``.

    """
    return run_peer("plan", _ask, X, FloatCurator, **common)


def _ask(grid: Grid, curator: FloatCurator) -> Estimate:
    rho, rows, n, d = curator.left, curator.rows, curator.rows.n, curator.rows.d
    centre = curator.quantiles(
        rows, n / 2, lambda k: grid.reach * (2 * k / (_POINTS - 1) - 1), _POINTS, rho * _FOR_MEDIANS, "medians"
    )

    squares = curator.half_squares(rows)
    ladder = _ladder(grid.step**2, 2 * grid.reach**2)
    middle = curator.quantiles(squares, squares.n / 2, *ladder, rho * _FOR_SPREADS, "spreads")
    scale = (middle / _MEDIAN_OF_SQUARE) ** 0.25  # the root of the standard deviation

    scaled = curator.scale(rows, centre, scale)
    radii, points = _ladder(grid.step / float(scale.max()), 2 * grid.reach / float(scale.min()))
    asked, cost = questions(points), rho * _FOR_RADIUS
    slack = rank_error(math.sqrt(asked / (2 * cost)), asked, FAILURE)
    rank = max(n - max(math.sqrt(2 * d / rho), slack), 1.0)
    radius = float(curator.quantiles(curator.lengths(scaled), rank, radii, points, cost, "radius")[0])

    shift, std = curator.ball_mean(scaled, np.zeros(d), radius, curator.left, "mean")
    return Estimate(
        mean=centre + shift * scale,
        noise_std=std * math.sqrt(float(np.mean(scale**2))),
        centre=centre,
        radius=radius,
        receipts=curator.receipts,
        radius_unit=" in columns divided by the roots of their spreads",
    )


def _ladder(low: float, high: float) -> tuple[Callable[[Ints], Floats], int]:
    """Return points from low to high, eight per octave, as a function of their index, and the number of points."""

    def point(number: Ints) -> Floats:
        found: Floats = low * np.exp2(number / _PER_OCTAVE)
        return found

    return point, math.ceil(math.log2(high / low) * _PER_OCTAVE) + 1
