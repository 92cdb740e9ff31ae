from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpmean import ApproxDp, ArgumentError, ArgumentTypeError, PureDp, Zcdp


@pytest.mark.parametrize("value", [0.1, Decimal("0.1"), Fraction(1, 10), np.float64(0.1), np.float32(0.1)])
def test_a_number_is_the_decimal_it_prints_as(value):
    assert Zcdp(value).rho == Fraction(1, 10)


def test_whole_numbers_of_any_kind_are_exact():
    assert Zcdp(np.int64(3)).rho == Zcdp(3).rho == 3


def test_shares_add_up_exactly():
    budget = Zcdp(0.1)
    assert sum(budget.share(1, 7).rho for _ in range(7)) == budget.rho
    assert PureDp(1).share(3, 7).epsilon == Fraction(3, 7)


@pytest.mark.parametrize("value", [0, -0.5, -1])
def test_a_budget_must_be_positive(value):
    with pytest.raises(ArgumentError, match=f"rho must be positive, got {value}"):
        Zcdp(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN")])
def test_a_budget_must_be_finite(value):
    with pytest.raises(ArgumentError, match="rho must be a finite number"):
        Zcdp(value)


@pytest.mark.parametrize("value", ["0.5", None, True, 1j])
def test_a_budget_must_be_a_number(value):
    with pytest.raises(ArgumentTypeError, match="epsilon must be a number"):
        PureDp(value)


def test_delta_must_be_below_one():
    for delta in (2.0, 1, Fraction(1)):
        with pytest.raises(ArgumentError, match="delta must be below 1"):
            ApproxDp(1.0, delta)
    assert ApproxDp(1, Fraction(10**9 - 1, 10**9)).delta < 1


def test_a_budget_must_be_of_a_size_that_can_be_computed_with():
    for limit in (Fraction(1, 10**300), Fraction(10**300)):
        assert Zcdp(limit).rho == limit
    for beyond in (Fraction(1, 10**300 + 1), 10**300 + 1):
        with pytest.raises(ArgumentError, match="must lie between 1e-300 and 1e300"):
            Zcdp(beyond)


def test_budgets_print_what_they_are():
    assert str(Zcdp(0.5)) == "rho = 0.5 (zCDP)"
    assert str(PureDp(2)) == "epsilon = 2 (pure)"
    assert str(ApproxDp(1, 1e-6)) == "epsilon = 1, delta = 1e-06"
