"""The planner: a pure function of public numbers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean import ArgumentError, Neighbours
from dpmean.enums import RowKind
from dpmean.estimators.feasibility import Verdict
from dpmean.estimators.refined import plan
from dpmean.pipeline.outlook import ROWS_IN_WORDS, Outlook
from dpmean.pipeline.row_kinds import KINDS
from dpmean.release.scales import receipts_of_scales

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
        assert shares.total < rho * Fraction(21 if d <= plan.FEW else 14, 100)


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
    for seed in range(300 if d == 1 else 16):
        rows = generator.normal(5, 1, (n, d))
        release = dpmean.mean(rows, rho=rho, norm_bound=50 * math.sqrt(d), seed=seed)
        errors.append(np.linalg.norm(release.mean - rows.mean(axis=0)) / math.sqrt(rows.var(axis=0).sum()))
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(dpmean.plan(n, d, rho=rho).error, rel=0.15)


CATALOGUE = {
    "uniform": lambda g, n, d: g.uniform(2, 7, (n, d)),
    "binary": lambda g, n, d: g.integers(0, 2, (n, d)).astype(float),
    "mostly zero": lambda g, n, d: (g.random((n, d)) < 0.08).astype(float),
    "laplace": lambda g, n, d: g.laplace(3, 1, (n, d)),
    "skewed": lambda g, n, d: g.exponential(2, (n, d)),
    "lognormal": lambda g, n, d: g.lognormal(0, 1, (n, d)),
    "heavy tails": lambda g, n, d: g.standard_t(2, (n, d)),
    "correlated": lambda g, n, d: g.normal(0, 1, (n, round(math.sqrt(d)))) @ g.normal(0, 1, (round(math.sqrt(d)), d)),
    "clusters": lambda g, n, d: g.normal(0, 0.3, (n, d)) + 6 * g.integers(0, 3, (n, 1)) * np.sign(g.normal(size=d)),
    "small cluster": lambda g, n, d: g.normal(0, 1, (n, d)) + 12 * (g.random((n, 1)) < 0.1),
    "line": lambda g, n, d: np.linspace(0, 30, n)[:, np.newaxis] + g.normal(0, 0.3, (n, d)),
}


def test_every_kind_of_rows_is_tried():
    assert set(CATALOGUE) | {"normal"} == set(RowKind) == set(KINDS) == set(ROWS_IN_WORDS)


@pytest.mark.parametrize("kind", CATALOGUE)
def test_the_expected_error_is_what_rows_of_a_kind_give(kind):
    """At 6000 rows of 48 columns, which no constant was fitted to; 12 runs tell a root mean square to 3 % or so."""
    generator, squares, n, d = np.random.default_rng(7), [], 6000, 48
    for seed in range(12):
        rows = CATALOGUE[kind](generator, n, d)
        release = dpmean.mean(rows, rho=0.2, norm_bound=2000.0, seed=seed)
        squares.append(np.sum((release.mean - rows.mean(axis=0)) ** 2) / rows.var(axis=0).sum())
    outlook = dpmean.plan(n, d, rho=0.2, rows=kind)
    assert math.sqrt(np.mean(squares)) == pytest.approx(outlook.error, rel=0.25)
    assert ROWS_IN_WORDS[RowKind(kind)] in str(outlook)


def test_heavier_tails_cost_more():
    kinds = ("binary", "uniform", "normal", "laplace", "skewed", "lognormal", "heavy tails")
    for d in (2, 8, 64):
        errors = [dpmean.plan(4000, d, rho=0.5, rows=kind).error for kind in kinds]
        assert errors == sorted(errors)


@pytest.mark.parametrize("kind", RowKind)
@pytest.mark.parametrize("d", [1, 2, 8, 64, 1000])
def test_errors_fall_with_rows_and_with_the_budget(kind, d):
    """Where there are as many rows as are recommended; steps of a hundredth are those of a grid."""
    budgets = [dpmean.plan(20_000, d, rho=rho, rows=kind).error for rho in np.geomspace(0.001, 100, 40)]
    sizes = [dpmean.plan(int(n), d, rho=0.1, rows=kind).error for n in np.geomspace(1000, 1e8, 40)]
    for errors in (budgets, sizes):
        assert all(later < 1.01 * earlier for earlier, later in itertools.pairwise(errors))
        assert errors[-1] < 0.1 * errors[0] or kind in ("heavy tails", "lognormal")


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


# --- the scales of columns -------------------------------------------------------------------------------------------


def in_one_line(outlook):
    return " ".join(str(outlook).split())


def test_an_outlook_says_whether_scales_will_be_asked_for():
    both, norm, box = dpmean.plan(5000, 8, rho=0.5), dpmean.plan(3000, 128, rho=0.1), dpmean.plan(1500, 8, rho=0.1)
    assert 0.01 < both.scales.norm_bound < 0.04
    assert 0.03 < both.scales.bounds < 0.12
    assert (both.scales.gain, norm.scales.bounds, box.scales.norm_bound) == (None, None, None)
    part, other = f"{100 * both.scales.norm_bound:.2g} %", f"{100 * both.scales.bounds:.2g} %"
    start = "finding the scales of columns takes "
    assert f"{start}up to {part} of the budget with norm_bound, about {other} with bounds" in in_one_line(both)
    part, other = f"{100 * norm.scales.norm_bound:.2g} %", f"{100 * box.scales.bounds:.2g} %"
    later = [
        f"they are found if there are at least {rows} rows"
        for rows in (norm.scales.rows_bounds, box.scales.rows_norm_bound)
    ]
    assert f"{start}up to {part} of the budget with norm_bound; with bounds, {later[0]}" in in_one_line(norm)
    assert f"{start}about {other} of the budget with bounds; with norm_bound, {later[1]}" in in_one_line(box)
    assert max(len(line) for one in (both, norm, box) for line in str(one.scales).splitlines()) <= 80
    assert dpmean.plan(300, 160, rho=0.1).scales == dpmean.plan(300, 160, rho=0.1, shape="auto").scales
    assert "too few rows to find the scales of columns: " in in_one_line(dpmean.plan(350, 160, rho=0.1))
    for none in (dpmean.plan(5000, 1, rho=0.5), dpmean.plan(5000, 8, rho=0.5, shape="round")):
        assert none.scales is None
        assert "scale" not in str(none)
    assert dpmean.plan(5000, 8, rho=0.5, shape="round").error == both.error
    assert dpmean.plan(5000, 8, epsilon=1, delta=1e-9, trust="shuffle").scales is None
    assert "scale" not in str(dpmean.plan(10, 8, rho=0.5))  # too few rows for anything


@pytest.mark.parametrize(
    ("d", "rho"), [(3, 0.5), (8, 0.5), (128, 0.02), (300, 0.1), (2000, 0.1), (5000, 1.0), (100, 1e-3), (3, 1e-6)]
)
def test_an_outlook_says_from_how_many_rows_on_scales_are_asked_for(d, rho):
    many = dpmean.plan(10**9, d, rho=rho).scales
    for rows, kind in ((many.rows_norm_bound, "norm_bound"), (many.rows_bounds, "bounds")):
        fewer, enough = (dpmean.plan(n, d, rho=rho).scales for n in (rows - 1, rows))
        assert getattr(fewer, kind) is None
        assert getattr(enough, kind) is not None


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize(
    ("n", "d", "rho"), [(5000, 8, 0.5), (1000, 8, 0.5), (1000, 8, 0.05), (250, 4, 0.05), (20_000, 60, 0.1)]
)
@pytest.mark.parametrize("bound", ["norm_bound", "bounds"])
def test_what_is_planned_for_scales_is_what_is_done(n, d, rho, bound):
    """With a norm bound it is the most that may be paid."""
    rows = np.random.default_rng(0).normal(5, np.linspace(0.1, 10, d), (n, d))
    given = {"norm_bound": 1000.0} if bound == "norm_bound" else {"bounds": (-1000.0, 1000.0)}
    release = dpmean.mean(rows, rho=rho, seed=1, neighbours="replace-one", allow_few_rows=True, **given)
    planned = getattr(dpmean.plan(n, d, rho=rho, neighbours="replace-one").scales, bound)
    assert (planned is None) == (release.scales is None)
    if planned is not None:
        paid = sum(receipt.cost.rho for receipt in receipts_of_scales(release.receipts)) / release.rho
        assert float(paid) <= planned * (1 + 1e-9 if bound == "norm_bound" else 1.3)
        assert planned < 2.5 * float(paid) + 0.02


@pytest.mark.parametrize("d", [4, 32])
def test_the_error_for_given_scales_is_what_such_rows_give(d):
    scales = 1 / np.arange(1, d + 1)
    outlook = dpmean.plan(4000, d, rho=0.5, shape=scales, neighbours="replace-one")
    even = dpmean.plan(4000, d, rho=0.5, neighbours="replace-one")
    assert outlook.scales.gain == pytest.approx(scales.sum() / np.sqrt(d * (scales**2).sum()))
    assert even.error * outlook.scales.gain < outlook.error < even.error
    assert outlook.rows_to_match <= even.rows_to_match
    gain = f"{outlook.scales.gain:.2g}"
    assert f"scales is {gain} times as large as even noise" in in_one_line(outlook)
    rows, errors = np.random.default_rng(0).normal(5, scales, (4000, d)), []
    for seed in range(12):
        release = dpmean.mean(rows, rho=0.5, norm_bound=300.0, shape=scales, seed=seed, neighbours="replace-one")
        errors.append(np.linalg.norm(release.mean - rows.mean(axis=0)))
    assert np.mean(errors) == pytest.approx(outlook.error * np.linalg.norm(scales), rel=0.3)


def test_scales_in_a_plan_need_no_names_and_no_unit():
    one = dpmean.plan(4000, 2, rho=0.5, shape=[1.0, 40.0])
    assert dpmean.plan(4000, 2, rho=0.5, shape={"age": 1.0, "pay": 40.0}) == one
    assert dpmean.plan(4000, 2, rho=0.5, shape=np.array([1e300, 40e300]) / 1e250).error == pytest.approx(one.error)
    even = dpmean.plan(4000, 2, rho=0.5, shape=[3.0, 3.0])
    assert even.scales.gain == pytest.approx(1)
    assert "  these scales are equal, so noise is the same for all columns" in str(even)
    assert "too few rows" not in str(even)
    assert dpmean.plan(4000, 1, rho=0.5, shape=[3.0]) == dpmean.plan(4000, 1, rho=0.5)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"shape": [1.0, 2.0]}, "shape has fewer scales than there are columns .3."),
        ({"shape": {"a": 1.0}}, "shape has fewer scales than there are columns .3."),
        ({"shape": [1.0, 0.0, 1.0]}, "scales in shape must be positive"),
        ({"shape": [1.0, np.nan, 1.0]}, "scales in shape must be positive"),
        ({"shape": "flat"}, 'shape must be "auto", "round" or the scale'),
        ({"shape": None}, 'shape must be "auto", "round" or the scale'),
        ({"shape": "round", "trust": "local"}, "shape is for the central model"),
        ({"shape": [1.0] * 3, "trust": "local"}, "shape is for the central model"),
    ],
)
def test_a_shape_that_cannot_be_planned_with_is_refused(wrong, words):
    with pytest.raises((ValueError, TypeError), match=words):
        dpmean.plan(4000, 3, rho=0.5, **wrong)


# --- what does not go into the mean ----------------------------------------------------------------------------------


def test_one_group_of_several_and_counted_values_take_their_parts():
    whole = dpmean.plan(3000, 4, rho=0.5)
    third = dpmean.plan(3000, 4, rho=0.5, contributions=3)
    alone = dpmean.plan(3000, 4, rho=Fraction(1, 6))
    for name in ("error", "rows_needed", "rows_to_match", "scales"):
        assert getattr(third, name) == getattr(alone, name)
    assert third.budget_needed == pytest.approx(3 * alone.budget_needed)
    counted = dpmean.plan(3000, 4, rho=0.5, count_values=True)
    assert counted.error == pytest.approx(dpmean.plan(3000, 4, rho=0.5 * 23 / 24).error, rel=1e-9)
    assert whole.error < counted.error < third.error
    assert "counting the values of columns takes 4 % of the budget" in str(counted)
    words = "each group gets rho = 0.1667, as a person counts in up to 3 groups; all numbers are for one group"
    assert words in str(third)
    assert str(third).startswith("3000 persons in 4 dimensions, rho = 0.5: enough rows")
    goal = dpmean.plan(3000, 4, error=third.error, contributions=3).goal
    assert goal.amount == pytest.approx(0.5, rel=2e-3)
    assert dpmean.plan(d=4, rho=0.5, error=third.error, contributions=3).n == pytest.approx(3000, rel=2e-3)


def test_a_run_of_groups_announces_what_is_planned():
    """Each of 90 persons has a row in both groups: too few, which a run says with the numbers of the plan."""
    rows, persons = np.random.default_rng(0).normal(5, 1, (180, 3)), np.tile(np.arange(90), 2)
    by = np.repeat(["a", "b"], 90)
    asked = {"rho": 0.2, "count_values": True}
    run = {"by": by, "groups": ["a", "b"], "privacy_unit": persons, "contributions": 2, "norm_bound": 90.0, "seed": 1}
    few = dpmean.mean_by(rows, **run, rho=0.001, count_values=True)
    need = dpmean.plan(90, 3, rho=0.001, count_values=True, contributions=2).rows_needed
    assert {found.reason.rpartition(": ")[2] for found in few.values()} == {f"at least {need} are needed"}
    found = dpmean.mean_by(rows, **run, **asked, allow_few_rows=True)
    for release in found.released.values():
        assert release.rho == Fraction(1, 10)
        left = sum(one.cost.rho for one in release.receipts if one.step not in ("number", "values"))
        assert left == Fraction(1, 10) * Fraction(23, 25)
    assert found.rho == Fraction(1, 5)


@pytest.mark.parametrize(("contributions", "count_values"), [(1, True), (2, False), (2, True)])
def test_the_planned_error_is_that_of_a_group(contributions, count_values):
    n, d, errors = 1500, 8, []
    persons, by = np.tile(np.arange(n), 2), np.repeat(["a", "b"], n)
    generator = np.random.default_rng(5)
    for seed in range(12):
        rows = generator.normal(5, 1, (2 * n, d))
        found = dpmean.mean_by(
            rows,
            by=by,
            groups=["a", "b"],
            privacy_unit=persons if contributions == 2 else np.arange(2 * n),
            contributions=contributions,
            count_values=count_values,
            rho=0.5,
            norm_bound=300.0,
            seed=seed,
        )
        for label, release in found.released.items():
            mine = rows[by == label]
            errors.append(np.linalg.norm(release.mean - mine.mean(axis=0)) / math.sqrt(mine.var(axis=0).sum()))
    outlook = dpmean.plan(n, d, rho=0.5, contributions=contributions, count_values=count_values)
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(outlook.error, rel=0.15)


@pytest.mark.parametrize(("n", "d", "rho"), [(400, 1, 0.5), (4000, 8, 0.5), (30000, 64, 0.01)])
@pytest.mark.parametrize("count_values", [False, True])
def test_a_plan_sets_aside_for_variances_what_a_run_pays(n, d, rho, count_values):
    asked = {"rho": rho, "population": True, "count_values": count_values}
    outlook = dpmean.plan(n, d, **asked, neighbours="replace-one")
    rows = np.random.default_rng(3).normal(5, 1, (n, d))
    release = dpmean.mean(rows, **asked, norm_bound=100.0, neighbours="replace-one", seed=4)
    paid = sum(one.cost.rho for one in release.receipts if one.step == "variances")
    assert float(paid / release.rho) == pytest.approx(outlook.variances, rel=1e-3)
    part = outlook.variances / (24 / 25 if count_values else 1)  # of what counts leave
    less = dpmean.plan(n, d, rho=rho * (1 - part), count_values=count_values, neighbours="replace-one")
    assert outlook.error == pytest.approx(less.error, rel=1e-3)
    assert (
        outlook.rows_needed
        == dpmean.plan(n, d, **(asked | {"population": False}), neighbours="replace-one").rows_needed
    )
    assert f"finding the variances of columns takes {100 * outlook.variances:.2g} % of the budget" in str(outlook)
    assert dpmean.plan(n, d, rho=rho).variances is None


def test_an_error_beside_variances_takes_a_larger_budget():
    asked = {"error": 0.01, "neighbours": "replace-one"}
    with_them, without = (dpmean.plan(4000, 8, **asked, population=one) for one in (True, False))
    assert with_them.goal.amount * (1 - with_them.variances) == pytest.approx(without.goal.amount, rel=2e-3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"contributions": 0}, "contributions must be at least 1, got 0"),
        ({"contributions": 1.5}, "contributions must be an integer, got 1.5"),
        ({"contributions": 2, "trust": "local"}, "contributions is for the central model, got contributions=2"),
        ({"contributions": 2, "neighbours": "replace-one"}, "rho / 2 with public sizes; with private sizes rho / 8"),
        ({"count_values": 1}, "count_values must be True or False"),
        ({"count_values": True, "trust": "local"}, "count_values is for the central model"),
        ({"population": "yes"}, "population must be True or False"),
        ({"population": True, "trust": "local"}, "population is for the central model"),
    ],
)
def test_parts_that_cannot_be_planned_are_refused(wrong, words):
    with pytest.raises((ValueError, TypeError), match=words):
        dpmean.plan(4000, 3, rho=0.5, **wrong)


# --- groups ----------------------------------------------------------------------------------------------------------


def test_a_plan_of_groups_is_what_their_means_do():
    sizes, chance = [600, 400, 150], np.random.default_rng(0)
    labels = np.repeat(["A", "B", "C"], sizes)
    frame = pd.DataFrame(chance.normal(5, 1, (1150, 3)), columns=["x", "y", "z"]).assign(ward=labels)
    asked = {"by": "ward", "groups": ["A", "B", "C"], "bounds": (-20.0, 20.0), "seed": 1}
    outlook = dpmean.plan(groups=sizes, d=3, rho=0.5)
    assert (outlook.n, [group.n for group in outlook.groups]) == (150, sizes)
    refused = dpmean.mean_by(frame, rho=0.5, **asked).refused
    assert set(refused) == {"C"}
    assert [group.verdict for group in outlook.groups] == [Verdict.FINE, Verdict.FINE, Verdict.HOPELESS]
    assert not dpmean.mean_by(frame, rho=outlook.budget_least, **asked).refused
    assert dpmean.plan(groups=sizes, d=3, rho=outlook.budget_least * 1.001).rows_least <= 150
    assert outlook.groups[0].error == dpmean.plan(600, 3, rho=0.5).error
    text = " ".join(str(outlook).split())
    assert "3 groups of 150 to 600 rows in 3 dimensions, rho = 0.5: too few rows in 1 of them" in text
    assert "would be enough for 150 rows" in text
    assert "epsilon = " in str(dpmean.plan(groups=sizes, d=3, epsilon=1.0, delta=1e-6))
    shared = dpmean.plan(groups=[9000, 9000], d=3, rho=0.5, contributions=2)
    assert shared.groups[1].error == dpmean.plan(9000, 3, rho=0.5, contributions=2).error
    assert dpmean.plan(groups=[900, 9000], d=3, error=0.01).goal == dpmean.plan(900, 3, error=0.01).goal


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"n": 9, "groups": [9]}, ValueError, "got n=9 and also groups"),
        ({"groups": []}, ValueError, "groups is empty"),
        ({"groups": 9}, TypeError, "groups must list the number of rows of each"),
        ({"groups": "9"}, TypeError, "groups must list the number of rows of each"),
        ({"groups": [9, 0]}, ValueError, "the size of a group must be at least 1, got 0"),
        ({"groups": [9.5]}, TypeError, "the size of a group must be an integer"),
        ({"groups": [9], "trust": "local"}, ValueError, "groups is for the central model"),
        ({"groups": [9], "neighbours": "replace-one"}, ValueError, "groups can be planned only with neighbours"),
    ],
)
def test_sizes_of_groups_are_checked(given, kind, words):
    budget = {"epsilon": 1} if "trust" in given else {"rho": 1}
    with pytest.raises(kind, match=words):
        dpmean.plan(d=3, **budget, **given)
