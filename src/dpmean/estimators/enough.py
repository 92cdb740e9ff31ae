"""Are there enough rows? A rule per method that looks at public numbers only, before any row is touched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import final

from dpmean.budget import Zcdp
from dpmean.estimators.clipped import FAILURE, ClippedMean
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.quantile import questions, rank_error
from dpmean.rotation import Rotation


class Verdict(IntEnum):
    """What to expect from a number of rows."""

    FINE = 0
    RISKY = 1
    HOPELESS = 2


@final
@dataclass(frozen=True, slots=True)
class Need:
    """The numbers of rows from which on an estimator does well, and from which on it works at all."""

    fine: int
    risky: int

    def verdict(self, n: int) -> Verdict:
        """Judge a number of rows."""
        if n >= self.fine:
            return Verdict.FINE
        return Verdict.RISKY if n >= self.risky else Verdict.HOPELESS


def rows_needed(estimator: ClippedMean | ShiftedClippedMean, d: int, budget: Zcdp) -> Need:
    """Return how many rows an estimator needs.

    The noise of the mean, sqrt(2 d / rho) / n, must be at most a tenth of the radius (three tenths: risky), and
    n sqrt(rho) at least 100 (50) for the radius to be found. A centre needs half of its rows to exceed the rank
    error of all its comparisons (three quarters of that: risky), or else some coordinate may go astray.
    """
    to_clip = estimator.trust.rows_to_clip(d, budget)
    root = math.sqrt(budget.rho)
    fine, risky = max(10 * to_clip, 100 / root), max(to_clip / 0.3, 50 / root)
    if isinstance(estimator, ShiftedClippedMean):
        for_centre = estimator.trust.divide(budget, 1, 3)[0]
        rotation = Rotation.draw(estimator.grid, estimator.coins)
        std = estimator.trust.count_std(rotation.points, rotation.width, for_centre)
        half = rank_error(std, questions(rotation.points) * rotation.width, FAILURE)
        fine, risky = max(fine, 2 * half), max(risky, 1.5 * half)
    return Need(math.ceil(fine), math.ceil(risky))
