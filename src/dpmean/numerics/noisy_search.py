"""PrivQuant (Algorithm 1 of the paper): a noisy binary search for a quantile, for many values at once."""

from __future__ import annotations

import math

import numpy as np

from dpmean.queries.interfaces import RankCounter
from dpmean.queries.queries import Ints


def questions(points: int) -> int:
    """Return the number of comparisons that a binary search among ``points`` points needs."""
    return (points - 1).bit_length()


def rank_error(noise_std: float, comparisons: int, failure: float) -> float:
    """Return tau: with probability 1 - failure, no comparison errs by more ranks (Theorem 3.1, corrected).

    The tail of the Gaussian is P[|Z| > t] <= 2 exp(-t^2 / (2 sd^2)). This gives the factor 2 inside the root, which the
    paper's statement lacks. Only one side of the tail can mislead a comparison.
    """
    return noise_std * math.sqrt(2 * math.log(max(comparisons, 1) / failure))


def search(counter: RankCounter, rank: float) -> Ints:
    """Return, for each value, the approximate index of the first point with more than ``rank`` rows at or below it.

    The number of queries does not depend on the answers: it is the number that was paid for.
    """
    if counter.size == 1:
        return np.array([_search_one(counter, rank)])
    left = np.zeros(counter.size, dtype=np.int64)
    right = np.full(counter.size, counter.points - 1, dtype=np.int64)
    for _ in range(counter.questions):
        middle = (left + right) // 2
        too_low = counter.count_at_most(middle) <= rank
        left = np.where(too_low, np.minimum(middle + 1, right), left)
        right = np.where(too_low, right, middle)
    return right


def _search_one(counter: RankCounter, rank: float) -> int:
    """Search for one value: the same algorithm, without arrays of length one."""
    left, right, index = 0, counter.points - 1, np.empty(1, dtype=np.int64)
    for _ in range(counter.questions):
        index[0] = middle = (left + right) // 2
        if counter.count_at_most(index)[0] <= rank:
            left = min(middle + 1, right)
        else:
            right = middle
    return right
