"""Whether there are enough rows: a rule that uses public numbers only, before any row is read."""

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
    """The number of rows that is recommended for an estimator (``fine``), and the minimum (``risky``)."""

    fine: float
    risky: float

    def verdict(self, n: int) -> Verdict:
        """Judge a number of rows."""
        if n >= self.fine:
            return Verdict.FINE
        return Verdict.RISKY if n >= self.risky else Verdict.HOPELESS

    def and_also(self, other: Need) -> Need:
        """Return the need that satisfies both."""
        return Need(max(self.fine, other.fine), max(self.risky, other.risky))


ANY_NUMBER = Need(1, 1)


class Estimator(Protocol):
    """The interface of an estimator: it sends queries to a curator, and states how many rows it needs."""

    @property
    def name(self) -> str:
        """The name of the estimator."""
        ...

    def rows_needed(self, budget: Zcdp, neighbours: Neighbours) -> Need:
        """Return the number of rows that this estimator needs."""
        ...

    def __call__(self, curator: Curator) -> Estimate:
        """Estimate the mean of the rows that the curator holds, within the budget."""
        ...


def rows_for_radius_and_mean(d: int, budget: Zcdp, neighbours: Neighbours) -> Need:
    """Return the number of rows that is needed to choose a radius, and to make the noise of the mean small.

    For ``fine``, that noise, sqrt(2 d / rho) / n, must be at most a tenth of the radius, and n sqrt(rho) at least 100,
    so that the radius can be found; for ``risky``, three tenths and 50.
    """
    to_clip, root = rows_to_clip(d, budget, neighbours), math.sqrt(budget.rho)
    return Need(max(10 * to_clip, 100 / root), max(to_clip / 0.3, 50 / root))
