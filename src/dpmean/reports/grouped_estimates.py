"""The estimates of groups, drawn side by side and in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpmean.release.grouped import GroupedRelease
from dpmean.reports import many_groups, wording
from dpmean.reports.author import Author
from dpmean.reports.columns import Columns
from dpmean.reports.estimate import axis, covered, curve, dot, few, how_to_read, picture, reached
from dpmean.reports.many_groups import are_many, first_few, in_order, numbers_of_all
from dpmean.reports.markup import Html, join, tag
from dpmean.reports.scale import Scale
from dpmean.reports.tables import numbers_of_groups

_TABLE = "numbers"
_TICKS = 2  # there is little room side by side


def estimates(
    release: GroupedRelease, groups: Mapping[Any, Columns], image: tuple[int, int] | None, author: Author
) -> Html:
    """Return drawings with words that say how to read them, and the numbers; ``image`` is how high and wide one is."""
    many = are_many(release)
    if not groups:
        return numbers_of_all(release, groups, author) if many else join()
    first, drawn = next(iter(groups.values())), first_few(groups) if many else groups
    tables = [None if many else f"{_TABLE}-{j}" for j in range(len(drawn))]
    some = f" Drawn are the first {len(drawn)} of {len(groups)}." if many else ""
    if image is not None:
        means = [value for columns in drawn.values() for value in columns.mean.tolist()]
        greys = Scale(min(means), max(means))
        drawings = [
            picture(columns, image, greys, table) for columns, table in zip(drawn.values(), tables, strict=True)
        ]
        how = f"{drawings[0][1]} All groups share these greys.{some}"
        panels = [_panel(author.group(label), drawing) for label, (drawing, _) in zip(drawn, drawings, strict=True)]
    elif few(first):
        of_columns = in_order(groups) if many else [_compared(j, release, groups, author) for j in range(first.d)]
        panels = [_panel(*pair) for pair in zip(first.names, of_columns, first.units, strict=False)]
        shown = next((c for c in groups.values() if not c.few), first)
        how = many_groups.how_to_read(shown) if many else how_to_read(shown, one=False)
    else:
        scale = Scale.around([end for columns in drawn.values() for end in reached(columns)])
        drawings = [curve(columns, scale, table) for columns, table in zip(drawn.values(), tables, strict=True)]
        how = f"{drawings[0][1]} All groups share one scale.{some}"
        panels = [_panel(author.group(label), drawing) for label, (drawing, _) in zip(drawn, drawings, strict=True)]
    return join(
        tag("div", *panels, class_="multiples" if image is None else "multiples pictures"),
        tag("p", how, " ", covered(next((c for c in groups.values() if not c.few), first)), class_="caption"),
        numbers_of_all(release, groups, author)
        if many
        else numbers_of_groups(groups, sizes_of(release), author, _TABLE),
    )


def sizes_of(release: GroupedRelease) -> dict[Any, str]:
    """Return how many rows or persons the groups have that have a mean."""
    return {label: " ".join(wording.number_of(found)) for label, found in release.released.items()}


def _panel(title: str, drawing: Html, unit: str = "") -> Html:
    soft = tag("span", f" ({unit})", class_="soft") if unit else None
    return tag("figure", tag("h3", tag("bdi", title), soft), drawing)


def _compared(j: int, release: GroupedRelease, groups: Mapping[Any, Columns], author: Author) -> Html:
    """Return one column in all groups, on one scale; groups without a number keep their place."""
    sizes = sizes_of(release)
    bars = [[c.mean, c.low, c.high, *(c.population or ())] for c in groups.values()]
    ends = [float(values[j]) for drawn in bars for values in drawn]
    scale, items = Scale.around(ends), []
    for label in release:
        if label in groups:
            items.append(dot(groups[label], j, scale, name=author.group(label), size=sizes[label], ticks=_TICKS))
        else:
            nothing = tag("span", "no number", class_="soft value")
            items.append(tag("li", tag("span", tag("bdi", author.group(label)), class_="name"), nothing))
    return tag("ul", *items, axis(scale, _TICKS), class_="dots")
