"""Confidence intervals: of rows, of a population, of a difference; where they are shown, and how often they hold."""

import copy
import json
import math
import pickle
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import dpmean
from dpmean import ArgumentError, TooFewRowsError
from dpmean.estimators.refined.variances import LEAST, MOST, share
from dpmean.numerics.error_quantiles import normal_quantile
from dpmean.release.intervals import margins_of, usual_intervals
from dpmean.release.variances import Variances, with_allowance

pytestmark = pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")

ROWS = np.random.default_rng(0).normal([47.0, 170.0, 5.0], [18.0, 9.0, 1.0], (4000, 3))
BOUNDS = ([0.0, 0.0, -50.0], [130.0, 250.0, 50.0])
ARGUMENTS = {
    "ball": {"norm_bound": 1000.0},
    "box": {"bounds": BOUNDS},
    "even box": {"bounds": (-50.0, 250.0)},
    "round": {"bounds": BOUNDS, "shape": "round"},
    "given": {"bounds": BOUNDS, "shape": [18.0, 9.0, 1.0]},
    "one pass": {"norm_bound": 1000.0, "passes": 1},
}


@cache
def made(name, population=True):
    return dpmean.mean(ROWS, rho=0.5, seed=1, population=population, **ARGUMENTS[name])


# --- what they are ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_interval_of_rows_is_the_mean_and_its_bounds(name):
    release = made(name)
    for confidence in (0.5, 0.95, 0.999):
        found = release.interval(confidence)
        assert (found.confidence, found.of, found.columns) == (confidence, "rows", None)
        assert np.allclose(found.upper - release.mean, release.column_bounds(confidence))
        assert np.allclose(release.mean - found.lower, release.column_bounds(confidence))
    assert np.all((found.lower <= ROWS.mean(axis=0)) & (ROWS.mean(axis=0) <= found.upper))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_interval_of_a_population_covers_the_sampling_error_too(name):
    release = made(name)
    rows, found = release.interval(), release.interval(of="population")
    standard_errors = ROWS.std(axis=0) / math.sqrt(len(ROWS))
    half = (found.upper - found.lower) / 2
    assert np.all(half > (rows.upper - rows.lower) / 2)
    assert np.all(half > 1.6 * standard_errors)
    hidden = np.array(release.variances.noise_std) / len(ROWS)  # as in a narrow column with wide bounds
    assert np.all(half < 3 * standard_errors + 3 * np.sqrt(hidden) + release.column_bounds())
    errors = np.abs(np.array(release.variances.values) - ROWS.var(axis=0))
    assert np.all(errors < 4 * np.array(release.variances.noise_std) + 0.03 * ROWS.var(axis=0))
    known = ~release.variances.hidden
    assert known[0]
    assert np.allclose(release.std[known] ** 2, np.array(release.variances.values)[known])
    wide = release.interval(0.999, of="population")
    assert np.all((wide.lower < found.lower) & (found.upper < wide.upper))


def test_what_clipping_took_away_widens_intervals():
    release = made("ball")
    assert 0 < release.variances.clipped < 0.2
    cut = replace(release, variances=replace(release.variances, clipped=1.0))
    assert np.all(margins_of(cut, 0.95, "population") > 1.1 * margins_of(release, 0.95, "population"))
    assert np.array_equal(cut.std, release.std)


def test_intervals_are_copies_and_say_what_they_are():
    release = dpmean.mean(ROWS, rho=0.5, seed=1, columns=None, population=True, **ARGUMENTS["box"])
    found = release.interval(of="population")
    found.lower[:] = 0.0
    assert release.interval(of="population").lower.min() > 1
    assert str(found).startswith(
        "95 % confidence interval of the mean of the population, column by column\n  column 0  "
    )
    assert str(release.interval(0.9)).startswith("90 % confidence interval of the mean of these rows")
    assert repr(found) == "<Interval: d=3, confidence=0.95, of='population'>"


def test_an_interval_ends_where_bounds_do():
    """The mean of rows within bounds lies within them, and so does that of a population of such rows."""
    rows = (np.random.default_rng(1).random((400, 1)) < 0.01) * 1.0
    release = dpmean.mean(rows, rho=0.5, bounds=(0.0, 1.0), seed=2, population=True)
    for of in ("rows", "population"):
        found = release.interval(of=of)
        assert 0 <= found.lower[0] <= found.upper[0] <= 1
    assert found.lower[0] == 0
    shifted = replace(release, mean=np.array([-3.0]))
    assert shifted.interval().lower[0] == shifted.interval().upper[0] == 0


@pytest.mark.parametrize("name", ["ball", "box"])
def test_margins_know_the_noise_on_a_private_number(name):
    """Noise, bias and its error: with another release they would be other margins."""
    release = made(name)
    noisier = replace(release, found=replace(release.found, noise_std=release.found.noise_std * 3))
    assert np.all(margins_of(noisier, 0.95, "rows") > margins_of(release, 0.95, "rows"))
    varied = replace(release, variances=release.variances.times(np.full(3, 2.0)))
    assert np.allclose(varied.std, 2 * release.std)
    assert np.all(margins_of(varied, 0.95, "population") > 1.5 * margins_of(release, 0.95, "population"))


def test_a_standard_deviation_that_noise_hides_is_not_known():
    release = made("box")
    values, noise_std = np.array(release.variances.values), np.array(release.variances.noise_std)
    values[1], noise_std[1] = 0.0, 20.0
    hidden = replace(release, variances=replace(release.variances, values=tuple(values), noise_std=tuple(noise_std)))
    assert np.isnan(hidden.std).tolist() == [False, True, False]
    assert np.isnan(hidden.to_frame()["std"]).tolist() == [False, True, False]
    text = hidden.explain()
    assert "measured std" in text
    assert "noise hides how widely they vary" in " ".join(text.split())
    assert text.partition("bound ")[0].count("not known") == 1
    assert "not known" not in release.explain()
    assert np.all(np.isfinite(hidden.interval(of="population").lower))
    just = replace(release.variances, values=(4.0, 3.9, 0.0), noise_std=(2.0, 2.0, 0.0))
    assert just.hidden.tolist() == [False, True, False]


# --- where there is none ---------------------------------------------------------------------------------------------


def test_without_variances_a_population_has_no_interval():
    release = made("box", population=False)
    assert release.variances is None
    assert release.std is None
    assert release.interval().of == "rows"
    with pytest.raises(ArgumentError, match="does not have: make the release with population=True"):
        release.interval(of="population")
    for of in ("people", None):
        with pytest.raises(ArgumentError, match='of must be "rows" or "population"'):
            release.interval(of=of)
    for confidence in (0.0, 1.0, 95, math.nan):
        with pytest.raises(ArgumentError, match="confidence must lie between 0 and 1"):
            release.interval(confidence)


def test_where_nothing_is_known_of_the_error_there_is_no_interval():
    clipped = dpmean.mean(ROWS, rho=0.5, norm_bound=1000.0, method="clipped", seed=1)
    local = dpmean.mean(ROWS, epsilon=2.0, norm_bound=1000.0, trust="local", seed=1)
    few = dpmean.mean(ROWS[:60], rho=0.05, norm_bound=1000.0, seed=1, allow_few_rows=True)
    for release, why in (
        (clipped, "does not measure its bias"),
        (local, "no error bound in the local model"),
        (few, "too few rows to know the error"),
    ):
        assert release.intervals == usual_intervals(release) == ()
        with pytest.raises(ArgumentError, match=why):
            release.interval()


def test_variances_are_asked_of_who_can_tell_them():
    for arguments, why in (
        ({"method": "clipped", "rho": 0.5}, 'population=True is for method "refined", got method="clipped"'),
        ({"method": "shifted", "rho": 0.5}, 'population=True is for method "refined"'),
        ({"trust": "local", "epsilon": 1.0}, 'population is for the central model, got trust="local"'),
        (
            {"trust": "shuffle", "epsilon": 1.0, "delta": 1e-6},
            'population is for the central model, got trust="shuffle"',
        ),
    ):
        with pytest.raises(ArgumentError, match=why):
            dpmean.mean(ROWS, norm_bound=1000.0, population=True, **arguments)


@pytest.mark.parametrize("size", [1e-119, 1.0, 1e119])
@pytest.mark.parametrize("bound", ["norm_bound", "bounds"])
def test_intervals_of_huge_and_tiny_numbers(bound, size):
    rows = np.random.default_rng(0).normal(0.1, 0.02, (3000, 2)) * size
    given = {bound: size if bound == "norm_bound" else (-size, size)}
    release = dpmean.mean(rows, rho=0.5, population=True, seed=1, **given)
    assert len(json.loads(release.to_json())["intervals"]) == 2
    assert np.allclose(release.std / size, 0.02, rtol=0.2)
    found = release.interval(of="population")
    assert np.all((found.upper - found.lower) / size < 0.01)


@pytest.mark.parametrize("size", [1e-130, 1e130])
def test_bounds_whose_squares_floats_cannot_hold_are_refused_before_anything_is_paid(size, tmp_path):
    ledger = dpmean.Ledger(tmp_path / "budget.json", rho=1)
    for given in ({"norm_bound": size}, {"bounds": (-size, size)}):
        with pytest.raises(ArgumentError, match="population=True needs bounds between"):
            dpmean.mean(ROWS * size, rho=0.5, population=True, ledger=ledger, **given)
        dpmean.mean(np.zeros((3000, 2)), rho=0.5, seed=1, **given)
    assert ledger.entries == ()


# --- what is paid ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARGUMENTS)
def test_variances_have_a_receipt_and_the_budget_is_spent_exactly(name):
    release, without = made(name), made(name, population=False)
    assert [receipt.step for receipt in release.receipts][-1] == "variances"
    assert release.rho == without.rho == sum(receipt.cost.rho for receipt in release.receipts)
    assert "variances" not in {receipt.step for receipt in without.receipts}
    left = release.rho - release.receipts[0].cost.rho  # the number of rows comes first
    assert float(release.receipts[-1].cost.rho / left) == pytest.approx(share(4004, 3, float(left)), rel=1e-3)


def test_the_share_is_small_where_rows_are_many_and_bounded_everywhere():
    for n, d, rho in ((200, 1, 2.0), (10**4, 16, 0.5), (10**6, 1024, 0.1), (1, 1, 1e-6), (2**33, 10**5, 1e3)):
        assert LEAST <= share(n, d, rho) <= MOST
    assert share(10**4, 4, 0.5) == LEAST
    assert share(300, 4, 0.5) > 3 * LEAST


def test_no_row_is_read_once_more():
    """They are asked of the rows that find the centre, which are in memory."""
    rows = np.random.default_rng(3).normal(5, 1, (40_000, 4))
    for arguments in ({}, {"passes": 1}):
        with_it, without = (
            dpmean.mean(rows, rho=0.5, norm_bound=60.0, seed=1, population=ask, **arguments) for ask in (True, False)
        )
        assert with_it.settings.passes == without.settings.passes == arguments.get("passes", 2)
        assert with_it.variances.rows == with_it.settings.sample


def test_wherever_rows_live_intervals_are_the_same(tmp_path):
    rows = np.random.default_rng(3).normal(5, 1, (20_000, 3)).round(2)
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    np.save(tmp_path / "rows.npy", rows)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    given = {"rho": 0.5, "norm_bound": 60.0, "seed": 1, "population": True}
    wanted = dpmean.mean(rows, **given)
    assert wanted.variances.rows < len(rows)
    forms = [rows.astype(np.float64, order="F"), sparse.csr_array(rows), frame, tmp_path / "rows.npy"]
    for form in [*forms, tmp_path / "rows.parquet", tmp_path / "rows.csv"]:
        found = dpmean.mean(form, **given)
        assert found.variances == wanted.variances
        assert np.array_equal(found.interval(of="population").lower, wanted.interval(of="population").lower)


def test_intervals_can_be_copied_and_pickled(groups):
    *_, found, _ = groups
    for one in (made("box").interval(), found.difference("North", "South")):
        for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):  # noqa: S301  our own bytes
            assert str(other) == str(one)
            assert np.array_equal(other.upper, one.upper)


# --- groups ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def groups():
    labels = np.array(["North", "South", "few"])[np.minimum(np.arange(4000) // 1990, 2)]
    moved = ROWS + np.where(labels == "South", 2.0, 0.0)[:, np.newaxis]
    shared = {"by": labels, "groups": ["North", "South", "few"], "rho": 0.5, "bounds": BOUNDS, "seed": 1}
    return moved, labels, dpmean.mean_by(moved, population=True, **shared), dpmean.mean_by(moved, **shared)


def test_a_difference_of_groups_has_the_errors_of_both(groups):
    rows, labels, found, _ = groups
    north, south = found["North"], found["South"]
    for of in ("rows", "population"):
        told = found.difference("South", "North", of=of)
        assert np.array_equal(told.estimate, south.mean - north.mean)
        truth = rows[labels == "South"].mean(axis=0) - rows[labels == "North"].mean(axis=0)
        half = (told.upper - told.lower) / 2
        alone = [(one.interval(of=of).upper - one.interval(of=of).lower) / 2 for one in (south, north)]
        assert np.all(half <= (alone[0] + alone[1]) * (1 + 1e-9))
        assert np.all(half >= np.maximum(*alone))
        assert np.all((told.lower <= truth) & (truth <= told.upper))
        back = found.difference("North", "South", of=of)
        assert np.allclose(back.estimate, -told.estimate)
        assert np.allclose(back.lower, -told.upper)
    assert np.allclose(half, np.hypot(*alone), rtol=0.2)  # sampling errors are independent
    assert str(told).startswith("South minus North: difference of the population means\n")
    assert repr(told) == "<Difference of groups: d=3, confidence=0.95, of='population'>"


def test_groups_that_share_persons_may_err_alike_as_samples(groups):
    """A person of both groups moves both means, so what sampling adds may add up; noise does not."""
    rows, labels, *_ = groups
    asked = {"by": labels, "groups": ["North", "South"], "rho": 0.5, "bounds": BOUNDS, "seed": 1, "population": True}
    shared = dpmean.mean_by(rows, privacy_unit=np.arange(len(rows)), contributions=2, **asked)
    for of in ("rows", "population"):
        told = shared.difference("North", "South", of=of)
        alone = [(one.interval(of=of).upper - one.interval(of=of).lower) / 2 for one in shared.released.values()]
        half = (told.upper - told.lower) / 2
        assert np.all(half <= (alone[0] + alone[1]) * (1 + 1e-9))
        if of == "population":
            assert np.allclose(half, alone[0] + alone[1], rtol=0.05)
        else:
            assert np.all(half < 0.95 * (alone[0] + alone[1]))


def test_there_is_no_difference_of_what_is_not_there(groups):
    *_, found, without = groups
    with pytest.raises(KeyError, match="there is no group"):
        found.difference("North", "East")
    with pytest.raises(ArgumentError, match="the group few has no mean: about"):
        found.difference("North", "few")
    with pytest.raises(ArgumentError, match="population=True"):
        without.difference("North", "South", of="population")
    assert without.difference("North", "South").of == "rows"


# --- where they are shown --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("name", ["ball", "box", "round"])
def test_documents_have_the_intervals_and_keep_them(name, population):
    release = made(name, population)
    document = json.loads(release.to_json())
    assert [one["of"] for one in document["intervals"]] == ["rows", *["population"] * population]
    assert document["intervals"][0]["lower"] == release.interval().lower.tolist()
    assert document["intervals"][-1]["upper"] == release.intervals[-1].upper.tolist()
    assert ("variances" in document) == population
    back = dpmean.Release.from_json(release.to_json())
    assert back.to_json() == release.to_json()
    assert back.identity == release.identity
    assert back.variances == release.variances
    assert [str(one) for one in back.intervals] == [str(one) for one in release.intervals]
    assert np.array_equal(back.interval(0.8).lower, release.interval(0.8).lower)


def test_a_document_without_intervals_stays_as_it_is():
    document = json.loads(made("box").to_json())
    del document["intervals"], document["variances"]
    release = dpmean.Release.from_json(json.dumps(document))
    assert release.intervals == ()
    assert json.loads(release.to_json()) == document
    assert release.interval().lower[0] < release.mean[0]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"variances": {"values": [1.0], "noise_std": [1.0], "rows": 9, "clipped": 0.0}},
            "variances must have 3 values",
        ),
        ({"variances": {"values": [-1.0] * 3, "noise_std": [1.0] * 3, "rows": 9, "clipped": 0.0}}, "variances"),
        ({"intervals": [{"of": "rows", "confidence": 0.95, "lower": [1.0], "upper": [2.0]}]}, "must have 3 lower"),
        ({"intervals": [{"of": "rows", "confidence": 0.95, "lower": [3.0] * 3, "upper": [2.0] * 3}]}, "not be above"),
        ({"intervals": [{"of": "all", "confidence": 0.95, "lower": [1.0] * 3, "upper": [2.0] * 3}]}, '"of" rows or'),
        ({"intervals": [{"of": "rows", "confidence": 1.5, "lower": [1.0] * 3, "upper": [2.0] * 3}]}, "intervals"),
    ],
    ids=str,
)
def test_documents_with_wrong_intervals_are_refused(change, why):
    document = {**json.loads(made("box").to_json()), **change}
    with pytest.raises(ArgumentError, match=why):
        dpmean.Release.from_json(json.dumps(document))


def test_frames_have_the_ends_that_are_known(groups):
    ends = ["population_lower", "population_upper"]
    for population in (False, True):
        frame = made("box", population).to_frame()
        assert list(frame)[1:4] == ["mean", "lower", "upper"]
        assert frame["lower"].tolist() == made("box", population).interval().lower.tolist()
        assert [bool(frame[name].notna().all()) for name in (*ends, "std")] == [population] * 3
    assert frame["population_upper"].tolist() == made("box").interval(of="population").upper.tolist()
    assert frame["std"].tolist() == made("box").std.tolist()
    *_, with_it, without = groups
    known, unknown = (found.to_frame().notna().any() for found in (with_it, without))
    assert set(known.index[known & ~unknown]) == {*ends, "std"}


# --- the allowance for a variance that is not exact ------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99])
def test_an_allowance_makes_intervals_hold_however_noisy_variances_are(confidence):
    """By quadrature over the noise of the variance: never more than 0.04 % too rarely, whatever is known beside it."""
    normal, noise = normal_quantile((1 + confidence) / 2), stats.norm.ppf((np.arange(4000) + 0.5) / 4000)
    for known in (0.0, 0.05, 0.5, 2.0, 20.0):
        for true in np.geomspace(0.01, 50, 30):
            values = np.maximum(true + noise, 0.0)
            variances = Variances(tuple(values), (1.0,) * len(values), 10**9)
            raised = with_allowance(variances, np.full(len(values), known), normal)
            holds = 2 * stats.norm.cdf(normal * np.sqrt((raised + known) / (true + known))) - 1
            assert holds.mean() > confidence - 0.0004
            without = 2 * stats.norm.cdf(normal * np.sqrt((values + known) / (true + known))) - 1
            if known == 0 and 0.5 < true < 2:
                assert without.mean() < confidence - 0.02  # it takes an allowance
    exact = Variances((2.0, 0.0), (0.0, 0.0), 10**9)
    assert np.allclose(with_allowance(exact, np.zeros(2), normal), [2.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("n", [10, 30, 1000])
def test_without_noise_an_allowance_is_that_of_student(n):
    """The variance of a sample of normal numbers has an error of its own."""
    normal = normal_quantile(0.975)
    (raised,) = with_allowance(Variances((1.0,), (0.0,), n), np.zeros(1), normal)
    assert normal * math.sqrt(raised) == pytest.approx(stats.t.ppf(0.975, n), rel=0.04 if n == 10 else 0.01)


# --- how often they hold ---------------------------------------------------------------------------------------------


def mixed(generator, n, d):
    columns = [
        *(generator.normal(3, 1, n), generator.exponential(2, n), (generator.random(n) < 0.2) * 1.0),
        *(generator.lognormal(0, 0.5, n), generator.poisson(3, n) * 1.0, generator.uniform(0, 9, n)),
    ]
    return np.stack([columns[j % 6] for j in range(d)], axis=1)


KINDS = {
    "normal": (lambda g, n, d: g.normal(3, 1, (n, d)), [3.0]),
    "laplace": (lambda g, n, d: g.laplace(0, 1, (n, d)), [0.0]),
    "uniform": (lambda g, n, d: g.random((n, d)), [0.5]),
    "gamma": (lambda g, n, d: g.gamma(2, 1, (n, d)), [2.0]),
    "exponential": (lambda g, n, d: g.exponential(1, (n, d)), [1.0]),
    "log-normal": (lambda g, n, d: g.lognormal(0, 0.5, (n, d)), [math.exp(0.125)]),
    "0/1": (lambda g, n, d: (g.random((n, d)) < 0.3) * 1.0, [0.3]),
    "Poisson": (lambda g, n, d: g.poisson(3, (n, d)) * 1.0, [3.0]),
    "mixed": (mixed, [3.0, 2.0, 0.2, math.exp(0.125), 3.0, 4.5]),
}


def misses(kind, n, d, rho, neighbours, runs, *, box=False):
    """Return in how many runs the mean of the population is outside of the interval of each column."""
    draw, means = KINDS[kind]
    truth, missed = np.array([means[j % len(means)] for j in range(d)]), np.zeros(d)
    bound = {"bounds": (-100.0, 100.0)} if box else {"norm_bound": 300.0}
    for run in range(runs):
        rows = draw(np.random.default_rng([7, run]), n, d)
        release = dpmean.mean(rows, rho=rho, seed=run, population=True, neighbours=neighbours, **bound)
        found = release.interval(of="population")
        missed += (truth < found.lower) | (truth > found.upper)
    return missed


HELD = [
    ("normal", 1000, 1, 2.0, "replace-one", False),
    ("normal", 300, 4, 0.5, "add-or-remove-one", False),
    ("laplace", 1000, 1, 2.0, "replace-one", False),
    ("uniform", 1000, 1, 2.0, "replace-one", False),
    ("uniform", 1000, 16, 2.0, "add-or-remove-one", True),
    ("gamma", 1000, 4, 0.5, "add-or-remove-one", True),
    ("exponential", 4000, 1, 0.5, "add-or-remove-one", False),
    ("log-normal", 1000, 4, 2.0, "replace-one", False),
    ("0/1", 1000, 4, 0.5, "replace-one", True),
    ("Poisson", 4000, 1, 2.0, "add-or-remove-one", False),
    ("mixed", 2000, 6, 0.5, "add-or-remove-one", True),
]
ENOUGH = 1e-6
"""How likely a true coverage of 94 % fails the test."""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n", "d", "rho", "neighbours", "box"), HELD, ids=str)
def test_intervals_of_a_population_hold(kind, n, d, rho, neighbours, box):
    runs = 400
    missed = misses(kind, n, d, rho, neighbours, runs, box=box)
    assert missed.max() <= stats.binom.isf(ENOUGH / d, runs, 0.06)


def test_intervals_that_are_too_narrow_are_noticed():
    """Those of rows do not cover what sampling adds: the same test rejects them."""
    runs, missed = 100, 0
    for run in range(runs):
        rows = np.random.default_rng([7, run]).normal(3, 1, (1000, 1))
        found = dpmean.mean(rows, rho=2.0, norm_bound=300.0, seed=run).interval()
        missed += not found.lower[0] <= 3 <= found.upper[0]
    assert missed > stats.binom.isf(ENOUGH, runs, 0.06)


def test_too_few_rows_are_refused_as_before():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TooFewRowsError):
            dpmean.mean(ROWS[:40], rho=0.05, norm_bound=1000.0, population=True)
