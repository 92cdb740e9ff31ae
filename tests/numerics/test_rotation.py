import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.linalg import hadamard as hadamard_matrix

from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid, finest_step
from dpmean.numerics.rotation import Rotation, hadamard
from dpmean.queries.domain import Domain
from dpmean.rows.memory import MemoryRows


def rotation_for(d, reach=8.0, step=2.0**-10):
    return Rotation.draw(Grid(step, reach, d), PublicCoins("test"))


@pytest.mark.parametrize("width", [1, 2, 8, 64])
def test_the_transform_is_the_matrix(width):
    values = np.random.default_rng(0).normal(size=width)
    assert np.allclose(hadamard(values), hadamard_matrix(width) @ values)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 100])
def test_back_undoes_the_rotation(d):
    rotation = rotation_for(d)
    row = np.random.default_rng(1).normal(size=d)
    padded = np.zeros(rotation.width)
    padded[:d] = row / rotation.grid.step
    assert np.allclose(rotation.back(hadamard(rotation.signs * padded)), row)


@pytest.mark.parametrize("size", [1, 2, 4, 16, 1000])
@pytest.mark.parametrize("d", [1, 5, 16])
def test_coordinates_in_any_portions_are_the_same_whole_numbers(d, size):
    """The kernel's place of each rotated coordinate equals the matrix product, exactly."""
    rotation = rotation_for(d)
    rows = np.random.default_rng(2).normal(size=(37, d))
    padded = np.zeros((37, rotation.width))
    padded[:, :d] = np.rint(rows / rotation.grid.step)
    exact = (padded * rotation.signs) @ hadamard_matrix(rotation.width)
    memory = MemoryRows(rows, Domain.within_norm(d, 8.0, impute=False))
    places = np.concatenate([memory.answer(view).indices for view in rotation.views(size)])
    line = next(rotation.views(1))
    expected = np.clip(np.ceil((exact - line.low) / line.spacing), 0, line.points)
    assert np.array_equal(places, expected.T)


def test_the_line_covers_the_rotated_mean():
    """Lemma 3.4: hardly any rotated vector of full norm leaves the searched range."""
    missed = 0
    for seed in range(200):
        rotation = Rotation.draw(Grid(2.0**-20, 1.0, 64), PublicCoins(str(seed)))
        spike = np.zeros(64)
        spike[: 1 + seed % 64] = 1 / math.sqrt(1 + seed % 64) / rotation.grid.step
        missed += np.abs(hadamard(rotation.signs * spike)).max() > rotation.half_points * rotation.spacing
    assert missed == 0


@given(st.integers(1, 3000), st.floats(1, 2), st.integers(0, 30))
@example(1, 2 * 0.9999999999, 12)
def test_the_line_never_has_more_points_than_32_bits_hold(d, reach, coarser):
    step = finest_step(reach, d) * 2.0**coarser
    assert Rotation.draw(Grid(step, reach, d), PublicCoins("a")).points < 2**31 - 1


def test_coins_are_public_and_reproducible():
    coins = PublicCoins("key")
    assert np.array_equal(coins.signs(64), PublicCoins("key").signs(64))
    assert not np.array_equal(coins.signs(64), PublicCoins("other").signs(64))
    positions = coins.sample(1000, 100)
    assert len(set(positions.tolist())) == 100
    assert np.all(np.diff(positions) > 0)
    assert 0 <= positions.min() <= positions.max() < 1000


@pytest.mark.parametrize("size", [50, 600])
def test_every_row_is_equally_likely_to_be_sampled(size):
    counts = np.zeros(1000)
    for key in range(400):
        counts[PublicCoins(str(key)).sample(1000, size)] += 1
    expected, spread = 400 * size / 1000, math.sqrt(400 * size / 1000 * (1 - size / 1000))
    assert np.abs(counts - expected).max() < 6 * spread
    assert counts.std() == pytest.approx(spread, rel=0.15)


def test_signs_are_fair_and_independent():
    signs = np.array([PublicCoins(str(key)).signs(40) for key in range(1000)])
    assert set(np.unique(signs)) == {-1.0, 1.0}
    correlation = signs.T @ signs / 1000
    assert np.abs(correlation - np.eye(40)).max() < 6 / math.sqrt(1000)
    assert np.abs(signs.mean(axis=0)).max() < 6 / math.sqrt(1000)
