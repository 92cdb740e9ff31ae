"""The conclusion of an inspection: which columns a mean would use, and what prevents it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from dpmean.rows.inspection.findings import DATE, TEXT, TRUTH, Asked, Column, Findings, Places

_PLAIN = frozenset({TEXT, DATE, TRUTH, "a time of day"})
"""Kinds of contents that are not numbers in an unusual notation."""


@final
@dataclass(slots=True)
class Judgement:
    """Whether a mean would be released, as far as the file determines it."""

    columns: tuple[str, ...]
    """The columns of the mean."""
    vectors: bool = False
    """Whether this is one column of vectors."""
    lacking: bool = False
    """Whether they contain missing or infinite values."""
    obstacles: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Columns that are neither named nor numeric."""


def judge(found: Findings, asked: Asked) -> Judgement:
    """Find what prevents a mean. A column that is not named is an obstacle only if it seems to be meant as numbers."""
    named = asked.named or None
    others = {name: column for name, column in found.columns.items() if name not in asked.keys}
    chosen = named or tuple(name for name, column in others.items() if column.is_number)
    vectors = named is None and not chosen and [name for name, one in others.items() if one.kind == "vectors"]
    judged = Judgement(tuple(vectors[:1]) if vectors else chosen, vectors=bool(vectors))
    judged.obstacles += [f"{words}: {where(places, found.place)}" for words, places in found.faults.items()]
    for name, column in others.items():
        if name in judged.columns:
            judged.obstacles += _list_obstacles(column, found.place, alone=len(judged.columns) == 1)
            judged.lacking |= bool(column.missing.count or column.infinite.count)
        elif named is None:
            if _is_meant_as_numbers(column):
                judged.obstacles += _list_obstacles(column, found.place, alone=False)
            judged.left_out.append(name)
    if not found.rows:
        judged.obstacles.append("there are no rows")
    elif not judged.columns:
        judged.obstacles.append("no column holds only numbers and missing values")
    if asked.unit is not None and (missing := found.keys[asked.unit].missing).count:
        judged.obstacles.append(
            f"column {asked.unit!r} is empty, but every row needs the key of its person: {where(missing, found.place)} "
            "(fill it in, or remove these rows)"
        )
    return judged


def where(places: Places, place: str) -> str:
    """Return text that says on which lines something was found, and how often."""
    if not places.lines:
        return "somewhere" if not places.count else f"{places.count} times"
    lines = ", ".join(map(str, places.lines))
    more = f" and {places.count - len(places.lines)} more" if places.count > len(places.lines) else ""
    return f"{place}{'s' * (places.count > 1)} {lines}{more}"


def _list_obstacles(column: Column, place: str, *, alone: bool) -> list[str]:
    """Return the obstacles in a column: its non-numeric contents."""
    if column.kind == "vectors" and alone:
        return []
    if column.kind is not None:
        return [f"column {column.name!r} holds {column.kind}"]
    return [f"column {column.name!r} has {kind}: {where(places, place)}" for kind, places in column.others.items()]


def _is_meant_as_numbers(column: Column) -> bool:
    """Whether at least half of the contents of a column are numbers in any notation."""
    odd = sum(places.count for kind, places in column.others.items() if kind not in _PLAIN)
    every = column.numbers + sum(places.count for places in column.others.values())
    return column.kind is None and bool(column.others) and 2 * (column.numbers + odd) >= every
