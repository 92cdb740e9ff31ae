"""What answers cost, and how a budget is divided."""

from fractions import Fraction

import pytest

from dpmean import Neighbours, OverspendError, Zcdp
from dpmean.trust.central.budget_filter import BudgetFilter
from dpmean.trust.central.costs import left_for_mean, variance_at


def test_an_answer_must_cost_something():
    assert variance_at(4, Fraction(1, 2)) == 4
    for cost in (Fraction(0), Fraction(-1, 2), Fraction(-1)):
        with pytest.raises(OverspendError, match="the cost of an answer must be positive"):
            variance_at(4, cost)


def test_a_private_number_of_rows_is_paid_for_before_the_mean():
    assert left_for_mean(Zcdp(1), Neighbours.REPLACE_ONE) == Zcdp(1)
    assert left_for_mean(Zcdp(1), Neighbours.ADD_OR_REMOVE_ONE) == Zcdp(Fraction(24, 25))


@pytest.mark.parametrize("exact", [True, False])
def test_a_receipt_says_whether_its_noise_is_exact(exact):
    spending = BudgetFilter(Zcdp(1))
    spending.reserve("one", Fraction(1, 4))
    spending.note("one", "a number", "noise", Fraction(1, 4), **({} if exact else {"exact": False}))
    spending.pay("two", "a number", "noise", Fraction(1, 4), **({} if exact else {"exact": False}))
    assert [receipt.exact for receipt in spending.receipts] == [exact, exact]
    assert spending.left == Fraction(1, 2)
