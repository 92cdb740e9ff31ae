"""The book of a ledger in a file: JSON that people can read, and that is refused when anything in it is wrong."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NoReturn

import msgspec

from dpmean.enums import read_name
from dpmean.errors import ArgumentError, LedgerError
from dpmean.ledger.account import Account, Entry
from dpmean.ledger.filter import Cost
from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.renyi import ORDERS, Renyi

FORMAT = "dpmean.ledger/1"
_NUMBER = re.compile(r"[0-9]+(?:/[0-9]+|\.[0-9]+)?")
_CURE = "restore it from a copy, or begin a file of another name; it was left as it is"

Book = Mapping[str, Account]
"""The data sets of a file, by name."""


class _Cost(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    rho: str | None = None
    epsilon: str | None = None
    delta: str | None = None
    renyi: tuple[float, ...] | None = None
    orders: tuple[int, ...] | None = None
    distance: float = 0.0


class _Entry(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    id: str
    when: str
    what: str
    cost: _Cost
    n: int | None = None
    d: int | None = None
    columns: tuple[str, ...] | None = None
    neighbours: str | None = None
    unit: str | None = None


class _Account(msgspec.Struct, forbid_unknown_fields=True):
    budget: _Cost
    entries: tuple[_Entry, ...]
    neighbours: str | None = None


class _Book(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    datasets: dict[str, _Account]


def write(book: Book) -> bytes:
    """Return a book as JSON, with one entry on a line."""
    lines = ["{", f'  "format": {json.dumps(FORMAT)},', '  "datasets": {']
    for i, (name, account) in enumerate(book.items()):
        entries = ",\n".join(f"        {_line(_entry_on_paper(entry))}" for entry in account.entries)
        lines += [
            f"    {json.dumps(name, ensure_ascii=False)}: {{",
            f'      "budget": {_line(_cost_on_paper(account.budget))},',
            *([f'      "neighbours": {json.dumps(account.neighbours)},'] if account.neighbours else []),
            f'      "entries": [\n{entries}\n      ]' if entries else '      "entries": []',
            "    }" + "," * (i + 1 < len(book)),
        ]
    return "\n".join([*lines, "  }", "}", ""]).encode()


def read(content: bytes | None, name: str) -> dict[str, Account]:
    """Read a book that ``write`` wrote; a file that is not there is an empty one."""
    if content is None:
        return {}
    if not content.strip():
        raise LedgerError(f"{name} is empty, and no ledger: {_CURE}")
    try:
        found = json.loads(content.decode(), object_pairs_hook=_unique, parse_constant=_no_number)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise LedgerError(f"{name} is no ledger of the format {FORMAT}: name another file; it was left as it is")
        datasets = msgspec.convert(found, _Book).datasets
        if any(title != clean(title) for title in datasets):
            raise ValueError("the name of a data set is not as this library writes it")
        return {title: _account(account) for title, account in datasets.items()}
    except LedgerError:
        raise
    except RecursionError:
        raise LedgerError(f"{name} is damaged (it is nested too deeply): {_CURE}") from None
    except (msgspec.MsgspecError, ArgumentError, ArithmeticError, ValueError, TypeError) as error:
        raise LedgerError(f"{name} is damaged ({error}): {_CURE}") from None


def clean(name: str) -> str:
    """Return the name of a data set as it is kept: what looks the same is the same."""
    return unicodedata.normalize("NFC", name.strip())


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Read an object, and refuse one that says the same twice: nobody knows which is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _fraction(text: str) -> Fraction:
    """Read an exact number as it is written here; one like 1e-99999999 would take forever."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is no fraction")
    return Fraction(text)


def _line(paper: msgspec.Struct) -> str:
    return json.dumps(msgspec.to_builtins(paper), ensure_ascii=False, allow_nan=False)


def _entry_on_paper(entry: Entry) -> _Entry:
    fields: dict[str, Any] = {name: getattr(entry, name) for name in _Entry.__struct_fields__ if name != "cost"}
    return _Entry(cost=_cost_on_paper(entry.cost), **fields)


def _cost_on_paper(cost: Cost) -> _Cost:
    if isinstance(cost, Zcdp):
        return _Cost(rho=str(cost.rho))
    if isinstance(cost, PureDp):
        return _Cost(epsilon=str(cost.epsilon))
    if isinstance(cost, ApproxDp):
        return _Cost(epsilon=str(cost.epsilon), delta=str(cost.delta))
    return _Cost(renyi=cost.curve, orders=ORDERS, delta=str(cost.delta), distance=cost.distance)


def _account(paper: _Account) -> Account:
    budget = _cost(paper.budget)
    if not isinstance(budget, Zcdp | ApproxDp):
        raise ValueError("a budget is a rho, or an epsilon and a delta")
    entries = tuple(_entry(entry) for entry in paper.entries)
    if len({entry.id for entry in entries}) < len(entries):
        raise ValueError("an entry is there twice")
    if paper.neighbours is not None:
        read_name(Neighbours, paper.neighbours, "neighbours")
        if any(entry.neighbours not in (None, paper.neighbours) for entry in entries):
            raise ValueError("its entries are about other neighbours than it says")
    account = Account(budget, entries, paper.neighbours)
    if not account.is_within():
        raise ValueError("its entries are not within its budget")
    return account


def _entry(paper: _Entry) -> Entry:
    fields: dict[str, Any] = {name: getattr(paper, name) for name in _Entry.__struct_fields__ if name != "cost"}
    return Entry(cost=_cost(paper.cost), **fields)


def _cost(paper: _Cost) -> Cost:
    match paper:
        case _Cost(rho=str(rho), epsilon=None, delta=None, renyi=None, orders=None, distance=0.0):
            return Zcdp(_fraction(rho))
        case _Cost(rho=None, epsilon=str(epsilon), delta=None, renyi=None, orders=None, distance=0.0):
            return PureDp(_fraction(epsilon))
        case _Cost(rho=None, epsilon=str(epsilon), delta=str(delta), renyi=None, orders=None, distance=0.0):
            return ApproxDp(_fraction(epsilon), _fraction(delta))
        case _Cost(rho=None, epsilon=None, delta=str(delta), renyi=tuple(curve), orders=tuple(orders)):
            if orders != ORDERS:
                raise ValueError("a Rényi curve must have the orders of this version")
            return Renyi(curve, _fraction(delta), paper.distance)
    raise ValueError("a cost is a rho, an epsilon with or without a delta, or a Rényi curve")
