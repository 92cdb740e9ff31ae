"""What a ledger is opened with: the name of a data set, a budget, and neighbours; all are read here, and said."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpmean.enums import read_name as read_member
from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.ledger.account import Account
from dpmean.ledger.codec import Accounts, clean
from dpmean.privacy.budgets import ApproxDp, Number, Zcdp
from dpmean.privacy.neighbours import Neighbours

_LONGEST_NAME = 200


def read_name(dataset: object) -> str:
    """Read the name of a data set."""
    if not isinstance(dataset, str):
        raise ArgumentTypeError(f"dataset must be a name of your choice for the rows, got a {type(dataset).__name__}")
    if not dataset.strip() or not dataset.isprintable() or len(dataset) > _LONGEST_NAME:
        raise ArgumentError(f"dataset must be a name of 1 to {_LONGEST_NAME} printable characters, got {dataset!r}")
    return clean(dataset)


def read_limit(rho: Number | None, epsilon: Number | None, delta: Number | None) -> Zcdp | ApproxDp | None:
    """Read a budget, if one is given."""
    if rho is not None and (epsilon is not None or delta is not None):
        raise ArgumentError("give either rho, or epsilon and delta, not both")
    if rho is not None:
        return Zcdp(rho)
    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None:
        raise ArgumentError(f"a budget needs epsilon and delta, got {epsilon} and {delta}: give both, or rho")
    budget = ApproxDp(epsilon, delta)
    if not Fraction(1, 10**6) <= budget.epsilon <= 1000:
        raise ArgumentError(f"the epsilon of a ledger must lie between 1e-6 and 1000, got {epsilon}")
    return budget


def read_kind(neighbours: str | None) -> str | None:
    """Read which neighbours all costs are to be about, if it is said."""
    return None if neighbours is None else str(read_member(Neighbours, neighbours, "neighbours"))


def of_kind(account: Account, kind: str, dataset: str) -> Account:
    """Return an account of which all costs are about some neighbours; refuse if they are about others."""
    if account.kind is None:
        return replace(account, neighbours=kind)
    if account.kind != kind:
        raise ArgumentError(
            f"what was paid for {dataset!r} is about neighbours {account.kind!r}, got {kind!r}: leave neighbours out"
        )
    return account


def unknown(dataset: str, found: Accounts, file: str) -> str:
    """Return what to do where a data set is not in the file."""
    cure = "give a budget: rho=1.0, say, or epsilon=3.0 and delta=1e-6"
    if not found:
        return f"a new ledger needs a budget: {cure.removeprefix('give a budget: ')}"
    names = ", ".join(map(repr, list(found)[:5])) + ", ..." * (len(found) > 5)
    return f"there is no data set {dataset!r} in {file}, only {names}: name one of these, or {cure}"


def said(budget: Zcdp | ApproxDp) -> str:
    """Return a budget as it is given."""
    if isinstance(budget, Zcdp):
        return f"rho = {_exactly(budget.rho)}"
    return f"epsilon = {_exactly(budget.epsilon)} and delta = {_exactly(budget.delta)}"


def _exactly(value: Fraction) -> str:
    return f"{float(value):g}" if Fraction(f"{float(value):g}") == value else str(value)
