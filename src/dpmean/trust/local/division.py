"""How the users of a collection are divided among its questions: computed from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from dpmean.numerics.error_quantiles import length_quantile
from dpmean.numerics.grid import padded
from dpmean.privacy.budgets import Zcdp
from dpmean.trust.local.randomizers import WORD, Budget, half_space, lies, unit_variance

LINE_BITS, TREE_BITS, LADDER_BITS = 13, 9, 8
"""Medians are searched on lines of 2^13 points (2^9 if all at once), the radius on a ladder of 2^8."""
MEDIAN_ROUNDS, RADIUS_ROUNDS = 20, 12
MEDIAN_STD = 0.19
"""Noise on a share in one round of the search for medians: with 20 rounds it finds them to a fifth of the spread."""
MOST_FOR_MEDIANS, LEAST_FOR_RADIUS, MOST_FOR_RADIUS = 0.35, 0.05, 0.15
CLIP, SLACK = 2.5, 3.5
"""How many rows are clipped, in multiples of what balances noise and bias at worst; and of the noise on their share."""
CENTRE_ERROR = 0.07
_TREE_COST = 12.0  # users that a tree needs for each of a search that asks step by step


@final
@dataclass(frozen=True, slots=True)
class Division:
    """Which part of the users finds medians, which the radius, in how many rounds, and how many rows are clipped."""

    for_medians: float
    for_radius: float
    median_rounds: int
    radius_rounds: int
    clipped: float

    @property
    def for_mean(self) -> float:
        """The others send their vectors."""
        return 1 - self.for_medians - self.for_radius


def noise_share(d: int, budget: Budget, users: float) -> float:
    """Return the noise on the mean of ``users`` vectors in a unit ball, in the l2 norm."""
    if isinstance(budget, Zcdp):
        return math.sqrt(2 * d / (float(budget.rho) * users))
    return math.sqrt(d / users) / half_space(budget.epsilon).gain


def divide(users: int, d: int, budget: Budget, *, few_rounds: bool) -> Division:
    """Divide the users.

    The radius gets as many as make the noise on its rank as small as the share of rows that are best clipped, within
    limits; both then shrink with the root of the number of users, and so does the bias on skewed rows.
    """
    lie = lies(budget)
    variance, width = unit_variance(lie), padded(d)
    for_medians = MEDIAN_ROUNDS * width * variance / (MEDIAN_STD**2 * users) * (_TREE_COST if few_rounds else 1)
    for_medians = min(MOST_FOR_MEDIANS, max(0.05, for_medians))
    tree = (LADDER_BITS / (2 * (1 - 2 * lie / WORD))) ** 2
    per_user = tree if few_rounds else RADIUS_ROUNDS * variance
    most = MOST_FOR_RADIUS * (1 if few_rounds else users / (users + 150_000))
    for_radius = LEAST_FOR_RADIUS
    for _ in range(8):
        best = CLIP * noise_share(d, budget, (1 - for_medians - for_radius) * users)
        for_radius = max(LEAST_FOR_RADIUS, min(most, per_user * (SLACK / best) ** 2 / users))
    clipped = max(best, SLACK * math.sqrt(per_user / (for_radius * users)))
    rounds = (1, 1) if few_rounds else (MEDIAN_ROUNDS, RADIUS_ROUNDS)
    return Division(for_medians, for_radius, *rounds, min(clipped, 0.5))


def users_needed(d: int, budget: Budget, *, few_rounds: bool) -> tuple[float, float]:
    """Return from how many users on this does well, and from how many on it works at all.

    The noise on a share of the medians must be at most 0.3 (0.45: risky), that on the mean at most a tenth of the
    radius (three tenths).
    """
    medians = MEDIAN_ROUNDS * padded(d) * unit_variance(lies(budget)) / MOST_FOR_MEDIANS
    medians *= _TREE_COST if few_rounds else 1
    mean = noise_share(d, budget, 1 - MOST_FOR_MEDIANS - MOST_FOR_RADIUS)
    fine, risky = (max(medians / std**2, (mean / noise) ** 2) for std, noise in ((0.3, 0.1), (0.45, 0.3)))
    return fine, risky


def expected_error(users: int, d: int, budget: Budget, *, few_rounds: bool) -> float:
    """Predict the error of the mean in multiples of the spread, for rows that look normal.

    Clipping pulls the mean towards the centre, by the share of rows that are clipped; that costs about as much as if
    the centre were off by 0.07 spreads.
    """
    division = divide(users, d, budget, few_rounds=few_rounds)
    noise = noise_share(d, budget, division.for_mean * users)
    radius = length_quantile(d, 1 - max(division.clipped, 1e-9)) / math.sqrt(d)
    return math.hypot(noise * radius, CENTRE_ERROR * division.clipped)
