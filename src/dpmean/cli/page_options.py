"""Options for the words of the author of a page, which the page shows and the release does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # takes no parameters before click 8.2


class _Pair(_ParamType):
    """A column, or a group, and words about it: age=years."""

    name = "pair"

    def __init__(self, whose: str, example: str) -> None:
        self._whose, self._example = whose, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Read it; whether there is such a column or group is not asked here."""
        if isinstance(value, tuple):
            return value
        name, sign, words = str(value).partition("=")
        if not (name and sign and words.strip()):
            self.fail(f"{value!r} is not {self._whose} and words about it, such as {self._example}", param, ctx)
        return name, words.strip()


_COLUMN, _GROUP = _Pair("a column", "age=years"), _Pair("a group", "m=Men")
NAMES = ("title", "date", "labels", "units", "group_labels", "about", "contact")
"""The names of these options."""


def page(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of what the author of a page says."""
    for option in (
        click.option("--contact", metavar="TEXT", help="Whom to ask about it."),
        click.option("--about", metavar="TEXT", help="What the data are, and what the page is for."),
        click.option(
            "--group-label",
            "group_labels",
            type=_GROUP,
            multiple=True,
            metavar="GROUP=TEXT",
            help="A readable name of a group: m=Men; with --by twice of a value, or of one group: North:f=...",
        ),
        click.option("--unit", "units", type=_COLUMN, multiple=True, metavar="NAME=UNIT", help="The unit of a column."),
        click.option(
            "--label", "labels", type=_COLUMN, multiple=True, metavar="NAME=TEXT", help="A readable name of a column."
        ),
        click.option("--date", metavar="TEXT", help="A date, in any form (default: none)."),
        click.option("--title", metavar="TEXT", help="Its title."),
    ):
        command = option(command)
    return command
