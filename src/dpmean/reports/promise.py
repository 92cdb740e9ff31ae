"""The guarantee of a release, or of groups, and what it means as a bet."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpmean.enums import Sizes, Trust
from dpmean.privacy.budgets import PureDp, Zcdp
from dpmean.privacy.conversions import compose_zcdp, rounded_up, tight_epsilon
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.renyi import Renyi
from dpmean.release.grouped import GroupedRelease
from dpmean.release.release import Release
from dpmean.release.settings import choose_delta

_DELTAS = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.3)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """The guarantee for everybody in the data.

    Attributes:
        costs: the costs of all steps, which add up.
        epsilon: the epsilon of all of it, for a delta.
        delta: the delta of the budget, or 1e-6.
        replaced: whether neighbours replace one unit by another; else there is one more, or less.
        unit: the column that identifies persons, if persons are protected and not rows.
        trust: the trust model.
        honest: how many clients must be honest, in the shuffle model.
        played: whether a collection was played in one process.
        sizes: whether the sizes of groups are "private" or "public", if there are groups.
        contributions: in how many groups one person counts at most, if there are groups.
        broken: why none of this holds, if it does not.

    """

    costs: tuple[Zcdp | PureDp | Renyi, ...]
    epsilon: Callable[[float], float]
    delta: float
    replaced: bool
    unit: str | None
    trust: Trust
    honest: int | None = None
    played: bool = False
    sizes: Sizes | None = None
    contributions: int = 1
    broken: str = ""

    @property
    def pure(self) -> Fraction | None:
        """The epsilon that holds without a delta, if there is one: pure costs add up."""
        pure = [cost.epsilon for cost in self.costs if isinstance(cost, PureDp)]
        return sum(pure, start=Fraction(0)) if len(pure) == len(self.costs) else None

    @property
    def rho(self) -> Fraction | None:
        """The rho of all costs, if there is one: not so in the shuffle model."""
        costs = [cost for cost in self.costs if not isinstance(cost, Renyi)]
        return compose_zcdp(costs).rho if len(costs) == len(self.costs) else None


def promise_of(release: Release | GroupedRelease) -> Promise:
    """Return the guarantee of a release, or of a release of groups."""
    broken = "none: seeded" if release.seeded else "" if release.exact else "none to rely on: noise in floats"
    replaced = release.neighbours is Neighbours.REPLACE_ONE
    if isinstance(release, GroupedRelease):
        cost = release.cost
        return Promise(
            (cost,),
            lambda delta: rounded_up(tight_epsilon(cost, delta)),
            release.delta,
            replaced,
            unit=release.unit,
            trust=Trust.CENTRAL,
            sizes=release.sizes,
            contributions=release.contributions,
            broken=broken,
        )
    collection = release.settings.collection
    return Promise(
        tuple(receipt.cost for receipt in release.receipts),
        release.epsilon,
        choose_delta(release.settings),
        replaced,
        unit=release.unit,
        trust=release.trust,
        honest=None if collection is None else collection.honest,
        played=collection is not None and collection.played_in_one_process,
        broken=broken,
    )


def best_guess(promise: Promise) -> float:
    """Return how often a guess between two neighbouring data sets, equally likely before, can be right, at most.

    It is (1 + t) / 2, if t is the statistical distance of the two releases. Under (epsilon, delta)-DP, for any pair
    that goes together, t is at most (e^epsilon - 1 + 2 delta) / (e^epsilon + 1). Under rho-zCDP the Kullback-Leibler
    divergence is at most rho, so t is at most sqrt(rho / 2) (Pinsker) and sqrt(1 - e^-rho) (Bretagnolle and Huber).
    """
    distances = [1.0 if promise.pure is None else math.tanh(float(promise.pure) / 2)]
    for delta in (promise.delta, *(delta for delta in _DELTAS if delta > promise.delta)):
        epsilon = promise.epsilon(delta)
        distances.append(math.tanh(epsilon / 2) + 2 * delta / (1 + math.exp(min(epsilon, 700.0))))
    if promise.rho is not None:
        rho = float(promise.rho)
        distances += [math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho))]
    return (1 + min(distances)) / 2
