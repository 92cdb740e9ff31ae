"""Options for the text of a page: the page shows it, and the release does not contain it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # takes no parameters before click 8.2


class _Pair(_ParamType):
    """A column, or a group, and text about it: age=years."""

    name = "pair"

    def __init__(self, whose: str, example: str) -> None:
        self._whose, self._example = whose, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Read the pair; whether the column or group exists is checked later."""
        if isinstance(value, tuple):
            return value
        name, sign, words = str(value).partition("=")
        if not (name and sign and words.strip()):
            self.fail(f"{value!r} must be {self._whose} and text, as in {self._example}", param, ctx)
        return name, words.strip()


_COLUMN, _GROUP = _Pair("a column", "age=years"), _Pair("a group", "m=Men")
NAMES = ("title", "date", "labels", "units", "group_labels", "about", "contact")
"""The arguments of these options."""


def page(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the text of a page."""
    for option in (
        click.option("--contact", metavar="TEXT", help="Contact for questions."),
        click.option("--about", metavar="TEXT", help="What the data is, and what the page is for."),
        click.option(
            "--group-label",
            "group_labels",
            type=_GROUP,
            multiple=True,
            metavar="GROUP=TEXT",
            help="Readable name of a group, as in m=Men; with --by twice, of a value, or of a group: North:f=TEXT.",
        ),
        click.option("--unit", "units", type=_COLUMN, multiple=True, metavar="NAME=UNIT", help="Unit of a column."),
        click.option(
            "--label", "labels", type=_COLUMN, multiple=True, metavar="NAME=TEXT", help="Readable name of a column."
        ),
        click.option("--date", metavar="TEXT", help="Date, in any format (default: none)."),
        click.option("--title", metavar="TEXT", help="Title of the page."),
    ):
        command = option(command)
    return command
