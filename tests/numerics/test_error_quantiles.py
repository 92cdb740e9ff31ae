"""Quantiles of errors: of normal vectors whose entries differ, and of noise plus a bias."""

import numpy as np
import pytest

from dpmean.numerics.error_quantiles import error_quantile, error_quantiles, length_quantile, uneven_length_quantile

RUNS = 400_000
SHAPES = {
    "1/j": 1 / np.arange(1, 65),
    "1/sqrt(j)": np.arange(1, 33) ** -0.5,
    "log-normal": np.exp(np.random.default_rng(3).normal(0, 1, 50)),
    "one large": np.array([10.0, *[1.0] * 20]),
    "two": np.array([1.0, 3.0]),
    "one alone": np.array([1.0, 1e-3, 1e-3]),
    "nearly even": np.linspace(1, 1.05, 9),
    "tiny": np.arange(1, 9) * 1e-200,
    "huge": np.arange(1, 9) * 1e200,
}


def simulated(stds, confidences):
    """Return quantiles of the length of a normal vector with these standard deviations."""
    rng, most = np.random.default_rng(0), stds.max()
    squares = sum((std / most * rng.standard_normal(RUNS)) ** 2 for std in stds)
    return np.quantile(np.sqrt(squares), confidences) * most


@pytest.mark.parametrize("shape", SHAPES)
def test_lengths_of_uneven_noise_are_those_of_a_simulation(shape):
    stds, confidences = SHAPES[shape], (0.5, 0.8, 0.95, 0.99)
    wanted = simulated(stds, confidences) / stds.max()
    found = np.array([uneven_length_quantile(stds, confidence) for confidence in confidences]) / stds.max()
    assert found[2:] == pytest.approx(wanted[2:], rel=0.01)
    assert found == pytest.approx(wanted, rel=0.05)  # three moments say less of the middle
    assert found[2:] != pytest.approx(0.97 * wanted[2:], rel=0.01)  # the same check notices an error of 3 %


def test_even_noise_is_the_exact_case_and_uneven_noise_tends_to_it():
    for d in (1, 2, 30):
        exact = 3.0 * length_quantile(d, 0.95)
        assert uneven_length_quantile(np.full(d, 3.0), 0.95) == exact
        assert uneven_length_quantile(np.linspace(3.0, 3.0 + 1e-6, d), 0.95) == pytest.approx(exact, rel=1e-5)
    assert uneven_length_quantile(np.zeros(4), 0.95) == 0


@pytest.mark.parametrize("bias_std", [0.0, 0.1])
def test_uneven_noise_plus_a_bias_is_covered_whatever_the_direction_of_the_bias(bias_std):
    stds, rng, runs = np.array([1.0, 0.5, 0.1, 0.1]), np.random.default_rng(1), 20_000
    for direction in np.eye(4):
        measured = 0.7 + bias_std * rng.standard_normal(runs)
        errors = np.linalg.norm(stds * rng.standard_normal((runs, 4)) + 0.7 * direction, axis=1)
        bounds = np.array([error_quantile(stds, bias, bias_std, 0.95) for bias in measured[:500]])
        assert (errors[:500] <= bounds).mean() > 0.93
        assert (errors <= error_quantile(stds, 0.7, bias_std, 0.95)).mean() >= 0.95


def test_bounds_of_columns_are_those_of_one_column_each():
    stds = np.array([1.0, 2.0, 1.0, 0.0])
    found = error_quantiles(stds, 0.3, 0.1, 0.9)
    assert found.tolist() == [error_quantile(np.array([std]), 0.3, 0.1, 0.9) for std in stds]
    assert found[0] == found[2] < found[1]
