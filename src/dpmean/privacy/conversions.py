"""Composition of costs, and conversion between notions of privacy; every result is rounded to the safe side.

This is one file because all conversions share the same rounding rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Integral

from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.privacy.budgets import ApproxDp, Number, PureDp, Zcdp, positive, proper_delta

# Logarithms and exponentials are computed with 160 digits (the decimal module rounds them correctly) and then
# moved to the safe side at the 40th digit, far more than their error: a sum of terms of any size by 1e-40 plus
# 1e-40 of itself, a product by 1e-40 of itself.
_DIGITS = Context(prec=160)
_MARGIN = Fraction(1, 10**40)
_KEPT = 10**30
_SMALLEST_DELTA = Fraction(1, 10**300)
_LARGEST_EXPONENT = 1000


def _ln(x: Fraction) -> Fraction:
    return Fraction(_DIGITS.ln(_decimal(x)))


def _exp(x: Fraction) -> Fraction:
    return Fraction(_DIGITS.exp(_decimal(x)))


def _decimal(x: Fraction) -> Decimal:
    return _DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator))


def _kept(x: Fraction) -> int:
    """Return a power of ten that keeps 30 significant digits of x."""
    zeros = max(0, x.denominator.bit_length() - x.numerator.bit_length()) * 3 // 10
    return _KEPT * int(10**zeros)


def _up(x: Fraction, *, product: bool = False) -> Fraction:
    x += _MARGIN * (abs(x) if product else 1 + abs(x))
    return Fraction(math.ceil(x * _kept(x)), _kept(x)) if x > 0 else Fraction(0)


def _down(x: Fraction) -> Fraction:
    x -= _MARGIN * (1 + abs(x))
    return Fraction(math.floor(x * _kept(x)), _kept(x)) if x > 0 else Fraction(0)


def rounded_up(value: Fraction) -> float:
    """Return the smallest float at or above a fraction."""
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def _best_order(objective: Callable[[float], float]) -> Fraction:
    """Find the order alpha > 1 that minimises a unimodal function, in floats: any order is valid."""
    low, high, golden = -30.0, 80.0, (math.sqrt(5) - 1) / 2
    for _ in range(150):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if objective(1 + math.exp(left)) <= objective(1 + math.exp(right)):
            high = right
        else:
            low = left
    return 1 + Fraction(math.exp((low + high) / 2))


def _tight_term(alpha: Fraction, delta: Fraction) -> Fraction:
    """Return ``ln(1 - 1/alpha) - ln(delta alpha)/(alpha - 1)``, which the conversion adds to ``rho alpha``."""
    return _ln(1 - 1 / alpha) - _ln(delta * alpha) / (alpha - 1)


def _tight_term_float(alpha: float, log_delta: float) -> float:
    return math.log1p(-1 / alpha) - (log_delta + math.log(alpha)) / (alpha - 1) if alpha > 1 else math.inf


def tight_epsilon(budget: Zcdp, delta: Number) -> Fraction:
    """Return the epsilon of the (epsilon, delta)-DP that a zCDP budget implies (Canonne et al. 2020, Prop. 12).

    The proposition holds at every order alpha > 1, so an order that was found in floats gives a valid epsilon.

    Args:
        budget: The budget in zCDP.
        delta: The delta of the guarantee.

    """
    delta = proper_delta(delta)
    budget = _concentrated(budget)
    rho, log_delta = float(budget.rho), float(_ln(delta))
    alpha = _best_order(lambda a: rho * a + _tight_term_float(a, log_delta))
    return _up(budget.rho * alpha + _tight_term(alpha, delta))


def tight_epsilon_at(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """Return the epsilon that a Rényi divergence at one order implies, by the same proposition."""
    return max(_up(divergence + _tight_term(order, delta)), Fraction(1, _KEPT))


def simple_epsilon(budget: Zcdp, delta: Number) -> Fraction:
    """Return the simpler, larger epsilon of the paper, ``rho + 2 sqrt(rho ln(1/delta))``.

    Args:
        budget: The budget in zCDP.
        delta: The delta of the guarantee.

    """
    root = Fraction(_DIGITS.sqrt(_decimal(_concentrated(budget).rho * -_ln(proper_delta(delta)))))
    return _up(budget.rho + 2 * root)


def tight_delta(budget: Zcdp, epsilon: Number) -> Fraction:
    """Return the delta of the (epsilon, delta)-DP that a zCDP budget implies, by the proposition of ``tight_epsilon``.

    Args:
        budget: The budget in zCDP.
        epsilon: The epsilon of the guarantee.

    """
    wanted = positive(epsilon, "epsilon")
    rho, eps = float(_concentrated(budget).rho), float(wanted)

    def log_delta(a: float) -> float:
        return (a - 1) * (a * rho - eps + math.log1p(-1 / a)) - math.log(a) if a > 1 else math.inf

    alpha = _best_order(log_delta)
    log = (alpha - 1) * (alpha * budget.rho - wanted + _ln(1 - 1 / alpha)) - _ln(alpha)
    return max(_up(_exp(log), product=True), _SMALLEST_DELTA) if log < 0 else Fraction(1)


def order_for_zcdp(budget: ApproxDp) -> Fraction:
    """Return the order at which the largest zCDP budget that implies the given one is found."""
    eps, log_delta = float(budget.epsilon), float(_ln(budget.delta))
    return _best_order(lambda a: -(eps - _tight_term_float(a, log_delta)) / a)


def divergence_allowed(order: Fraction, budget: ApproxDp) -> Fraction:
    """Return the Rényi divergence at one order that implies the given budget; zero if there is none."""
    return _down(budget.epsilon - _tight_term(order, budget.delta))


def zcdp_that_implies(budget: ApproxDp) -> Zcdp:
    """Return the largest zCDP budget that is proved to imply the given one.

    Args:
        budget: The epsilon and the delta.

    """
    if not isinstance(budget, ApproxDp):
        kind = type(budget).__name__
        raise ArgumentTypeError(f"a budget such as dpmean.ApproxDp(1.0, 1e-6) is needed, got a {kind}")
    epsilon, delta = budget.epsilon, budget.delta
    alpha = order_for_zcdp(budget)
    # The conversion back may find an order that differs in the last digits: a slightly smaller rho stays below epsilon.
    rho = _down((epsilon - _tight_term(alpha, delta)) / alpha * (1 - Fraction(1, 10**13)))
    if rho <= 0:
        raise ArgumentError(f"{budget} is too small to be expressed in zCDP: raise epsilon or delta")
    return Zcdp(rho)


def zcdp_implied_by(cost: Zcdp | PureDp) -> Zcdp:
    """Return the cost of a step in zCDP; pure differential privacy costs ``epsilon^2 / 2``.

    Args:
        cost: The cost, in zCDP or pure differential privacy.

    """
    if isinstance(cost, PureDp):
        return Zcdp(cost.epsilon**2 / 2)
    return _concentrated(cost)


def two_steps(cost: Zcdp | PureDp | ApproxDp) -> Zcdp | PureDp | ApproxDp:
    """Return a cost for datasets that are two steps apart: 4 rho, 2 epsilon, (1 + e^epsilon) delta.

    Group privacy: Bun and Steinke 2016, Proposition 1.9; Dwork and Roth 2014, Theorem 2.2.
    """
    if isinstance(cost, ApproxDp):
        if cost.epsilon > _LARGEST_EXPONENT or (delta := _up((1 + _exp(cost.epsilon)) * cost.delta, product=True)) >= 1:
            raise ArgumentError(
                f"{cost} guarantees nothing for datasets that are two steps apart: its delta is too large"
            )
        return ApproxDp(2 * cost.epsilon, delta)
    return PureDp(2 * cost.epsilon) if isinstance(cost, PureDp) else Zcdp(4 * _concentrated(cost).rho)


def _concentrated(budget: Zcdp) -> Zcdp:
    """Refuse values other than zCDP budgets, such as numbers and releases."""
    if not isinstance(budget, Zcdp):
        kind = type(budget).__name__
        raise ArgumentTypeError(f"a budget such as dpmean.Zcdp(0.5) or release.cost is needed, got a {kind}")
    return budget


def to_approx(budget: Zcdp | PureDp, delta: Number) -> ApproxDp:
    """Return the epsilon and delta that a budget implies.

    Args:
        budget: The budget, in zCDP or pure differential privacy.
        delta: The delta of the guarantee.

    """
    if isinstance(budget, PureDp):
        return ApproxDp(budget.epsilon, delta)
    return ApproxDp(max(tight_epsilon(budget, delta), Fraction(1, _KEPT)), delta)


def cost_of_flips(lie: Fraction) -> Fraction:
    """Return the rho of a bit that is flipped with probability ``lie`` < 1/2: randomized response in zCDP.

    With epsilon = ln((1 - lie) / lie) it is epsilon tanh(epsilon / 2), and tanh(epsilon / 2) = 1 - 2 lie.
    """
    return _up((1 - 2 * lie) * _ln((1 - lie) / lie), product=True)


def compose_zcdp(costs: Iterable[Zcdp | PureDp]) -> Zcdp:
    """Add up costs in zCDP (Lemma 2.2, item 3); the sum is exact.

    Args:
        costs: The costs, in zCDP or pure differential privacy.

    """
    return Zcdp(sum((zcdp_implied_by(cost).rho for cost in costs), start=Fraction(0)))


def compose_basic(costs: Iterable[ApproxDp | PureDp]) -> ApproxDp | PureDp:
    """Add up epsilons and deltas (Lemma 2.2, item 1).

    Args:
        costs: The costs, in approximate or pure differential privacy.

    """
    costs = tuple(_with_epsilon(cost) for cost in costs)
    epsilon = sum((cost.epsilon for cost in costs), start=Fraction(0))
    delta = sum((cost.delta for cost in costs if isinstance(cost, ApproxDp)), start=Fraction(0))
    return ApproxDp(epsilon, delta) if delta else PureDp(epsilon)


def _with_epsilon(cost: ApproxDp | PureDp) -> ApproxDp | PureDp:
    if not isinstance(cost, ApproxDp | PureDp):
        kind = type(cost).__name__
        raise ArgumentTypeError(f"a cost such as dpmean.ApproxDp(1.0, 1e-6) or PureDp(1.0) is needed, got a {kind}")
    return cost


def compose_advanced(cost: ApproxDp | PureDp, times: int, slack: Number) -> ApproxDp:
    """Compose equal costs with an additional delta: advanced composition (Lemma 2.2, item 2).

    Args:
        cost: The cost of one step.
        times: The number of steps.
        slack: The additional delta.

    """
    if _with_epsilon(cost).epsilon > 1000:
        raise ArgumentError(f"advanced composition needs an epsilon of at most 1000, got {float(cost.epsilon):g}")
    if isinstance(times, bool) or not isinstance(times, Integral) or times < 1:
        raise ArgumentError(f"times must be an integer of at least 1, got {times}")
    times = int(times)
    spare = proper_delta(slack)
    root = Fraction(_DIGITS.sqrt(_decimal(2 * times * -_ln(spare))))
    epsilon = _up(root * cost.epsilon + times * cost.epsilon * (_exp(cost.epsilon) - 1))
    delta = cost.delta if isinstance(cost, ApproxDp) else Fraction(0)
    return ApproxDp(epsilon, times * delta + spare)
