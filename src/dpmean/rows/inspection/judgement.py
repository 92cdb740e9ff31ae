"""What stands in the way of a mean, by what was found in a file, and which columns it would be of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from dpmean.rows.inspection.findings import DATE, TEXT, TRUTH, Asked, Column, Findings, Places

_PLAIN = frozenset({TEXT, DATE, TRUTH, "a time of day"})
"""What does not look like a number that somebody wrote in another way."""


@final
@dataclass(slots=True)
class Judgement:
    """Whether a mean would be released, as far as the file decides."""

    columns: tuple[str, ...]
    """Of what it would be the mean."""
    vectors: bool = False
    """Whether these are one column of vectors."""
    lacking: bool = False
    """Whether something is missing in them, or infinite."""
    obstacles: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Columns that hold no numbers, and that nobody asked for."""


def judge(found: Findings, asked: Asked) -> Judgement:
    """Say what stands in the way; what nobody asked for stands in the way if it seems to be meant as numbers."""
    named = asked.named or None
    others = {name: column for name, column in found.columns.items() if name not in asked.keys}
    chosen = named or tuple(name for name, column in others.items() if column.is_number)
    vectors = named is None and not chosen and [name for name, one in others.items() if one.kind == "vectors"]
    judged = Judgement(tuple(vectors[:1]) if vectors else chosen, vectors=bool(vectors))
    judged.obstacles += [f"{words}: {where(places, found.place)}" for words, places in found.faults.items()]
    for name, column in others.items():
        if name in judged.columns:
            judged.obstacles += _in_the_way(column, found.place, alone=len(judged.columns) == 1)
            judged.lacking |= bool(column.missing.count or column.infinite.count)
        elif named is None:
            if _is_meant_as_numbers(column):
                judged.obstacles += _in_the_way(column, found.place, alone=False)
            judged.left_out.append(name)
    if not found.rows:
        judged.obstacles.append("there are no rows")
    elif not judged.columns:
        judged.obstacles.append("no column holds only numbers and missing values")
    if asked.unit is not None and (missing := found.keys[asked.unit].missing).count:
        judged.obstacles.append(
            f"column {asked.unit!r} is empty, but every row must say whose it is: {where(missing, found.place)} "
            "(fill it in, or remove these rows)"
        )
    return judged


def where(places: Places, place: str) -> str:
    """Return how often something was found, and on which lines."""
    if not places.lines:
        return "somewhere" if not places.count else f"{places.count} times"
    lines = ", ".join(map(str, places.lines))
    more = f" and {places.count - len(places.lines)} more" if places.count > len(places.lines) else ""
    return f"{place}{'s' * (places.count > 1)} {lines}{more}"


def _in_the_way(column: Column, place: str, *, alone: bool) -> list[str]:
    """Return what of a column is no number."""
    if column.kind == "vectors" and alone:
        return []
    if column.kind is not None:
        return [f"column {column.name!r} holds {column.kind}"]
    return [f"column {column.name!r} has {kind}: {where(places, place)}" for kind, places in column.others.items()]


def _is_meant_as_numbers(column: Column) -> bool:
    """Whether at least half of what is in a column are numbers, however they are written."""
    odd = sum(places.count for kind, places in column.others.items() if kind not in _PLAIN)
    every = column.numbers + sum(places.count for places in column.others.values())
    return column.kind is None and bool(column.others) and 2 * (column.numbers + odd) >= every
