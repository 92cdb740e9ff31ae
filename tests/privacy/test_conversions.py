import json
import math
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from dp_accounting import rdp
from hypothesis import given
from hypothesis import strategies as st

from dpmean import (
    ApproxDp,
    ArgumentError,
    ArgumentTypeError,
    PureDp,
    Zcdp,
    compose_advanced,
    compose_basic,
    compose_zcdp,
    simple_epsilon,
    tight_delta,
    tight_epsilon,
    to_approx,
    zcdp_implied_by,
    zcdp_that_implies,
)
from dpmean.privacy import conversions

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "conversions.json").read_text())

rhos = st.floats(1e-6, 1e3)
deltas = st.floats(1e-30, 0.5)


def by_brute_force(rho: float, delta: float) -> float:
    orders = (1 + math.exp(t / 200) for t in range(-4000, 6000))
    return min(rho * a + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1) for a in orders)


@pytest.mark.parametrize("entry", VECTORS["tight_epsilon"])
def test_vectors_of_the_tight_conversion(entry):
    assert float(tight_epsilon(Zcdp(entry["rho"]), entry["delta"])) == pytest.approx(entry["epsilon"], rel=1e-9)


@pytest.mark.parametrize("entry", VECTORS["rho"])
def test_vectors_of_the_way_back(entry):
    rho = zcdp_that_implies(ApproxDp(entry["epsilon"], entry["delta"])).rho
    assert float(rho) == pytest.approx(entry["rho"], rel=1e-9)


@given(rho=rhos, delta=deltas)
def test_the_tight_conversion_is_the_minimum_over_orders(rho, delta):
    assert float(tight_epsilon(Zcdp(rho), delta)) == pytest.approx(
        max(0, by_brute_force(rho, delta)), rel=1e-4, abs=1e-6
    )


@given(rho=rhos, delta=deltas)
def test_the_tight_conversion_beats_the_simple_one(rho, delta):
    assert tight_epsilon(Zcdp(rho), delta) <= simple_epsilon(Zcdp(rho), delta)


@given(epsilon=st.floats(1e-3, 100), delta=deltas)
def test_there_and_back_never_gains(epsilon, delta):
    asked = ApproxDp(epsilon, delta)
    given_back = tight_epsilon(zcdp_that_implies(asked), delta)
    assert given_back <= asked.epsilon
    assert given_back >= asked.epsilon * Fraction(999999, 1000000) - Fraction(1, 10**9)


@given(rho=st.floats(1e-3, 10), delta=st.floats(1e-12, 1e-2))
def test_delta_inverts_epsilon(rho, delta):
    epsilon = tight_epsilon(Zcdp(rho), delta)
    if epsilon > 0:
        assert float(tight_delta(Zcdp(rho), epsilon)) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("rho", [0.01, 0.5, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_google_agrees(rho, delta):
    orders = [1 + math.exp(t / 100) for t in range(-600, 1200)]
    theirs, _ = rdp.rdp_privacy_accountant.compute_epsilon(orders, [rho * order for order in orders], delta)
    assert float(tight_epsilon(Zcdp(rho), delta)) == pytest.approx(theirs, rel=1e-3)


def test_the_simple_conversion_is_the_papers():
    assert float(simple_epsilon(Zcdp(0.5), 1e-6)) == pytest.approx(0.5 + 2 * math.sqrt(0.5 * math.log(1e6)))


def test_pure_privacy_implies_half_its_square():
    assert zcdp_implied_by(PureDp(0.3)).rho == Fraction(9, 200)
    assert zcdp_implied_by(Zcdp(0.3)).rho == Fraction(3, 10)


def test_concentrated_costs_add_up_exactly():
    assert compose_zcdp([Zcdp(0.1), Zcdp(0.2), PureDp(1)]).rho == Fraction(8, 10)


@pytest.mark.parametrize("lie", [Fraction(1, 4), Fraction(1, 1000), Fraction(49, 100)])
def test_a_flipped_bit_costs_what_randomized_response_does(lie):
    """Against the divergence at several orders, none of which exceeds it."""
    cost = conversions.cost_of_flips(lie)
    assert float(cost) == pytest.approx(float(1 - 2 * lie) * math.log((1 - lie) / lie), rel=1e-14)
    one, other = float(1 - lie), float(lie)
    for order in (1.01, 1.5, 2, 3, 10):
        divergence = math.log(one**order * other ** (1 - order) + other**order * one ** (1 - order)) / (order - 1)
        assert divergence <= cost * order


def test_basic_composition():
    assert compose_basic([ApproxDp(1, 1e-6), PureDp(0.5)]) == ApproxDp(1.5, 1e-6)
    assert compose_basic([PureDp(0.1)] * 3) == PureDp(Fraction(3, 10))


def test_advanced_composition_is_the_lemmas_formula():
    total = compose_advanced(ApproxDp(0.1, 1e-8), 100, 1e-6)
    assert float(total.epsilon) == pytest.approx(math.sqrt(200 * math.log(1e6)) * 0.1 + 10 * math.expm1(0.1))
    assert total.delta == Fraction(2, 10**6)
    assert compose_advanced(PureDp(0.1), 5, 1e-6).delta == Fraction(1, 10**6)


def test_a_budget_keeps_its_epsilon_when_it_is_pure():
    assert to_approx(PureDp(2), 1e-6) == ApproxDp(2, 1e-6)
    assert float(to_approx(Zcdp(0.5), 1e-6).epsilon) == pytest.approx(5.2215, abs=1e-4)


def test_bad_arguments_are_named():
    with pytest.raises(ArgumentError, match="delta must be below 1"):
        tight_epsilon(Zcdp(1), 1)
    with pytest.raises(ArgumentError, match="delta must be positive, got 0"):
        tight_epsilon(Zcdp(1), 0)
    with pytest.raises(ArgumentError, match="times must be an integer of at least 1"):
        compose_advanced(PureDp(1), 0, 1e-6)


def precisely(rho, delta, alpha):
    """Return the epsilon of Proposition 12 at one order, with 120 digits."""
    digits = Context(prec=220)
    one = digits.ln(digits.divide(Decimal((alpha - 1).numerator), Decimal((alpha - 1).denominator)))
    two = digits.ln(digits.divide(Decimal(alpha.numerator), Decimal(alpha.denominator)))
    three = digits.ln(digits.divide(Decimal(delta.numerator), Decimal(delta.denominator)))
    return rho * alpha + Fraction(one) - Fraction(two) - (Fraction(three) + Fraction(two)) / (alpha - 1)


@given(rho=rhos, delta=st.floats(1e-30, 0.1))
def test_epsilon_is_rounded_up_and_by_very_little(rho, delta):
    budget, small = Zcdp(rho), Fraction(str(delta))
    logarithm = float(conversions._ln(small))
    used = conversions._best_order(lambda a: rho * a + conversions._tight_term_float(a, logarithm))
    exactly = precisely(budget.rho, small, used)
    if exactly > 0:
        assert exactly < tight_epsilon(budget, delta) < exactly + (1 + exactly) / 10**28


@given(rho=st.floats(1e-3, 10), epsilon=st.floats(0.1, 60))
def test_a_delta_really_goes_with_its_epsilon(rho, epsilon):
    delta = tight_delta(Zcdp(rho), epsilon)
    if 0 < delta < 1:
        assert tight_epsilon(Zcdp(rho), delta) <= Fraction(str(epsilon)) * (1 + Fraction(1, 10**9))


def test_a_tiny_delta_is_not_rounded_to_a_large_one():
    assert 0 < tight_delta(Zcdp(1), 100) < Fraction(1, 10**100)


def test_rounding_goes_to_the_safe_side():
    for x in (Fraction(1, 3), Fraction(2, 3 * 10**50), Fraction(10**9, 7)):
        assert conversions._down(x) < x < conversions._up(x)
        assert conversions._up(x) - x < Fraction(1, 10**25) * (1 + x)
        assert x < conversions._up(x, product=True) < x * (1 + Fraction(1, 10**28))
    assert conversions._down(Fraction(-1)) == conversions._up(Fraction(-1)) == 0


@pytest.mark.parametrize("beside", [Fraction(0), Fraction(1, 10**41), Fraction(-1, 10**41)])
@pytest.mark.parametrize("whole", [Fraction(1), Fraction(5), Fraction(10**6), Fraction(3, 10**12)])
def test_what_is_rounded_is_moved_by_more_than_its_error_first(whole, beside):
    """Numbers that have few digits, or nearly so, where rounding alone would move them by nothing, or too far."""
    x, error = whole + beside, Fraction(1, 10**40)
    assert conversions._down(x) <= x - error * (1 + x)
    assert conversions._up(x) >= x + error * (1 + x)
    assert conversions._up(x, product=True) >= x + error * x
    for moved in (conversions._down(x), conversions._up(x), conversions._up(x, product=True)):
        assert abs(moved - x) < (1 + x) / 10**29


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: compose_basic([Zcdp(1)]),
        lambda: compose_zcdp([ApproxDp(1, 0.1)]),
        lambda: zcdp_implied_by(ApproxDp(1, 0.1)),
        lambda: zcdp_that_implies(PureDp(1)),
        lambda: tight_epsilon(0.5, 1e-6),
        lambda: tight_delta(PureDp(1), 1),
        lambda: simple_epsilon(PureDp(1), 1e-6),
        lambda: compose_advanced(Zcdp(1), 2, 1e-6),
    ],
)
def test_a_cost_of_the_wrong_notion_is_refused(wrong):
    with pytest.raises(ArgumentTypeError, match="is needed, got a"):
        wrong()


def test_whole_numbers_of_times():
    for wrong in (2.5, True, 0):
        with pytest.raises(ArgumentError, match="an integer"):
            compose_advanced(PureDp(1), wrong, 1e-6)
    assert compose_advanced(PureDp(1), np.int64(3), 1e-6) == compose_advanced(PureDp(1), 3, 1e-6)


def test_budgets_that_protect_nothing():
    assert tight_delta(Zcdp(1e30), 1) == 1
    with pytest.raises(ArgumentError, match="an epsilon of at most 1000"):
        compose_advanced(PureDp(1e8), 3, 1e-6)


@pytest.mark.parametrize("value", [10**400, Fraction(1, 10**400)])
def test_numbers_beyond_floats_are_refused(value):
    with pytest.raises(ArgumentError, match="must lie between 1e-300 and 1e300"):
        Zcdp(value)
