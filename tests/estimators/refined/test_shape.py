"""The shape of rows: noise follows the scales of columns, loose ranges cost little, and no value is cut off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmean
from dpmean.estimators.refined.shape import grid_through, shortened
from dpmean.numerics.grid import Grid
from dpmean.queries.domain import Domain

PUBLIC = {"neighbours": "replace-one"}
OF_SHAPE = ("squares", "far pairs", "octaves", "medians")


def harmonic(generator, n=4000, d=64):
    return 5 + generator.normal(size=(n, d)) / np.arange(1, d + 1)


def asked(release):
    return {receipt.step for receipt in release.receipts if receipt.step.startswith(OF_SHAPE)}


def errors(rows, seeds, **arguments):
    """Return the error of each column, a line for each seed."""
    found = [dpmean.mean(rows, rho=0.5, seed=seed, **PUBLIC, **arguments).mean for seed in seeds]
    return np.abs(np.array(found) - rows.mean(axis=0))


# --- one vector ------------------------------------------------------------------------------------------------------


def test_noise_follows_columns_that_differ():
    rows, seeds = harmonic(np.random.default_rng(1)), range(12)
    shaped, even = (
        np.linalg.norm(errors(rows, seeds, norm_bound=300.0, shape=shape), axis=1) for shape in ("auto", "round")
    )
    assert np.median(shaped) < 0.6 * np.median(even)  # measured: 0.42
    release = dpmean.mean(rows, rho=0.5, norm_bound=300.0, seed=1, **PUBLIC)
    assert release.scales.used
    assert release.noise_std[0] > 4 * release.noise_std[-1]


def test_columns_that_are_alike_cost_next_to_nothing():
    rows = np.random.default_rng(2).normal(5, 1, (4000, 64))
    for seed in range(5):
        release = dpmean.mean(rows, rho=0.5, norm_bound=400.0, seed=seed, **PUBLIC)
        assert not release.scales.used
        assert sum(receipt.cost.rho for receipt in release.receipts if receipt.step in asked(release)) <= 0.5 * 0.004
        assert np.ptp(release.noise_std) == 0


def test_scales_are_told_up_to_their_errors():
    """Nine of ten of 20 releases' columns within three standard errors, and none of them far off."""
    for seed in range(20):
        rows = harmonic(np.random.default_rng(seed), d=16)
        scales = dpmean.mean(rows, rho=0.5, norm_bound=100.0, seed=seed, **PUBLIC).scales
        known, true = np.array(scales.known), rows.std(axis=0)
        off = np.abs(np.array(scales.values) / true - 1)[known]
        assert known.sum() > 8
        assert np.quantile(off / np.array(scales.errors)[known], 0.9) < 3
        assert off.max() < 0.6


def test_rows_are_shortened_to_the_bound_before_columns_are_scaled():
    rows = harmonic(np.random.default_rng(3), d=32) - 5
    rows[::2] *= 100.0
    clipped = rows * np.minimum(1, 1.0 / np.linalg.norm(rows, axis=1, keepdims=True))
    for shape in ("auto", 1 / np.arange(1.0, 33)):
        release = dpmean.mean(rows, rho=2.0, norm_bound=1.0, shape=shape, seed=3, **PUBLIC)
        assert np.linalg.norm(release.mean - clipped.mean(axis=0)) < release.error_bound()


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
def test_with_few_rows_nothing_is_asked():
    rows = harmonic(np.random.default_rng(4), n=300)
    assert not asked(dpmean.mean(rows, rho=0.5, norm_bound=300.0, seed=1, allow_few_rows=True, **PUBLIC))
    table = dpmean.mean(rows, rho=0.05, bounds=(-1e3, 1e3), seed=1, allow_few_rows=True, **PUBLIC)
    assert not asked(table)
    assert table.scales is None


@pytest.mark.parametrize("shape", ["round", 1 / np.arange(1.0, 65)])
def test_nothing_is_asked_that_is_known_or_not_wanted(shape):
    release = dpmean.mean(harmonic(np.random.default_rng(5)), rho=0.5, norm_bound=300.0, shape=shape, seed=1, **PUBLIC)
    assert not asked(release)
    assert (release.scales is None) == isinstance(shape, str)


# --- tables ----------------------------------------------------------------------------------------------------------


def people(generator, n):
    columns = [generator.normal(45, 15, n), generator.lognormal(10, 0.5, n), generator.random(n) < 0.2]
    return np.column_stack([*columns, generator.normal(14, 1.3, n)]).astype(float)


def test_a_range_that_is_a_million_times_too_loose_costs_next_to_nothing():
    rows, seeds = people(np.random.default_rng(6), 5000), range(15)
    fitting = ([0, 0, 0, 0], [130, 2e5, 1, 28])
    loose = ([0, 0, 0, -1.3e6], [130, 2e5, 1, 1.3e6])
    near, far = (
        np.median(errors(rows, seeds, bounds=bounds), axis=0) / rows.std(axis=0) for bounds in (fitting, loose)
    )
    assert near.max() < 0.02
    assert np.all(far < 2 * near + 0.002)
    assert np.median(errors(rows, seeds, bounds=loose, shape="round"), axis=0)[3] > 100 * far[3]


def test_no_value_within_the_bounds_is_cut_off_in_silence():
    """Rare values far out raise the noise, and do not vanish: some may, up to as many rows as the release says."""
    generator = np.random.default_rng(7)
    rows = generator.normal(0, 10, (50_000, 4))
    rows[generator.random(50_000) < 0.004, 0] = 99_999.0
    for seed in range(5):
        release = dpmean.mean(rows, rho=0.5, bounds=(-1e5, 1e5), seed=seed)
        missing = release.found.unseen * 1e5 / len(rows)
        assert np.all(np.abs(release.mean - rows.mean(axis=0)) < release.column_bounds() + missing)
        assert abs(release.mean[0] - rows[:, 0].mean()) < 0.5 * rows[:, 0].mean()


@pytest.mark.parametrize("times", [0.1, 1.0, 10.0])
def test_wrong_scales_cost_accuracy_and_nothing_else(times):
    generator = np.random.default_rng(8)
    rows = np.column_stack(
        [generator.exponential(10, 20_000), generator.random(20_000) < 0.01, generator.normal(size=20_000)]
    )
    bounds, shape = ([0, 0, -50], [1000, 1, 50]), [10.0 * times, 0.1, 1.0]
    missed = 0
    for seed in range(10):
        release = dpmean.mean(rows, rho=0.5, bounds=bounds, shape=shape, seed=seed, **PUBLIC)
        missed += np.any(np.abs(release.mean - rows.mean(axis=0)) > 2 * release.column_bounds())
    assert missed <= 1


@pytest.mark.parametrize("kind", ["0 and 1", "normal", "mixed"])
def test_the_bound_on_all_columns_is_in_their_standard_deviations(kind):
    """60 releases: a bound that holds with 95 % is missed more than 12 times with a chance below 10^-6."""
    missed = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        ones, normal = (generator.random((4000, 4)) < 0.1) * 1.0, generator.normal(50, 10, (4000, 4))
        rows = {"0 and 1": ones, "normal": normal, "mixed": np.hstack([ones, normal])}[kind]
        release = dpmean.mean(rows, rho=0.5, bounds=(-200.0, 200.0), seed=seed, **PUBLIC)
        missed += np.linalg.norm((release.mean - rows.mean(axis=0)) / rows.std(axis=0)) > release.error_bound()
    assert missed <= 12


# --- grids and units -------------------------------------------------------------------------------------------------


@given(st.floats(1e-3, 1e6), st.integers(1, 300))
def test_a_grid_of_the_same_rows_is_the_same(reach, d):
    domain = Domain.within_norm(d, reach, impute=False)
    grid = Grid.at_least(reach / 2**28, reach, d)
    assert grid_through(grid, domain, domain) == grid


@given(st.lists(st.floats(1e-30, 1e30), min_size=1, max_size=20))
def test_short_numbers_stay_what_they_are(values):
    short = shortened(np.array(values))
    assert np.array_equal(shortened(short), short)
    assert np.all(np.abs(short / np.array(values) - 1) <= 2**-10)
