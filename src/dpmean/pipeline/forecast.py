"""What error to expect of the refined mean, from public numbers alone."""

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
"""How many spreads the mean is taken to be away from the origin, or from the middle of the bounds."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowsAhead:
    """Rows as they are expected: their kind, and how much their columns vary."""

    stds: Floats
    """The standard deviations of the columns in units of the noise."""
    gain: float = 1.0
    """The noise that follows the scales, in multiples of the same noise for all columns."""
    kind: RowKind = RowKind.NORMAL

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.stds)

    @staticmethod
    def of(d: int, expected: ExpectedRows) -> RowsAhead:
        """Return rows of given scales, in which noise is in proportion to their roots, or else rows of equal ones."""
        if isinstance(expected.shaping, Shaping):
            return RowsAhead(np.ones(d), kind=expected.kind)
        scales = np.array(expected.shaping) / max(expected.shaping)
        gain = float(scales.sum()) / math.sqrt(d * float(np.sum(scales**2)))
        return RowsAhead(np.sqrt(scales), gain, expected.kind)

    @property
    def effective(self) -> float:
        """The number of columns, where those that vary less count less."""
        squares = self.stds**2
        return float(squares.sum()) ** 2 / float(np.sum(squares**2))


def expected_error(n: int, ahead: RowsAhead, budget: Zcdp, relation: Neighbours) -> float:
    """Predict the error of the refined mean, a root mean square, in multiples of the spread.

    The plan knows the noise on the mean of rows that end one spread away: what is left of the budget for the releases,
    and what earlier ones add to the last. Rows of a kind end farther away, and few enough are clipped that the noise
    balances what this costs (section 3.1 of the paper). What remains was measured.
    """
    d = ahead.d
    m = planner.rows_to_locate(n, d, float(budget.rho))
    left = float(budget.rho - planner.divide(budget.rho, n, m, d).total)
    alike = 4 / relation.contributions**2
    noise = planner.rounds(n, m, d, left * alike, _FAR)[-1].error
    clipped = min(max(planner.noise(n, d, float(budget.rho) * alike), 1e-12), 0.25)
    return KINDS[ahead.kind].error(n, d, ahead.effective, noise, clipped) * ahead.gain


def rows_to_match(error: Callable[[int], float]) -> int:
    """Return from how many rows on the error of privacy is below that of sampling; 0: there is no such number.

    The former falls faster, unless tails are so heavy that clipping never stops to cost something.
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
