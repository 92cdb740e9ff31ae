"""The arguments of a ledger: the name of a dataset, a budget, and neighbours."""

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
    """Read the name of a dataset."""
    if not isinstance(dataset, str):
        raise ArgumentTypeError(
            f'dataset must be a name for the rows, got an object of type {type(dataset).__name__}: give "patients", '
            "for example"
        )
    if not dataset.strip() or not dataset.isprintable() or len(dataset) > _LONGEST_NAME:
        raise ArgumentError(f"dataset must be a name of 1 to {_LONGEST_NAME} printable characters, got {dataset!r}")
    return clean(dataset)


def read_limit(rho: Number | None, epsilon: Number | None, delta: Number | None) -> Zcdp | ApproxDp | None:
    """Read a budget, if one is given."""
    if rho is not None and (epsilon is not None or delta is not None):
        raise ArgumentError("got rho and also epsilon or delta: give either rho, or epsilon and delta")
    if rho is not None:
        return Zcdp(rho)
    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None:
        raise ArgumentError(
            f"a budget needs epsilon and delta, got epsilon={epsilon} and delta={delta}: give both, or rho"
        )
    budget = ApproxDp(epsilon, delta)
    if not Fraction(1, 10**6) <= budget.epsilon <= 1000:
        raise ArgumentError(f"the epsilon of a ledger must lie between 1e-6 and 1000, got {epsilon}")
    return budget


def read_kind(neighbours: str | None) -> str | None:
    """Read the neighbours of all costs, if they are given."""
    return None if neighbours is None else str(read_member(Neighbours, neighbours, "neighbours"))


def with_neighbours(account: Account, kind: str, dataset: str) -> Account:
    """Return an account with these neighbours; refuse if its entries have others."""
    if account.kind is None:
        return replace(account, neighbours=kind)
    if account.kind != kind:
        raise ArgumentError(
            f"dataset {dataset!r} has costs with neighbours {account.kind!r}, got {kind!r}: leave neighbours out"
        )
    return account


def refuse_dataset(dataset: str, found: Accounts, file: str) -> str:
    """Return the error for a dataset that is not in the file."""
    cure = "give a budget: rho=1.0, for example, or epsilon=3.0 and delta=1e-6"
    if not found:
        return f"a new ledger needs a budget: give {cure.removeprefix('give a budget: ')}"
    names = ", ".join(map(repr, list(found)[:5])) + ", ..." * (len(found) > 5)
    return f"there is no dataset {dataset!r} in {file}, which has {names}: name one of these, or {cure}"


def spell(budget: Zcdp | ApproxDp) -> str:
    """Return a budget in words."""
    if isinstance(budget, Zcdp):
        return f"rho = {_exactly(budget.rho)}"
    return f"epsilon = {_exactly(budget.epsilon)} and delta = {_exactly(budget.delta)}"


def _exactly(value: Fraction) -> str:
    return f"{float(value):g}" if Fraction(f"{float(value):g}") == value else str(value)
