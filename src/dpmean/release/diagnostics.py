"""What the refined estimator measured privately on the way to the mean; errors are computed from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Found:
    """What the refined estimator measured privately on the way; lengths are in the unit of the radius.

    Attributes:
        spread: The typical distance of a row from the mean of all. With a bound on the norm it is in the user's unit,
            also where noise follows the scales of columns.
        ceiling: The radius beyond which hardly any row lies.
        rounds: How often the mean was released, each time around a better centre.
        bias: How far clipping below the ceiling moves the mean, as it was measured.
        bias_std: The standard deviation of the noise on that.
        tail: How far the rows beyond the ceiling may move the mean, if their numbers continue to fall as they do up
            to there.
        unseen: The number of rows that may lie far beyond the ceiling unnoticed.
        noise_std: The standard deviation of the noise on each coordinate of the mean, in the same unit; in multiples of
            ``release.scales.units`` if there are scales.

    """

    spread: float
    ceiling: float
    rounds: int
    bias: float
    bias_std: float
    tail: float
    unseen: int
    noise_std: float

    def times(self, unit: float) -> Found:
        """Return the same in another unit of length.

        Args:
            unit: The factor by which every length is multiplied.

        """
        names = ("spread", "ceiling", "bias", "bias_std", "tail", "noise_std")
        return replace(self, **{name: getattr(self, name) * unit for name in names})
