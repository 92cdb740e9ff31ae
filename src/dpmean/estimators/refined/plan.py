"""The plan of the refined estimator: how to divide a budget, computed from public numbers alone.

N1 = sqrt(2 d / rho) / n is the noise on the mean of rows in a unit ball, in the l2 norm: the yardstick of everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from dpmean.noise.jit import compiled
from dpmean.queries.queries import Floats

FEW = 16
"""With so many columns or fewer, margins of error matter more than the last part of the noise (see few_columns.py)."""
LADDER_FROM = 5
"""With so many columns or more, radii below the end are tried where that pays."""
ROUNDS = 8
GROWTH = (1.0, 1.2, 1.4, 1.7, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 40.0, 80.0, 200.0, 500.0, 2000.0, 1e4)
CREDIT = 0.95  # for the precision of earlier rounds: the last may clip at another radius, and do without them
_SHARE_UNIT = 1 << 30


@final
@dataclass(frozen=True, slots=True)
class Shares:
    """What the steps may cost; the releases of the mean get the rest."""

    spread: Fraction
    extremes: Fraction
    reach: Fraction
    outline: Fraction
    alarm: Fraction
    radius: Fraction
    shrinkage: Fraction
    gaps: Fraction
    profile: Fraction
    """Of two counts, of which the second is not always asked."""

    @property
    def total(self) -> Fraction:
        """All of them together."""
        return sum((getattr(self, field.name) for field in fields(self)), start=Fraction(0))


@final
@dataclass(frozen=True, slots=True)
class Round:
    """One release of the mean: its part of the budget, the radius at which to clip, and the error, in spreads."""

    share: float
    radius: float
    error: float


def noise(n: int, d: int, rho: float) -> float:
    """Return N1."""
    return math.sqrt(2 * d / rho) / n


def part(rho: Fraction, share: float) -> Fraction:
    """Return a share of a budget as an exact fraction with a short denominator."""
    return rho * Fraction(max(1, math.floor(share * _SHARE_UNIT)), _SHARE_UNIT)


@lru_cache(maxsize=64)
def divide(rho: Fraction, n: int, m: int, d: int) -> Shares:
    """Divide the budget, if m of n rows find spread and centre.

    Counts are cheap when there are many rows, and noise on the radius matters less in many dimensions. With few, it
    takes more to know what is beyond it. What is not spent in the end is left for the mean.
    """
    some, all_rows = float(rho) * m * m, float(rho) * n * n
    few = d <= FEW
    radius = 0.13 / d**0.4 if few else min(0.15, max(0.006, 0.1 / d, 600 / all_rows))
    ladder, none = d >= LADDER_FROM, Fraction(0)
    return Shares(
        spread=part(rho, min(0.05, 25600 / some)),
        extremes=part(rho, min(0.05, 25600 / some)),
        reach=part(rho, min(0.05, 12800 / some)),
        outline=part(rho, radius / 4),
        alarm=part(rho, 0.012),
        radius=part(rho, radius),
        shrinkage=part(rho, min(0.02, max(0.003, 2800 / all_rows))) if ladder else none,
        gaps=part(rho, 0.04) if ladder else none,
        profile=part(rho, 0.03) if few and d > 1 else none,
    )


def rows_to_locate(n: int, d: int, rho: float) -> int:
    """Return how many rows find spread and centre: all, or a sample for which a fiftieth of the budget is plenty."""
    enough = math.ceil(max(8192, 1000 / math.sqrt(rho), 70 * math.sqrt(2 * d / rho)))
    return n if n <= 2 * enough else enough


def ladder(n: int, d: int, rho: float) -> tuple[int, ...]:
    """Return the radii to try: the ceiling divided by 2^(1/4) to these powers.

    Clipping more rows moves their mean by a part of its sampling error, which is about 1 / sqrt(n) spreads. When the
    noise is far below that, only the first step down can pay.
    """
    return (0, 1, 2, 4, 8) if noise(n, d, rho) * math.sqrt(n) >= 0.03 else (0, 1)


def rounds(n: int, m: int, d: int, rho: float, error: float) -> list[Round]:
    """Plan releases that bring the error of the centre down from ``error``; all lengths are in spreads of the rows.

    All but the last are made from m of the n rows, and then know the mean only up to sampling. Each clips at the
    distance that rows have from the centre so far, and all are combined by their precision. The plan minimises the
    error that is left after the last one, over the number of rounds and the growth of their budgets. Earlier
    rounds count a little less than the last: of plans that promise the same, the one that keeps most for the end wins.
    """
    promised = _last_errors(n, m, d, rho, error)
    best = int(np.argmin(promised))
    return _follow([float(share) for share in _PLANS[best] if share], n, m, d, rho, error)


def _plans() -> Floats:
    """Return the shares of all plans, a line each, the last round in the last column."""
    lines = [[1.0]]
    for number in range(2, ROUNDS + 1):
        for growth in GROWTH:
            weights = [growth**k for k in range(number)]
            lines.append([weight / sum(weights) for weight in weights])
    return np.array([[0.0] * (ROUNDS - len(line)) + line for line in lines])


_PLANS = _plans()


def _last_errors(n: int, m: int, d: int, rho: float, error: float) -> list[float]:
    """Predict the errors that all plans leave in the end, as ``_follow`` does for one."""
    found = np.empty(len(_PLANS))
    caution = 1 + 2 / math.sqrt(d)
    _predict(_PLANS, 1 / m - 1 / n, caution, noise(m, d, rho) ** 2, noise(n, d, rho) ** 2, float(error), found)
    errors: list[float] = found.tolist()
    return errors


@compiled
def _predict(
    plans: Floats, sampling: float, caution: float, some: float, every: float, error: float, found: Floats
) -> None:
    """Write the last error of each plan; the squared noise is that of some rows, and of every row at last."""
    for p in range(len(plans)):
        precision, last = 0.0, error
        for share in plans[p, :-1]:
            reach = caution * last
            precision += share / ((1 + reach * reach) * some)
            if precision > 0:
                last = math.sqrt(1 / precision + sampling)
        reach = caution * last
        gain = plans[p, -1] / ((1 + reach * reach) * every)
        earlier = CREDIT / (last * last) if precision > 0 else 0.0
        found[p] = 1 / math.sqrt(earlier + gain)


def _follow(shares: list[float], n: int, m: int, d: int, rho: float, error: float) -> list[Round]:
    """Predict what a plan does."""
    sampling = 1 / m - 1 / n
    precision, plan = 0.0, []
    caution = 1 + 2 / math.sqrt(d)
    for k, share in enumerate(shares):
        radius = math.hypot(1, caution * error)
        last = k == len(shares) - 1
        gain = share / (radius * noise(n if last else m, d, rho)) ** 2
        if last:
            earlier = CREDIT / (1 / precision + sampling) if precision else 0.0
            error = 1 / math.sqrt(earlier + gain)
        else:
            precision += gain
            error = math.sqrt(1 / precision + sampling)
        plan.append(Round(share, radius, error))
    return plan
