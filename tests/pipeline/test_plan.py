"""The planner: a pure function of public numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean import ArgumentError, Neighbours
from dpmean.estimators.feasibility import Verdict
from dpmean.estimators.refined import plan
from dpmean.pipeline.outlook import Outlook

sizes = st.integers(1, 10**7)
dimensions = st.sampled_from([1, 2, 3, 7, 8, 16, 128, 1024, 4096, 10**5])
budgets = st.fractions(Fraction(1, 10**6), 1000)


@settings(max_examples=200, deadline=None)
@given(n=sizes, d=dimensions, rho=budgets)
def test_shares_leave_most_of_the_budget_to_the_mean(n, d, rho):
    m = plan.rows_to_locate(n, d, float(rho))
    shares = plan.divide(rho, n, m, d)
    assert 0 < shares.total < rho * Fraction(45, 100)
    assert min(shares.spread, shares.reach, shares.radius) > 0
    if m * math.sqrt(rho) >= 1000 and d >= 16:
        assert shares.total < rho * Fraction(14, 100)


@settings(max_examples=100, deadline=None)
@given(n=st.integers(10, 10**6), d=dimensions, rho=st.floats(1e-12, 1e12), far=st.floats(0, 1e9))
def test_a_plan_spends_all_and_its_errors_fall(n, d, rho, far):
    m = plan.rows_to_locate(n, d, rho)
    rounds = plan.rounds(n, m, d, rho, far)
    assert 1 <= len(rounds) <= plan.ROUNDS
    assert sum(step.share for step in rounds) == pytest.approx(1)
    assert all(step.radius >= 1 for step in rounds)
    errors = [step.error for step in rounds]
    assert errors == sorted(errors, reverse=True)
    assert plan.rounds(n, m, d, rho, far) == rounds  # a function: nothing else matters


def test_a_known_centre_needs_one_round_and_a_far_one_more():
    assert len(plan.rounds(4000, 4000, 128, 0.5, 0.0)) == 1
    assert 2 <= len(plan.rounds(4000, 4000, 128, 0.5, 5.0)) <= 5
    assert len(plan.rounds(4000, 4000, 128, 0.005, 5.0)) > 5
    far = plan.rounds(4000, 4000, 128, 0.5, 1e6)
    assert far[-1].error < 1.3 * plan.rounds(4000, 4000, 128, 0.5, 5.0)[-1].error


def test_a_sample_that_locates_costs_little():
    n, d, rho = 1_000_000, 128, 0.5
    m = plan.rows_to_locate(n, d, rho)
    assert m < n / 50
    rounds = plan.rounds(n, m, d, rho, 10.0)
    assert rounds[-1].share > 0.95
    assert rounds[-1].error < 1.05 * plan.noise(n, d, rho)
    assert plan.rows_to_locate(4000, d, rho) == 4000


def test_the_ladder_is_short_when_noise_is_far_below_the_sampling_error():
    assert plan.ladder(4000, 128, 0.5) == (0, 1, 2, 4, 8)
    assert plan.ladder(10**6, 128, 0.5) == (0, 1)


# --- dpmean.plan ---------------------------------------------------------------------------------------------


def test_an_outlook_tells_what_would_do():
    few = dpmean.plan(40, 128, rho=0.5)
    assert few.verdict is Verdict.HOPELESS
    assert dpmean.plan(few.rows_needed, 128, rho=0.5).verdict is Verdict.FINE
    assert dpmean.plan(40, 128, rho=few.budget_needed * 1.001).verdict is Verdict.FINE
    assert f"{few.rows_needed} rows are recommended" in str(few)
    fine = dpmean.plan(4000, 128, rho=0.5)
    assert "enough rows" in str(fine)
    assert "recommended" not in str(fine)
    assert "privacy adds no more than sampling" in str(few)
    level = dpmean.plan(few.rows_to_match, 128, rho=0.5)
    assert level.error == pytest.approx(level.sampling_error, rel=0.05)
    assert fine.sampling_error == pytest.approx(1 / math.sqrt(4000))
    assert isinstance(fine, Outlook)


@pytest.mark.parametrize(("n", "d", "rho"), [(4000, 1, 0.5), (4000, 16, 0.5), (4000, 128, 0.005), (300, 128, 0.5)])
def test_the_expected_error_is_what_normal_rows_give(n, d, rho):
    generator, errors = np.random.default_rng(n + d), []
    for seed in range(100 if d == 1 else 16):
        rows = generator.normal(5, 1, (n, d))
        release = dpmean.mean(rows, rho=rho, norm_bound=50 * math.sqrt(d), seed=seed)
        errors.append(np.linalg.norm(release.mean - rows.mean(axis=0)) / release.found.spread)
    assert np.mean(errors) == pytest.approx(dpmean.plan(n, d, rho=rho).error, rel=0.25)


def test_the_same_budget_in_other_words():
    one = dpmean.plan(4000, 128, epsilon=1, delta=1e-9)
    assert float(one.budget.rho) == pytest.approx(0.01497, rel=1e-3)


def test_extreme_numbers_are_planned_with():
    for n, d, rho in ((10**11, 1, 1e12), (1, 10**6, 1e-12)):
        assert dpmean.plan(n, d, rho=rho).error > 0


def test_more_rows_and_more_budget_help():
    errors = [dpmean.plan(n, 64, rho=0.5).error for n in (400, 4000, 40_000)]
    assert errors == sorted(errors, reverse=True)
    assert dpmean.plan(4000, 64, rho=5).error < dpmean.plan(4000, 64, rho=0.5).error


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((4000.5, 3), TypeError, "n must be an integer, got 4000.5"),
        ((0, 3), ValueError, "n must be at least 1, got 0"),
        ((10, -1), ValueError, "d must be at least 1, got -1"),
        ((True, 3), TypeError, "n must be an integer"),
    ],
)
def test_bad_numbers_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        dpmean.plan(*arguments, rho=0.5)


def test_a_private_number_of_rows_is_planned_for():
    replaced, added = (dpmean.plan(4000, 128, rho=0.5, neighbours=name) for name in Neighbours)
    assert 0.45 < added.error / replaced.error < 0.56
    assert added.rows_needed < replaced.rows_needed
    assert dpmean.plan(4000, 128, rho=0.5) == added
    assert (added.neighbours, replaced.neighbours) == ("add-or-remove-one", "replace-one")
    assert dpmean.plan(4000, 128, rho=0.5, trust="local") == dpmean.plan(
        4000, 128, rho=0.5, trust="local", neighbours="replace-one"
    )
    with pytest.raises(ArgumentError, match=r'"add-or-remove-one" is for the central model: .* Leave neighbours out'):
        dpmean.plan(4000, 128, rho=0.5, trust="local", neighbours="add-or-remove-one")
