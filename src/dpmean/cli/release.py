"""Arguments of a release: the labels of groups, missing values, and the ledger."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import dpmean
from dpmean.arguments.groups import read_groups
from dpmean.arguments.request import Request, read_request
from dpmean.cli import show
from dpmean.cli.destinations import Releases
from dpmean.errors import ArgumentError
from dpmean.ledger.account import Account, digits
from dpmean.ledger.codec import clean
from dpmean.ledger.ledger import datasets
from dpmean.ledger.summary import largest_next
from dpmean.pipeline.dispatch import run
from dpmean.pipeline.grouped import run_groups

_FILE_NAME = re.compile(r"[/\\]|\.(?:txt|csv|tsv|json|lst|list|dat)$", re.IGNORECASE)
"""Matches text that is more likely the name of a file than a label."""


def read(asked: dict[str, Any]) -> Request:
    """Read the arguments, before a file is opened or a ledger is created."""
    if "by" not in asked:
        if extra := {"groups", "sizes", "contributions"} & set(asked):
            raise click.UsageError(f"--{min(extra)} is for one mean per group: add --by COLUMN")
        return read_request(**asked)
    if "groups" not in asked:
        raise click.UsageError(
            "--by needs --groups, because labels from the data would reveal who is in it: list the labels of all groups"
        )
    for name in ("trust", "passes", "rounds", "honest"):
        if name in asked:
            raise click.UsageError(f"--{name.replace('_', '-')} cannot be used with --by: leave it out")
    of_groups = {name: value for name, value in asked.items() if name in ("by", "groups", "sizes", "contributions")}
    rest = {name: value for name, value in asked.items() if name not in of_groups}
    return read_request(groups=read_groups(**of_groups), **rest)


def make(data: str, request: Request, ledger: dpmean.Ledger | None) -> Releases:
    """Release the mean. The ledger is charged before the release is shown."""
    request = replace(request, ledger=ledger)
    return run(data, request) if request.groups is None else run_groups(data, request)


def read_labels(given: str, by: str | list[str] | None) -> list[str] | list[tuple[str, ...]]:
    """Read labels: a file with one per line, or labels separated by commas.

    With several columns each label has several values, separated by colons, or by commas in a file.
    """
    file = Path(given)
    if file.is_file():
        lines = _lines(file)
        return (
            [line.strip() for line in lines if line.strip()] if not isinstance(by, list) else _values(file, lines, by)
        )
    if "," not in given and _FILE_NAME.search(given):
        raise click.UsageError(
            f"--groups: there is no file {given}: give a file with one label per line, or labels as in A,B,C"
        )
    labels = [label.strip() for label in given.split(",") if label.strip()]
    if not isinstance(by, list):
        return labels
    pairs = [tuple(value.strip() for value in label.split(":")) for label in labels]
    for label, pair in zip(labels, pairs, strict=True):
        if len(pair) != len(by):
            raise click.UsageError(
                f"--groups {label} must have {len(by)} values, one for each --by, separated by colons; if values "
                "contain colons, give a file with a line such as A,x for each group"
            )
    return pairs


def _values(file: Path, lines: list[str], by: list[str]) -> list[tuple[str, ...]]:
    """Read one line per group, with a value for each column."""
    try:
        found = [tuple(map(str.strip, line)) for line in csv.reader(lines, strict=True, skipinitialspace=True) if line]
    except csv.Error:
        raise ArgumentError(f"{file} must be a CSV file with one line per group") from None
    for label in found:
        if len(label) != len(by):
            raise ArgumentError(f"{file}: {','.join(label)!r} must have {len(by)} values, one for each --by")
    return found


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ArgumentError(f"{file} must be a UTF-8 text file with one label per line") from None


def read_nan(given: str, data: str) -> dict[Any, str | float]:
    """Read what to do with missing values in each column; columns of .npy files are numbers."""
    pairs = [pair.rpartition("=") for pair in given.split(",")]
    found = {name.strip(): _word_or_number(what.strip()) for name, _, what in pairs}
    if not all(sign for _, sign, _ in pairs) or len(found) < len(pairs):
        raise click.UsageError(
            f"--nan {given} must be raise, drop or impute, or one of these or a public value for some columns, as in "
            "income=impute,crp=10"
        )
    counted = data.lower().endswith(".npy") and all(name.isdecimal() for name in found)
    return {int(name): what for name, what in found.items()} if counted else dict(found)


def _word_or_number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def open_ledger(file: Path | None, dataset: str | None, terms: dict[str, Any], *, seeded: bool) -> dpmean.Ledger | None:
    """Open the ledger, if one is given, with the given terms or the terms in its file."""
    if file is None:
        if any(value is not None for value in (dataset, *terms.values())):
            raise click.UsageError("--dataset and the --ledger-... options need a ledger: add --ledger FILE")
        return None
    if seeded:
        raise click.UsageError(
            "a release with --seed protects nobody and cannot be recorded in a ledger: leave out --seed, or leave "
            "out --ledger"
        )
    name = "data" if dataset is None else clean(dataset)
    known = _list_datasets(file)
    if all(terms[part] is None for part in ("rho", "epsilon", "delta")) and name not in known:
        first = "for a new dataset, give" if known else "give"
        there = f", which has {', '.join(map(repr, known[:20]))}: name one of these with --dataset, or," * bool(known)
        raise click.UsageError(
            f"dataset {name!r} has no budget in {file}{there or ' yet:'} {first} --ledger-rho 1, for example, or "
            "--ledger-epsilon 3 --ledger-delta 1e-6"
        )
    return dpmean.Ledger(file, **terms, dataset=name)


def _list_datasets(file: Path) -> tuple[str, ...]:
    return datasets(file) if file.exists() else ()


def print_budget_left(ledger: dpmean.Ledger) -> None:
    """Print the budget that is left."""
    account = Account(ledger.budget, ledger.entries, ledger.neighbours)
    amount = f"{account.unit} = {digits(account.left, up=False)}"
    rest = "is left" if isinstance(account.budget, dpmean.Zcdp) else f"is the {largest_next(account)},"
    words = f"recorded in {ledger.path}: {amount} {rest} for {ledger.dataset}"
    show.err().print(show.printable(words), soft_wrap=True)
