"""Are there enough rows? A rule that looks at public numbers only, before any row is touched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, final

from dpmean.privacy.budgets import Zcdp
from dpmean.queries.protocols import Estimator, TrustModel


class Verdict(IntEnum):
    """What to expect from a number of rows."""

    FINE = 0
    RISKY = 1
    HOPELESS = 2


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


class Planned(Estimator, Protocol):
    """An estimator that knows beforehand how many rows it needs."""

    @property
    def trust(self) -> TrustModel:
        """Who is trusted."""
        ...

    def rows_needed(self, budget: Zcdp) -> Need:
        """Return how many rows this takes."""
        ...


def rows_for_radius_and_mean(d: int, trust: TrustModel, budget: Zcdp) -> Need:
    """Return how many rows it takes to choose a radius and to drown the noise of the mean.

    That noise, sqrt(2 d / rho) / n, must be at most a tenth of the radius (three tenths: risky), and n sqrt(rho) at
    least 100 (50) for the radius to be found.
    """
    to_clip, root = trust.rows_to_clip(d, budget), math.sqrt(budget.rho)
    return Need(max(10 * to_clip, 100 / root), max(to_clip / 0.3, 50 / root))
