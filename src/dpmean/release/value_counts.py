"""How many values each column has, published with noise, and how far imputed values can move a mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpmean.errors import ArgumentError
from dpmean.numerics.error_quantiles import normal_quantile
from dpmean.privacy.receipts import zcdp_of
from dpmean.release.settings import BoxBounds, NormBound, Settings

if TYPE_CHECKING:
    from dpmean.release.release import Release

MOST_NAMED = 6
"""The number of columns for which words say how far missing values may have moved the mean."""
_MOST_COUNTED = 10
"""The number of columns whose counts are listed."""


@final
@dataclass(frozen=True, slots=True)
class ValueCounts:
    """How many rows, or persons, have a value in each column. Noise is in it, so it may be published like the mean.

    ``np.asarray(release.value_counts)`` is ``counts``.

    Attributes:
        counts: The noisy number for each column. It may be below zero, or above the number of rows.
        std: The standard deviation of the noise in each of them.

    """

    counts: tuple[int, ...]
    std: float

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the counts for NumPy.

        Args:
            dtype: The type of the numbers. By default it is int64.
            copy: Counts are always copied, so False is an error.

        """
        if copy is False:
            raise ValueError("counts are copied into an array: leave copy=False out")
        return np.array(self.counts, dtype=np.int64 if dtype is None else dtype)


def moved_at_most(release: Release, confidence: float) -> NDArray[np.float64]:
    """Return by how much imputed values may have moved the mean of each column, each at this confidence.

    A part f of the rows has no value. Their true values would lie within the bounds, so each is at most a known
    distance from the value that it counts as. ``f`` is at most (N - C + z s) / (N - z t), unless the noise in N - C, of
    standard deviation s, or in N, of t, is larger than z times that. Each happens with half of the probability that
    the confidence leaves.
    """
    counts = release.value_counts
    if counts is None:
        raise ArgumentError("the number of values is not known: make the release with count_values=True")
    if release.settings.dropped:
        raise ArgumentError(
            "values are counted in all rows, and some of these were left out: impute in all columns, or in none"
        )
    if not 0 < confidence < 1:
        raise ArgumentError(f"confidence must lie between 0 and 1, got {confidence!r}")
    number = [one for one in release.receipts if one.step == "number"]
    of_number = math.sqrt(1 / (2 * zcdp_of(number).rho)) if number else 0.0
    z = normal_quantile((1 + confidence) / 2)
    without = release.n - np.asarray(counts) + z * math.hypot(counts.std, of_number)
    part = np.clip(without / max(release.n - z * of_number, 1.0), 0.0, 1.0)
    farthest: NDArray[np.float64] = part * distances(release.settings, release.d)
    return farthest


def distances(settings: Settings, d: int) -> NDArray[np.float64]:
    """Return how far a value within the bounds can be from what a missing one counts as; zero if it counts as none."""
    names = settings.columns or tuple(f"column {j}" for j in range(d))
    filled, imputed, bound = dict(settings.filled), settings.imputed, settings.bound
    low, high = np.zeros(d), np.zeros(d)
    if isinstance(bound, BoxBounds):
        low, high = np.array(bound.lower), np.array(bound.upper)
    elif isinstance(bound, NormBound):
        high = np.full(d, bound.reach if bound.norm_bound is None else bound.norm_bound)
        low = -high
    found = np.zeros(d)
    for j, name in enumerate(names):
        if name in filled:
            found[j] = max(filled[name] - low[j], high[j] - filled[name])
        elif imputed is True or (not isinstance(imputed, bool) and name in imputed):
            found[j] = high[j] / 2 - low[j] / 2
    return found


def counted_in_words(release: Release, names: Sequence[str] | None = None) -> str:
    """Return how many have a value, column by column; nothing if that was not asked for."""
    counts = release.value_counts
    if counts is None:
        return ""
    return f"{noise_in_words([release])}: {in_brief(counts, names or release.columns)}"


def in_brief(counts: ValueCounts, names: Sequence[str] | None) -> str:
    """Return the counts of the first columns, and of which."""
    names = names or tuple(f"column {j}" for j in range(len(counts.counts)))
    first = [f"{count} ({name})" for name, count in zip(names, counts.counts, strict=True)][:_MOST_COUNTED]
    return f"about {', '.join(first)}{', ...' * (len(names) > _MOST_COUNTED)}"


def noise_in_words(releases: Iterable[Release]) -> str:
    """Return what is counted, and how exact the counts are; nothing if they were not asked for."""
    counted = [release for release in releases if release.value_counts is not None]
    if not counted:
        return ""
    one = "row" if counted[0].unit is None else "person"
    stds = sorted({f"{release.value_counts.std:.3g}" for release in counted if release.value_counts}, key=float)
    return f"{one}s with a value, each with noise of std {' to '.join(dict.fromkeys((stds[0], stds[-1])))}"


def moved_in_words(release: Release, names: Sequence[str] | None = None) -> str:
    """Return by how much imputed values may have moved the mean, as far as that is known."""
    settings, d = release.settings, release.d
    if release.value_counts is not None and not settings.dropped:
        most = moved_at_most(release, 0.95)
        return f"at 95 % confidence, this moved the mean by at most {_listed(most, settings, names)}"
    return for_each_percent(settings, d, names)


def for_each_percent(settings: Settings, d: int, names: Sequence[str] | None = None) -> str:
    """Return the same where the number of missing values is not known."""
    if not distances(settings, d).any():
        return ""
    most = _listed(distances(settings, d) / 100, settings, names)
    missing = "missing values" if settings.privacy_unit is None else "persons without a value"
    return f"each 1 % of {missing} may have moved the mean by up to {most}"


def _listed(most: NDArray[np.float64], settings: Settings, names: Sequence[str] | None) -> str:
    """Return a number for each column that has one, or one for all if they are alike."""
    d = len(most)
    names = names or settings.columns or tuple(f"column {j}" for j in range(d))
    shown = [j for j in range(d) if distances(settings, d)[j] > 0]
    if len(shown) == d and len(set(most.tolist())) == 1:
        return f"{_up(most[0])}{' in every column' if d > 1 else ''}"
    listed: Sequence[str] = [f"{_up(most[j])} ({names[j]})" for j in shown[:MOST_NAMED]]
    return ", ".join(listed) + ", ..." * (len(shown) > MOST_NAMED)


def _up(value: float) -> str:
    """Return three digits of a number, rounded up: it is a bound."""
    if not 0 < value < math.inf:
        return f"{value:g}"
    place = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{float(f'{math.ceil(value / place - 1e-9) * place:.3g}'):.15g}"
