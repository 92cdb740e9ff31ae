"""The statistics that are shown of every column: data frames, CSV files, tables, pages and print read this list.

Each is a function of numbers that are published already, so it costs no privacy. To add one, write a function and a
line of STATISTICS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpmean.release.release import Release

Values = NDArray[np.float64] | NDArray[np.int64] | None
"""A number per column, or None where the release does not know them."""


@final
@dataclass(frozen=True, slots=True)
class Statistic:
    """One number per column.

    Attributes:
        name: The name of its column in data frames and CSV files.
        words: The head of its column in tables for people.
        compute: Returns the numbers, or None if the release does not know them.
        digits: The number of digits that people are shown.
        needs_rows: True if the numbers are worthless where rows are few: people are not shown them then.
        of_groups: True if tables of many groups, where there is little room, have it.
        brief: True if ``print`` shows it; ``explain()`` and pages show all.
        shown: False if it is in data frames and CSV files alone.

    """

    name: str
    words: str
    compute: Callable[[Release], Values]
    digits: int = 3
    needs_rows: bool = False
    of_groups: bool = True
    brief: bool = True
    shown: bool = True

    def reliable(self, release: Release) -> Values:
        """Return the numbers, or None if the release does not know them or has too few rows to rely on them."""
        return None if self.needs_rows and release.settings.few_rows else self.compute(release)


def mean(release: Release) -> Values:
    """Return the means."""
    return release.mean


def noise_std(release: Release) -> Values:
    """Return the standard deviations of the noise."""
    return release.noise_std


def _end_of(of: str, end: str) -> Callable[[Release], Values]:
    """Return a function that finds one end of an interval at 95 % confidence, if the release knows it."""

    def ends(release: Release) -> Values:
        if release.found is None or release.settings.few_rows or (of == "population" and release.variances is None):
            return None
        found: Values = getattr(release.interval(0.95, of=of), end)
        return found

    return ends


def std(release: Release) -> Values:
    """Return the standard deviations of the rows, if these were asked for; NaN where noise hides them."""
    return release.std


def scale(release: Release) -> Values:
    """Return rough standard deviations, found or given, which the noise follows; NaN where none was found."""
    if release.scales is None:
        return None
    return np.where(release.scales.known, release.scales.values, np.nan)


def values(release: Release) -> Values:
    """Return how many rows have a value, with noise, if that was asked for."""
    return None if release.value_counts is None else np.asarray(release.value_counts)


def values_std(release: Release) -> Values:
    """Return the standard deviations of the noise in these."""
    return None if release.value_counts is None else np.full(release.d, release.value_counts.std)


STATISTICS: list[Statistic] = [
    Statistic("mean", "mean", mean, digits=6),
    Statistic("lower", "lower (95 %)", _end_of("rows", "lower"), digits=6, needs_rows=True),
    Statistic("upper", "upper (95 %)", _end_of("rows", "upper"), digits=6, needs_rows=True),
    Statistic("population_lower", "population lower", _end_of("population", "lower"), digits=6, needs_rows=True),
    Statistic("population_upper", "population upper", _end_of("population", "upper"), digits=6, needs_rows=True),
    Statistic("noise_std", "noise (std)", noise_std, of_groups=False, brief=False),
    Statistic("scale", "rough scale", scale, needs_rows=True, of_groups=False, brief=False),
    Statistic("std", "measured std", std, needs_rows=True, of_groups=False, brief=False),
    Statistic("values", "values", values, digits=12),
    Statistic("values_std", "noise of values (std)", values_std, shown=False),
]
"""All statistics, in the order in which they are shown."""
