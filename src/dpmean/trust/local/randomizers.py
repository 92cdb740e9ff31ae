"""What a device does to its answer before anybody sees it: a lying bit, or a vector that hides in a half space.

Every law here is exact: probabilities are whole multiples of 2^-64, and what they protect is computed from these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

from dpmean.errors import ArgumentError
from dpmean.noise.exact import exp_bounds
from dpmean.privacy.budgets import PureDp, Zcdp
from dpmean.privacy.conversions import cost_of_flips

Budget = Zcdp | PureDp
WORD = 1 << 64
SCALE_BITS = 30
"""Proposals of a half-space answer have standard deviation 2^30."""
MOST_COLUMNS = 4096
"""The proof for half spaces is about at most so many columns."""
_BITS = 128
_SMALLEST_EPSILON, _LARGEST_EPSILON = Fraction(1, 50), Fraction(16)


@lru_cache(maxsize=64)
def lies(budget: Budget) -> int:
    """Return how often of 2^64 times a bit must be flipped, so that it costs no more than the budget."""
    if isinstance(budget, PureDp):
        _, high = exp_bounds(budget.epsilon, _BITS)  # exp(-epsilon) <= high / 2^128
        return -(-WORD * high // ((1 << _BITS) + high))
    low, high = 1, WORD // 2  # flipping half of the time tells nothing
    while high - low > 1:
        middle = (low + high) // 2
        if _float_cost(middle) <= budget.rho:
            high = middle
        else:
            low = middle
    step = 1
    while cost_of_flips(Fraction(high, WORD)) > budget.rho:  # floats are wrong in their last digits
        high, step = high + step, 2 * step
    return min(high, WORD // 2)


def _float_cost(lie: int) -> float:
    q = lie / WORD
    return (1 - 2 * q) * math.log((1 - q) / q)


def flips_are_covered(lie: int, budget: Budget) -> bool:
    """Return whether a bit that is flipped ``lie`` of 2^64 times costs no more than the budget."""
    if not 0 < lie <= WORD // 2:
        return False
    if isinstance(budget, Zcdp):
        return lie == WORD // 2 or cost_of_flips(Fraction(lie, WORD)) <= budget.rho
    return lie >= lies(budget)


def unit_variance(lie: int) -> float:
    """Return the variance of a share as one flipped bit tells it, at most."""
    q = lie / WORD
    return q * (1 - q) / (1 - 2 * q) ** 2 + 0.25


@final
@dataclass(frozen=True, slots=True)
class HalfSpace:
    """PrivUnit with normal vectors (Asi, Feldman, Talwar 2022): z is kept always if <z, u> >= threshold, else rarely.

    z has independent discrete Gaussian entries of standard deviation s = 2^30, u is the direction of the row. Outside
    the half space z is kept ``outside`` of 2^64 times.
    """

    threshold: float
    outside: int

    @property
    def gain(self) -> float:
        """Return the mean of <z, u> / s over what is kept."""
        a, q = self.outside / WORD, _beyond(self.threshold)
        return (1 - a) * math.exp(-(self.threshold**2) / 2) / math.sqrt(2 * math.pi) / (q + a * (1 - q))


@lru_cache(maxsize=64)
def half_space(epsilon: Fraction) -> HalfSpace:
    """Return the half space that tells most about a direction at this epsilon.

    The probability of the half space depends on the direction by less than 2^-20 (see the proof in
    docs/privacy_guarantee.md), and is at least 0.02, so eta = 2^-12 of epsilon pays for that.
    """
    if not _SMALLEST_EPSILON <= epsilon <= _LARGEST_EPSILON:
        raise ArgumentError(
            f"in the local model epsilon must lie between {float(_SMALLEST_EPSILON)} and "
            f"{float(_LARGEST_EPSILON):g}, got {float(epsilon):g}"
        )
    _, high = exp_bounds(epsilon - Fraction(1, 1 << 12), _BITS)
    outside = -(-high >> (_BITS - 64))
    choices = [HalfSpace(k / 64, outside) for k in range(128)]
    return max((one for one in choices if _beyond(one.threshold) >= 0.021), key=lambda one: one.gain)


def half_space_is_covered(answer: HalfSpace, budget: Budget) -> bool:
    """Return whether an answer from a half space costs no more than the budget."""
    if not isinstance(budget, PureDp) or _beyond(answer.threshold) < 0.0205 or answer.threshold < 0:
        return False
    return half_space(budget.epsilon).outside <= answer.outside <= WORD


def _beyond(threshold: float) -> float:
    """Return the probability that a standard normal number is at least ``threshold``."""
    return math.erfc(threshold / math.sqrt(2)) / 2


def vector_variance(radius: int, budget: Zcdp) -> Fraction:
    """Return the variance of discrete Gaussian noise that hides any vector of norm at most ``radius`` among them."""
    return Fraction((2 * radius) ** 2) / (2 * budget.rho)
