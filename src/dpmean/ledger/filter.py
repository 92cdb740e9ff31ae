"""A privacy filter for a budget in epsilon and delta: it bounds the total cost of adaptively chosen releases.

Costs in several notions are added as Rényi divergences at *one* order alpha. If later costs depend on earlier answers,
and the sum at this order stays within a bound that was fixed beforehand, the total divergence is within this bound
(Feldman and Zrnic, "Individual Privacy Accounting via a Rényi Filter", 2021). Choosing the best order at the end would
not be valid, because the best order may depend on the answers. The amount spent is computed at the same order, and
holds at any time. Events outside the curves (``delta`` and ``distance`` of ``Renyi``) are paid from a part of delta
that is set aside beforehand, for the same reason.

The first cost, which depends on no answer, determines the order and the part: those at which most releases like the
first one fit. For a pure epsilon this would be the largest order, at which hardly any zCDP fits. Therefore, if the
first cost is less than half of the budget, the order is restricted to those that leave about half of the rho to others;
more than four fifths as many releases like the first one still fit.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

from dpmean.errors import ArgumentError
from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
from dpmean.privacy.conversions import divergence_allowed, order_for_zcdp, tight_epsilon, zcdp_that_implies
from dpmean.privacy.renyi import ORDERS, Renyi

Cost = Zcdp | PureDp | ApproxDp | Renyi
"""A privacy cost in any notion."""
_PARTS = (Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
"""The parts of delta that may be set aside; a release in the shuffle model uses up to a tenth of its delta."""
_MOST = Fraction(1, 2)
"""If the first cost is pure and at least this part of the budget, costs are added as pure epsilons."""


@final
@dataclass(frozen=True, slots=True)
class Allowance:
    """The bound on the total cost of all releases.

    Attributes:
        order: The Rényi order, or None for all orders, that is, pure differential privacy.
        divergence: The maximum sum of Rényi divergences at this order.
        outside: The maximum sum of the probabilities of events outside the curves.
        epsilon: The epsilon of the budget; a statistical distance t counts as (1 + e^epsilon) t outside.

    """

    order: Fraction | None
    divergence: Fraction
    outside: Fraction
    epsilon: Fraction

    def price(self, cost: Cost) -> tuple[Fraction, Fraction] | None:
        """Return the divergence and the outside probability of a cost; None if it is infinite at this order."""
        inside = _divergence(cost, self.order)
        return None if inside is None else (inside, _outside(cost, self.epsilon))

    def left(self, costs: Sequence[Cost]) -> tuple[Fraction, Fraction] | None:
        """Return what is left of both; None if the costs exceed the bound."""
        prices = [self.price(cost) for cost in costs]
        if None in prices:
            return None
        inside = self.divergence - sum((price[0] for price in prices if price), start=Fraction(0))
        outside = self.outside - sum((price[1] for price in prices if price), start=Fraction(0))
        return (inside, outside) if inside >= 0 and outside >= 0 else None

    def share(self, cost: Cost) -> float:
        """Return a cost as a share of the bound; a share above 1 is too large."""
        price = self.price(cost)
        if price is None:
            return math.inf
        return max(_ratio(price[0], self.divergence), _ratio(price[1], self.outside))


@lru_cache(maxsize=256)
def allowance_for(budget: ApproxDp, first: Cost) -> Allowance:
    """Return the bound of a budget, which depends on the first cost only."""
    found = min((_set_aside(budget, part * budget.delta, first) for part in _PARTS), key=lambda a: a.share(first))
    pure = Allowance(None, budget.epsilon, budget.delta, budget.epsilon)
    alone = found.share(first) > 1  # nothing is left for others in any case
    if pure.share(first) < found.share(first) and (alone or _takes_most(first, budget)):
        return pure
    needed = _outside(first, budget.epsilon)
    if alone and needed < budget.delta:
        return _set_aside(budget, needed, first)  # it may fit if nothing is left for others
    return found


def fits(budget: ApproxDp, costs: Sequence[Cost]) -> bool:
    """Return whether costs, in this sequence, are within a budget."""
    return not costs or allowance_for(budget, costs[0]).left(costs) is not None


def only_pure(budget: Zcdp | ApproxDp, costs: Sequence[Cost]) -> bool:
    """Return whether costs are added as pure epsilons, so that only pure costs fit in the rest."""
    return isinstance(budget, ApproxDp) and bool(costs) and allowance_for(budget, costs[0]).order is None


def epsilon_left(budget: ApproxDp, costs: Sequence[Cost], times: int = 1) -> Fraction:
    """Return the largest epsilon of one more release in the central model, at the delta of the budget.

    If costs are added as pure epsilons, it is a pure epsilon. The release is charged ``times`` its rho.
    """
    if not costs and times == 1:
        return budget.epsilon
    if costs:
        allowance = allowance_for(budget, costs[0])
        left = allowance.left(costs)
        if left is None or left[0] <= 0:
            return Fraction(0)
        if allowance.order is None:
            return left[0]
        rho = left[0] / allowance.order / times
    else:
        rho = zcdp_that_implies(budget).rho / times
    if rho < Fraction(1, 10**12):
        return Fraction(0)
    epsilon = tight_epsilon(Zcdp(rho), budget.delta)
    while zcdp_that_implies(ApproxDp(epsilon, budget.delta)).rho > rho:  # both conversions round to the safe side
        epsilon *= 1 - Fraction(1, 10**9)
    return min(epsilon, budget.epsilon)


def epsilon_spent(budget: ApproxDp, costs: Sequence[Cost]) -> Fraction:
    """Return the total epsilon of all costs at the delta of the budget, at the order that the first cost fixed.

    It holds at any time, because the order depends on no answer. For a few small costs it is much larger than at the
    order that is best for them, which is not known beforehand.
    """
    if not costs:
        return Fraction(0)
    left = allowance_for(budget, costs[0]).left(costs)
    if left is None:
        raise ArgumentError("these costs exceed the budget")
    return budget.epsilon - left[0]  # the bound is the epsilon of the budget minus the loss of the conversion


def _set_aside(budget: ApproxDp, outside: Fraction, first: Cost) -> Allowance:
    """Return the bound with the best order for a first cost, if this part of delta is set aside."""
    rest = ApproxDp(budget.epsilon, budget.delta - outside)
    log = float(math.log(rest.delta.numerator) - math.log(rest.delta.denominator))

    def about(order: Fraction) -> float:
        alpha, inside = float(order), _divergence(first, order)
        allowed = float(budget.epsilon) + (log + math.log(alpha)) / (alpha - 1) - math.log1p(-1 / alpha)
        return math.inf if inside is None or inside > 10**9 or allowed <= 0 else float(inside) / allowed

    def room(order: Fraction) -> float:
        """Return the rho that fits at an order."""
        alpha = float(order)
        return (float(budget.epsilon) + (log + math.log(alpha)) / (alpha - 1) - math.log1p(-1 / alpha)) / alpha

    best = order_for_zcdp(rest)
    orders = [best, *map(Fraction, ORDERS)]
    if isinstance(first, PureDp | ApproxDp) and not _takes_most(first, budget):
        orders = [order for order in orders if room(order) >= room(best) / 2]
    order = min(orders, key=about)  # any order is valid, so floats may choose
    return Allowance(order, divergence_allowed(order, rest), outside, budget.epsilon)


def _takes_most(cost: Cost, budget: ApproxDp) -> bool:
    return isinstance(cost, PureDp | ApproxDp) and cost.epsilon >= _MOST * budget.epsilon


def _divergence(cost: Cost, order: Fraction | None) -> Fraction | None:
    """Return the Rényi divergence of a cost at an order, or an upper bound; None if it is infinite."""
    if isinstance(cost, PureDp | ApproxDp):
        return cost.epsilon if order is None else min(cost.epsilon, cost.epsilon**2 * order / 2)
    if order is None:
        return None
    if isinstance(cost, Zcdp):
        return cost.rho * order
    # (alpha - 1) times the divergence is convex in alpha, and not positive at 1: between two orders the chord is above
    if order <= ORDERS[0]:
        return Fraction(cost.curve[0])
    if order > ORDERS[-1]:
        return None
    k = min(bisect_right(ORDERS, order), len(ORDERS) - 1)
    low, high = ORDERS[k - 1], ORDERS[k]
    ends = (low - 1) * Fraction(cost.curve[k - 1]), (high - 1) * Fraction(cost.curve[k])
    part = (order - low) / (high - low)
    return ((1 - part) * ends[0] + part * ends[1]) / (order - 1)


def _outside(cost: Cost, epsilon: Fraction) -> Fraction:
    """Return the probability of events outside the curve of a cost."""
    if isinstance(cost, ApproxDp):
        return cost.delta  # except with this probability, a pure epsilon holds
    if not isinstance(cost, Renyi):
        return Fraction(0)
    if not cost.distance:
        return cost.delta
    far = (1 + math.exp(min(float(epsilon), 700.0))) * cost.distance * (1 + 1e-9)
    return cost.delta + Fraction(far)


def _ratio(part: Fraction, whole: Fraction) -> float:
    if part <= 0:
        return 0.0
    if part > whole:
        return math.inf if whole <= 0 else max(float(part / whole), math.nextafter(1.0, 2.0))
    return min(float(part / whole), 1.0)
