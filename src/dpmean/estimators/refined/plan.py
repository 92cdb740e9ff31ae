"""The plan of the refined estimator: the division of the budget, computed from public numbers only.

N1 = sqrt(2 d / rho) / n, the noise on the mean of rows in a unit ball in the l2 norm, is the unit of all errors here.
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
"""Up to this number of columns, tight margins of error matter more than the least noise (see few_columns.py)."""
LADDER_FROM = 5
"""From this number of columns on, smaller radii are tried as well if that can reduce the error."""
ROUNDS = 8
GROWTH = (1.0, 1.2, 1.4, 1.7, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 40.0, 80.0, 200.0, 500.0, 2000.0, 1e4)
CREDIT = 0.95  # the weight of earlier rounds, which are not used if the last one clips at another radius
_SHARE_UNIT = 1 << 30


@final
@dataclass(frozen=True, slots=True)
class Shares:
    """The budgets of the steps; the releases of the mean get the rest."""

    spread: Fraction
    extremes: Fraction
    reach: Fraction
    outline: Fraction
    alarm: Fraction
    radius: Fraction
    shrinkage: Fraction
    gaps: Fraction
    profile: Fraction
    """The budget of two counts; the second one is not always needed."""

    @property
    def total(self) -> Fraction:
        """The sum of all shares."""
        return sum((getattr(self, field.name) for field in fields(self)), start=Fraction(0))


@final
@dataclass(frozen=True, slots=True)
class Round:
    """One release of the mean: its part of the budget, its clipping radius, and its error, in spreads."""

    share: float
    radius: float
    error: float


def noise(n: int, d: int, rho: float) -> float:
    """Return N1, the noise on the mean of n rows in a unit ball."""
    return math.sqrt(2 * d / rho) / n


def part(rho: Fraction, share: float) -> Fraction:
    """Return a share of a budget as an exact fraction with a short denominator."""
    return rho * Fraction(max(1, math.floor(share * _SHARE_UNIT)), _SHARE_UNIT)


@lru_cache(maxsize=64)
def divide(rho: Fraction, n: int, m: int, d: int) -> Shares:
    """Divide the budget, given that m of n rows find spread and centre.

    Counts are cheap if there are many rows, and noise on the radius matters less in many dimensions. In few dimensions,
    more of the budget is needed to learn about rows beyond the radius. Unspent shares are used for the mean.
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
    """Return the number of rows that find spread and centre: all, or a sample that needs only 2 % of the budget."""
    enough = math.ceil(max(8192, 1000 / math.sqrt(rho), 70 * math.sqrt(2 * d / rho)))
    return n if n <= 2 * enough else enough


def ladder(n: int, d: int, rho: float) -> tuple[int, ...]:
    """Return the radii to try, as powers k: the ceiling divided by 2^(k / 4).

    Clipping more rows moves their mean by a part of its sampling error, which is about 1 / sqrt(n) spreads. If the
    noise is far below that, only the first smaller radius can reduce the error.
    """
    return (0, 1, 2, 4, 8) if noise(n, d, rho) * math.sqrt(n) >= 0.03 else (0, 1)


def rounds(n: int, m: int, d: int, rho: float, error: float) -> list[Round]:
    """Plan releases that reduce the error of the centre, which is ``error`` now; all lengths are in spreads.

    All but the last use m of the n rows, so they have a sampling error. Each clips at the distance of rows from the
    current centre, and all are combined by precision. The plan minimises the error after the last round over the number
    of rounds and the growth of their budgets. Earlier rounds have slightly less weight than the last, so of equally
    good plans the one with the largest last budget is chosen.
    """
    promised = _last_errors(n, m, d, rho, error)
    best = int(np.argmin(promised))
    return _follow([float(share) for share in _PLANS[best] if share], n, m, d, rho, error)


def _plans() -> Floats:
    """Return the shares of all plans, one line each, with the last round in the last column."""
    lines = [[1.0]]
    for number in range(2, ROUNDS + 1):
        for growth in GROWTH:
            weights = [growth**k for k in range(number)]
            lines.append([weight / sum(weights) for weight in weights])
    return np.array([[0.0] * (ROUNDS - len(line)) + line for line in lines])


_PLANS = _plans()


def _last_errors(n: int, m: int, d: int, rho: float, error: float) -> list[float]:
    """Predict the final errors of all plans, as ``_follow`` does for one plan."""
    found = np.empty(len(_PLANS))
    caution = 1 + 2 / math.sqrt(d)
    _predict(_PLANS, 1 / m - 1 / n, caution, noise(m, d, rho) ** 2, noise(n, d, rho) ** 2, float(error), found)
    errors: list[float] = found.tolist()
    return errors


@compiled
def _predict(
    plans: Floats, sampling: float, caution: float, some: float, every: float, error: float, found: Floats
) -> None:
    """Write the final error of each plan; ``some`` and ``every`` are the squared noise for the sample and all rows."""
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
    """Predict the rounds of one plan."""
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
