"""From the user's units to working units and back: what a bound means, and what happens to rows outside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.queries.queries import Floats


@final
@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """How a row of the user becomes a row of norm at most ``reach`` in working units.

    With a bound on the norm nothing is scaled; a longer row is shortened to the bound. With bounds on coordinates,
    each is clamped to them, centred at their middle and divided by its half-width.
    """

    d: int
    reach: float
    lower: Floats | None = None
    upper: Floats | None = None
    impute: bool = False
    """Whether what is not finite becomes the public centre: zero in working units."""
    strict: tuple[int, ...] = ()
    """Columns in which it is an error all the same."""

    @staticmethod
    def within_norm(d: int, norm_bound: float, *, impute: bool) -> Domain:
        """Domain rows by a bound on their norm."""
        return Domain(d=d, reach=norm_bound, impute=impute)

    @staticmethod
    def within_box(lower: Floats, upper: Floats, *, impute: bool) -> Domain:
        """Domain rows by bounds on each coordinate."""
        return Domain(d=len(lower), reach=math.sqrt(len(lower)), lower=lower, upper=upper, impute=impute)

    @property
    def middle(self) -> Floats:
        """What zero in working units stands for."""
        if self.lower is None or self.upper is None:
            return np.zeros(self.d)
        return self.lower / 2 + self.upper / 2

    @property
    def scale(self) -> Floats:
        """How long one working unit is in each coordinate."""
        if self.lower is None or self.upper is None:
            return np.ones(self.d)
        return self.upper / 2 - self.lower / 2

    def to_user(self, point: Floats) -> Floats:
        """Put a point back into the user's units."""
        return self.middle + self.scale * point
