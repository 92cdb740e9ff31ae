"""Receipts: the query and the cost of each private step, and their total."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpmean.errors import ArgumentError, OverspendError
from dpmean.privacy.budgets import Number, PureDp, Zcdp
from dpmean.privacy.conversions import compose_zcdp, rounded_up, tight_epsilon
from dpmean.privacy.renyi import Renyi, compose


@final
@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of one private step: its name, its query, its mechanism, and its exact cost.

    Attributes:
        step: The name of the step.
        asked: A description of the query.
        mechanism: The mechanism that answered it.
        cost: The exact cost.
        exact: False if the noise was drawn in floats, as in some baselines. Rounding may then reveal rows.

    """

    step: str
    asked: str
    mechanism: str
    cost: Zcdp | PureDp | Renyi
    exact: bool = True


def zcdp_of(receipts: Iterable[Receipt]) -> Zcdp:
    """Add up costs in zCDP or pure differential privacy; other costs have no rho."""
    costs = []
    for receipt in receipts:
        if isinstance(receipt.cost, Renyi):
            raise ArgumentError(
                "a release in the shuffle model has a cost in epsilon and delta, and no rho: use release.epsilon(delta)"
            )
        costs.append(receipt.cost)
    return compose_zcdp(costs)


def total_cost(receipts: Iterable[Receipt], budget: Zcdp | None = None) -> Zcdp:
    """Add up receipts, and check that they are within the budget, if one is given."""
    spent = zcdp_of(receipts)
    if budget is not None and spent.rho > budget.rho:
        raise OverspendError(f"the steps cost {spent.rho}, more than the budget of {budget.rho}")
    return spent


def epsilon_of(receipts: Sequence[Receipt], delta: Number) -> float:
    """Return the epsilon of all receipts together at ``delta`` (tight conversion, rounded up)."""
    if any(isinstance(receipt.cost, Renyi) for receipt in receipts):
        epsilon = compose(receipt.cost for receipt in receipts).epsilon(delta)
    else:
        epsilon = tight_epsilon(zcdp_of(receipts), delta)
    pure = [receipt.cost.epsilon for receipt in receipts if isinstance(receipt.cost, PureDp)]
    if len(pure) == len(receipts):
        epsilon = min(epsilon, sum(pure, start=Fraction(0)))
    return rounded_up(epsilon)
