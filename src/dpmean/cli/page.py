"""The text for a page from the command line, checked before any budget is spent."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dpmean.arguments.request import Request
from dpmean.cli.page_options import NAMES
from dpmean.pipeline.opening import open_keyed
from dpmean.reports.author import read_author
from dpmean.rows.tables.keyed_table import width_of_listed


def take_text(asked: dict[str, Any], report: Path | None) -> dict[str, Any]:
    """Remove the text for the page from the options, and return it as arguments of ``dpmean.report``."""
    said = {name: asked.pop(name) for name in NAMES if name in asked}
    found = {name: words for name, words in said.items() if words != ()}
    if found and report is None:
        raise click.UsageError(f"--{_option(min(found))} is for the page: add --report FILE.html")
    for name in found.keys() & {"labels", "units", "group_labels"}:
        named = [key for key, _ in found[name]]
        twice = [key for key in named if named.count(key) > 1]
        if twice:
            what = "group" if name == "group_labels" else "column"
            raise click.UsageError(f"--{_option(name)} names the {what} {twice[0]!r} more than once: leave one out")
        found[name] = dict(found[name])
    return found


def check_text(words: dict[str, Any], data: str, request: Request) -> dict[str, Any]:
    """Return the text for the page; refuse text for columns or groups that do not exist.

    Only the header of a file is read, if necessary. For the length of vectors, rows of listed groups are read at most.
    """
    groups = None if request.groups is None else request.groups.labels
    if groups is not None and "group_labels" in words:
        words = words | {"group_labels": _of_groups(words["group_labels"], groups)}
    by_column = words.keys() & {"labels", "units"}
    names, d = request.selection.columns, None
    if by_column and names is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come again when the rows are read
            table = open_keyed(data, request, *(() if request.groups is None else (request.groups.by,)))
        names = table.names
        listed = None if names else request.groups
        d = table.width if listed is None else width_of_listed(table, listed.by, listed.labels)
    elif names is not None:
        d = len(names)
    if names is None:
        words = words | {name: _by_number(words[name]) for name in by_column}
    read_author(names, d, groups=groups, **words)
    return words


def _option(argument: str) -> str:
    return argument.removesuffix("s").replace("_", "-")


def _of_groups(words: dict[str, str], groups: Sequence[Any]) -> dict[Any, str]:
    """Return text by the labels of groups; labels of several columns are typed with colons."""
    typed = {":".join(label): label for label in groups if isinstance(label, tuple)}
    return {typed.get(key, key): text for key, text in words.items()}


def _by_number(words: dict[str, str]) -> dict[Any, str]:
    """Return text by the numbers of columns without names."""
    return {int(name) if name.isdecimal() else name: text for name, text in words.items()}
