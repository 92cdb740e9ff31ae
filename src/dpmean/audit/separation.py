"""A lower bound on the divergence of two distributions, from samples of their scores.

Privacy bounds divergences between the distributions P and Q of an output on two neighbours. Any function f of the
output, a witness, gives a lower bound: the Kullback-Leibler divergence, of order 1, is at least
E_P[f] - E_Q[exp(f)] + 1 (Nguyen, Wainwright and Jordan 2010), and exp of the Rényi divergence of order 2 is at least
2 E_P[exp(f)] - E_Q[exp(2 f)], since the square of dP/dQ - exp(f) is not negative. A bad witness finds a small bound,
but never a wrong one. A part of the runs chooses the witness. The others bound the expectation by betting
(Waudby-Smith and Ramdas 2024), with stakes that never exceed the capital: if the expectation were as claimed, the
capital would grow by a factor 1 / chance with probability at most ``chance``.
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
"""The slopes and limits of the witnesses that are tried, and the stakes of the bets."""
_MOST_TO_CHOOSE = 2000


def separation_of(divergence: float, order: int) -> float:
    """Return the distance, in standard deviations, of two Gaussians that have this divergence."""
    return math.sqrt(2 * max(divergence, 0.0) / order)


def separation_at_least(one: Floats, other: Floats, order: int, missed: float, chance: float) -> float:
    """Return a lower bound on the separation of two distributions, wrong with probability at most ``chance``.

    Both samples have the same size. The divergences of both directions, of order 1 or 2, are averaged. For order 2,
    the claim may exclude events of total probability ``missed``.
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
    """Return the gain of a witness in both directions, from its values on one run of each side."""
    if order == 1:
        return (high - np.exp(-high) - low - np.exp(low)) / 2 + 1
    return np.exp(high) - np.exp(-2 * high) / 2 + np.exp(-low) - np.exp(2 * low) / 2


def _mean_at_least(values: Floats, least: float, stake: float, chance: float, runs: int) -> float:
    """Return the largest expectation that bets refute, for values of at least ``least``.

    A bet on more than m stakes a part of the capital, and pays back in proportion to (value - least) / (m - least). The
    values represent the given number of runs.
    """
    low, high = least, float(values.mean())
    for _ in range(25):
        middle = (low + high) / 2
        won = (
            runs * float(np.log1p(stake * (values - middle) / (middle - least)).mean()) if middle > least else math.inf
        )
        low, high = (middle, high) if won >= -math.log(chance) else (low, middle)
    return low
