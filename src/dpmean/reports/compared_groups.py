"""The differences of a few groups to the first of them, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpmean.release.digits import between, with_error
from dpmean.release.grouped import GroupedRelease
from dpmean.release.intervals import POPULATION, ROWS, Difference
from dpmean.reports.author import Author
from dpmean.reports.columns import CONFIDENCE, Columns
from dpmean.reports.estimate import few
from dpmean.reports.markup import Html, join, tag

MOST = 8
"""The maximum number of groups that are compared."""
_OPEN = 16
"""A table with more lines than this is folded."""


def differences(release: GroupedRelease, groups: Mapping[Any, Columns], author: Author) -> Html | None:
    """Return how groups differ from the first of them; nothing for one group, for many, or without intervals."""
    known = [label for label, columns in groups.items() if columns.measured]
    if not 1 < len(known) <= len(groups) <= MOST or not few(groups[known[0]]):
        return None
    first, *others = known
    population = all(groups[label].population is not None for label in known)
    of = (ROWS, POPULATION) if population else (ROWS,)
    bodies = [
        _body(author.group(label), groups[label], [release.difference(label, first, CONFIDENCE, of=one) for one in of])
        for label in others
    ]
    heads = ["column", "difference", "95 % interval", *(["95 % interval, population"] * population)]
    table = tag(
        "table",
        tag("caption", f"The mean of each group minus that of {author.group(first)}."),
        tag("thead", tag("tr", *(tag("th", head, scope="col") for head in heads))),
        *bodies,
        class_="numbers",
    )
    length = (groups[first].d + 1) * len(others)
    words = (
        "An interval that does not contain 0 shows a difference, at 95 % confidence. Each interval "
        "has this confidence by itself: of many, about one in twenty misses the true difference."
    )
    return join(
        tag("h3", "Differences from ", tag("bdi", author.group(first))),
        tag("p", words),
        tag("details", tag("summary", "The differences"), tag("div", table, class_="wide"), open=length <= _OPEN),
    )


def _body(name: str, columns: Columns, found: list[Difference]) -> Html:
    head = tag("th", tag("bdi", name), colspan=2 + len(found), scope="rowgroup", class_="group")
    lines = [
        tag(
            "tr",
            tag("th", tag("bdi", columns.names[j]), _soft(columns.units[j]), scope="row"),
            *(tag("td", cell) for cell in _cells(found, j)),
        )
        for j in range(columns.d)
    ]
    return tag("tbody", tag("tr", head), *lines)


def _soft(unit: str) -> Html | None:
    return tag("span", unit, class_="soft") if unit else None


def _cells(found: list[Difference], j: int) -> list[str]:
    ends = [(float(one.lower[j]), float(one.upper[j])) for one in found]
    margins = [(high - low) / 2 for low, high in ends]
    estimate = with_error(float(found[0].estimate[j]), margins[0])[0]
    return [estimate, *(between(*pair, margin) for pair, margin in zip(ends, margins, strict=True))]
