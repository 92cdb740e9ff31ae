"""Receipts: what each private step asked, and what all of them add up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from dpmean.errors import ArgumentError, OverspendError
from dpmean.privacy.budgets import Number, PureDp, Zcdp
from dpmean.privacy.conversions import compose_zcdp, rounded_up, tight_epsilon
from dpmean.privacy.renyi import ORDERS, Renyi, compose


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


def receipt_to_dict(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as JSON has it."""
    cost = receipt.cost
    price: dict[str, Any]
    if isinstance(cost, Renyi):
        price = {"orders": ORDERS, "renyi": cost.curve, "delta": str(cost.delta), "distance": cost.distance}
    else:
        price = {"rho": str(cost.rho)} if isinstance(cost, Zcdp) else {"epsilon": str(cost.epsilon)}
    inexact = {} if receipt.exact else {"exact": False}
    return {"step": receipt.step, "asked": receipt.asked, "mechanism": receipt.mechanism, **price, **inexact}


def receipt_from_dict(entry: dict[str, Any]) -> Receipt:
    """Read a receipt from JSON."""
    step, asked, mechanism, exact = entry["step"], entry["asked"], entry["mechanism"], entry.get("exact", True)
    if not all(type(word) is str for word in (step, asked, mechanism)) or type(exact) is not bool:
        raise ValueError("a receipt says in words what was asked")
    price = {name: value for name, value in entry.items() if name not in ("step", "asked", "mechanism", "exact")}
    return Receipt(step, asked, mechanism, _price(price), exact)


def _price(price: dict[str, Any]) -> Zcdp | PureDp | Renyi:
    match price:
        case {"rho": str(rho), **rest} if not rest:
            return Zcdp(Fraction(rho))
        case {"epsilon": str(epsilon), **rest} if not rest:
            return PureDp(Fraction(epsilon))
        case {"renyi": list(curve), "orders": list(orders), "delta": str(delta), "distance": distance, **rest} if (
            not rest
        ):
            if tuple(orders) != ORDERS or not all(type(value) is float for value in curve):
                raise ValueError("a Rényi curve must have the orders of this version, and numbers")
            return Renyi(tuple(curve), Fraction(delta), distance)
    raise ValueError('a price is a "rho" or an "epsilon", a fraction in quotes, or a Rényi curve')
