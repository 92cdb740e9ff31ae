"""Prints the findings of dpmean check: the columns of a file, problems, and the command that releases the mean."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from dpmean.cli import show
from dpmean.cli.file_check_notes import make_notes
from dpmean.cli.tables import table
from dpmean.cli.typed import as_typed
from dpmean.enums import Verdict
from dpmean.errors import display_label, plural
from dpmean.pipeline.outlook import Outlook
from dpmean.rows.inspection.findings import Asked, Findings
from dpmean.rows.inspection.judgement import Judgement

BANNER = "For the data holder only. Nothing below is protected: do not publish it."
_SIDES = {"bounds", "lower", "upper"}
_PROBLEMS = "Problems\n"
_MOST_COLUMNS = 60
_BOUNDS = (
    "LOWER and UPPER are the smallest and the largest possible value, from general knowledge, such as 0 and 130 for "
    "ages. They must not come from these rows, nor from the numbers above"
)
_VECTORS = "LONGEST is the largest possible l2 norm of a vector, known without these rows"
_GROUPS = "GROUPS are the labels of all possible groups, known without these rows"
_MEANINGS = {"LOWER": _BOUNDS, "LONGEST": _VECTORS, "GROUPS": _GROUPS}
_MOST_RANGES = 12
"""With more columns, the command names a file instead of a range for each column."""
_MANY = "if the columns have different ranges, list them in a file with the header column,lower,upper: --bounds FILE"


def print_banner() -> None:
    """Print for whom the output is."""
    show.warning(BANNER)
    click.echo()


def print_refusal(message: str) -> None:
    """Print why a file cannot be opened."""
    show.plan(f"{_PROBLEMS}  {as_typed(message)}")


def print_findings(name: str, found: Findings, wanted: Asked, judged: Judgement, outlook: Outlook | None) -> None:
    """Print the columns, notes and problems."""
    show.plan(f"{show.printable(name)}: {plural(found.rows, 'row')}, {plural(len(found.columns), 'column')}")
    if found.read_as:
        sure = f" (inferred from the first line: {' and '.join(found.assumed)})" if found.assumed else ""
        show.sheet([("read with", found.read_as + sure)])
    click.echo()
    _print_columns(found, wanted)
    if wanted.groups is not None:
        _print_groups(found, wanted, outlook)
    if notes := list(make_notes(found, wanted, judged, outlook)):
        show.sheet(notes)
        click.echo()
    if judged.obstacles:
        show.plan(_PROBLEMS + "\n".join(f"  {words}" for words in judged.obstacles))
        click.echo()


def _print_columns(found: Findings, wanted: Asked) -> None:
    """Print a table of the columns, with those counts that are not all zero."""
    columns = list(found.columns.values())
    counts = {
        "missing": [column.missing.count for column in columns],
        "infinite": [column.infinite.count for column in columns],
        "not numbers": [sum(one.count for one in column.others.values()) * column.is_mixed for column in columns],
        "below bounds": [column.below.count for column in columns],
        "above bounds": [column.above.count for column in columns],
    }
    heads = [head for head, numbers in counts.items() if any(numbers)]
    made = table(("column", "holds", *heads), right=heads)
    for j, column in enumerate(columns[:_MOST_COLUMNS]):
        role = " (persons)" if column.name == wanted.unit else " (groups)" if column.name in wanted.by_names else ""
        made.add_row(column.name, column.words + role, *(str(counts[head][j] or "") for head in heads))
    if len(columns) > _MOST_COLUMNS:
        made.add_row("...", f"{len(columns) - _MOST_COLUMNS} more")
    show.table("Columns", made)


def _print_groups(found: Findings, wanted: Asked, outlook: Outlook | None) -> None:
    """Print the sizes of the listed groups, and which of them would be refused."""
    heads = ["rows"] if wanted.unit is None else ["rows", "persons"]
    made = table(("group", *heads, ""), right=heads)
    sizes = {} if outlook is None else {group.n: group for group in outlook.groups}
    for label, rows, persons in zip(wanted.groups or (), found.groups.rows, found.groups.persons, strict=True):
        size = int(rows if wanted.unit is None else persons)
        words = "empty: labels must match exactly" if not size else ""
        if outlook is not None and size in sizes:
            few = sizes[size].verdict is Verdict.HOPELESS
            words = "too few" if few else "may be too few" if size < outlook.rows_least else ""
        numbers = [str(rows)] if wanted.unit is None else [str(rows), str(persons)]
        made.add_row(display_label(label), *numbers, words)
    show.table("Groups", made)


def print_command(command: str | None, judged: Judgement, *, rho: float) -> None:
    """Print the command that works, and the meaning of its placeholders."""
    if command is None:
        return
    show.plan("Command, once the problems are fixed" if judged.obstacles else "Command")
    click.echo(f"  {command}\n")
    notes = [note for word, note in _MEANINGS.items() if f" {word}" in command or f"={word}" in command]
    notes += [_MANY] * ("--lower LOWER" in command)
    notes.append(f"rho = {rho} is an example: dpmean plan predicts the error for a budget")
    show.sheet([("", note) for note in notes])


def make_command(data: str, found: Findings, judged: Judgement, typed: dict[str, Any], *, rho: float) -> str | None:
    """Return the command that works, with placeholders for what must not come from the rows, or None."""
    if not judged.columns:
        return None
    options = dict(typed)
    for cure in found.assumed.values():
        name, _, value = cure.partition("=")
        options.setdefault(name, value.strip('"').replace("\\t", "tab"))
    if judged.vectors:
        options |= {"vector_column": judged.columns[0]}
        options |= {} if _SIDES & set(typed) else {"norm_bound": "LONGEST"}
    else:
        options = _with_bounds(options, judged.columns)
    options |= {"nan": "drop"} if judged.lacking else {}
    options |= {"by": tuple(options["by"])} if isinstance(options.get("by"), list) else {}
    options |= {"groups": "GROUPS"} if "by" in typed and "groups" not in typed else {}
    return " ".join(["dpmean", "mean", shlex.quote(data), *_as_options(options), "--rho", str(rho)])


def _with_bounds(options: dict[str, Any], columns: tuple[str, ...]) -> dict[str, Any]:
    """Return options with the columns and their bounds, column by column if that is short or necessary."""
    if "bounds" in options:
        return options
    lower, upper = options.get("lower", "LOWER"), options.get("upper", "UPPER")
    odd = any("," in name or name != name.strip() or not name for name in columns)
    if odd or ("lower" not in options and len(columns) <= _MOST_RANGES):
        ranges = tuple(f"{name}={_spell(lower)}:{_spell(upper)}" for name in columns)
        rest = {name: value for name, value in options.items() if name not in ("columns", *_SIDES)}
        return rest | {"bounds": ranges}
    return options | {"columns": ",".join(columns), "lower": lower, "upper": upper}


def document(found: Findings, wanted: Asked, judged: Judgement, command: str | None) -> dict[str, Any]:
    """Return all findings for JSON, the warning first."""
    return {
        "warning": BANNER,
        "works": not judged.obstacles,
        "obstacles": judged.obstacles,
        "command": command,
        "rows": found.rows,
        "read_as": found.read_as or None,
        "assumed": list(found.assumed),
        "empty_end": asdict(found.empty_end),
        "columns": [
            {
                "name": column.name,
                "holds": column.words,
                "persons_without": None if wanted.unit is None else found.without([column.name], wanted.unit),
                **{name: asdict(getattr(column, name)) for name in ("missing", "infinite", "below", "above")},
                "others": {kind: asdict(places) for kind, places in column.others.items()},
            }
            for column in found.columns.values()
        ],
        "keys": [
            {
                "name": keys.name,
                "different": len(keys.counts),
                "all_counted": not keys.full,
                "most_rows": max(keys.counts.values(), default=0),
                "missing": asdict(keys.missing),
            }
            for keys in found.keys.values()
        ],
        "groups": [
            {"label": label, "rows": int(rows), "persons": None if wanted.unit is None else int(persons)}
            for label, rows, persons in zip(wanted.groups or (), found.groups.rows, found.groups.persons, strict=True)
        ],
        "other_groups": asdict(found.unlisted),
    }


def _as_options(options: dict[str, Any]) -> Iterator[str]:
    """Yield options as typed."""
    for name, value in options.items():
        for one in value if isinstance(value, tuple) else (value,):
            yield f"--{name.replace('_', '-')}"
            yield shlex.quote(show.printable(_spell(one)))


def _spell(value: object) -> str:
    """Return the value of an option as typed."""
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return "tab" if value == "\t" else str(value)
