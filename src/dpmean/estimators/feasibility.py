"""Are there enough rows? A rule that looks at public numbers only, before any row is touched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, final

from dpmean.enums import Verdict as Verdict
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.release.estimate import Estimate
from dpmean.trust.central.costs import rows_to_clip
from dpmean.trust.central.curator import Curator


@final
@dataclass(frozen=True, slots=True)
class Need:
    """The numbers of rows from which on an estimator does well, and from which on it works at all."""

    fine: float
    risky: float

    def verdict(self, n: int) -> Verdict:
        """Judge a number of rows."""
        if n >= self.fine:
            return Verdict.FINE
        return Verdict.RISKY if n >= self.risky else Verdict.HOPELESS

    def and_also(self, other: Need) -> Need:
        """Return what satisfies both needs."""
        return Need(max(self.fine, other.fine), max(self.risky, other.risky))


ANY_NUMBER = Need(1, 1)


class Estimator(Protocol):
    """Asks its queries in its order; knows beforehand how many rows it needs."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def rows_needed(self, budget: Zcdp, neighbours: Neighbours) -> Need:
        """Return how many rows this takes."""
        ...

    def __call__(self, curator: Curator) -> Estimate:
        """Estimate the mean of the rows that the curator holds, within the budget."""
        ...


def rows_for_radius_and_mean(d: int, budget: Zcdp, neighbours: Neighbours) -> Need:
    """Return how many rows it takes to choose a radius and to drown the noise of the mean.

    That noise, sqrt(2 d / rho) / n, must be at most a tenth of the radius (three tenths: risky), and n sqrt(rho) at
    least 100 (50) for the radius to be found.
    """
    to_clip, root = rows_to_clip(d, budget, neighbours), math.sqrt(budget.rho)
    return Need(max(10 * to_clip, 100 / root), max(to_clip / 0.3, 50 / root))
