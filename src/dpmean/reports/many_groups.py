"""Pages of many groups: one drawing of all of them, and one folded table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from dpmean.privacy.receipts import zcdp_of
from dpmean.release.digits import plain
from dpmean.release.grouped import GroupedRelease, Refusal
from dpmean.release.refusals import in_plain_words
from dpmean.release.release import Release
from dpmean.release.statistics import Statistic, Values
from dpmean.reports import charts, wording
from dpmean.reports.author import Author
from dpmean.reports.columns import Columns, Floats
from dpmean.reports.markup import Html, tag
from dpmean.reports.parts import data
from dpmean.reports.scale import Scale
from dpmean.reports.tables import estimate_and_intervals, in_words

MOST = 60
"""Up to this number of groups, each has a line, a paragraph and a table of receipts."""
_DRAWN, _STROKES = 12, 300
"""The maximum number of columns, or groups, that are drawn, and of strokes in a drawing."""
_WIDE = 0.01
"""The part of all intervals that may reach beyond a drawing, on either side."""
_LISTED = 6000
"""The maximum number of lines of a table, so that a page opens quickly."""
_WIDEST = 20
"""More cells than a line has: a cell that spans this many goes to the end of the line."""
_COLUMN, _WHY = "column", "why there is no number"
_SIDES = {_COLUMN: "why", _WHY: "why"}
"""The classes of heads whose cells are words, on the left side."""
_HELD = 400_000
"""The maximum number of characters of data that a page contains."""


def are_many(release: Release | GroupedRelease) -> bool:
    """Whether there are more groups than that."""
    return isinstance(release, GroupedRelease) and len(release) > MOST


def is_held(release: Release | GroupedRelease, text: str) -> bool:
    """Whether the data of a release, as this JSON, are part of its page."""
    return not are_many(release) or len(text) <= _HELD


def data_or_hash(release: GroupedRelease, text: str) -> Html:
    """Return a link to the data, or how to recognise them where they are too long for a page."""
    if is_held(release, text):
        return data(text, "GroupedRelease")
    return tag(
        "p",
        "The whole release, with unrounded (still noisy) numbers and receipts, is too long for this page "
        f"({len(text) / 1e6:.1f} MB as JSON). Ask the publisher of the page for that file. Its SHA-256, without a "
        "line break at the end, is ",
        tag("code", hashlib.sha256(text.encode()).hexdigest()),
        ".",
    )


def first_few(groups: Mapping[Any, Columns]) -> dict[Any, Columns]:
    """Return as many groups as can be drawn one by one."""
    return dict(islice(groups.items(), _DRAWN))


def in_order(groups: Mapping[Any, Columns]) -> list[Html]:
    """Return a drawing for each of the first columns: the estimates of all groups, in ascending order."""
    first = next(iter(groups.values()))
    return [_in_order(list(groups.values()), j) for j in range(min(first.d, _DRAWN))]


def _in_order(groups: Sequence[Columns], j: int) -> Html:
    mean, low, high = (np.array([getattr(one, name)[j] for one in groups]) for name in ("mean", "low", "high"))
    order = np.argsort(mean, kind="stable")
    mean, low, high = mean[order], low[order], high[order]
    scale = Scale.around([*mean[[0, -1]].tolist(), *_ends(low, high)])
    low, high = (np.clip(values, scale.low, scale.high) for values in (low, high))
    label = f"Estimates of {len(groups)} groups in ascending order, from {plain(mean[0])} to {plain(mean[-1])}"
    return charts.line(mean, (low, high), scale, label, finest=_STROKES)


def _ends(low: Floats, high: Floats) -> tuple[float, float]:
    """Return the ends of nearly all intervals: one group whose interval is very wide would hide all others."""
    return float(np.quantile(low, _WIDE)), float(np.quantile(high, 1 - _WIDE))


def how_to_read(columns: Columns) -> str:
    """Return how these drawings are to be read."""
    band = (
        ", the band covers their 95 % confidence intervals; one that meets the edge goes on beyond it"
        if columns.measured
        else ""
    )
    some = "" if columns.d <= _DRAWN else f" Drawn are the first {_DRAWN} of {columns.d} columns."
    return f"The line goes through the estimates of all groups, from the lowest to the highest{band}.{some}"


def numbers_of_all(release: GroupedRelease, groups: Mapping[Any, Columns], author: Author) -> Html:
    """Return a folded table with the numbers of all groups, or why they have none."""
    first = next(iter(groups.values()), None)
    d = 1 if first is None else first.d
    population = any(columns.population is not None for columns in groups.values())
    listed = max(_LISTED // d, 1)
    lines = [
        line
        for label in islice(release, listed)
        for line in _lines(label, release[label], groups.get(label), d, author, population=population)
    ]
    some = "" if listed >= len(release) else f" The first {listed} of {len(release)} groups; all are in the release."
    caption = f"Estimates, rounded to what their errors support.{some}" if groups else f"Group by group.{some}"
    heads, bounds = _heads(release, first, population=population), [] if first is None else _bounds(first)
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *(tag("th", head, scope="col", class_=_SIDES.get(head)) for head in heads))),
        tag("tbody", *bounds, *lines),
        class_="numbers",
    )
    of_groups = f"The numbers of {len(release)} groups" if groups else f"Why {len(release)} groups have no number"
    title = tag("summary", of_groups)
    return tag("details", title, tag("div", table, class_="wide tall", tabindex=0, role="region", aria_label="numbers"))


def _heads(release: GroupedRelease, first: Columns | None, *, population: bool) -> list[str]:
    number = "rows" if release.unit is None else "persons"
    if first is None:
        return ["group", _WHY]
    column = [_COLUMN] if first.d > 1 else []
    interval = "95 % interval" if first.measured or first.few else "95 % of the noise"
    wide = ["95 % interval, population"] if population else []
    return ["group", number, *column, "estimate", interval, *wide, *(one.words for one, _ in _others(first))]


def _bounds(columns: Columns) -> list[Html]:
    """Return lines with the public bounds of the columns, where each has bounds of its own."""
    if columns.share_a_unit:
        return []
    lines = []
    for j, name in enumerate(columns.names):
        first = [tag("th", "public bounds", scope="row", rowspan=columns.d), tag("td", rowspan=columns.d)]
        cells = [tag("td", name, class_="why"), tag("td", columns.bounds(j), colspan=_WIDEST)]
        lines.append(tag("tr", *(first if j == 0 else []), *cells))
    return lines


def _lines(
    label: Any, found: Release | Refusal, columns: Columns | None, d: int, author: Author, *, population: bool
) -> Iterator[Html]:
    """Yield the lines of one group: a line for each column, or one that says why there is no number."""
    name = tag("bdi", author.group(label))
    if columns is None or isinstance(found, Refusal):
        words = in_plain_words(found.reason) if isinstance(found, Refusal) else ""
        yield tag("tr", tag("th", name, scope="row"), tag("td", words, colspan=_WIDEST, class_="why"))
        return
    span = None if d == 1 else d
    number = tag("td", wording.number_of(found)[0], rowspan=span)
    for j in range(d):
        group = [tag("th", name, scope="row", rowspan=span), number] if j == 0 else []
        column = [tag("td", columns.names[j], class_="why")] if d > 1 else []
        cells = estimate_and_intervals(columns, j, population=population)
        cells += [in_words(statistic, values, j) for statistic, values in _others(columns)]
        yield tag("tr", *group, *column, *(tag("td", cell) for cell in cells))


def _others(columns: Columns) -> list[tuple[Statistic, Values]]:
    return [(statistic, values) for statistic, values in columns.others if statistic.of_groups]


def costs(release: GroupedRelease) -> Html:
    """Return which steps were asked of how many groups, and what each cost a group."""
    paid: dict[str, dict[Any, Fraction]] = {}
    for label, found in release.items():
        for receipt in found.receipts:
            step, rho = receipt.step.rstrip(" 0123456789"), zcdp_of([receipt]).rho
            of_groups = paid.setdefault(step, {})
            of_groups[label] = of_groups.get(label, Fraction(0)) + rho
    return tag(
        "table",
        tag(
            "caption",
            "Every step that derived a number from rows, and its cost to a group; receipts are in the release.",
        ),
        tag("thead", tag("tr", *(tag("th", head, scope="col") for head in ("step", "groups", "rho of each")))),
        tag("tbody", *(_step(step, list(prices.values())) for step, prices in paid.items())),
        class_="numbers",
    )


def _step(step: str, prices: Sequence[Fraction]) -> Html:
    purpose = wording.purpose_of(step)
    gloss = tag("span", purpose, class_="soft") if purpose else None
    ends = dict.fromkeys(plain(float(price), 3) for price in (min(prices), max(prices)))
    return tag("tr", tag("th", step, gloss, scope="row"), tag("td", str(len(prices))), tag("td", " to ".join(ends)))
