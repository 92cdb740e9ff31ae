"""What may be spent of an epsilon and a delta, whatever the releases and however their costs are chosen.

Costs of several notions add up as Rényi divergences. A budget is kept at *one* order alpha: whoever chooses later costs
after seeing earlier answers, and stops while the sum at that order is within a bound fixed beforehand, has a divergence
within that bound (Feldman and Zrnic, "Individual Privacy Accounting via a Rényi Filter", 2021). Converting at whichever
order turns out best would not do: which one that is could depend on the answers. What was spent is told at that order
too, and holds whenever somebody stops. Events outside the curves (``delta`` and ``distance`` of ``Renyi``) are paid
from a part of delta that is set aside, for the same reason beforehand.

Order and part are fixed by the first cost, which depends on no answer: those at which most releases like it fit. Of a
pure epsilon that would be the largest order, at which zCDP hardly fits; as long as the first is less than half of the
budget, the order is one that leaves about half the rho to others, and more than four fifths as many like the first fit.
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
"""What can be paid for."""
_PARTS = (Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
"""Parts of delta to set aside; a release in the shuffle model uses up to a tenth of its own."""
_MOST = Fraction(1, 2)
"""A pure first cost of this part of the budget decides that costs are added up as pure ones."""


@final
@dataclass(frozen=True, slots=True)
class Allowance:
    """What all releases together may cost.

    Attributes:
        order: the order that is looked at, or None for all of them, that is pure differential privacy.
        divergence: the largest sum of Rényi divergences at this order.
        outside: the largest sum of probabilities of what lies outside them.
        epsilon: of the budget; a statistical distance t counts (1 + e^epsilon) t outside.

    """

    order: Fraction | None
    divergence: Fraction
    outside: Fraction
    epsilon: Fraction

    def price(self, cost: Cost) -> tuple[Fraction, Fraction] | None:
        """Return what a cost takes of divergence and of outside; None if it has no finite price at this order."""
        inside = _divergence(cost, self.order)
        return None if inside is None else (inside, _outside(cost, self.epsilon))

    def left(self, costs: Sequence[Cost]) -> tuple[Fraction, Fraction] | None:
        """Return what is left of both; None if the costs are more than was allowed."""
        prices = [self.price(cost) for cost in costs]
        if None in prices:
            return None
        inside = self.divergence - sum((price[0] for price in prices if price), start=Fraction(0))
        outside = self.outside - sum((price[1] for price in prices if price), start=Fraction(0))
        return (inside, outside) if inside >= 0 and outside >= 0 else None

    def share(self, cost: Cost) -> float:
        """Return which part of the allowance a cost is; above 1, it is too much."""
        price = self.price(cost)
        if price is None:
            return math.inf
        return max(_ratio(price[0], self.divergence), _ratio(price[1], self.outside))


@lru_cache(maxsize=256)
def allowance_for(budget: ApproxDp, first: Cost) -> Allowance:
    """Fix what may be spent of a budget, by the first cost alone."""
    found = min((_set_aside(budget, part * budget.delta, first) for part in _PARTS), key=lambda a: a.share(first))
    pure = Allowance(None, budget.epsilon, budget.delta, budget.epsilon)
    alone = found.share(first) > 1  # it takes all, so that nothing is lost for others
    if pure.share(first) < found.share(first) and (alone or _takes_most(first, budget)):
        return pure
    needed = _outside(first, budget.epsilon)
    if alone and needed < budget.delta:
        return _set_aside(budget, needed, first)  # it may fit alone, if nothing is kept for others
    return found


def fits(budget: ApproxDp, costs: Sequence[Cost]) -> bool:
    """Return whether costs, in this order, are within a budget."""
    return not costs or allowance_for(budget, costs[0]).left(costs) is not None


def only_pure(budget: Zcdp | ApproxDp, costs: Sequence[Cost]) -> bool:
    """Return whether costs are added up as pure ones, so that what is left is a pure epsilon, and nothing else fits."""
    return isinstance(budget, ApproxDp) and bool(costs) and allowance_for(budget, costs[0]).order is None


def epsilon_left(budget: ApproxDp, costs: Sequence[Cost], times: int = 1) -> Fraction:
    """Return the largest epsilon that one more release in the central model may have, at the delta of the budget.

    When only pure costs were paid, and they are added up as such, it is a pure epsilon. ``times`` is how many times its
    rho the release is charged.
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
    while zcdp_that_implies(ApproxDp(epsilon, budget.delta)).rho > rho:  # both ways round to the safe side
        epsilon *= 1 - Fraction(1, 10**9)
    return min(epsilon, budget.epsilon)


def epsilon_spent(budget: ApproxDp, costs: Sequence[Cost]) -> Fraction:
    """Return the epsilon of all costs together at the delta of the budget, at the order that the first one fixed.

    It holds for whoever stops when they like: the order depends on no answer. Of a few small costs it is much more than
    they would be at the order that is best for them, which nobody knew beforehand.
    """
    if not costs:
        return Fraction(0)
    left = allowance_for(budget, costs[0]).left(costs)
    if left is None:
        raise ArgumentError("these costs are not within the budget")
    return budget.epsilon - left[0]  # what was allowed is the budget's epsilon less what the conversion adds


def _set_aside(budget: ApproxDp, outside: Fraction, first: Cost) -> Allowance:
    """Return the allowance with the best order for a first cost, when a part of delta is kept for what lies outside."""
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
    """Return the Rényi divergence of a cost at an order, or a bound on it; None if there is none."""
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
    """Return the probability of what lies outside the curve of a cost."""
    if isinstance(cost, ApproxDp):
        return cost.delta  # with this probability anything may happen, and else a pure epsilon holds
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
