"""From values to places on a drawing: a scale with round ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from dpmean.release.digits import plain

_SAME = 1e-12
"""Of values: those that differ by less cannot have ticks between them."""
_NEAR = 2
"""Zero is on a scale that is at most half as long again with it."""


@final
@dataclass(frozen=True, slots=True)
class Scale:
    """A stretch of the real line that is drawn."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return where a value lies, in per cent of the way; what lies outside is put at the end."""
        width = self.high - self.low
        if not width > 0:
            return 50.0
        return min(max(100 * (value - self.low) / width, 0.0), 100.0)

    def ticks(self, about: int = 5) -> list[float]:
        """Return round numbers on the scale."""
        width = self.high - self.low
        if not width > 0:
            return [self.low]
        step = _round_step(width / about)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]

    def labels(self, about: int = 5) -> list[tuple[float, str]]:
        """Return where round numbers lie, in per cent, and how they are written."""
        ticks = self.ticks(about)
        largest = max(map(abs, ticks), default=0.0)
        width = (ticks[1] - ticks[0]) if len(ticks) > 1 else 1.0
        digits = max(1, math.floor(math.log10(largest / width) + 1e-9) + 2) if largest else 1
        return [(self.at(tick), plain(tick, digits)) for tick in ticks]

    def ends(self) -> tuple[str, str]:
        """Return how both ends are written, with as many digits as tell them apart."""
        largest, width = max(abs(self.low), abs(self.high)), self.high - self.low
        digits = max(2, math.floor(math.log10(largest / width)) + 3) if width > 0 else 6
        return plain(self.low, digits), plain(self.high, digits)

    @staticmethod
    def around(values: Iterable[float]) -> Scale:
        """Return a scale with round ends that holds all values, and zero if that is near."""
        found = list(values)
        low, high = min(found), max(found)
        nearest = (high - low) / _NEAR
        low, high = (0.0 if 0 < low <= nearest else low), (0.0 if -nearest <= high < 0 else high)
        if high - low <= _SAME * max(abs(low), abs(high)):
            margin = abs(low) / 10 or 1.0
            return Scale(low - margin, high + margin)
        step = _round_step((high - low) / 8)
        return Scale(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step)


def _round_step(width: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least the width."""
    exponent = math.floor(math.log10(width))
    return next(
        (factor * 10.0**exponent for factor in (1, 2, 5) if factor * 10.0**exponent >= width * (1 - 1e-9)),
        10.0 ** (exponent + 1),
    )
