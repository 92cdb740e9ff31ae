"""Error first: the budget or the number of rows that an error takes, to be fed back into a plan."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean import ArgumentError
from dpmean.enums import RowKind, Verdict
from dpmean.pipeline import goals


def kept(outlook, error):
    """Whether an outlook promises an error."""
    return outlook.verdict is Verdict.FINE and outlook.error <= error


def check_goal(outlook, error, rest):
    """What was found promises the error when it is fed back, and one percent less does not."""
    goal = outlook.goal
    given = {"delta": goal.delta} if goal.name == "epsilon" and goal.delta is not None else {}

    def planned(amount):
        return dpmean.plan(**{**rest, **given, goal.name: amount})

    assert goal.error == error
    again = planned(goal.amount)
    assert kept(outlook, error)
    assert dataclasses.replace(outlook, goal=None) == again
    less = math.floor(0.99 * goal.amount) if goal.name == "n" else 0.99 * goal.amount
    if less:
        assert not kept(planned(less), error)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(20, 10**7),
    d=st.sampled_from([1, 2, 3, 7, 16, 128, 1024]),
    error=st.floats(1e-5, 1),
    rows=st.sampled_from(RowKind),
    neighbours=st.sampled_from(dpmean.Neighbours),
)
def test_the_rho_for_an_error_promises_it_and_less_does_not(n, d, error, rows, neighbours):
    rest = {"n": n, "d": d, "rows": rows, "neighbours": neighbours}
    outlook = dpmean.plan(error=error, **rest)
    assert outlook.goal.name == "rho"
    assert outlook.budget == dpmean.Zcdp(outlook.goal.amount)
    check_goal(outlook, error, rest)


@settings(max_examples=40, deadline=None)
@given(
    rho=st.floats(1e-4, 10),
    d=st.sampled_from([1, 2, 3, 7, 16, 128, 1024]),
    error=st.floats(1e-4, 1),
    rows=st.sampled_from(RowKind),
)
def test_the_rows_for_an_error_promise_it_and_fewer_do_not(rho, d, error, rows):
    rest = {"rho": rho, "d": d, "rows": rows}
    outlook = dpmean.plan(error=error, **rest)
    assert (outlook.goal.name, outlook.goal.amount) == ("n", outlook.n)
    check_goal(outlook, error, rest)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(50, 10**6),
    d=st.sampled_from([1, 8, 128]),
    error=st.floats(1e-4, 1),
    delta=st.sampled_from([1e-5, 1e-9]),
)
def test_with_a_delta_the_epsilon_is_found(n, d, error, delta):
    outlook = dpmean.plan(n, d, error=error, delta=delta)
    assert (outlook.goal.name, outlook.goal.delta) == ("epsilon", delta)
    check_goal(outlook, error, {"n": n, "d": d})


@pytest.mark.parametrize(
    "rest", [{"n": 100_000, "d": 8}, {"n": 100_000, "d": 8, "delta": 1e-6}, {"d": 8, "epsilon": 1}, {"d": 8, "rho": 1}]
)
@pytest.mark.parametrize("error", [0.05, 0.1])
def test_the_local_model_has_goals(rest, error):
    outlook = dpmean.plan(error=error, trust="local", **rest)
    assert outlook.goal.name == ("epsilon" if "n" in rest else "n")
    assert outlook.trust == "local"
    check_goal(outlook, error, {"trust": "local", **rest})


@pytest.mark.parametrize("rest", [{"n": 50_000, "d": 4}, {"d": 4, "epsilon": 1}])
def test_the_shuffle_model_has_goals(rest):
    outlook = dpmean.plan(error=0.004, trust="shuffle", delta=1e-9, **rest)
    assert outlook.goal.name == ("epsilon" if "n" in rest else "n")
    check_goal(outlook, 0.004, {"trust": "shuffle", "delta": 1e-9, **rest})


def test_a_scale_gives_errors_their_unit():
    plain, years = dpmean.plan(4000, 8, rho=0.5), dpmean.plan(4000, 8, rho=0.5, scale=18)
    assert years.error == plain.error * 18
    assert years.sampling_error == plain.sampling_error * 18
    found = dpmean.plan(4000, 8, error=0.09, scale=18)
    assert found.goal.amount == dpmean.plan(4000, 8, error=0.005).goal.amount
    assert "promises an error of 0.09 per column" in str(found)
    assert "rows that look normal, of standard deviation 18" in str(found)
    assert "promises an error of 0.09\n" in str(dpmean.plan(4000, 1, error=0.09, scale=18))
    check_goal(found, 0.09, {"n": 4000, "d": 8, "scale": 18})


def test_an_error_in_a_columns_unit_is_what_a_column_gets():
    """The root mean square over runs and columns, in years, of ages with a standard deviation of 18."""
    outlook = dpmean.plan(4000, 20, error=0.2, scale=18, neighbours="replace-one")
    ages, errors = np.random.default_rng(0).normal(40, 18, (4000, 20)), []
    for seed in range(12):
        release = dpmean.mean(ages, rho=outlook.goal.amount, norm_bound=3000.0, seed=seed, neighbours="replace-one")
        errors.append(release.mean - ages.mean(axis=0))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(0.2, rel=0.15)


def test_an_outlook_says_what_was_found():
    assert "\n  rho = 0.0" in str(dpmean.plan(4000, 128, error=0.01))
    assert "is the smallest that promises an error of 0.01 spreads" in str(dpmean.plan(4000, 128, error=0.01))
    assert "(delta = 1e-06) is the smallest that promises" in str(dpmean.plan(4000, 128, error=0.01, delta=1e-6))
    assert "rows is the smallest number that promises an error of 0.01 spreads" in str(
        dpmean.plan(d=128, rho=0.1, error=0.01)
    )
    easy = dpmean.plan(400, 128, error=5)
    assert easy.error < 1
    assert "is the smallest that is recommended; an error of 5 spreads would need less" in str(easy)
    few = dpmean.plan(d=128, rho=0.1, error=5)
    assert "rows is the smallest number that is recommended" in str(few)
    assert few.n == few.rows_needed
    assert "promise" not in str(dpmean.plan(4000, 128, rho=0.5))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"n": 4000, "error": 0}, "error must be positive, got 0"),
        ({"n": 4000, "error": -0.1}, "error must be positive, got -0.1"),
        ({"n": 4000, "error": math.nan}, "error must be a finite number, got nan"),
        ({"n": 4000, "error": math.inf}, "error must be a finite number, got inf"),
        ({"n": 4000, "error": True}, "error must be a number, got"),
        ({"n": 4000, "error": "0.1"}, "error must be a number, got"),
        ({"n": 4000, "rho": 1, "scale": 0}, "scale must be positive, got 0"),
        ({"n": 4000, "rho": 1, "scale": math.nan}, "scale must be a finite number, got nan"),
        ({"n": 0, "error": 0.1}, "n must be at least 1, got 0"),
        ({"n": 4000, "rho": 0.5, "error": 0.1}, "got n=4000, rho=0.5 and error=0.1: leave out the one"),
        (
            {"n": 4000, "epsilon": 1, "delta": 1e-6, "error": 0.1},
            "got n=4000, epsilon=1 and error=0.1: leave out the one",
        ),
        ({"error": 0.1}, "error=0.1 leaves both the number of rows and the budget open: give n to find the budget"),
        ({"error": 0.1, "delta": 1e-6}, "error=0.1 and delta=1e-06 leave both the number of rows and the budget open"),
        ({"error": 0.1, "epsilon": 1}, "epsilon=1 needs a delta in the central model"),
        (
            {"error": 0.1, "rho": 1, "delta": 1e-6},
            "got rho and also epsilon or delta: give either rho, or epsilon and delta",
        ),
        ({"rho": 1}, "n is missing: give the number of rows, or error=0.01, for example"),
        ({"n": 4000}, "a privacy budget is missing"),
        ({"n": 4000, "error": 0.1, "delta": 2}, r"delta must be below 1 \(well below 1/n\), got 2"),
        (
            {"n": 4000, "error": 0.1, "trust": "shuffle"},
            "the shuffle model needs a delta: give delta=1e-9, for example",
        ),
        ({"n": 5, "error": 1e-9}, r"error=1e-09 spreads is out of reach with n=5: even rho = 1e\+12 promises .* Raise"),
        ({"n": 5, "error": 1e-9, "scale": 3}, "error=1e-09 is out of reach with n=5"),
        ({"n": 10_000, "error": 1e-3, "trust": "local"}, "out of reach with n=10000: even epsilon = 16 promises 0.0"),
        ({"n": 10, "error": 1, "trust": "local"}, "out of reach with n=10: even epsilon = 16 is too small for so few"),
        ({"rho": 1e-12, "error": 1e-12}, r"out of reach with rho = 1e-12 \(zCDP\): even 1e\+15 rows do not promise it"),
        ({"n": 4000, "rho": 1, "rows": "odd"}, 'rows must be "normal", "uniform", .* or "line", got \'odd\''),
        ({"n": 4000, "rho": 1, "rows": None}, 'rows must be "normal", "uniform"'),
        ({"n": 4000, "rho": 1, "rows": "skewed", "trust": "local"}, 'rows is for the central model, got rows="skewed"'),
        ({"n": 4000, "rho": 1, "scale": 2, "shape": [1, 2, 3]}, "scale=2 and scales in shape exclude each other"),
    ],
)
def test_what_cannot_be_planned_is_refused(asked, words):
    with pytest.raises((ValueError, TypeError), match=words):
        dpmean.plan(**{"d": 3, **asked})


def test_columns_are_needed():
    with pytest.raises(ArgumentError, match="d is missing: give the number of columns, for example d=8"):
        dpmean.plan(4000, rho=0.5)


def test_what_is_found_has_four_digits_and_is_never_below():
    for value in (0.123449, 1.00001, 9.99999, 3e-12, 123456.0):
        up = goals._round_up(value)
        assert value <= up <= value * 1.001
        assert len(f"{up:.10e}".split("e")[0].rstrip("0").replace(".", "")) <= 4
    assert goals._round_up(7.2, integer=True) == 8
    assert goals._round_up(123456.0, integer=True) == 123500


@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.parametrize("edge", [2.5e-12, 1e-3, 0.77, 3.0, 8e8])
@pytest.mark.parametrize("law", ["power", "steps", "cliff"])
def test_the_search_ends_at_the_edge_for_any_law(power, edge, law):
    calls = []

    def excess(amount):
        calls.append(amount)
        over = {
            "power": 0.7 * math.log(edge / amount),
            "steps": math.floor(3 * math.log(edge / amount)) + 0.5,
            "cliff": math.inf if amount < edge else -1.0,
        }[law]
        return over if amount < edge else min(over, 0.0)

    found = goals._least(excess, (1e-12, 1e12), power)
    assert edge <= found < 1.0012 * edge
    assert len(calls) < 60


def test_the_search_for_rows_is_exact_and_knows_its_limits():
    assert goals._least(lambda n: math.log(37 / n), (1.0, 1e15), 1.0, integer=True) == 37
    assert goals._least(lambda _: -1.0, (1.0, 1e15), 1.0, integer=True) == 1
    assert goals._least(lambda _: math.inf, (1.0, 1e15), 1.0, integer=True) is None
    # one that is not monotone ends where a hundredth less is not enough
    found = goals._least(lambda x: math.log(2 / x) * (1 if x > 0.5 else -1) if x > 0.1 else 1.0, (1e-12, 1e12), 0.5)
    assert found == pytest.approx(2, rel=1e-3)
