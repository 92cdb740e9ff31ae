"""Forecast of the error of the refined mean, from public numbers only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.arguments.questions import ExpectedRows
from dpmean.enums import RowKind, Shaping
from dpmean.estimators.refined import plan as planner
from dpmean.pipeline.row_kinds import KINDS
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.queries import Floats

_MOST_ROWS = 1 << 60
_FAR = 10.0
"""The assumed distance of the mean from the origin, or from the middle of the bounds, in spreads."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowsAhead:
    """The expected rows: their kind, and the standard deviations of their columns."""

    stds: Floats
    """The standard deviations of the columns, in units of the noise."""
    gain: float = 1.0
    """The noise that follows the scales, divided by noise that is the same for all columns."""
    kind: RowKind = RowKind.NORMAL

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.stds)

    @staticmethod
    def of(d: int, expected: ExpectedRows) -> RowsAhead:
        """Return rows of given scales, where noise is proportional to the square roots, or rows of equal scales."""
        if isinstance(expected.shaping, Shaping):
            return RowsAhead(np.ones(d), kind=expected.kind)
        scales = np.array(expected.shaping) / max(expected.shaping)
        gain = float(scales.sum()) / math.sqrt(d * float(np.sum(scales**2)))
        return RowsAhead(np.sqrt(scales), gain, expected.kind)

    @property
    def effective(self) -> float:
        """The number of columns, where columns that vary less count less."""
        squares = self.stds**2
        return float(squares.sum()) ** 2 / float(np.sum(squares**2))


def expected_error(n: int, ahead: RowsAhead, budget: Zcdp, relation: Neighbours) -> float:
    """Predict the root mean square error of the refined mean, in spreads.

    The plan gives the noise on the mean of rows that are clipped at one spread: it depends on the budget that is left
    for the releases, and on what earlier ones add to the last. Rows of this kind reach farther, and are clipped where
    bias and noise are in balance (section 3.1 of the paper). The remaining factor was measured.
    """
    d = ahead.d
    m = planner.rows_to_locate(n, d, float(budget.rho))
    left = float(budget.rho - planner.divide(budget.rho, n, m, d).total)
    alike = 4 / relation.contributions**2
    noise = planner.rounds(n, m, d, left * alike, _FAR)[-1].error
    clipped = min(max(planner.noise(n, d, float(budget.rho) * alike), 1e-12), 0.25)
    return KINDS[ahead.kind].error(n, d, ahead.effective, noise, clipped) * ahead.gain


def rows_to_match(error: Callable[[int], float]) -> int:
    """Return the smallest number of rows with which privacy adds less error than sampling; 0 if there is none.

    The error of privacy falls faster, unless tails are so heavy that the bias of clipping dominates for any number.
    """
    low, high = 1, 2
    while error(high) * math.sqrt(high) > 1:
        low, high = high, 2 * high
        if high > _MOST_ROWS:
            return 0
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        enough = error(middle) * math.sqrt(middle) <= 1
        low, high = (low, middle) if enough else (middle, high)
    return high
