"""What the author of a page says on the command line, checked before anything is spent."""

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


def take_words(asked: dict[str, Any], report: Path | None) -> dict[str, Any]:
    """Take what is for the page, if there is to be one, out of what was asked: arguments of ``dpmean.report``."""
    said = {name: asked.pop(name) for name in NAMES if name in asked}
    found = {name: words for name, words in said.items() if words != ()}
    if found and report is None:
        raise click.UsageError(f"--{_option(min(found))} is for the page: give --report HTML, too")
    for name in found.keys() & {"labels", "units", "group_labels"}:
        named = [key for key, _ in found[name]]
        twice = [key for key in named if named.count(key) > 1]
        if twice:
            what = "group" if name == "group_labels" else "column"
            raise click.UsageError(f"--{_option(name)} names the {what} {twice[0]!r} more than once: leave one out")
        found[name] = dict(found[name])
    return found


def check_words(words: dict[str, Any], data: str, request: Request) -> dict[str, Any]:
    """Return these words, about columns that there are.

    Only the header of a file is asked, and where it must be; how long vectors are, the rows of listed groups at most.
    """
    groups = None if request.groups is None else request.groups.labels
    if groups is not None and "group_labels" in words:
        words = words | {"group_labels": _of_groups(words["group_labels"], groups)}
    by_column = words.keys() & {"labels", "units"}
    names, d = request.selection.columns, None
    if by_column and names is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever reads the rows says it again
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
    """Return words by the labels of groups, where these are typed with colons between their values."""
    typed = {":".join(label): label for label in groups if isinstance(label, tuple)}
    return {typed.get(key, key): text for key, text in words.items()}


def _by_number(words: dict[str, str]) -> dict[Any, str]:
    """Return words by the numbers of columns that have no names."""
    return {int(name) if name.isdecimal() else name: text for name, text in words.items()}
