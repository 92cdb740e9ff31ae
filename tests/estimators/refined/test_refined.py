"""The refined estimator from outside: near the oracle, honest about its error, at ease with odd rows."""

import math
import pickle
import re
import warnings

import numpy as np
import pytest
from scipy import stats

import dpmean
from dpmean.experiments.data import draw
from dpmean.numerics.error_quantiles import error_quantile, length_quantile
from tests.support.oracle import ratio_to_oracle
from tests.support.public import mean

N = 4000


def refined(rho, bound):
    def estimate(rows, trial):
        return mean(rows, rho=rho, norm_bound=bound * math.sqrt(rows.shape[1]), seed=trial).mean

    return estimate


# kind, n, d, rho, bound, options, the largest ratio to the oracle that is accepted, and the largest of a single trial
SETTINGS = [
    ("gaussian", N, 16, 0.5, 50, {}, 1.05, 2),
    ("gaussian", N, 64, 0.5, 1e6, {}, 1.0, 1.5),
    ("gaussian", N, 256, 0.5, 50, {}, 1.0, 1.2),
    ("gaussian", N, 128, 0.005, 50, {}, 1.25, 3),
    ("stretched", N, 64, 0.5, 100, {"kappa": 1000, "mu": 50}, 1.0, 1.5),
    ("lognormal", N, 64, 0.5, 100, {}, 1.0, 2),
    ("cube", N, 64, 0.5, 100, {}, 1.05, 1.6),
    ("clusters", N, 64, 0.5, 50, {"share": 0.5}, 1.2, 2),
    ("clusters", N, 64, 0.5, 50, {"share": 0.01}, 1.3, 3),
    ("three clusters", N, 8, 0.5, 100, {}, 1.25, 4),
    ("sparse", N, 64, 0.5, 1, {"share": 0.05}, 1.15, 2),
    ("outlier", N, 8, 0.5, 100, {}, 1.1, 2),
    ("gaussian", 40_000, 8, 2, 50, {}, 1.15, 2),  # a sample locates
    ("gaussian", 150, 16, 1, 50, {}, 2.2, 8),  # few rows, and few columns, where margins come before the last noise
    ("gaussian", 230, 128, 0.5, 50, {}, 1.4, 3),
    ("exponential", N, 1, 0.5, 50, {}, 1.2, 6),
    ("two points", N, 1, 0.5, 50, {}, 1.5, 6),
    ("sparse", N, 1, 0.5, 2, {"share": 0.1}, 1.4, 6),
    ("lognormal", N, 2, 0.5, 50, {}, 1.4, 6),
    ("cube", N, 3, 0.5, 50, {}, 1.25, 4),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_refined_is_near_the_oracle(setting):
    kind, n, d, rho, bound, options, most, worst = setting
    ratio, farthest = ratio_to_oracle(
        lambda g: draw(kind, g, n, d, **options).rows, rho, refined(rho, bound), 60 if d < 5 else 24
    )
    assert ratio < most
    assert farthest < worst


@pytest.mark.parametrize("d", [1, 2, 8, 100])
def test_equal_rows_give_their_value(d):
    rows = np.full((N, d), 3.0)
    reach = 10 * math.sqrt(d)
    found = mean(rows, rho=0.5, norm_bound=reach, seed=3)
    assert np.linalg.norm(found.mean - 3) < 1e-3 * reach
    assert found.rho == 0.5


def test_rows_of_zeros_and_odd_numbers_of_rows():
    for n in (1001, 1000):
        found = mean(np.zeros((n, 3)), rho=2, norm_bound=1.0, seed=1)
        assert np.abs(found.mean).max() < 1e-3


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_a_handful_of_rows_is_answered_if_forced(n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpmean.TooFewRowsWarning)
        found = mean(np.ones((n, 4)), rho=0.1, norm_bound=5, seed=1, allow_few_rows=True)
    assert np.all(np.isfinite(found.mean))


@pytest.mark.parametrize("rho", [1e-12, 1e12])
def test_extreme_budgets_are_computed_with(rho):
    rows = np.random.default_rng(1).normal(1, 1, (300, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpmean.TooFewRowsWarning)
        found = mean(rows, rho=rho, norm_bound=50, seed=1, allow_few_rows=True)
    assert np.all(np.isfinite(found.mean))
    if rho > 1:
        assert np.linalg.norm(found.mean - rows.mean(axis=0)) < 1e-2


@pytest.mark.parametrize("power", [-500, -490, 490, 500])
@pytest.mark.parametrize("d", [1, 8])
@pytest.mark.parametrize("kind", ["zeros", "equal", "normal"])
def test_bounds_as_small_and_as_large_as_they_may_be(power, d, kind):
    bound = 2.0**power
    rows = {"zeros": 0.0, "equal": bound / 8, "normal": np.random.default_rng(1).normal(0, 0.05, (2000, d)) * bound}[
        kind
    ]
    rows = np.zeros((2000, d)) + rows
    found = mean(rows, rho=0.5, norm_bound=bound, seed=1)
    assert np.abs(found.mean / bound - rows.mean(axis=0) / bound).max() < 0.05
    assert found.error_bound() / bound < 0.2
    assert "Private mean" in str(found)


def test_the_order_of_rows_hardly_matters():
    """Pairs are drawn at random, so sorted rows do not look more spread out than others."""
    rows = np.random.default_rng(2).normal(0, 1, (N, 1))
    plain, ordered = (mean(x, rho=0.5, norm_bound=50, seed=1).found.spread for x in (rows, np.sort(rows, axis=0)))
    assert ordered == pytest.approx(plain, rel=0.15)


def test_the_spread_is_that_of_the_rows():
    found = mean(np.random.default_rng(2).normal(0, 2, (N, 100)), rho=0.5, norm_bound=500, seed=1).found
    assert found.spread == pytest.approx(20, rel=0.1)
    assert 20 < found.ceiling < 32


LUMPS = {
    "zeros and few ones": (lambda g: (g.random((2000, 1)) < 0.003) * 1.0, {"bounds": (0, 1)}),
    "zeros and ones": (lambda g: (g.random((2000, 1)) < 0.15) * 1.0, {"bounds": (0, 1)}),
    "three columns": (lambda g: (g.random((2000, 3)) < 0.05) * 1.0, {"bounds": (0, 1)}),
    "most say five": (lambda g: 5 - 2.0 * (g.random((2000, 1)) < 0.1), {"bounds": (0, 10)}),
    "most spend nothing": (lambda g: g.lognormal(3, 1, (4000, 1)) * (g.random((4000, 1)) < 0.05), {"norm_bound": 1e4}),
}


@pytest.mark.parametrize("name", LUMPS)
def test_rows_most_of_which_are_equal(name):
    """No spread is theirs. The mean must not be lost, and the bound must hold."""
    make, bound = LUMPS[name]
    missed, lost = 0, 0
    for seed in range(30):
        rows = make(np.random.default_rng(seed))
        found = mean(rows, rho=0.5, seed=seed, **bound)
        error = float(np.linalg.norm(found.mean - rows.mean(axis=0)))
        missed += error > found.error_bound()
        lost += error > 0.5 * float(np.linalg.norm(rows.mean(axis=0)))
    assert lost <= 2
    assert missed <= 5


# --- error bounds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gaussian", "laplace", "cube", "gamma"])
@pytest.mark.parametrize("d", [1, 4, 64])
def test_error_bounds_hold_about_as_often_as_they_say(kind, d):
    generator = np.random.default_rng([d, len(kind)])
    misses, bounds = {"rows": 0, "population": 0}, []
    trials = 60
    population = {"gaussian": 5, "laplace": 5, "cube": 3.5, "gamma": 3.5}[kind]
    for seed in range(trials):
        rows = draw(kind, generator, N, d).rows
        found = mean(rows, rho=0.5, norm_bound=50 * math.sqrt(d), seed=seed)
        misses["rows"] += np.linalg.norm(found.mean - rows.mean(axis=0)) > found.error_bound()
        misses["population"] += np.linalg.norm(found.mean - population) > found.error_bound(of="population")
        bounds.append(found.error_bound() / np.linalg.norm(found.noise_std))
    assert misses["rows"] <= 9  # three are expected
    assert misses["population"] <= 12  # the spread is a little less than the standard deviation of skewed rows
    assert np.mean(bounds) < (9 if d < 16 else 2.2)  # in few dimensions a bias is hard to measure


def test_columns_have_bounds_of_their_own():
    generator, missed, wide = np.random.default_rng(5), np.zeros(3), []
    for seed in range(60):
        rows = generator.normal([40, 30_000, 170], [10, 9000, 10], (3000, 3))
        found = mean(rows, rho=0.5, bounds=([0, 0, 50], [130, 200_000, 250]), seed=seed)
        missed += np.abs(found.mean - rows.mean(axis=0)) > found.column_bounds()
        assert (found.column_bounds() / rows.std(axis=0)).max() < 0.05
        wide.append((found.column_bounds() / found.noise_std).max())
    assert np.median(wide) < 8
    assert max(wide) < 25  # where the unit of a column is an octave too large
    assert missed.max() <= 9
    interval = found.interval()
    shown = re.search(r"column 0 +([\d.]+) +([\d.]+) to ([\d.]+)", str(found))
    exact = found.mean[0], interval.lower[0], interval.upper[0]
    assert [float(number) for number in shown.groups()] == pytest.approx(exact, abs=1e-3)
    assert np.allclose(interval.upper - found.mean, found.column_bounds())


def test_a_bound_grows_with_confidence_and_is_refused_where_bias_is_unknown():
    rows = np.random.default_rng(0).normal(5, 1, (N, 3))
    found = mean(rows, rho=0.5, norm_bound=50, seed=1)
    assert (
        found.error_bound(0.5)
        < found.error_bound()
        < found.error_bound(0.999)
        < found.error_bound(0.999, of="population")
    )
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        found.error_bound(95)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        found.error_bound("0.95")
    with pytest.raises(ValueError, match='of must be "rows" or "population"'):
        found.error_bound(of="people")
    with pytest.raises(ValueError, match="does not measure its bias"):
        mean(rows, rho=0.5, norm_bound=50, seed=1, method="clipped").error_bound()


def test_words_and_documents_carry_what_was_found():
    rows = np.random.default_rng(0).normal(5, 1, (N, 30))
    found = mean(rows, rho=0.5, norm_bound=300, seed=1)
    for word in (
        "spread",
        "each time around a better centre",
        "the mean of these rows differs from this estimate by at most",
        "population mean, if they are an independent sample: at most",
        "not covered: up to",
    ):
        assert word in " ".join(found.explain().split())
    again = dpmean.Release.from_json(found.to_json())
    assert again.found == found.found
    assert again.error_bound() == found.error_bound()
    assert pickle.loads(pickle.dumps(found)).to_json() == found.to_json()  # noqa: S301  our own
    scaled = mean(rows * 7, rho=0.5, norm_bound=2100, seed=1)
    assert scaled.found.spread == pytest.approx(7 * found.found.spread, rel=0.1)


def test_lengths_are_in_half_widths_when_columns_differ():
    rows = np.random.default_rng(0).normal(0, 1, (N, 2)) * [1, 1000]
    found = mean(rows, rho=0.5, bounds=([-10, -10_000], [10, 10_000]), shape="round", seed=1)
    assert found.found.spread == pytest.approx(0.17, rel=0.3)
    assert found.error_bound() < 0.01
    assert f"{50 * found.found.spread:.4g} % of the range" in found.explain()


@pytest.mark.parametrize("d", [1, 2, 3, 10, 999, 1001, 50_000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
def test_lengths_of_noise_have_their_quantiles(d, confidence):
    assert length_quantile(d, confidence) == pytest.approx(math.sqrt(stats.chi2.ppf(confidence, d)), rel=1e-4)


@pytest.mark.parametrize("d", [1, 5, 200])
@pytest.mark.parametrize("bias", [0.0, 0.5, 3.0, 20.0])
def test_noise_plus_bias_stays_below_its_quantile(d, bias):
    noise = np.random.default_rng(d).normal(0, 1, (20_000, d))
    noise[:, 0] += bias
    lengths = np.linalg.norm(noise, axis=1)
    assert np.mean(lengths > error_quantile(np.ones(d), bias, 0.0, 0.95)) < 0.055
