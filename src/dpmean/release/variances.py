"""The variances of columns, for confidence intervals of a population."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import display_name

STEP = "variances"
"""The step that asks for them."""
_HIDDEN = 2.0
"""Noise hides a variance that is less than this many standard deviations of its noise."""
_NAMED = 3
"""The number of columns that are named."""
_FLOOR = 0.5
"""In standard deviations of a variance: keeps the allowance finite where a variance is hidden by its noise."""


@final
@dataclass(frozen=True, slots=True)
class Variances:
    """The variance of each column, found privately from the squares of the clipped rows.

    Attributes:
        values: The variance of each column, in the square of the user's unit; zero where the noise made it negative.
        noise_std: The standard deviation of the noise in each of them, in the same unit.
        rows: The number of rows that were asked: all, or a sample if there are many.
        clipped: How much larger they may be, as a part of them, because rows beyond the ceiling were clipped. Intervals
            count it, and ``values`` do not.

    """

    values: tuple[float, ...]
    noise_std: tuple[float, ...]
    rows: int
    clipped: float = 0.0

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Which variances are hidden by noise: less than two standard deviations of it."""
        noise_std = np.array(self.noise_std)
        hidden: NDArray[np.bool_] = (noise_std > 0) & (np.array(self.values) < _HIDDEN * noise_std)
        return hidden

    def times(self, scale: NDArray[np.float64]) -> Variances:
        """Return the same in other units of length.

        Args:
            scale: The length of one unit, column by column.

        """
        values, noise_std = (np.array(each) * scale**2 for each in (self.values, self.noise_std))
        return replace(self, values=tuple(values.tolist()), noise_std=tuple(noise_std.tolist()))


def stds_in_words(variances: Variances, columns: Sequence[str] | None, one: str, *, scaled: bool) -> list[str]:
    """Return what measured standard deviations are, and which are not known; ``scaled`` if scales stand beside them."""
    words = ["from the variances, which intervals of the population use"]
    if scaled:
        words.append("a scale is a rough standard deviation, found or given beforehand, for the noise to follow")
    hidden = np.flatnonzero(variances.hidden)
    if len(hidden):
        names = [f"column {j}" if columns is None else display_name(columns[j]) for j in hidden[:_NAMED]]
        listed = ", ".join(names) + ", ..." * (len(hidden) > _NAMED)
        words.append(f"not known of {listed}: with too few {one}s for this budget, noise hides how widely they vary")
    return words


def with_allowance(variances: Variances, known: NDArray[np.float64], normal: float) -> NDArray[np.float64]:
    """Return variances, raised so that intervals made of them hold although these variances are not exact.

    What clipping took away is added first.

    An interval of ``normal`` standard deviations whose variance is w + e, with an error e of standard deviation t, is
    too short on average. To second order in t / w it holds as often as it says if the variance is raised by
    ``(normal^2 + 1) / 4 * t^2 / w``; this is what Student's quantiles with ``2 w^2 / t^2`` degrees of freedom add to
    those of the normal law. Half a standard deviation t beside w makes it hold (by less than 0.03 % too rarely, at any
    confidence) where the noise hides the variance altogether.

    Args:
        variances: What was released.
        known: The part of the variance of the interval that is known, in the same unit, as if each row varied by it.
        normal: The normal quantile of the interval.

    """
    values = np.array(variances.values) * (1 + variances.clipped)
    errors = np.hypot(variances.noise_std, values * math.sqrt(2 / variances.rows))
    beside = values + known + _FLOOR * errors
    part = np.where(beside > 0, errors / np.where(beside > 0, beside, 1.0), 0.0)
    raised = (normal**2 + 1) / 4 * part * errors
    found: NDArray[np.float64] = values + raised
    return found
