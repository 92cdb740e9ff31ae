"""The costs and the noise of answers in the central model, computed from public numbers only.

All noise is discrete Gaussian on integers: an answer of l2 sensitivity S with variance v in each of its entries costs
S^2 / (2 v) zCDP.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpmean.errors import OverspendError
from dpmean.numerics.noisy_search import questions
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours

COUNT_SHARES = (1, 24)
"""The division of a budget if the number of rows is private: for the count, and for the mean."""


def share_of_counts(neighbours: Neighbours, *, values: bool) -> int:
    """Return the 25ths of a budget that counts take: of rows, if their number is private, and of values."""
    return COUNT_SHARES[0] * ((neighbours is Neighbours.ADD_OR_REMOVE_ONE) + values)


def split(budget: Zcdp, *shares: int) -> tuple[Zcdp, ...]:
    """Split a budget in proportion to ``shares``; every row is in every answer, so costs add up."""
    return tuple(budget.share(share, sum(shares)) for share in shares)


def left_for_mean(budget: Zcdp, neighbours: Neighbours, *, values: bool = False) -> Zcdp:
    """Return the budget for the mean, after rows (if their number is private) and values (if requested) are counted."""
    taken, whole = share_of_counts(neighbours, values=values), sum(COUNT_SHARES)
    return budget.share(whole - taken, whole) if taken else budget


def variance_at(square: int, cost: Fraction) -> Fraction:
    """Return the variance at which an answer with the given squared sensitivity has the given cost."""
    if cost <= 0:
        raise OverspendError(f"the cost of an answer must be positive, got {cost}")
    return Fraction(square) / (2 * cost)


def count_variance(points: int, size: int, cost: Fraction) -> Fraction:
    """Return the variance of the noise on each count of ``size`` binary searches among ``points`` points.

    One row, replaced or absent, changes each count by at most one. So one query about all values has sensitivity
    sqrt(size), and all queries together cost questions * size / (2 variance).
    """
    return variance_at(questions(points) * size, cost)


def count_std(points: int, size: int, budget: Zcdp) -> float:
    """Return the standard deviation of the noise on those counts."""
    return math.sqrt(count_variance(points, size, budget.rho))


def rows_to_clip(d: int, budget: Zcdp, neighbours: Neighbours) -> float:
    """Return the optimal number of rows to clip: sqrt(2 d / rho) (section 3.1), half of it if n is private."""
    return math.sqrt(2 * d / budget.rho) * neighbours.contributions / 2


def describe_noise(variance: Fraction) -> str:
    """Return a description of the noise of an answer, for its receipt."""
    return f"discrete Gaussian of std {math.sqrt(variance):.4g}"
