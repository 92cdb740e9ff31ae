"""How much an error counts: working units are chosen for the noise, and errors count in units of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.queries.queries import Floats


@final
@dataclass(frozen=True, slots=True)
class Metric:
    """How much an error of one working unit counts: in the direction of the noise, of a typical row, and at most."""

    noise: float = 1.0
    """In a random direction, as noise is the same in all columns: the root mean square over these."""
    typical: float = 1.0
    """In the direction of a typical row, in multiples of ``noise``."""
    longest: float = 1.0
    """In the column where it counts most, in multiples of ``noise``."""

    @staticmethod
    def of(weights: Floats, stds: Floats) -> Metric:
        """Weigh columns whose standard deviations, in working units, are these."""
        noise = math.hypot(*weights) / math.sqrt(len(weights))
        length = math.hypot(*stds)
        along = math.hypot(*(weights * stds)) / length if length else noise
        return Metric(noise, along / noise, float(np.max(weights)) / noise)
