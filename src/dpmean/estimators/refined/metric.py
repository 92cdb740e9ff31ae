"""The metric of errors: working units are chosen for the noise, and errors are measured in other units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.queries.queries import Floats


@final
@dataclass(frozen=True, slots=True)
class Metric:
    """The error of one working unit, in the units of errors: for noise, along a typical row, and at most."""

    noise: float = 1.0
    """In a random direction, which noise has: the root mean square over all columns."""
    typical: float = 1.0
    """In the direction of a typical row, in multiples of ``noise``."""
    longest: float = 1.0
    """In the column with the largest weight, in multiples of ``noise``."""

    @staticmethod
    def of(weights: Floats, stds: Floats) -> Metric:
        """Return the metric for the given weights of columns, and their standard deviations in working units."""
        noise = math.hypot(*weights) / math.sqrt(len(weights))
        length = math.hypot(*stds)
        along = math.hypot(*(weights * stds)) / length if length else noise
        return Metric(noise, along / noise, float(np.max(weights)) / noise)
