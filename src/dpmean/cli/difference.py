"""The command that compares two groups of a release, at no cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import dpmean
from dpmean.cli import arguments, show
from dpmean.errors import DataError, display_label
from dpmean.release.frame_export import table_of_difference
from dpmean.release.intervals import POPULATION, ROWS

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    cls=arguments.Command,
    examples=[
        "dpmean difference clinics.json A B",
        "dpmean difference clinics.json A B --confidence 0.99 --population",
        "dpmean difference by_sex.json A:f B:f --json",
    ],
)
@click.argument("release", metavar="FILE", type=_FILE)
@click.argument("first", metavar="FIRST")
@click.argument("second", metavar="SECOND")
@click.option(
    "--confidence", type=float, default=0.95, metavar="C", help="Confidence level of each interval (default: 0.95)."
)
@click.option(
    "--population",
    is_flag=True,
    help="Compare the populations that the rows are samples of; needs a release with --population.",
)
@arguments.as_json
def difference(*, release: Path, first: str, second: str, confidence: float, population: bool, as_json: bool) -> None:
    """Print the mean of one group minus the mean of another.

    FILE is the JSON of a release of groups (dpmean mean --by ... --out FILE.json). FIRST and SECOND are the labels of
    two groups; a label of several columns is North:f, for example. Each column gets a confidence interval. The numbers
    come from the release, so this costs no budget.
    """
    groups = dpmean.GroupedRelease.from_json(_text(release))
    labels = [_label(groups, typed) for typed in (first, second)]
    if labels[0] == labels[1]:
        raise click.UsageError(f"FIRST and SECOND are both {first}: name two different groups")
    found = groups.difference(labels[0], labels[1], confidence, of=POPULATION if population else ROWS)
    if as_json:
        click.echo(json.dumps(_document(found)))
        return
    show.release(str(found))
    show.sheet(
        [
            ("how to read", "if an interval does not contain 0, the two means differ, at this confidence level"),
            *([("", "this is the confidence of each interval, not of all together")] * (len(found.lower) > 1)),
            ("cost", "none: these numbers come from the release"),
        ]
    )
    if groups.seeded:
        show.note("this release has a seed: anybody can remove its noise, and it PROTECTS NOBODY")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(
            f"{file} must be the JSON of a release of groups: write it with dpmean mean --by ... --out {file}"
        ) from None


def _label(groups: dpmean.GroupedRelease, typed: str) -> Any:
    """Return the label of a typed group; the values of several columns are separated by colons."""
    written = {label: ":".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in groups}
    found = [label for label, words in written.items() if words == typed]
    if len(found) != 1:
        listed = f"{', '.join(list(written.values())[:20])}{', ...' * (len(written) > 20)}"
        problem = "there are several groups" if found else "there is no group"
        raise click.UsageError(f"{problem} {typed}: the groups are {listed}")
    return found[0]


def _document(found: dpmean.Difference) -> dict[str, Any]:
    table = table_of_difference(found)
    return {
        "groups": [display_label(label) for label in found.groups],
        "of": found.of,
        "confidence": found.confidence,
        "columns": [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)],
    }
