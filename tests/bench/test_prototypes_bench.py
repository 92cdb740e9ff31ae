"""The bench of prototypes: features come from one image each, methods are told the same, tables show what was found."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from bench.prototypes import (
    COINPRESS,
    DEFAULT,
    FAVOURED,
    GAUSSIAN,
    METHODS,
    OURS,
    ROUNDS,
    Results,
    by_rounds,
    coinpress,
    measured,
    picture,
    tables,
)
from bench.random_network import DIGITS, RandomNetwork

from bench import prototypes
from dpmean import TooFewRowsWarning
from dpmean.sklearn import SeededWarning
from dpmean.sklearn.cosine import unit_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning"),
    pytest.mark.filterwarnings("ignore::dpmean.sklearn.SeededWarning"),
]


def test_features_come_from_each_image_alone_and_from_the_seed():
    images = np.random.default_rng(0).random((5, 64))
    found = DIGITS.features(images)
    assert found.shape == (5, 288)
    assert found.min() >= 0
    assert DIGITS.features(images[2:3]) == pytest.approx(found[2:3])
    assert not np.array_equal(replace(DIGITS, seed=1).features(images), found)
    flat = RandomNetwork(side=8, patch=3, pool=2, filters=4).features(np.full((1, 64), 0.7))
    assert flat == pytest.approx(np.zeros((1, 36)))  # weights sum to zero


def test_a_patch_is_multiplied_with_each_filter():
    image = np.random.default_rng(0).random((1, 16))
    network = RandomNetwork(side=4, patch=3, pool=2, filters=2)
    weights = np.random.default_rng(0).standard_normal((9, 2))
    weights -= weights.mean(axis=0)
    square = image.reshape(4, 4)
    patches = [square[i : i + 3, j : j + 3].ravel() for i in range(2) for j in range(2)]
    wanted = np.mean([np.maximum(patch @ weights, 0) for patch in patches], axis=0)
    assert network.features(image)[0] == pytest.approx(wanted)


def test_coinpress_is_told_a_scale_and_answers_in_units_of_the_rows():
    rows = unit_rows(np.random.default_rng(0).normal(3, 1, (2000, 20)))
    for favoured in (False, True):
        found = coinpress(rows, 50.0, 1, rounds=3, favoured=favoured)
        assert np.linalg.norm(found.mean - rows.mean(axis=0)) < 0.02
    std = {favoured: coinpress(rows, 50.0, 1, rounds=3, favoured=favoured).noise_std for favoured in (False, True)}
    assert np.mean(std[True]) < np.mean(std[False])  # rows lie close together


def test_the_best_number_of_rounds_is_chosen_afterwards():
    results = Results("x")
    for rounds in ROUNDS:
        results.add(by_rounds(COINPRESS, rounds), 1.0, (abs(rounds - 3) + 1.0, 0.0, 10.0 * rounds))
    assert results.mean(COINPRESS, 1.0, 2) == 30
    results.add(OURS, 1.0, (1.0, 2.0, 3.0))
    results.add(OURS, 1.0, (3.0, 2.0, 3.0))
    assert results.mean(OURS, 1.0, 0) == 2
    assert results.error(OURS, 1.0, 0) == pytest.approx(1.0)


@pytest.fixture(scope="module")
def found():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededWarning)
        warnings.simplefilter("ignore", TooFewRowsWarning)
        return measured("digits", 2, (0.1, 2.0))


def test_a_data_set_is_measured_and_tabled(found):
    for who in (OURS, GAUSSIAN, COINPRESS, FAVOURED, DEFAULT):
        assert found.mean(who, 2.0, 0) < found.mean(who, 0.1, 0)
        assert 70 < found.mean(who, 2.0, 2) < 100
    assert found.mean(OURS, 2.0, 0) < found.mean(GAUSSIAN, 2.0, 0)
    assert found.few == {(OURS, 0.1), (DEFAULT, 0.1)}
    text = "\n".join(tables(found, (0.1, 2.0)))
    assert f"| rho | {' | '.join(METHODS)} |" in text
    assert text.count("\\*") == 6
    assert "nan" not in text


def test_results_are_drawn(found, tmp_path):
    picture([found], tmp_path / "found.png", (0.1, 2.0))
    assert (tmp_path / "found.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "found.png").stat().st_size < 200_000


def test_few_images_are_drawn_anew_in_each_trial(monkeypatch):
    rng = np.random.default_rng(0)
    task = prototypes.Task(rng.random((100, 3)), np.arange(100) % 10, rng.random((5, 3)), np.arange(5))
    monkeypatch.setattr(prototypes, "FEW", 4)
    monkeypatch.setattr(prototypes, "mnist_tasks", lambda trials: [task] * trials)
    first, second = prototypes.few_tasks(2)
    assert np.bincount(first.labels).tolist() == np.bincount(second.labels).tolist() == [4] * 10
    assert not np.array_equal(first.rows, second.rows)
    assert [len(part) for part in task.uneven().parts] == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
