"""Rényi differential privacy: the costs of shuffled counts and sums at each order, and their conversion.

A cost is a curve, which bounds the Rényi divergence at some integer orders, and a delta for events outside of the
bounds. Costs of steps add up, also if later steps depend on earlier answers. Curves are floats: logarithms of moments
are sums of some ten thousand terms, with errors below 1e-10, and are raised by ten times that. The conversion to
(epsilon, delta) is exact, and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import final

from dpmean.errors import ArgumentError
from dpmean.privacy.budgets import Number, PureDp, Zcdp, proper_delta
from dpmean.privacy.conversions import tight_epsilon_at

ORDERS: tuple[int, ...] = (*range(2, 24), *(round(24 * 1.12**k) for k in range(41)))
"""From 2 to about 2200; small budgets need large orders (the best one is near 2 ln(1/delta) / epsilon)."""
_RAISED, _ROUNDING = 1 + 1e-9, 1e-9


@final
@dataclass(frozen=True, slots=True)
class Renyi:
    """The cost of a step in Rényi differential privacy.

    Attributes:
        curve: A bound on the Rényi divergence at each order: ``curve[i]`` at order ``ORDERS[i]``.
        delta: The probability of an event outside of which the bounds hold.
        distance: The statistical distance between the distribution that is bounded and the actual one.

    """

    curve: tuple[float, ...]
    delta: Fraction = Fraction(0)
    distance: float = 0.0

    def __post_init__(self) -> None:
        if len(self.curve) != len(ORDERS) or not all(0 <= value < math.inf for value in self.curve):
            raise ArgumentError(f"a Rényi curve must have {len(ORDERS)} non-negative numbers")
        if not 0 <= self.delta < 1 or not 0 <= self.distance < 1:
            raise ArgumentError(f"delta and distance must lie between 0 and 1, got {self.delta} and {self.distance}")

    def __add__(self, other: Renyi) -> Renyi:
        curve = tuple(a + b for a, b in zip(self.curve, other.curve, strict=True))
        return Renyi(curve, self.delta + other.delta, _up(self.distance + other.distance))

    def apart(self, distance: float) -> Renyi:
        """Return the cost of a distribution within a statistical distance of this one."""
        return Renyi(self.curve, self.delta, min(distance, 0.5))

    def epsilon(self, delta: Number) -> Fraction:
        """Return an epsilon such that this cost implies (epsilon, delta)-DP (Canonne et al. 2020, Prop. 12).

        The proposition is proved for one order and for all events. So it holds for the rest of a distribution after an
        event of probability ``self.delta`` is removed, and this probability is added. A distance t on both sides adds
        (1 + e^epsilon) t to delta: epsilon is increased until the total is at most delta.
        """
        asked, epsilon = proper_delta(delta), Fraction(0)
        for _ in range(200):
            left = asked - self.delta - Fraction((1 + math.exp(min(float(epsilon), 700.0))) * self.distance * _RAISED)
            if left <= 0:
                spent = float(asked - left)
                raise ArgumentError(f"delta must exceed {spent:.3g}, the delta of this cost itself, got {delta}")
            enough = self._epsilon(left)
            if enough <= epsilon:
                return epsilon
            epsilon = enough * (1 + Fraction(1, 10**9)) if self.distance else enough
        raise ArgumentError(f"delta = {delta} is too small for any epsilon")

    def _epsilon(self, delta: Fraction) -> Fraction:
        log = math.log(delta)

        def about(order: int, divergence: float) -> float:
            return divergence - (log + math.log(order)) / (order - 1) + math.log1p(-1 / order)

        order, divergence = min(zip(ORDERS, self.curve, strict=True), key=lambda pair: about(*pair))
        return tight_epsilon_at(Fraction(order), Fraction(divergence), delta)

    def __str__(self) -> str:
        return f"Rényi divergence of about {self.curve[0] / 2:.3g} alpha"


NOTHING = Renyi((0.0,) * len(ORDERS))


def renyi_of(cost: Renyi | Zcdp | PureDp) -> Renyi:
    """Return the curve of any cost."""
    if isinstance(cost, Renyi):
        return cost
    if isinstance(cost, Zcdp):
        return Renyi(tuple(_up(float(cost.rho) * order) for order in ORDERS))
    epsilon = float(cost.epsilon)
    return Renyi(tuple(_up(min(epsilon, epsilon**2 * order / 2)) for order in ORDERS))


def compose(costs: Iterable[Renyi | Zcdp | PureDp]) -> Renyi:
    """Add up costs."""
    return sum((renyi_of(cost) for cost in costs), start=NOTHING)


def _up(value: float) -> float:
    return value * _RAISED


# --- counts hidden by a Poisson blanket ----------------------------------------------------------------------


@lru_cache(maxsize=256)
def poisson_counts(blanket: int, shifts: int, delta: Fraction) -> Renyi:
    """Return the cost of counts with Poisson(blanket) noise, ``shifts`` of which fall by one, and as many rise by one.

    Let K be Poisson with mean L. If a count falls by one, K + 1 becomes K: the likelihood ratio is k / L, and its
    moments are finite. If it rises, K becomes K + 1 and the ratio is L / k, infinite at 0: outcomes below a floor are
    removed, with the largest floor for which ``shifts * P[K < floor] <= delta``.
    """
    outside = float(delta) / shifts * 1e-9
    first, logs = _poisson_logs(blanket, outside)
    floor, below = first, outside
    while shifts * (below + math.exp(logs[floor - first])) * _RAISED <= delta:
        below += math.exp(logs[floor - first])
        floor += 1
    if floor < 1:
        raise ArgumentError(f"a blanket of {blanket} messages is too small for delta = {float(delta):.3g}")
    law = _spread_out(blanket, max(first, 1), logs[max(1 - first, 0) :])
    above = _spread_out(blanket, floor, logs[floor - first :])
    curve = []
    for order in ORDERS:
        falls, rises = _log_of_falls(order, blanket, law, outside), _log_of_rises(order, above, outside)
        curve.append(_up(shifts * (falls + max(rises, 0.0) + _ROUNDING) / (order - 1)))
    return Renyi(tuple(curve), Fraction(shifts * below * _RAISED))


def _poisson_logs(mean: int, outside: float) -> tuple[int, list[float]]:
    """Return a first number, and the logarithms of probabilities from it on; a tail left out is below ``outside``."""
    far = -math.log(outside)
    first = max(0, math.floor(mean - math.sqrt(2 * mean * far)))  # P[K <= L - t] <= exp(-t^2 / 2L)
    # P[K >= L + t] <= exp(-t^2 / (2L + 2t/3))
    last = math.ceil(mean + far / 3 + math.sqrt(far**2 / 9 + 2 * mean * far))
    last += math.ceil(1.3 * min(mean / 2, ORDERS[-1]))  # moments are largest near mean + order
    steps = [0.0, *(math.log(mean / k) for k in range(first + 1, last + 1))]
    logs = list(accumulate(steps))
    total = _log_sum(logs)
    return first, [log - total for log in logs]


def _spread_out(mean: int, first: int, logs: list[float]) -> list[tuple[float, float]]:
    """Return pairs of ln(k / mean) and the logarithm of a probability, for a few numbers k instead of all.

    The probabilities within a sixteenth of a standard deviation are moved to its two ends such that their mean stays.
    Expectations of convex functions, such as all powers here, can only grow by this.
    """
    width = max(1, math.isqrt(mean) // 16)
    if width == 1:
        return [(math.log((first + i) / mean), log) for i, log in enumerate(logs)]
    ends: dict[int, float] = {}
    for start in range(0, len(logs), width):
        last = min(start + width, len(logs)) - 1
        for i in range(start, last + 1):
            chance, part = math.exp(logs[i]), (i - start) / (last - start) if last > start else 0.0
            ends[start] = ends.get(start, 0.0) + chance * (1 - part)
            ends[last] = ends.get(last, 0.0) + chance * part
    return [(math.log((first + i) / mean), math.log(chance)) for i, chance in sorted(ends.items()) if chance > 0]


def _log_sum(logs: list[float]) -> float:
    """Return the logarithm of a sum from the logarithms of its terms."""
    largest = max(logs)
    return largest + math.log(math.fsum(math.exp(log - largest) for log in logs))


def _log_of_falls(order: int, mean: int, law: list[tuple[float, float]], outside: float) -> float:
    """Return ``ln E[(K / L)^order]``, or a bound on it if the order is large relative to the mean.

    As x <= exp(x - 1), it is at most ``L (exp(order / L) - 1) - order``.
    """
    if order * 2 > mean:
        return mean * math.expm1(min(order / mean, 50.0)) - order
    terms = [order * log + chance for log, chance in law]
    last = mean * math.exp(law[-1][0])
    ratio = mean / last * math.exp(order / last)  # bounds the ratio of consecutive terms from here on
    return _log_sum([*terms, terms[-1] + math.log(ratio / (1 - ratio)), math.log(outside)])


def _log_of_rises(order: int, above: list[tuple[float, float]], outside: float) -> float:
    """Return ``ln E[(L / K)^(order - 1)]`` above the floor."""
    return _log_sum([*((1 - order) * log + chance for log, chance in above), math.log(outside)])


# --- sums hidden by Skellam noise ----------------------------------------------------------------------------


def skellam_sum(variance: Fraction, sensitivity: int, d: int) -> Renyi:
    """Return the cost of a sum of integer vectors with Skellam noise and the given l2 sensitivity.

    Agarwal, Kairouz, Liu, "The Skellam Mechanism for Differentially Private Federated Learning" (2021), the theorem on
    Rényi divergences of integer orders. The l1 norm of an integer vector is at most its squared l2 norm.
    """
    if sensitivity < 1:
        raise ArgumentError(f"sensitivity must be an integer of at least 1, got {sensitivity}")
    mu, far = float(variance), float(sensitivity)
    one = min(math.sqrt(d) * far, far**2)
    extra = [min(((2 * order - 1) * far**2 + 6 * one) / (4 * mu**2), 3 * one / (2 * mu)) for order in ORDERS]
    return Renyi(tuple(_up(order * far**2 / (2 * mu) + more) for order, more in zip(ORDERS, extra, strict=True)))


# --- sums split into shares ----------------------------------------------------------------------------------


def shares_needed(honest: int, bits: int, security: float) -> int:
    """Return into how many shares an integer modulo 2^bits must be split so that mixed shares reveal only the sum.

    Two inputs of the honest users with the same sum then give views within a statistical distance of 2^-security:
    Balle, Bell, Gascón and Nissim, "Private Summation in the Multi-Message Shuffle Model" (2020), for 19 users or more.
    """
    check_honest(honest)
    return math.ceil((2 * (security + 1e-6) + bits) / math.log2(honest / math.e) + 2 + 1e-9)


def security_of(honest: int, bits: int, shares: int) -> float:
    """Return the security of a number of shares."""
    check_honest(honest)
    return ((shares - 2) * math.log2(honest / math.e) - bits) / 2 - 1e-6  # more than the rounding errors


def check_honest(honest: int) -> None:
    """Refuse too few honest users for split sums: the theorem is about 19 and more."""
    if honest < 19:
        raise ArgumentError(
            f"split sums need at least 19 honest users, got {honest}: invite more users, or assume more of them honest"
        )


def security_needed(packs: int, epsilon: Fraction, delta: Fraction) -> float:
    """Return the security with which ``packs`` split sums cost at most ``delta``: (1 + e^epsilon) 2^-security each."""
    return math.log2(packs * (1 + math.exp(float(epsilon))) / float(delta)) + 1e-6
