"""The page of many groups: small drawings side by side, and why some groups have no number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpmean.errors import display_label, display_name, plural
from dpmean.release.grouped import GroupedRelease
from dpmean.release.release import Release
from dpmean.release.value_counts import for_each_percent
from dpmean.reports import wording
from dpmean.reports.accuracy import bound_in_words, length_of, uncovered, unit_in_words
from dpmean.reports.column_scales import sentences
from dpmean.reports.columns import Columns, columns_of, other_statistics_of
from dpmean.reports.estimate import axis, covered, curve, dot, few, how_to_read, picture, reached
from dpmean.reports.markup import Html, join, tag
from dpmean.reports.numbers import plain
from dpmean.reports.parts import alarms, data, entries, head, remark, section
from dpmean.reports.privacy import privacy
from dpmean.reports.promise import Promise, promise_of
from dpmean.reports.provenance import choices
from dpmean.reports.receipts import receipts
from dpmean.reports.scale import Scale
from dpmean.reports.tables import numbers_of_groups

_EACH_ITS_OWN = ("coins", "passes", "sample", "step")
_TABLE = "numbers"
_TICKS = 2  # there is little room side by side


def body(
    release: GroupedRelease,
    names: Sequence[str] | None,
    image: tuple[int, int] | None,
    title: str,
    date: str | None,
) -> Html:
    """Return all that is on the page."""
    promise = promise_of(release)
    how = wording.how_persons_count(promise)
    counted = None if how is None else tag("p", how)
    others = other_statistics_of(release.released.values())
    groups = {label: columns_of(found, names, others) for label, found in release.released.items()}
    return tag(
        "main",
        head(
            title,
            _subtitle(release, promise),
            alarms(seeded=release.seeded, exact=release.exact),
            _remarks(release),
            entries(_facts(release, promise), "facts"),
        ),
        section("estimate", "The estimates", counted, _estimates(release, groups, image), _without(release)),
        section("accuracy", "How accurate they are", _accuracy(release, names)) if groups else None,
        section("privacy", "Who is protected, and how well", privacy(promise)),
        section("receipts", "What it cost", *_receipts(release)),
        section(
            "choices",
            "How it was made",
            join(entries(_choices(release, date), "choices"), data(release.to_json(), "GroupedRelease")),
        ),
    )


def _subtitle(release: GroupedRelease, promise: Promise) -> str:
    one = "row" if promise.unit is None else "person"
    by = "" if release.by == "group" else f", by {display_name(release.by)}"
    means = f"The {'mean' if len(release) == 1 else 'means'} of {plural(len(release), 'group')}{by}"
    if promise.broken:
        return f"{means}, with noise that protects nobody in them."
    return f"{means}, with noise that protects every single {one} in them. Everything on this page may be published."


def _remarks(release: GroupedRelease) -> list[Html]:
    found = []
    small = [display_label(label) for label, one in release.released.items() if one.settings.few_rows]
    if small:
        text = (
            "These groups have too few rows for this budget to find out where they lie, or how far off their estimates "
            f"are: {', '.join(small)}."
        )
        found.append(remark("Few rows: some of this may be worthless.", text))
    for label, one in release.released.items():
        if one.settings.note:
            found.append(remark(f"{display_label(label)}.", one.settings.note))
    return found


def _facts(release: GroupedRelease, promise: Promise) -> list[tuple[str, str]]:
    without = len(release.refused)
    return [
        ("groups", str(len(release)) + (f", {without} without a number" if without else "")),
        ("columns", str(next((found.d for found in release.released.values()), "none"))),
        ("privacy", promise.broken or wording.in_brief(promise)),
        ("sizes of groups", release.sizes),
        ("trust", str(promise.trust)),
    ]


def _estimates(release: GroupedRelease, groups: Mapping[Any, Columns], image: tuple[int, int] | None) -> Html:
    if not groups:
        return tag("p", "No group has a number.")
    first = next(iter(groups.values()))
    if image is not None:
        means = [value for columns in groups.values() for value in columns.mean.tolist()]
        greys = Scale(min(means), max(means))
        drawings = [picture(columns, image, greys, f"{_TABLE}-{j}") for j, columns in enumerate(groups.values())]
        how = f"{drawings[0][1]} All groups share these greys."
        panels = [_panel(display_label(label), drawing) for label, (drawing, _) in zip(groups, drawings, strict=True)]
    elif few(first):
        panels = [_panel(name, _compared(j, list(release), groups)) for j, name in enumerate(first.names)]
        how = how_to_read(next((c for c in groups.values() if not c.few), first), one=False)
    else:
        scale = Scale.around([end for columns in groups.values() for end in reached(columns)])
        drawings = [curve(columns, scale, f"{_TABLE}-{j}") for j, columns in enumerate(groups.values())]
        how = f"{drawings[0][1]} All groups share one scale."
        panels = [_panel(display_label(label), drawing) for label, (drawing, _) in zip(groups, drawings, strict=True)]
    sizes = {label: " ".join(wording.number_of(found)) for label, found in release.released.items()}
    return join(
        tag("div", *panels, class_="multiples" if image is None else "multiples pictures"),
        tag("p", how, " ", covered(next((c for c in groups.values() if not c.few), first)), class_="caption"),
        numbers_of_groups(groups, sizes, _TABLE),
    )


def _panel(title: str, drawing: Html) -> Html:
    return tag("figure", tag("h3", tag("bdi", title)), drawing)


def _compared(j: int, labels: Sequence[Any], groups: Mapping[Any, Columns]) -> Html:
    """Return one column in all groups, on one scale; groups without a number keep their place."""
    bars = [[c.mean, c.low, c.high, *(c.population or ())] for c in groups.values()]
    ends = [float(values[j]) for drawn in bars for values in drawn]
    scale, items = Scale.around(ends), []
    for label in labels:
        if label in groups:
            items.append(dot(groups[label], j, display_label(label), scale, ticks=_TICKS))
        else:
            nothing = tag("span", "no number", class_="soft value")
            items.append(tag("li", tag("span", tag("bdi", display_label(label)), class_="name"), nothing))
    return tag("ul", *items, axis(scale, _TICKS), class_="dots")


def _without(release: GroupedRelease) -> Html | None:
    if not release.refused:
        return None
    reasons = [(display_label(label), f"{reason}." if reason else "") for label, reason in release.refused.items()]
    return join(tag("h3", "Groups without a number"), entries(reasons, "sizes"))


def _accuracy(release: GroupedRelease, names: Sequence[str] | None) -> Html:
    found = list(release.released.values())
    unseen = [one.found.unseen for one in found if one.found is not None]
    measured = len(unseen) == len(found)
    length = "" if found[0].d == 1 else "All columns of a group together, as the length of the vector of all errors. "
    units = {one.settings.radius_unit: unit_in_words(one) for one in found}
    unit = " ".join(words for words in units.values() if words)
    one = "row" if release.unit is None else "person"
    confidence = f"At 95 % confidence; in brackets, to the mean of a population of which {one}s are independent draws."
    return join(
        tag("p", f"{length}{unit}{' ' if unit else ''}{confidence}", class_="soft") if measured else None,
        entries(((display_label(label), _error(one)) for label, one in release.released.items()), "sizes"),
        _scales(release, names),
        uncovered(
            max(unseen) if measured else None, found[0].settings, for_each_percent(found[0].settings, found[0].d)
        ),
    )


def _scales(release: GroupedRelease, names: Sequence[str] | None) -> Html | None:
    """Return what is known of the scales of columns, group by group."""
    pairs = [(display_label(label), sentences(one, names or one.columns)) for label, one in release.released.items()]
    known = [(label, words) for label, words in pairs if words]
    if not known:
        return None
    return tag("details", tag("summary", "How columns differ, group by group"), entries(known, "sizes"))


def _error(release: Release) -> str:
    if release.settings.few_rows:
        return "not known: too few rows"
    if release.found is None or not release.found.noise_std > 0:
        return f"clipped at {plain(release.radius, 3)}; the bias of that was not measured"
    rows, population = release.error_bound(), release.error_bound(of="population")
    return f"at most {length_of(release, rows)} ({length_of(release, population)})"


def _receipts(release: GroupedRelease) -> list[Html]:
    tables = []
    for label, found in release.groups.items():
        total = f"rho {plain(float(found.rho), 6)}"
        if found.receipts:
            listed = receipts(found.receipts, total)
            tables.append(tag("details", tag("summary", tag("bdi", display_label(label)), f": {total}"), listed))
        else:
            tables.append(tag("p", tag("bdi", display_label(label)), ": nothing was asked."))
    return [tag("p", f"All groups together cost rho {plain(float(release.rho), 6)}; group by group:"), *tables]


def _choices(release: GroupedRelease, date: str | None) -> list[tuple[str, str]]:
    unit = promise_of(release).unit
    settings = next((found.settings for found in release.released.values()), None)
    return [
        *([] if date is None else [("date", date)]),
        ("groups by", display_name(release.by)),
        ("sizes of groups", release.sizes),
        ("method", release.method),
        ("model", "central"),
        ("neighbours", str(release.neighbours)),
        *([] if unit is None else [("one person", display_name(unit))]),
        *([] if settings is None else [("bounds", bound_in_words(settings)), *choices(settings, _EACH_ITS_OWN)]),
    ]
