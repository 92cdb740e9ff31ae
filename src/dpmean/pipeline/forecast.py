"""What error to expect of the refined mean, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.enums import Shaping
from dpmean.estimators.refined import plan as planner
from dpmean.estimators.refined.shape import OrderedScales
from dpmean.numerics.error_quantiles import uneven_length_quantile
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.queries import Floats

_FAR = 10.0
"""How many spreads the mean is taken to be away from the origin, or from the middle of the bounds."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowsAhead:
    """Rows that look normal, as an outlook is about them."""

    stds: Floats
    """The standard deviations of the columns in units of the noise."""
    gain: float = 1.0
    """The noise that follows the scales, in multiples of the same noise for all columns."""

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.stds)

    @staticmethod
    def of(d: int, shaping: OrderedScales) -> RowsAhead:
        """Return rows of given scales, in which noise is in proportion to their roots, or else rows of equal ones."""
        if isinstance(shaping, Shaping):
            return RowsAhead(np.ones(d))
        scales = np.array(shaping) / max(shaping)
        return RowsAhead(np.sqrt(scales), float(scales.sum()) / math.sqrt(d * float(np.sum(scales**2))))


def expected_error(n: int, kind: RowsAhead, budget: Zcdp, relation: Neighbours) -> float:
    """Predict the error of the refined mean in multiples of the spread.

    The planner's prediction is for rows that are all one spread away. The farthest but a few are farther by the ratio
    of two quantiles, and clipping a little more than these is what the search for the radius gains.
    """
    d = kind.d
    m = planner.rows_to_locate(n, d, float(budget.rho))
    left = float(budget.rho - planner.divide(budget.rho, n, m, d).total)
    alike = 4 / relation.contributions**2
    predicted = planner.rounds(n, m, d, left * alike, _FAR)[-1].error
    clipped = min(max(planner.noise(n, d, float(budget.rho) * alike), 1e-12), 0.25)
    farther = uneven_length_quantile(kind.stds, 1 - clipped) / uneven_length_quantile(kind.stds, 0.75)
    return predicted * 0.9 * farther * kind.gain


def rows_to_match(kind: RowsAhead, budget: Zcdp, relation: Neighbours) -> int:
    """Return from how many rows on the error of privacy is below that of sampling; the former falls faster."""
    low, high = 1, 2
    while expected_error(high, kind, budget, relation) * math.sqrt(high) > 1:
        low, high = high, 2 * high
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        enough = expected_error(middle, kind, budget, relation) * math.sqrt(middle) <= 1
        low, high = (low, middle) if enough else (middle, high)
    return high
