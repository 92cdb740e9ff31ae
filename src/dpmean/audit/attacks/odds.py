"""The score of an adversary who knows all rows except one, and two values that this row may have.

Odds are the log-likelihood ratio of an answer for the second of two neighbouring datasets against the first. No other
score distinguishes them better, and the odds of independent answers add up.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid
from dpmean.numerics.rotation import Rotation, hadamard
from dpmean.privacy.budgets import Zcdp
from dpmean.queries.queries import Floats
from dpmean.release.estimate import Estimate
from dpmean.trust.central.costs import count_std

Count = Callable[[int], int]
"""The exact count of rows at or below a point."""
COINS = PublicCoins("attacks")
"""With these coins, a row far on the other side is the lowest in every rotated coordinate, so all counts reveal it."""
FAR = 8.0
"""The bound. One row lies there, on one side or on the other, and is clipped at any radius; others have norm 1."""

ROUNDED = 8
"""A centre is rounded to the grid, so it reveals the result of a search only up to this many points."""


def circle(n: int) -> Floats:
    """Return rows on a circle around zero, so that the radius is found there and clipping does not change them."""
    turns = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return np.stack((np.cos(turns), np.sin(turns)), axis=1)


def lumps(n: int, low: int) -> Floats:
    """Return rows in two lumps, with the first ``low`` rows in the lower lump.

    If this is half of all rows, one row decides every comparison between the lumps in a search for the median.
    """
    rows = np.zeros((n, 2))
    rows[:low, 0], rows[low:, 0] = -1.0, 1.0
    return rows


@final
@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring datasets, whose last row is on one side, or absent, or on the other side."""

    sides: tuple[Floats, Floats]

    @staticmethod
    def around(others: Floats, *, replaced: bool = True, far: float = FAR) -> Pair:
        """Return the others with a row far on one side, or without it, and with a row far on the other side."""
        away = np.zeros((1, others.shape[1]))
        away[0, 0] = far
        return Pair((np.vstack((others, away)) if replaced else others, np.vstack((others, -away))))

    def odds_of_mean(self, found: Estimate, n: int) -> float:
        """Return the odds of a mean, given its centre, radius and noise, if the sum was divided by ``n``.

        The estimator may choose working units, which are released as well.
        """
        domain = found.domain
        sides = self.sides if domain is None or not domain.is_mapped else [domain.enter(side) for side in self.sides]
        moved = [side - found.centre for side in sides]
        shares = [np.minimum(1.0, found.radius / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)) for rows in moved]
        one, other = (found.centre + share @ rows / n for share, rows in zip(shares, moved, strict=True))
        return float((found.mean - (one + other) / 2) @ (other - one)) / found.noise_std**2


@final
class Medians:
    """The rotated coordinates of the rows that find the centre, for both neighbours: the centre is their median."""

    def __init__(self, sides: Sequence[Floats], grid: Grid) -> None:
        self._rotation = Rotation.draw(grid, COINS)
        matrix = np.array([hadamard(row) for row in np.eye(self._rotation.width)])
        self._turn = self._rotation.signs[: grid.d, np.newaxis] * matrix[: grid.d] / grid.step
        self._sorted = [np.sort(rows @ self._turn, axis=0).T.tolist() for rows in sides]

    def odds(self, found: Estimate, n: int, budget: Zcdp) -> float:
        """Return the odds of all comparisons that led to a centre, if the rank was half of ``n``."""
        rotation, total = self._rotation, 0.0
        std = count_std(rotation.points, rotation.width, budget)
        places = found.centre @ self._turn / rotation.spacing + rotation.half_points + 0.5
        for line, place in enumerate(places.tolist()):
            counts = [self._counts(side[line]) for side in self._sorted]
            total += odds_of_search(round(place), rotation.points, counts, n // 2, std, ROUNDED)
        return total

    def _counts(self, values: list[float]) -> Count:
        low, spacing = self._rotation.half_points, self._rotation.spacing
        return lambda index: bisect_right(values, (index - low) * spacing)


def odds_of_search(found: int, points: int, counts: Sequence[Count], rank: float, std: float, known: int = 1) -> float:
    """Return the odds of all comparisons that led a binary search to a point, given the exact counts of both sides.

    If the point is known only up to ``known`` points, later comparisons are left out.
    """
    left, right, odds = 0, points - 1, 0.0
    while right - left >= known:
        middle = (left + right) // 2
        p, q = (_beyond((count(middle) - math.floor(rank) - 0.5) / std) for count in counts)
        if found > middle:
            left, odds = middle + 1, odds + math.log(q / p)
        else:
            right, odds = middle, odds + math.log((1 - q) / (1 - p))
    return odds


def _beyond(value: float) -> float:
    """Return the probability that a normal number is at least ``value``, kept away from 0 and 1."""
    return min(max(math.erfc(value / math.sqrt(2)) / 2, 1e-9), 1 - 1e-9)
