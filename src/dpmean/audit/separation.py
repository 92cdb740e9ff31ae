"""How far apart two laws are: a lower bound from samples of their scores.

Privacy bounds divergences of the laws P and Q of an output on two neighbours. Any function f of the output, a
witness, bounds them from below: the Kullback-Leibler divergence, of order 1, is at least E_P[f] - E_Q[exp(f)] + 1
(Nguyen, Wainwright and Jordan 2010), and exp of the Renyi divergence of order 2 is at least
2 E_P[exp(f)] - E_Q[exp(2 f)], since the square of dP/dQ - exp(f) is not negative. A bad witness finds little, and
never too much. A part of the runs chooses it; the others bound the expectation, by bets whose stake is never more than
what there is (Waudby-Smith and Ramdas 2024): if the expectation were as claimed, they would win 1 / chance with a
probability of at most ``chance``.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from dpmean.queries.queries import Floats

SLOPES = (0.7, 0.85, 1.0)
LIMITS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
STAKES = (0.1, 0.3, 0.6, 0.95)
"""What is tried of a witness, slope and limit, and of the bets."""
_MOST_TO_CHOOSE = 2000


def separation_of(divergence: float, order: int) -> float:
    """Return the distance of two Gaussians, in standard deviations, that have this divergence."""
    return math.sqrt(2 * max(divergence, 0.0) / order)


def separation_at_least(one: Floats, other: Floats, order: int, missed: float, chance: float) -> float:
    """Return a bound that the separation of two laws exceeds, wrong with at most this chance, from as many scores each.

    The divergences of both directions, order 1 or 2, are averaged. For order 2 laws may be others than those of the
    claim with a probability of ``missed`` in all.
    """
    few = min(len(one) // 4, _MOST_TO_CHOOSE)
    first, second = one[:few], other[:few]
    middle, apart = float(first.mean() + second.mean()) / 2, float(second.mean() - first.mean())
    if not apart:
        return 0.0
    steepness = apart / max(float(first.var() + second.var()) / 2, apart**2 / 100)
    runs, best = len(one) - few, (-math.inf, 1.0, 1.0, 0.1)

    def gains(high: Floats, low: Floats, slope: float, limit: float) -> Floats:
        up, down = (np.clip(slope * steepness * (side - middle), -limit, limit) for side in (high, low))
        return np.asarray(_gains(up, down, order))

    for slope, limit in product(SLOPES, LIMITS):
        tried = gains(second, first, slope, limit)
        for stake in STAKES:
            found = _mean_at_least(tried, _gains(-limit, limit, order), stake, chance, runs)
            best = max(best, (found, slope, limit, stake))
    _, slope, limit, stake = best
    least, most = _gains(-limit, limit, order), _gains(limit, -limit, order)
    found = _mean_at_least(gains(other[few:], one[few:], slope, limit), least, stake, chance, runs)
    found -= missed * (most - least)
    return separation_of(found if order == 1 else math.log(max(found, 1.0)), order)


def _gains(high: Any, low: Any, order: int) -> Any:
    """Return what a witness gains in both directions, from its values on a run of either side."""
    if order == 1:
        return (high - np.exp(-high) - low - np.exp(low)) / 2 + 1
    return np.exp(high) - np.exp(-2 * high) / 2 + np.exp(-low) - np.exp(2 * low) / 2


def _mean_at_least(values: Floats, least: float, stake: float, chance: float, runs: int) -> float:
    """Return the largest expectation that is refuted by bets on values that are nowhere below ``least``.

    A bet on more than m stakes a part of what there is, and pays back in proportion to (value - least) / (m - least).
    The values stand for as many runs as are given.
    """
    low, high = least, float(values.mean())
    for _ in range(25):
        middle = (low + high) / 2
        won = (
            runs * float(np.log1p(stake * (values - middle) / (middle - least)).mean()) if middle > least else math.inf
        )
        low, high = (middle, high) if won >= -math.log(chance) else (low, middle)
    return low
