"""The columns of a page: for each its name, estimate, error and bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.numerics.error_quantiles import normal_quantile
from dpmean.release.digits import plain
from dpmean.release.release import Release
from dpmean.release.settings import BoxBounds
from dpmean.release.statistics import STATISTICS, Statistic, Values
from dpmean.reports.author import Author

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
SILENT = Author()
"""An author without any text."""
ROUNDED = ("mean", "lower", "upper", "population_lower", "population_upper", "noise_std")
"""The statistics that a page rounds to what errors support; it shows others as they are."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """All columns of a release.

    Attributes:
        names: their names for readers: from the author of the page, or else from the data, or "column 0".
        named: whether these names were given.
        keys: their names in the data, if different; otherwise empty.
        units: their units, if the author of the page gave them; otherwise empty.
        mean: the estimates.
        noise_std: the standard deviations of the noise.
        error: the margin of error at 95 % confidence.
        low: the lower ends of the error bars, and
        high: their upper ends: confidence intervals of the mean of the rows.
        population: the ends of the confidence intervals of the mean of a population, if they are known.
        measured: whether error bars cover the bias of clipping as it was measured, and not the noise alone.
        lower: the lower bounds, if columns have bounds, and
        upper: the upper ones.
        few: whether there are too few rows to know the error, which is zero then.
        one: what the estimate is a mean of, a row or a person.
        others: the other statistics of a release, with their numbers, or None where these may not be relied upon.

    """

    names: tuple[str, ...]
    named: bool
    keys: tuple[str, ...]
    units: tuple[str, ...]
    mean: Floats
    noise_std: Floats
    error: Floats
    low: Floats
    high: Floats
    measured: bool
    lower: Floats | None
    upper: Floats | None
    few: bool = False
    one: str = "row"
    population: tuple[Floats, Floats] | None = None
    others: tuple[tuple[Statistic, Values], ...] = ()

    @property
    def d(self) -> int:
        """How many there are."""
        return len(self.names)

    def bounds(self, j: int) -> str:
        """Return the bounds of a column, with its unit; empty if there are none."""
        if self.lower is None or self.upper is None:
            return ""
        unit = f" {self.units[j]}" if self.units[j] else ""
        return f"{plain(self.lower[j], 6)} to {plain(self.upper[j], 6)}{unit}"

    @property
    def share_a_unit(self) -> bool:
        """Whether all can be drawn on one axis: a norm bounds them all, or all bounds are the same."""
        if self.lower is None or self.upper is None:
            return True
        return bool(np.ptp(self.lower) == 0 and np.ptp(self.upper) == 0)


def other_statistics_of(releases: Iterable[Release]) -> list[Statistic]:
    """Return the statistics, beside those that a page rounds, that any of some releases knows."""
    found = list(releases)
    others = [statistic for statistic in STATISTICS if statistic.shown and statistic.name not in ROUNDED]
    return [one for one in others if any(one.compute(release) is not None for release in found)]


def names_of(release: Release, given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names of the columns in the data: those that are given, or those that the release knows."""
    given = release.columns if given is None else given
    return None if given is None or len(given) != release.d else tuple(given)


def columns_of(
    release: Release,
    given: Sequence[str] | None = None,
    others: Sequence[Statistic] | None = None,
    author: Author = SILENT,
) -> Columns:
    """Read the columns of a release.

    Their names are those of the author of the page, the given ones, or those that the release knows.
    """
    others = other_statistics_of([release]) if others is None else others
    names, d = names_of(release, given), release.d
    keys = names or tuple(f"column {j}" for j in range(d))
    bound = release.settings.bound if isinstance(release.settings.bound, BoxBounds) else None
    few = release.settings.few_rows
    measured = release.found is not None and release.found.noise_std > 0 and not few
    around = release.noise_std * (0.0 if few else normal_quantile((1 + CONFIDENCE) / 2))
    error, low, high = around, release.mean - around, release.mean + around
    population = None
    if measured:
        rows = release.interval(CONFIDENCE)
        error, low, high = release.column_bounds(CONFIDENCE), rows.lower, rows.upper
        if release.variances is not None:
            drawn = release.interval(CONFIDENCE, of="population")
            population = drawn.lower, drawn.upper
    return Columns(
        names=tuple(author.labels.get(j, key) for j, key in enumerate(keys)),
        named=names is not None or len(author.labels) == d,
        keys=tuple(key if j in author.labels else "" for j, key in enumerate(keys)),
        units=tuple(author.units.get(j, "") for j in range(d)),
        mean=release.mean,
        noise_std=release.noise_std,
        error=error,
        low=low,
        high=high,
        population=population,
        measured=measured,
        lower=None if bound is None else np.array(bound.lower),
        upper=None if bound is None else np.array(bound.upper),
        few=few,
        one="row" if release.unit is None else "person",
        others=tuple((statistic, statistic.reliable(release)) for statistic in others),
    )
