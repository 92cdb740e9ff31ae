"""Ledgers as readable JSON. Any error in the JSON is refused."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

import msgspec

from dpmean.enums import read_name
from dpmean.errors import LedgerError
from dpmean.ledger.account import Account, Entry
from dpmean.privacy.budgets import ApproxDp, Zcdp
from dpmean.privacy.codec import CostDocument, decode_cost, encode_cost
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.strict_json import convert, parse, shorten

FORMAT = "dpmean.ledger/1"
_CURE = "restore it from a backup, or use a new file; the file is unchanged"

Accounts = Mapping[str, Account]
"""The datasets of a file, by name."""


class _Entry(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    id: str
    when: str
    what: str
    cost: CostDocument
    n: int | None = None
    d: int | None = None
    columns: tuple[str, ...] | None = None
    neighbours: str | None = None
    unit: str | None = None


class _Account(msgspec.Struct, forbid_unknown_fields=True):
    budget: CostDocument
    entries: tuple[_Entry, ...]
    neighbours: str | None = None


class _Ledger(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    datasets: dict[str, _Account]


def write(accounts: Accounts) -> bytes:
    """Return accounts as JSON, with one entry per line."""
    lines = ["{", f'  "format": {json.dumps(FORMAT)},', '  "datasets": {']
    for i, (name, account) in enumerate(accounts.items()):
        entries = ",\n".join(f"        {_line(_encode_entry(entry))}" for entry in account.entries)
        lines += [
            f"    {json.dumps(name, ensure_ascii=False)}: {{",
            f'      "budget": {_line(encode_cost(account.budget))},',
            *([f'      "neighbours": {json.dumps(account.neighbours)},'] if account.neighbours else []),
            f'      "entries": [\n{entries}\n      ]' if entries else '      "entries": []',
            "    }" + "," * (i + 1 < len(accounts)),
        ]
    return "\n".join([*lines, "  }", "}", ""]).encode()


def read(content: bytes | None, name: str) -> dict[str, Account]:
    """Read accounts that ``write`` wrote; a missing file has none."""
    if content is None:
        return {}
    if not content.strip():
        raise LedgerError(f"{name} is empty and not a ledger: {_CURE}")
    try:
        found = parse(content)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise LedgerError(
                f"{name} is not a ledger in the format {FORMAT}: give another file; this one is unchanged"
            )
        json.dumps(found, ensure_ascii=False).encode()  # half a character could be read, but not written again
        datasets = convert(found, _Ledger).datasets
        if any(title != clean(title) for title in datasets):
            raise ValueError("the name of a dataset is not as this library writes it")
        return {title: _account(account) for title, account in datasets.items()}
    except LedgerError:
        raise
    except UnicodeEncodeError:
        raise LedgerError(f"{name} is damaged (it is not UTF-8 text): {_CURE}") from None
    except (ArithmeticError, ValueError) as error:
        raise LedgerError(f"{name} is damaged ({error}): {_CURE}") from None


def clean(name: str) -> str:
    """Return the name of a dataset in normal form: names that look the same are the same."""
    return unicodedata.normalize("NFC", name.strip())


def _line(document: msgspec.Struct) -> str:
    return json.dumps(msgspec.to_builtins(document), ensure_ascii=False, allow_nan=False)


def _encode_entry(entry: Entry) -> _Entry:
    fields: dict[str, Any] = {name: getattr(entry, name) for name in _Entry.__struct_fields__ if name != "cost"}
    return _Entry(cost=encode_cost(entry.cost), **fields)


def _account(document: _Account) -> Account:
    budget = decode_cost(document.budget)
    if not isinstance(budget, Zcdp | ApproxDp):
        raise ValueError("a budget must be a rho, or an epsilon and a delta")
    entries = tuple(_entry(entry) for entry in document.entries)
    if len({entry.id for entry in entries}) < len(entries):
        raise ValueError("two entries have the same id")
    if len({entry.relation for entry in entries if entry.relation is not None}) > 1:
        raise ValueError("its entries have different neighbours or units, so that their costs cannot be added")
    if document.neighbours is not None:
        read_name(Neighbours, shorten(document.neighbours), "neighbours")
        if any(entry.neighbours not in (None, document.neighbours) for entry in entries):
            raise ValueError("its entries have other neighbours than the dataset")
    account = Account(budget, entries, document.neighbours)
    if not account.is_within():
        raise ValueError("its entries exceed its budget")
    return account


def _entry(document: _Entry) -> Entry:
    fields: dict[str, Any] = {name: getattr(document, name) for name in _Entry.__struct_fields__ if name != "cost"}
    return Entry(cost=decode_cost(document.cost), **fields)
