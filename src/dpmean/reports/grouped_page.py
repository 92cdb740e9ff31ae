"""The page of groups: small drawings side by side, and why some groups have no number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from dpmean.errors import display_name, plural
from dpmean.release.digits import plain
from dpmean.release.grouped import GroupedRelease
from dpmean.release.refusals import in_plain_words, several_in_words
from dpmean.release.release import Release
from dpmean.release.scales_text import groups_without_scales
from dpmean.release.value_counts import for_each_percent, noise_in_words
from dpmean.reports import wording
from dpmean.reports.accuracy import bound_in_words, intervals_of_one, length_of, uncovered, unit_in_words
from dpmean.reports.author import Author
from dpmean.reports.column_scales import sentences
from dpmean.reports.columns import Columns, columns_of, other_statistics_of
from dpmean.reports.compared_groups import differences
from dpmean.reports.grouped_estimates import estimates
from dpmean.reports.many_groups import MOST, are_many, costs, data_or_hash
from dpmean.reports.markup import Html, join, tag
from dpmean.reports.parts import about, alarms, by_author, entries, head, remark, section
from dpmean.reports.privacy import privacy
from dpmean.reports.promise import Promise, promise_of
from dpmean.reports.provenance import choices
from dpmean.reports.receipts import receipts

_EACH_ITS_OWN = ("coins", "passes", "sample", "step")


def body(
    release: GroupedRelease,
    names: Sequence[str] | None,
    image: tuple[int, int] | None,
    author: Author,
    text: str,
) -> Html:
    """Return all that is on the page of a release; ``text`` is its JSON."""
    promise = promise_of(release)
    several = "rows" if promise.unit is None else "persons"
    elsewhere = f"{several.capitalize()} of groups that are not listed here are not in any of these numbers."
    counted = tag("p", " ".join(words for words in (wording.how_persons_count(promise), elsewhere) if words))
    others = other_statistics_of(release.released.values())
    groups = {label: columns_of(found, names, others, author) for label, found in release.released.items()}
    return tag(
        "main",
        head(
            author.title,
            _subtitle(release, promise),
            alarms(seeded=release.seeded, exact=release.exact),
            _remarks(release, author),
            entries(_facts(release, promise), "facts"),
        ),
        about(author),
        section(
            "estimate",
            "The estimates",
            counted,
            estimates(release, groups, image, author),
            _wide(release, author),
            differences(release, groups, author),
            _without(release, author),
        ),
        section("accuracy", "How accurate they are", _accuracy(release, groups, author)) if groups else None,
        section("privacy", "Who is protected, and how well", privacy(promise)),
        section("receipts", "What it cost", *_receipts(release, author)),
        section(
            "choices",
            "How it was made",
            join(entries(_choices(release, author.date), "choices"), data_or_hash(release, text), by_author(author)),
        ),
    )


def _subtitle(release: GroupedRelease, promise: Promise) -> str:
    one = "row" if promise.unit is None else "person"
    by = "" if release.by == "group" else f", by {display_name(release.by)}"
    what = f"mean{'s' * (len(release) > 1)}" if release.released else f"size{'s' * (len(release) > 1)}"
    none = "" if release.released else ", of which none has a mean"
    means = f"The {what} of {plural(len(release), 'group')}{by}{none}"
    if promise.broken:
        return f"{means}, with noise that protects nobody in them."
    return f"{means}, with noise that protects each {one} in them. Everything on this page may be published."


def _remarks(release: GroupedRelease, author: Author) -> list[Html]:
    found = []
    if not release.released:
        found.append(remark("No group has a number.", _why_refused(release)))
    small = [author.group(label) for label, one in release.released.items() if one.settings.few_rows]
    if small:
        text = (
            "These groups have too few rows for this budget, so the errors of their estimates are not known: "
            f"{', '.join(small[:MOST])}{f', and {len(small) - MOST} more' if len(small) > MOST else ''}."
        )
        found.append(remark("Few rows: do not rely on all estimates.", text))
    noted = {label: one.settings.note for label, one in release.released.items() if one.settings.note}
    return [
        *found,
        *(remark(f"{author.group(label)}.", in_plain_words(note)) for label, note in islice(noted.items(), MOST)),
    ]


def _facts(release: GroupedRelease, promise: Promise) -> list[tuple[str, str]]:
    without = len(release.refused) if release.released else "all"
    return [
        ("groups", str(len(release)) + (f", {without} without a number" if release.refused else "")),
        *[("columns", str(found.d)) for found in islice(release.released.values(), 1)],
        ("privacy", promise.broken or wording.in_brief(promise)),
        ("sizes of groups", release.sizes),
        ("trust", str(promise.trust)),
    ]


def _without(release: GroupedRelease, author: Author) -> Html | None:
    """Return why groups have no number; None if no group has one, as the remarks say so."""
    if not release.refused or (are_many(release) and not release.released):
        return None
    listed = None
    if not are_many(release):
        reasons = [
            (author.group(label), f"{in_plain_words(reason)}." if reason else "")
            for label, reason in release.refused.items()
        ]
        listed = entries(reasons, "sizes")
    words = tag("p", _why_refused(release)) if release.released else None
    return join(tag("h3", "Groups without a number"), words, listed)


def _why_refused(release: GroupedRelease) -> str:
    why, _ = release.why_refused()
    return f"{why[:1].upper()}{why[1:]}."


def _wide(release: GroupedRelease, author: Author) -> Html | None:
    """Return in which groups intervals are wide, as scales were not found there."""
    words = groups_without_scales(release.released, author.group)
    return tag("p", f"{words[0].upper()}{words[1:]}.", class_="caption") if words else None


def _accuracy(release: GroupedRelease, groups: Mapping[Any, Columns], author: Author) -> Html:
    found, names = list(release.released.values()), next(iter(groups.values())).names
    unseen = [one.found.unseen for one in found if one.found is not None]
    measured = len(unseen) == len(found)
    counted = noise_in_words(found)
    return join(
        *(
            _interval_of_all(measured=measured)
            if are_many(release)
            else _errors(release, groups, author, measured=measured)
        ),
        tag("p", f"Values, in the table: {counted}.", class_="soft") if counted else None,
        uncovered(
            max(unseen) if measured else None,
            found[0].settings,
            for_each_percent(found[0].settings, found[0].d, names),
            several=found[0].d > 1,
        ),
    )


def _interval_of_all(*, measured: bool) -> list[Html]:
    words = "The 95 % confidence interval of every group, in the unit of the column, is in the table of numbers."
    return [tag("p", words)] if measured else []


def _errors(
    release: GroupedRelease, groups: Mapping[Any, Columns], author: Author, *, measured: bool
) -> list[Html | None]:
    """Return what error to expect, and how columns differ, group by group."""
    first, one = next(iter(release.released.values())), "row" if release.unit is None else "person"
    length = "All columns of a group together, in l2 norm, at 95 % confidence"
    length = f"95 % confidence intervals of the mean of the {one}s of each group" if first.d == 1 else length
    population = f"; in brackets, of the mean of a population of which the {one}s are an independent sample."
    words = " ".join([f"{length}{population}", *_units(release, author)])
    pairs = [(author.group(label), _error(found, groups[label])) for label, found in release.released.items()]
    return [
        tag("p", words, class_="soft") if measured else None,
        entries(pairs, "sizes"),
        _scales(release, groups, author),
    ]


def _units(release: GroupedRelease, author: Author) -> list[str]:
    """Return the units of lengths; if groups have different units, for which groups each holds."""
    units: dict[str, list[str]] = {}
    for label, found in release.released.items():
        units.setdefault(unit_in_words(found), []).append(author.group(label))
    if len(units) == 1:
        return [words for words in units if words]
    return [f"In {several_in_words(labels)}: {words[0].lower()}{words[1:]}" for words, labels in units.items() if words]


def _scales(release: GroupedRelease, groups: Mapping[Any, Columns], author: Author) -> Html | None:
    """Return what is known of the scales of columns, group by group."""
    pairs = [(author.group(label), sentences(one, groups[label].names)) for label, one in release.released.items()]
    known = [(label, words) for label, words in pairs if words]
    if not known:
        return None
    return tag("details", tag("summary", "How columns differ, group by group"), entries(known, "sizes"))


def _error(release: Release, columns: Columns) -> str:
    if release.settings.few_rows:
        return "not known: too few rows"
    if not columns.measured:
        return f"clipped at {plain(release.radius, 3)}; the bias of that was not measured"
    if columns.d == 1:
        rows, population = intervals_of_one(release, columns)
        return f"{rows} ({population})" if population else rows
    rows, population = (length_of(release, release.error_bound(of=of)) for of in ("rows", "population"))
    return f"at most {rows} ({population})"


def _receipts(release: GroupedRelease, author: Author) -> list[Html]:
    together = f"All groups together cost rho {plain(float(release.rho), 6)}"
    if are_many(release):
        return [tag("p", f"{together}."), costs(release)]
    tables = []
    for label, found in release.groups.items():
        total = f"rho {plain(float(found.rho), 6)}"
        if found.receipts:
            listed = receipts(found.receipts, total)
            tables.append(tag("details", tag("summary", tag("bdi", author.group(label)), f": {total}"), listed))
        else:
            tables.append(tag("p", tag("bdi", author.group(label)), ": no query."))
    return [tag("p", f"{together}; group by group:"), *tables]


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
