"""PLAN (Aumueller, Lebeda, Nelson, Pagh 2023): noise in proportion to a power of each column's own spread."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from dpmean.baselines.floats import FloatCurator
from dpmean.baselines.peer import run_peer
from dpmean.budget import Zcdp
from dpmean.estimators.clipped import FAILURE
from dpmean.front import Common
from dpmean.grid import Grid
from dpmean.ledger import Release
from dpmean.quantile import questions, rank_error
from dpmean.types import Estimate, Noise, Rows

_FOR_MEDIANS, _FOR_SPREADS, _FOR_RADIUS = Fraction(1, 5), Fraction(1, 10), Fraction(1, 20)
_MEDIAN_OF_SQUARE = 0.4549  # of a standard normal number
_POINTS = 1 << 20
_PER_OCTAVE = 8


def plan_mean(X: ArrayLike, **common: Unpack[Common]) -> Release:
    """Release the mean of rows whose columns spread differently: medians, spreads, then noise that follows the spreads.

    Each column is divided by the root of its standard deviation, as halved squares of differences in pairs tell it;
    rows are clipped at a private radius around the medians. Noise is drawn in floats. A fifth of the budget finds
    the medians, a tenth the spreads, a twentieth the radius.
    """
    return run_peer("plan", _ask, X, **common)


def _ask(grid: Grid, rows: Rows, budget: Zcdp, noise: Noise) -> Estimate:
    curator, rho, n, d = FloatCurator(rows, budget, noise), budget.rho, rows.n, rows.d
    values, half = curator.values, rows.n // 2
    line = np.linspace(-grid.reach, grid.reach, _POINTS)
    centre = curator.quantiles(values, n / 2, line, rho * _FOR_MEDIANS, "medians")

    squares = (values[:half] - values[half : 2 * half]) ** 2 / 2
    ladder = _ladder(grid.step**2, 2 * grid.reach**2)
    middle = curator.quantiles(squares, half / 2, ladder, rho * _FOR_SPREADS, "spreads")
    scale = (middle / _MEDIAN_OF_SQUARE) ** 0.25  # the root of the standard deviation

    scaled = (values - centre) / scale
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    radii = _ladder(grid.step / float(scale.max()), 2 * grid.reach / float(scale.min()))
    asked, cost = questions(len(radii)), rho * _FOR_RADIUS
    slack = rank_error(math.sqrt(asked / (2 * cost)), asked, FAILURE)
    rank = max(n - max(math.sqrt(2 * d / rho), slack), 1.0)
    radius = float(curator.quantiles(lengths, rank, radii, cost, "radius")[0])

    shift, std = curator.ball_mean(scaled, np.zeros(d), radius, curator.purse.left, "mean")
    return Estimate(
        mean=centre + shift * scale,
        noise_std=std * math.sqrt(float(np.mean(scale**2))),
        centre=centre,
        radius=radius,
        receipts=tuple(curator.purse.receipts),
        exact=False,
        note="noise differs from column to column: noise_std is its root mean square; the radius is in scaled units",
    )


def _ladder(low: float, high: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return points from low to high, eight to an octave."""
    return low * np.exp2(np.arange(math.ceil(math.log2(high / low) * _PER_OCTAVE) + 1) / _PER_OCTAVE)
