"""The numbers of columns as print shows them: with as many digits as their errors support, aligned to each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from dpmean.release.digits import between, significant, with_error
from dpmean.release.intervals import POPULATION, ROWS, Interval, usual_intervals
from dpmean.release.statistics import STATISTICS, Statistic
from dpmean.release.text import NOT_KNOWN_VALUE
from dpmean.release.text_table import TextColumn, align, align_pairs

if TYPE_CHECKING:
    from dpmean.release.release import Release

_IN_TABLE = ("mean", "lower", "upper", "population_lower", "population_upper")
"""Statistics that are shown as a mean and its intervals, not one by one."""


@final
@dataclass(frozen=True, slots=True)
class Place:
    """One column of one release.

    Attributes:
        release: The release.
        column: The number of the column, from 0.

    """

    release: Release
    column: int


def names_of(release: Release) -> Sequence[str]:
    """Return the names of the columns; without names they are counted from 0."""
    return release.columns or [f"column {j}" for j in range(release.d)]


def number_columns(places: Sequence[Place], *, every_statistic: bool, of_groups: bool) -> list[TextColumn]:
    """Return the mean of some columns, their intervals, and other statistics, as columns of a table.

    Args:
        places: Columns of one or of several releases.
        every_statistic: True for all statistics; otherwise only those for everyday use.
        of_groups: True if the table has the columns of several groups.

    """
    releases = list({id(place.release): place.release for place in places}.values())
    intervals = {id(release): {one.of: one for one in usual_intervals(release)} for release in releases}
    shown = [_means(places, [intervals[id(place.release)].get(ROWS) for place in places])]
    both = any(POPULATION in found for found in intervals.values())
    for of, head in ((ROWS, _head_of_rows(places, both=both)), (POPULATION, "95 % interval,\npopulation")):
        found = [intervals[id(place.release)].get(of) for place in places]
        if any(one is not None for one in found):
            shown.append(TextColumn(head, _interval_cells(places, found)))
    noise_alone = any(not intervals[id(one)] and not one.settings.few_rows for one in releases)
    for statistic in STATISTICS:
        wanted = every_statistic or statistic.brief or (statistic.name == "noise_std" and noise_alone)
        if statistic.name in _IN_TABLE or not statistic.shown or not wanted:
            continue
        if of_groups and not every_statistic and not statistic.of_groups and not noise_alone:
            continue
        if (column := _statistic_column(statistic, places)) is not None:
            shown.append(column)
    return shown


def head_lines(release: Release) -> int:
    """Return on how many lines the heads of a table of these numbers stand."""
    return 1 if release.variances is None or release.settings.few_rows else 2


def margins(places: Sequence[Place]) -> list[tuple[str, str] | None]:
    """Return the mean of some columns, each with its margin of error; None where that is not known."""
    found = {}
    for place in places:
        if id(place.release) not in found:
            found[id(place.release)] = next(iter(usual_intervals(place.release)), None)
    return [
        None if (interval := found[id(place.release)]) is None else with_error(_mean(place), _margin(interval, place))
        for place in places
    ]


def _head_of_rows(places: Sequence[Place], *, both: bool) -> str:
    if not both:
        return "95 % confidence interval"
    return f"95 % interval,\nthese {'rows' if places[0].release.unit is None else 'persons'}"


def _means(places: Sequence[Place], intervals: Sequence[Interval | None]) -> TextColumn:
    cells = []
    for place, interval in zip(places, intervals, strict=True):
        error = float(place.release.noise_std[place.column]) if interval is None else _margin(interval, place)
        cells.append(with_error(_mean(place), error)[0])
    return TextColumn("mean", align(cells))


def _interval_cells(places: Sequence[Place], intervals: Sequence[Interval | None]) -> list[str]:
    pairs = []
    for place, interval in zip(places, intervals, strict=True):
        if interval is None:
            pairs.append((NOT_KNOWN_VALUE, ""))
            continue
        low, high = float(interval.lower[place.column]), float(interval.upper[place.column])
        first, second = between(low, high, (high - low) / 2).split(" to ")
        pairs.append((first, second))
    known = iter(align_pairs([pair for pair in pairs if pair[1]], " to "))
    return [next(known) if pair[1] else pair[0] for pair in pairs]


def _statistic_column(statistic: Statistic, places: Sequence[Place]) -> TextColumn | None:
    """Return the numbers of one statistic; None if no release knows them."""
    known = {}
    for place in places:
        if id(place.release) not in known:
            known[id(place.release)] = statistic.reliable(place.release)
    if all(values is None for values in known.values()):
        return None
    cells = []
    for place in places:
        values = known[id(place.release)]
        value = math.nan if values is None else float(values[place.column])
        cells.append(NOT_KNOWN_VALUE if np.isnan(value) else significant(value, statistic.digits))
    return TextColumn(statistic.words, align(cells))


def _mean(place: Place) -> float:
    return float(place.release.mean[place.column])


def _margin(interval: Interval, place: Place) -> float:
    """Return the larger distance of an end from the mean: bounds on a column may end its interval on one side."""
    mean, j = _mean(place), place.column
    return max(mean - float(interval.lower[j]), float(interval.upper[j]) - mean)
