"""A catalogue of kinds of rows, for forecasts: how far rows lie from their mean, in spreads."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

from dpmean.enums import RowKind
from dpmean.numerics import row_lengths
from dpmean.numerics.row_lengths import Law, best_error, half_width, points
from dpmean.pipeline.forecast_constants import COLUMNS, REACHED


@final
@dataclass(frozen=True, slots=True)
class Appearance:
    """The model of a kind of rows.

    Such rows are modelled as a number of independent columns with the same distribution.
    """

    law: Law
    ends: str
    """The kind of tail: an entry of ``REACHED``."""
    directions: Callable[[float], float] = float
    """The number of independent columns that is equivalent to a number of columns."""
    std: Callable[[int], float] = lambda _: 1.0
    """The standard deviation of that many values, if it is not 1."""

    def error(self, n: int, d: int, effective: float, noise: float, beyond: float) -> float:
        """Return the error for n rows, in spreads, given the noise on the mean of rows in a unit ball.

        ``effective`` is the number of columns, where columns that vary less count less. A part ``beyond`` of the rows
        is clipped. One column is clipped to an interval, whose half-width takes the place of the radius.
        """
        if d == 1:
            found = noise * half_width(self.law, beyond)
        else:
            found = best_error(self.law, max(1, round(self.directions(effective))), d, n, noise, beyond)
        return found / self.std(n * d) * REACHED[self.ends][bisect_left(COLUMNS, d)]


KINDS: Mapping[RowKind, Appearance] = MappingProxyType(
    {
        RowKind.NORMAL: Appearance(row_lengths.NORMAL, "thin"),
        RowKind.UNIFORM: Appearance(row_lengths.UNIFORM, "thin"),
        RowKind.BINARY: Appearance(points((0.0, 1.0), (1.0, 1.0)), "sharp"),
        RowKind.MOSTLY_ZERO: Appearance(points((0.0, 1.0), (11.0, 1.0)), "sharp"),
        RowKind.LAPLACE: Appearance(row_lengths.LAPLACE, "thin"),
        RowKind.SKEWED: Appearance(row_lengths.EXPONENTIAL, "skewed"),
        RowKind.LOGNORMAL: Appearance(row_lengths.LOGNORMAL, "long"),
        RowKind.HEAVY_TAILS: Appearance(row_lengths.STUDENT, "heavy", std=row_lengths.student_std),
        RowKind.CORRELATED: Appearance(row_lengths.NORMAL, "correlated", math.sqrt),
        RowKind.CLUSTERS: Appearance(points((-1.0, 0.0, 1.0), (1.0, 1.0, 1.0)), "sharp", lambda _: 1.0),
        RowKind.SMALL_CLUSTER: Appearance(points((0.0, 1.0), (9.0, 1.0)), "sharp", lambda _: 1.0),
        RowKind.LINE: Appearance(row_lengths.UNIFORM, "line", lambda _: 1.0),
    }
)
"""All kinds, by name."""
