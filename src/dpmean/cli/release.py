"""Around a release: the labels of groups, what is missing, and the ledger."""

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
"""What is more likely the name of a file than a label."""


def read(asked: dict[str, Any]) -> Request:
    """Read what was asked for, before a file is opened or a ledger begun."""
    if "by" not in asked:
        if extra := {"groups", "sizes", "contributions"} & set(asked):
            raise click.UsageError(f"--{min(extra)} is for one mean per group: give --by COLUMN, too")
        return read_request(**asked)
    if "groups" not in asked:
        raise click.UsageError("--by needs --groups: labels found in the data would tell who is there, so list them")
    for name in ("trust", "passes", "rounds", "honest"):
        if name in asked:
            raise click.UsageError(f"--{name.replace('_', '-')} is not for means of groups: leave it out")
    of_groups = {name: value for name, value in asked.items() if name in ("by", "groups", "sizes", "contributions")}
    rest = {name: value for name, value in asked.items() if name not in of_groups}
    return read_request(groups=read_groups(**of_groups), **rest)


def make(data: str, request: Request, ledger: dpmean.Ledger | None) -> Releases:
    """Release what was asked for; it is recorded before anybody sees it."""
    request = replace(request, ledger=ledger)
    return run(data, request) if request.groups is None else run_groups(data, request)


def read_labels(given: str, by: str | list[str] | None) -> list[str] | list[tuple[str, ...]]:
    """Read labels: a file with one on a line, or labels separated by commas.

    With several columns each label has several values: with colons between them, or in a file as in CSV.
    """
    file = Path(given)
    if file.is_file():
        lines = _lines(file)
        return (
            [line.strip() for line in lines if line.strip()] if not isinstance(by, list) else _values(file, lines, by)
        )
    if "," not in given and _FILE_NAME.search(given):
        raise click.UsageError(f"there is no file {given}: give a file with one label on a line, or A,B,C")
    labels = [label.strip() for label in given.split(",") if label.strip()]
    if not isinstance(by, list):
        return labels
    pairs = [tuple(value.strip() for value in label.split(":")) for label in labels]
    for label, pair in zip(labels, pairs, strict=True):
        if len(pair) != len(by):
            raise click.UsageError(
                f"--groups {label} should have {len(by)} values with colons between them, one for each --by; where "
                "values have colons, give a file, with a line such as A,x for each group"
            )
    return pairs


def _values(file: Path, lines: list[str], by: list[str]) -> list[tuple[str, ...]]:
    """Read a line for each group, with a value for each column."""
    try:
        found = [tuple(map(str.strip, line)) for line in csv.reader(lines, strict=True, skipinitialspace=True) if line]
    except csv.Error:
        raise ArgumentError(f"{file} must be CSV, with a line for each group") from None
    for label in found:
        if len(label) != len(by):
            raise ArgumentError(f"{file}: {','.join(label)!r} should have {len(by)} values, one for each --by")
    return found


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ArgumentError(f"{file} must be text, with one label on a line") from None


def read_nan(given: str, data: str) -> dict[Any, str | float]:
    """Read what to do about missing values, column by column; those of .npy files are counted."""
    pairs = [pair.rpartition("=") for pair in given.split(",")]
    found = {name.strip(): _word_or_number(what.strip()) for name, _, what in pairs}
    if not all(sign for _, sign, _ in pairs) or len(found) < len(pairs):
        raise click.UsageError(
            f"--nan {given} should be raise, drop or impute, or say one of them, or a public value, for each of some "
            "columns: income=impute,crp=10"
        )
    counted = data.lower().endswith(".npy") and all(name.isdecimal() for name in found)
    return {int(name): what for name, what in found.items()} if counted else dict(found)


def _word_or_number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def open_ledger(file: Path | None, dataset: str | None, terms: dict[str, Any], *, seeded: bool) -> dpmean.Ledger | None:
    """Open the ledger, if there is to be one, on terms that are given or that it has."""
    if file is None:
        if any(value is not None for value in (dataset, *terms.values())):
            raise click.UsageError("--dataset and the terms of a ledger need --ledger FILE beside them")
        return None
    if seeded:
        raise click.UsageError("a seeded release protects nobody and is not recorded: leave out --seed, or --ledger")
    name = "data" if dataset is None else clean(dataset)
    known = _known(file)
    if all(terms[part] is None for part in ("rho", "epsilon", "delta")) and name not in known:
        first = "for other people, give" if known else "give"
        there = f", which has {', '.join(map(repr, known[:20]))}: name one of these, with --dataset; or," * bool(known)
        raise click.UsageError(
            f"{name!r} has no budget in {file}{there or ' yet:'} {first} --ledger-rho 1, say, or --ledger-epsilon 3 "
            "--ledger-delta 1e-6"
        )
    return dpmean.Ledger(file, **terms, dataset=name)


def _known(file: Path) -> tuple[str, ...]:
    return datasets(file) if file.exists() else ()


def say_what_is_left(ledger: dpmean.Ledger) -> None:
    """Say what may still be spent."""
    account = Account(ledger.budget, ledger.entries, ledger.neighbours)
    amount = f"{account.unit} = {digits(account.left, up=False)}"
    rest = "is left" if isinstance(account.budget, dpmean.Zcdp) else f"is the {largest_next(account)},"
    words = f"recorded in {ledger.path}: {amount} {rest} for {ledger.dataset}"
    show.err().print(show.printable(words), soft_wrap=True)
