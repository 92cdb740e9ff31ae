"""Vectors whose columns share a unit: scales that noise may hide, rows that are far out, and whether a shape pays."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmean
from dpmean.estimators.refined import directions
from dpmean.estimators.refined.directions import CLEAR, FAR, FLOOR, PROMISE, _Found, _of_far_rows, _without_noise

PUBLIC = {"neighbours": "replace-one"}


# --- squares with noise ----------------------------------------------------------------------------------------------


def test_squares_that_noise_cannot_hide_stay_what_they_are():
    squares = np.array([CLEAR * 2 + 1e-9, 1e9, 77.0, 11.0])
    assert _without_noise(squares, 2.0) is squares


def test_squares_that_are_all_hidden_are_drawn_to_their_mean():
    """With no more variance than the noise has they become their mean, and with more they go part of the way."""
    generator, std = np.random.default_rng(1), 10.0
    alike = 30.0 + generator.normal(0, std, 4000)
    alike = alike[alike < CLEAR * std]
    drawn = _without_noise(alike, std)
    assert drawn.mean() == pytest.approx(alike.mean())
    assert np.ptp(drawn) < 0.3 * np.ptp(alike)
    unlike = generator.uniform(-40, 40, 4000)
    assert np.ptp(_without_noise(unlike + 200, 60.0)) < 1e-9  # all of the variance may be that of the noise
    drawn, variance = _without_noise(unlike + 45, 18.0), 80**2 / 12
    kept = (variance - 18**2) / variance
    assert drawn.mean() == pytest.approx(45, rel=0.05)
    assert np.std(drawn) == pytest.approx(kept * np.std(unlike), rel=0.2)


@given(st.lists(st.floats(-1e3, 1e6), min_size=1, max_size=20), st.floats(0.1, 1e4))
def test_no_column_has_less_than_a_part_of_what_hidden_ones_have_on_average(values, std):
    squares = np.array(values)
    hidden, found = squares <= CLEAR * std, _without_noise(squares, std)
    assert np.array_equal(found[~hidden], squares[~hidden])
    assert found.min() > 0
    if hidden.any():
        mean = max(squares[hidden].mean(), std / math.sqrt(hidden.sum()))
        assert found[hidden].min() >= FLOOR * mean * (1 - 1e-12)
        assert np.all(np.diff(found[hidden][np.argsort(squares[hidden])]) >= -1e-9 * mean)  # their order is kept


def test_nothing_but_noise_is_as_much_as_noise_alone_may_be():
    assert _without_noise(np.full(25, -1.0), 10.0).tolist() == pytest.approx([2.0] * 25)
    assert _without_noise(np.full(25, -1e6), 10.0).tolist() == pytest.approx([2.0 * FLOOR] * 25)


# --- rows that are far out -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 7, 500])
def test_even_scales_stay_even(d):
    for scale in (1.0, 1e-6, 1e9):
        found = _of_far_rows(np.full(d, scale))
        assert np.ptp(found) == pytest.approx(0, abs=1e-9 * scale)
        assert found[0] > scale
    assert _Found(np.ones(d), np.zeros(d)).units.tolist() == [1.0] * d


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=30))
def test_larger_columns_get_larger_and_their_order_is_kept(values):
    stds = np.sort(np.array(values))
    ratios = _of_far_rows(stds) / stds
    assert ratios.min() >= 1 - 1e-9
    assert np.diff(ratios).min() >= -1e-6 * ratios.max()


@pytest.mark.parametrize("stds", [1 / np.arange(1, 9), np.array([1.0] * 7 + [4.0])], ids=["harmonic", "one of eight"])
def test_the_scales_of_far_rows_are_about_those_of_normal_rows_at_that_distance(stds):
    """Among normal rows of which some are two standard deviations of their squared length beyond its mean."""
    found = _of_far_rows(stds)
    rows = np.random.default_rng(0).normal(0, stds / np.sqrt(found), (300_000, len(stds)))
    lengths, squares = (rows**2).sum(axis=1), stds**2 / found
    at = squares.sum() + FAR * math.sqrt(2 * (squares**2).sum())
    far = rows[np.abs(lengths / at - 1) < 0.03]
    assert len(far) > 1000
    seen = np.sqrt((far**2).mean(axis=0) * found)
    assert seen == pytest.approx(found, rel=0.2)  # measured: 0.15
    assert np.abs(seen / stds - 1).max() > 0.5  # which they are not without it


# --- whether it pays -------------------------------------------------------------------------------------------------


def half_of_them_rare(seed, n=4000, d=16):
    """Return rows of which half of the columns are nearly always zero, and seldom far out."""
    generator = np.random.default_rng(seed)
    rare = generator.normal(0, 10, (n, d // 2)) * (generator.random((n, d // 2)) < 0.02)
    return np.column_stack([generator.normal(0, 1, (n, d // 2)), rare])


def released(rows, seed):
    return dpmean.mean(rows, rho=0.5, norm_bound=100.0, seed=seed, **PUBLIC)


def typical_error(seeds):
    made = [half_of_them_rare(seed) for seed in seeds]
    return np.median([np.linalg.norm(released(rows, 1).mean - rows.mean(axis=0)) for rows in made])


def test_a_promise_that_far_pairs_do_not_keep_leaves_the_noise_even(monkeypatch):
    """Pairs are near in most columns alone, while rows that are clipped are far out in others."""
    for seed in range(8):
        release = released(half_of_them_rare(seed), seed)
        values = np.array(release.scales.values)
        assert _Found(values / math.sqrt((values**2).mean()), values).promise < PROMISE
        assert "far pairs 2" in [receipt.step for receipt in release.receipts]
        assert not release.scales.used
        assert np.ptp(release.noise_std) == 0
    guarded = typical_error(range(8))
    monkeypatch.setattr(directions, "_pays", lambda *_: True)
    assert released(half_of_them_rare(0), 0).scales.used
    assert typical_error(range(8)) > 3 * guarded  # measured: 11


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_a_promise_that_far_pairs_keep_is_followed(neighbours):
    for seed in range(8):
        rows = np.random.default_rng(seed).normal(5, 1 / np.arange(1, 17), (4000, 16))
        release = dpmean.mean(rows, rho=0.5, norm_bound=100.0, seed=seed, neighbours=neighbours)
        assert release.scales.used
        assert release.noise_std[0] > 1.5 * release.noise_std[-1]
