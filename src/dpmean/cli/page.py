"""What the author of a page says on the command line, checked before anything is spent."""

from __future__ import annotations

import warnings
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
        option = min(found).removesuffix("s")
        raise click.UsageError(f"--{option} is for the page: give --report HTML, too")
    for name in found.keys() & {"labels", "units"}:
        columns = [column for column, _ in found[name]]
        twice = [column for column in columns if columns.count(column) > 1]
        if twice:
            raise click.UsageError(f"--{name[:-1]} names the column {twice[0]!r} more than once: leave one out")
        found[name] = dict(found[name])
    return found


def check_words(words: dict[str, Any], data: str, request: Request) -> dict[str, Any]:
    """Return these words, about columns that there are.

    Only the header of a file is asked, and where it must be; how long vectors are, the rows of listed groups at most.
    """
    by_column = words.keys() & {"labels", "units"}
    names, d = request.selection.columns, None
    if by_column and names is None:
        groups = request.groups
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever reads the rows says it again
            table = open_keyed(data, request, *(() if groups is None else (groups.by,)))
        names = table.names
        d = table.width if groups is None or names else width_of_listed(table, groups.by, groups.labels)
    elif names is not None:
        d = len(names)
    if names is None:
        words = words | {name: _by_number(words[name]) for name in by_column}
    read_author(names, d, **words)
    return words


def _by_number(words: dict[str, str]) -> dict[Any, str]:
    """Return words by the numbers of columns that have no names."""
    return {int(name) if name.isdecimal() else name: text for name, text in words.items()}
