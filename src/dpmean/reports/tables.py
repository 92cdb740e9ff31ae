"""Tables of numbers, rounded to what their errors support; folded if they are long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dpmean.release.digits import between, plain, with_error
from dpmean.release.statistics import Statistic, Values
from dpmean.release.text import NOT_KNOWN_VALUE
from dpmean.reports.author import Author
from dpmean.reports.columns import Columns
from dpmean.reports.markup import Html, tag

_OPEN, _LISTED = 12, 2000
"""The number of lines of a table that are shown unfolded, and the maximum."""
_NARROW = 4
"""The number of cells that fit side by side on the narrowest screens."""


def is_listed(columns: Columns) -> bool:
    """Whether a table has all columns."""
    return columns.d <= _LISTED


def numbers(columns: Columns, name: str) -> Html:
    """Return a table of all columns; ``name`` is the identifier of its lines."""
    title = "The numbers" if columns.d == 1 else f"The numbers of all {columns.d} columns"
    population = columns.population is not None
    lines = _lines(columns, population=population)
    return _folded(title, columns, [tag("tbody", *lines, id=name)], columns.d, population=population)


def numbers_of_groups(groups: Mapping[Any, Columns], sizes: Mapping[Any, str], author: Author, name: str) -> Html:
    """Return a table of all columns of all groups, group by group."""
    bodies, population = [], any(columns.population is not None for columns in groups.values())
    for place, (label, columns) in enumerate(groups.items()):
        about = tag("span", sizes[label], class_="soft")
        head = tag(
            "tr",
            tag(
                "th",
                tag("bdi", author.group(label)),
                " ",
                about,
                colspan=len(_heads(columns, population=population)),
                scope="rowgroup",
                class_="group",
            ),
        )
        bodies.append(tag("tbody", head, *_lines(columns, population=population), id=f"{name}-{place}"))
    first = next(iter(groups.values()))
    return _folded(
        f"The numbers of {len(groups)} groups", first, bodies, (first.d + 1) * len(groups), population=population
    )


def _folded(title: str, columns: Columns, bodies: list[Html], length: int, *, population: bool) -> Html:
    heads = _heads(columns, population=population)
    some = "" if is_listed(columns) else f"; the first {_LISTED} of {columns.d}, all are in the data below"
    caption = (
        f"Estimates, rounded to what their errors support{some}. Noise: its standard deviation. "
        "Unrounded (still noisy) numbers are in the data below."
    )
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *(tag("th", word, scope="col") for word in heads))),
        *bodies,
        class_="numbers many" if len(heads) > _NARROW else "numbers",
    )
    return tag("details", tag("summary", title), tag("div", table, class_="wide"), open=length <= _OPEN)


def _heads(columns: Columns, *, population: bool) -> list[str]:
    first = "column" + ", and its unit" * any(columns.units) * (not _bounded(columns))
    first += ", and its bounds" * _bounded(columns)
    interval = "95 % interval" if columns.measured or columns.few else "95 % of the noise"
    wide = ["95 % interval, population"] if population else []
    return [first, "estimate", interval, *wide, "noise", *(statistic.words for statistic, _ in columns.others)]


def _lines(columns: Columns, *, population: bool) -> list[Html]:
    lines = []
    for j in range(min(columns.d, _LISTED)):
        value, around, *wide = estimate_and_intervals(columns, j, population=population)
        others = [in_words(statistic, values, j) for statistic, values in columns.others]
        cells = [value, around, *wide, plain(float(columns.noise_std[j]), 2), *others]
        beside = _beside(columns, j)
        soft = tag("span", beside, class_="soft") if beside else None
        name = tag("th", tag("bdi", columns.names[j]), soft, scope="row")
        lines.append(tag("tr", name, *(tag("td", cell) for cell in cells)))
    return lines


def estimate_and_intervals(columns: Columns, j: int, *, population: bool) -> list[str]:
    """Return the estimate of a column and its interval in words, and that of a population if anybody knows one."""
    error = float(columns.error[j])
    cells = [with_error(float(columns.mean[j]), error)[0], NOT_KNOWN_VALUE]
    if not columns.few:
        cells[1] = between(float(columns.low[j]), float(columns.high[j]), error)
    if columns.population is None:
        return [*cells, NOT_KNOWN_VALUE] if population else cells
    low, high = (float(ends[j]) for ends in columns.population)
    return [*cells, between(low, high, (high - low) / 2)]


def in_words(statistic: Statistic, values: Values, j: int) -> str:
    """Return a statistic of one column."""
    if values is None or math.isnan(values[j]):
        return NOT_KNOWN_VALUE
    return plain(float(values[j]), statistic.digits)


def _beside(columns: Columns, j: int) -> str:
    """Return what stands below the name of a column: its name in the data, its bounds, its unit."""
    range_or_unit = columns.bounds(j) if _bounded(columns) else columns.units[j]
    return ": ".join(words for words in (columns.keys[j], range_or_unit) if words)


def _bounded(columns: Columns) -> bool:
    return columns.lower is not None and columns.upper is not None and not columns.share_a_unit
