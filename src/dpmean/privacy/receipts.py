"""Receipts: what each private step asked, and what all of them add up to."""

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
    """One private step: its name, what it asked, the mechanism that answered, and the exact cost.

    Attributes:
        step: The name of the step.
        asked: What it asked, in words.
        mechanism: The mechanism that answered.
        cost: The exact cost.
        exact: False if the noise was drawn in floats, as some baselines do. Rounding may then give rows away.

    """

    step: str
    asked: str
    mechanism: str
    cost: Zcdp | PureDp | Renyi
    exact: bool = True


def zcdp_of(receipts: Iterable[Receipt]) -> Zcdp:
    """Add up what was paid in zCDP or pure differential privacy; nothing else has a rho."""
    costs = []
    for receipt in receipts:
        if isinstance(receipt.cost, Renyi):
            raise ArgumentError(
                "a release in the shuffle model costs an epsilon and a delta and has no rho: see release.epsilon(delta)"
            )
        costs.append(receipt.cost)
    return compose_zcdp(costs)


def total_cost(receipts: Iterable[Receipt], budget: Zcdp | None = None) -> Zcdp:
    """Add up receipts and insist that they stay within the budget, if there is one."""
    spent = zcdp_of(receipts)
    if budget is not None and spent.rho > budget.rho:
        raise OverspendError(f"the steps cost {spent.rho}, more than the budget of {budget.rho}")
    return spent


def epsilon_of(receipts: Sequence[Receipt], delta: Number) -> float:
    """Return the epsilon that goes with ``delta`` for all receipts together (tight conversion, rounded up)."""
    if any(isinstance(receipt.cost, Renyi) for receipt in receipts):
        epsilon = compose(receipt.cost for receipt in receipts).epsilon(delta)
    else:
        epsilon = tight_epsilon(zcdp_of(receipts), delta)
    pure = [receipt.cost.epsilon for receipt in receipts if isinstance(receipt.cost, PureDp)]
    if len(pure) == len(receipts):
        epsilon = min(epsilon, sum(pure, start=Fraction(0)))
    return rounded_up(epsilon)
