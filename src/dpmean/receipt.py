"""Receipts: what each private step asked, and what all of them add up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from dpmean.accountant import compose_zcdp, rounded_up, tight_epsilon
from dpmean.budget import Number, PureDp, Zcdp
from dpmean.errors import ArgumentError, OverspendError
from dpmean.renyi import ORDERS, Renyi, compose


@final
@dataclass(frozen=True, slots=True)
class Receipt:
    """One private step: its name, what it asked, the mechanism that answered, and the exact cost.

    ``exact`` is False if its noise was drawn in floats, as some baselines do: rounding may then give rows away.
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
    if "renyi" in entry:
        if tuple(entry["orders"]) != ORDERS or not all(type(value) is float for value in entry["renyi"]):
            raise ValueError("a Rényi curve must have the orders of this version, and numbers")
        curve = Renyi(tuple(entry["renyi"]), Fraction(entry["delta"]), entry["distance"])
        return Receipt(entry["step"], entry["asked"], entry["mechanism"], curve, entry.get("exact", True))
    price = entry["rho"] if "rho" in entry else entry["epsilon"]
    if type(price) is not str:
        raise ValueError("a price must be a fraction in quotes")
    cost = Zcdp(Fraction(price)) if "rho" in entry else PureDp(Fraction(price))
    return Receipt(entry["step"], entry["asked"], entry["mechanism"], cost, entry.get("exact", True))
