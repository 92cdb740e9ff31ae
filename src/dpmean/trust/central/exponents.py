"""The exponents for the choice of a radius; most of them are never computed exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dpmean.queries.queries import Floats, Ints

CHOICE_UNIT = 1 << 40
"""Exponents are integer multiples of 1 / CHOICE_UNIT."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Exponents(Sequence[int]):
    """The exponents of the candidate radii, ``rise * j + epsilon * beyond[j]``."""

    rise: int
    epsilon: int
    beyond: Ints

    def __len__(self) -> int:
        return len(self.beyond)

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            places = range(len(self))[j]
            return [
                self.rise * place + self.epsilon * far
                for place, far in zip(places, self.beyond[j].tolist(), strict=True)
            ]
        return self.rise * (j if j >= 0 else j + len(self)) + self.epsilon * self.beyond.item(j)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """Return them as floats."""
        return float(self.rise) * np.arange(len(self), dtype=np.float64) + float(self.epsilon) * self.beyond
