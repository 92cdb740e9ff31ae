"""What an error counts for: working units are chosen for the noise, and the user has units of his own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.queries.queries import Floats


@final
@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """How much an error of one working unit counts in each column; the mean of the squares is one."""

    weights: Floats
    typical: float = 1.0
    """How much more an error in the direction of a typical row counts than noise of the same length."""

    @staticmethod
    def even(d: int) -> Metric:
        """Let every column count the same."""
        return Metric(np.ones(d))

    @staticmethod
    def of(weights: Floats, stds: Floats) -> Metric:
        """Weigh columns whose standard deviations, in working units, are these."""
        return Metric(weights, math.hypot(*(weights * stds)) / math.hypot(*stds))

    @property
    def longest(self) -> float:
        """The largest weight."""
        return float(self.weights.max())
