"""The objects that a ledger records, and the entries for them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Protocol

from dpmean.enums import Sizes
from dpmean.errors import ArgumentError, ArgumentTypeError, describe, display_name, plural
from dpmean.ledger.account import Entry, convert_cost
from dpmean.ledger.filter import Cost
from dpmean.ledger.relations import WITHIN
from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
from dpmean.privacy.receipts import Receipt
from dpmean.privacy.renyi import Renyi, compose


class Recordable(Protocol):
    """An object that a ledger can record: a release, or a group of releases."""

    @property
    def receipts(self) -> Sequence[Receipt]:
        """The receipts of all queries."""
        ...

    @property
    def cost(self) -> Zcdp:
        """The total cost; not used if a receipt has a Rényi curve."""
        ...

    @property
    def seeded(self) -> bool:
        """Whether the noise came from a seed."""
        ...

    @property
    def exact(self) -> bool:
        """Whether all noise is exact, and not in floating point."""
        ...

    @property
    def method(self) -> str:
        """The name of the estimator."""
        ...

    @property
    def identity(self) -> str | None:
        """A unique identifier, such as a hash of the published numbers, or None."""
        ...


def entry_of(release: Recordable, budget: Zcdp | ApproxDp) -> Entry:
    """Return the entry for a release in an account with this budget; refuse a release that protects nobody."""
    _check(release)
    return Entry(
        id=_read_attribute(release, "identity", str) or os.urandom(16).hex(),
        when=_now(),
        what=_title(release),
        cost=_cost(release, budget),
        n=_read_attribute(release, "n", int),
        d=_read_attribute(release, "d", int),
        columns=_names(release),
        neighbours=_relation(release),
        unit=_read_attribute(release, "unit", str),  # "" is a valid name,
    )


def entry_for(
    cost: Cost, what: str, budget: Zcdp | ApproxDp, neighbours: str | None = None, unit: str | None = None
) -> Entry:
    """Return the entry for a cost without a release."""
    paid = convert_cost(cost, budget)
    return Entry(id=os.urandom(16).hex(), when=_now(), what=what, cost=paid, neighbours=neighbours, unit=unit)


def _title(release: Recordable) -> str:
    trust, means = getattr(release, "trust", "central"), getattr(release, "released", None)
    if means:
        return (
            f"{release.method}, {plural(len(means), 'group')} by {_writable(display_name(getattr(release, 'by', '')))}"
        )
    return release.method if trust == "central" else f"{release.method}, {trust} model"


def _relation(release: Recordable) -> str | None:
    """Return the neighbours of a cost; with public sizes of groups, a row stays in its group."""
    found: str | None = _read_attribute(release, "neighbours", str)
    if found is None:
        return None
    return relation_of(found, getattr(release, "sizes", None), getattr(release, "by", "group"))


def relation_of(neighbours: str, sizes: Sizes | None, by: str | tuple[str, ...]) -> str:
    """Return the neighbours of a cost in words, with the sizes of groups, if there are groups."""
    name = " and ".join(map(repr, by)) if isinstance(by, tuple) else by
    return f"{neighbours}{WITHIN}{name}" if sizes is Sizes.PUBLIC else str(neighbours)


def _names(release: Recordable) -> tuple[str, ...] | None:
    """Return the names of the columns, as text that can be encoded."""
    names = _read_attribute(release, "columns", tuple)
    return None if names is None else tuple(_writable(str(name)) for name in names)


def _writable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _check(release: object) -> None:
    if not all(hasattr(release, name) for name in ("receipts", "seeded", "exact", "method")):
        raise ArgumentTypeError(f"release must be a dpmean.Release or a dpmean.GroupedRelease, got {describe(release)}")
    if getattr(release, "seeded", True):
        raise ArgumentError(
            "a release with a seed protects nobody and cannot be recorded: release the mean again without seed"
        )
    if not getattr(release, "exact", False):
        raise ArgumentError(
            f"this release of {getattr(release, 'method', '?')} has noise in floating point, which may reveal rows: "
            "use dpmean.mean for a release to publish"
        )


def _cost(release: Recordable, budget: Zcdp | ApproxDp) -> Cost:
    """Return the cost of a release: a curve if receipts have curves, otherwise its total cost."""
    prices = [receipt.cost for receipt in release.receipts]
    if any(isinstance(price, Renyi) for price in prices):
        return convert_cost(compose(prices), budget)
    pure = [price.epsilon for price in prices if isinstance(price, PureDp)]
    if isinstance(budget, ApproxDp) and len(pure) == len(prices):
        return PureDp(sum(pure, start=Fraction(0)))
    return convert_cost(release.cost, budget)


def _read_attribute(release: object, name: str, kind: type[Any]) -> Any:
    value = getattr(release, name, None)
    return kind(value) if isinstance(value, kind) else None
