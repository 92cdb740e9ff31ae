"""What ``explain()`` returns: every statistic of the columns, scales, errors, and the steps with their costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpmean.errors import display_name
from dpmean.release import text
from dpmean.release.column_numbers import Place, names_of, number_columns
from dpmean.release.intervals import population_of_one
from dpmean.release.settings import choose_delta
from dpmean.release.summary import remarks_of, title
from dpmean.release.text import Paragraph, lines_of, wrap
from dpmean.release.text_table import TextColumn, draw, fits, skip_middle
from dpmean.release.variances import stds_in_words

if TYPE_CHECKING:
    from dpmean.release.release import Release

MOST_COLUMNS = 40
"""The number of columns that are listed; of more, the first and the last."""


def explanation(release: Release) -> str:
    """Return everything that is known of a release, in words."""
    lines = [
        *wrap("", title(release), 2),
        *text.few_rows(release.settings),
        "",
        *_columns(release),
        "",
        *lines_of(facts_of(release)),
        *lines_of(remarks_of(release)),
        "",
        *_steps(release),
    ]
    return "\n".join(lines)


def facts_of(release: Release) -> list[Paragraph]:
    """Return what is to be known beside the numbers: labels and words."""
    settings, delta = release.settings, choose_delta(release.settings)
    bound = text.bound(settings)
    return [
        *([("bound", bound)] if bound else []),
        *_values(release),
        *_scales(release),
        *_stds(release),
        *_radius_and_error(release),
        ("privacy", text.price(release.receipts, delta)),
        ("protects", f"{text.protected(release.neighbours, release.unit)}; {_number_is_public(release)}"),
        *text.protocol(release.trust, settings.collection),
        ("method", f"{release.method}, {release.trust} model{_readings(release)}"),
    ]


def _columns(release: Release) -> list[str]:
    """Return all statistics of the columns, in as many tables below each other as their width takes."""
    shown, some = skip_middle(release.d, MOST_COLUMNS)
    names = names_of(release)
    listed = TextColumn("", [display_name(names[j]) for j in shown], is_name=True)
    places = [Place(release, j) for j in shown]
    numbers = number_columns(places, every_statistic=True, of_groups=False)
    return in_parts([listed], numbers, len(shown) // 2 if some else None)


def in_parts(names: list[TextColumn], numbers: Sequence[TextColumn], dots_after: int | None) -> list[str]:
    """Return a table, or several below each other if it is too wide; each has the names."""
    lines, part = [], list(names)
    for column in numbers:
        if len(part) > len(names) and not fits([*part, column]):
            lines += [*draw(part, dots_after=dots_after), ""]
            part = list(names)
        part.append(column)
    return [*lines, *draw(part, dots_after=dots_after)]


def _number_is_public(release: Release) -> str:
    return text.number_is_public(release.neighbours, release.unit)


def _readings(release: Release) -> str:
    """Return how often the rows were read, if that is known."""
    passes, sample = release.settings.passes, release.settings.sample
    if not passes:
        return ""
    times = {1: "once", 2: "twice"}.get(passes, f"{passes} times")
    more = f", and a sample of {sample} once more" if sample and sample < release.n else ""
    return f"; all rows were read {times}{more}"


def _values(release: Release) -> list[Paragraph]:
    if release.value_counts is None:
        return []
    from dpmean.release.value_counts import counted_in_words  # here, as few need it

    return [("values", counted_in_words(release))]


def _scales(release: Release) -> list[Paragraph]:
    if release.scales is None:
        by_ranges = release.method == "refined" and bool(release.settings.radius_unit)
        return [text.NOT_ASKED] if by_ranges else []
    from dpmean.release.scales_text import scales_in_words  # here, as few need it

    words = scales_in_words(release.scales, release.columns, release.receipts, release.noise_std)
    return [("scales", "; ".join(words))]


def _stds(release: Release) -> list[Paragraph]:
    if release.variances is None or release.settings.few_rows:
        return []
    one, scaled = _one(release), release.scales is not None
    return [("std", "; ".join(stds_in_words(release.variances, release.columns, one, scaled=scaled)))]


def _radius_and_error(release: Release) -> list[Paragraph]:
    unit, one, settings = release.settings.radius_unit, _one(release), release.settings
    not_known = [text.NOT_KNOWN] if settings.few_rows else []
    if release.found is None:
        return [*text.clipping(release.radius, unit), *not_known]
    found = text.findings(release.found, release.radius, unit, one, release.scales)
    if not_known:
        return [*found, *not_known]
    imputed = bool(settings.imputed or settings.filled)
    return [*found, ("error", _error(release, unit, one)), text.coverage(release.found, one, imputed=imputed)]


def _error(release: Release, unit: str, one: str) -> str:
    """Return the errors to expect: intervals of one column, bounds on the length of the error of several."""
    population = population_of_one(release) if release.d == 1 else None
    if population is not None:
        rows = release.interval()
        return text.interval_of_one((float(rows.lower[0]), float(rows.upper[0])), population, one)
    bounds = {of: release.error_bound(of=of) for of in ("rows", "population")}
    own = release.scales is not None and release.scales.per_column
    return text.error_bounds(unit, one, **bounds, per_column=own)


def _steps(release: Release) -> list[str]:
    head = "Steps, each with its part of the cost; release.receipts has mechanisms and exact costs"
    return [*wrap("", head), *text.steps(release.receipts)]


def _one(release: Release) -> str:
    return "row" if release.unit is None else "person"
