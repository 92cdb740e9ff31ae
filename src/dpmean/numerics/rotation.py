"""The public random rotation: signs, padding, the Hadamard transform, and the range of rotated coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid, padded, power_of_two_at_most
from dpmean.queries.queries import Coordinates, Floats

_MISSED = 1e-6  # the probability that the rotated mean leaves the searched range (its coordinate is clamped then)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    """The map ``x -> H D x`` on padded rows, in integer multiples of the grid's step.

    It is not normalised, so that integers stay integers; H D is its own inverse up to a factor ``width``
    and the order of D and H.
    """

    grid: Grid
    signs: Floats

    @staticmethod
    def draw(grid: Grid, coins: PublicCoins) -> Rotation:
        """Draw the signs from public coins."""
        return Rotation(grid, coins.signs(padded(grid.d)))

    @property
    def width(self) -> int:
        """The padded number of coordinates."""
        return len(self.signs)

    @property
    def spacing(self) -> float:
        """The distance between two points of the line that is searched.

        After normalisation it is at most one step, unless more than 2^31 points would be needed.
        """
        usual = float(1 << (self.width.bit_length() - 1) // 2)
        return max(usual, power_of_two_at_most(self._farthest / 2**28))

    @property
    def half_points(self) -> int:
        """The number of points of the line on each side of zero."""
        return math.ceil(self._farthest / self.spacing)

    @property
    def _farthest(self) -> float:
        """The largest distance of the rotated mean from zero, in steps.

        A vector of norm ``reach`` has coordinates below ``reach sqrt(2 ln(4 width / beta))`` with probability
        1 - beta (Lemma 3.4), and never above ``reach sqrt(width)``: no point beyond is ever queried.
        """
        spread = min(math.sqrt(self.width), math.sqrt(2 * math.log(4 * self.width / _MISSED)))
        return self.grid.reach / self.grid.step * spread

    @property
    def points(self) -> int:
        """The number of points of the line."""
        return 2 * self.half_points + 1

    def views(self, size: int) -> Iterator[Coordinates]:
        """Yield queries for all coordinates, at most ``size`` at a time."""
        size = min(1 << size.bit_length() - 1, self.width)
        for first in range(0, self.width, size):
            yield Coordinates(
                signs=self.signs,
                step=self.grid.step,
                first=first,
                size=size,
                low=-self.half_points * self.spacing,
                spacing=self.spacing,
                points=self.points,
            )

    def back(self, rotated: Floats) -> Floats:
        """Undo the rotation of one public vector in multiples of the step, and return its d coordinates."""
        values = self.signs * hadamard(rotated) / self.width * self.grid.step
        return values[: self.grid.d]


def hadamard(values: Floats) -> Floats:
    """Return the unnormalised Hadamard transform of one vector whose length is a power of two."""
    width = len(values)
    half = 1
    while half < width:
        pairs = values.reshape(-1, 2, half)
        values = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(width)
        half *= 2
    return values
