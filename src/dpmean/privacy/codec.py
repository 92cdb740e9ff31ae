"""The JSON form of costs and receipts, in releases and ledgers."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import msgspec

from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
from dpmean.privacy.receipts import Receipt
from dpmean.privacy.renyi import ORDERS, Renyi
from dpmean.privacy.strict_json import shorten

Cost = Zcdp | PureDp | ApproxDp | Renyi
_NUMBER = re.compile(r"[0-9]{1,700}(?:/0*[1-9][0-9]{0,699}|\.[0-9]{1,700})?")


class CostDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A cost: a rho, an epsilon with or without a delta, or a Rényi curve; exact numbers are fractions in quotes."""

    rho: str | None = None
    epsilon: str | None = None
    orders: tuple[int, ...] | None = None
    renyi: tuple[float, ...] | None = None
    delta: str | None = None
    distance: float | None = None


class ReceiptDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A receipt: its step, its query, its mechanism, and the fields of its cost."""

    step: str
    asked: str
    mechanism: str
    rho: str | None = None
    epsilon: str | None = None
    orders: tuple[int, ...] | None = None
    renyi: tuple[float, ...] | None = None
    delta: str | None = None
    distance: float | None = None
    exact: bool = True


def encode_cost(cost: Cost) -> CostDocument:
    """Return the JSON form of a cost."""
    return CostDocument(**_fields(cost))


def decode_cost(document: CostDocument | ReceiptDocument) -> Cost:
    """Read a cost; raise a ValueError that explains a fault."""
    curve = document.renyi, document.orders
    match document.rho, document.epsilon, document.delta, document.distance, curve:
        case str(rho), None, None, None, (None, None):
            return Zcdp(_read_fraction(rho))
        case None, str(epsilon), None, None, (None, None):
            return PureDp(_read_fraction(epsilon))
        case None, str(epsilon), str(delta), None, (None, None):
            return ApproxDp(_read_fraction(epsilon), _read_fraction(delta))
        case None, None, str(delta), distance, (tuple(divergences), tuple(orders)):
            return _read_curve(divergences, orders, _read_fraction(delta), distance or 0.0)
    raise ValueError('a cost is a "rho", an "epsilon" with or without a "delta", or a Rényi curve')


def encode_receipt(receipt: Receipt) -> ReceiptDocument:
    """Return the JSON form of a receipt."""
    return ReceiptDocument(
        step=receipt.step,
        asked=receipt.asked,
        mechanism=receipt.mechanism,
        exact=receipt.exact,
        **_fields(receipt.cost),
    )


def decode_receipt(document: ReceiptDocument) -> Receipt:
    """Read a receipt; raise a ValueError that explains a fault."""
    cost = decode_cost(document)
    if isinstance(cost, ApproxDp):
        raise ValueError('a receipt has a "rho", an "epsilon" without a "delta", or a Rényi curve')
    return Receipt(document.step, document.asked, document.mechanism, cost, document.exact)


def _fields(cost: Cost) -> dict[str, Any]:
    if isinstance(cost, Zcdp):
        return {"rho": str(cost.rho)}
    if isinstance(cost, PureDp):
        return {"epsilon": str(cost.epsilon)}
    if isinstance(cost, ApproxDp):
        return {"epsilon": str(cost.epsilon), "delta": str(cost.delta)}
    return {"orders": ORDERS, "renyi": cost.curve, "delta": str(cost.delta), "distance": cost.distance}


def _read_curve(curve: tuple[float, ...], orders: tuple[int, ...], delta: Fraction, distance: float) -> Renyi:
    if orders != ORDERS:
        raise ValueError("a Rényi curve must have the orders of this version")
    if not delta < 1 or not 0 <= distance < 1:
        raise ValueError("the delta and the distance of a Rényi curve must lie between 0 and 1")
    return Renyi(curve, delta, distance)


def _read_fraction(text: str) -> Fraction:
    """Read an exact number in the form that is written here; 1e-99999999, for example, would take forever."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{shorten(text)!r} is not a fraction such as 1/2")
    return Fraction(text)
