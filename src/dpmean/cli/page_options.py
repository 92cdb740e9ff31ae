"""Options of what the author of a page says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

NAMES = ("title", "labels", "units", "about", "contact")
"""The arguments that they are."""


def page(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add these options to a command."""
    for option in (
        click.option("--contact", metavar="TEXT", help="Whom to ask about it."),
        click.option("--about", metavar="TEXT", help="What the data are, and what the page is for."),
        click.option(
            "--unit", "units", multiple=True, callback=_pairs, metavar="NAME=UNIT", help="The unit of a column."
        ),
        click.option(
            "--label",
            "labels",
            multiple=True,
            callback=_pairs,
            metavar="NAME=TEXT",
            help="A readable name of a column.",
        ),
        click.option("--title", metavar="TEXT", help="Its title."),
    ):
        command = option(command)
    return command


def _pairs(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Read columns and words about them; whether there are such columns is not asked here."""
    found = []
    for words in given:
        name, sign, text = words.partition("=")
        if not (sign and text.strip()):
            raise click.BadParameter(f"{words!r} is not a column and words about it, such as age=years", ctx, param)
        found.append((name, text.strip()))
    return tuple(found)
