"""How far rows are from their mean: laws of columns against draws, and the least error against the parts it has."""

import math

import numpy as np
import pytest

from dpmean.numerics import row_lengths
from dpmean.numerics.error_quantiles import length_quantile
from dpmean.numerics.row_lengths import best_error, distance_quantile, half_width, points

ROOT = math.sqrt(math.e * (math.e - 1))
DRAWS = {
    "NORMAL": lambda g, size: g.standard_normal(size),
    "UNIFORM": lambda g, size: g.uniform(-math.sqrt(3), math.sqrt(3), size),
    "LAPLACE": lambda g, size: g.laplace(0, math.sqrt(0.5), size),
    "EXPONENTIAL": lambda g, size: g.exponential(1, size) - 1,
    "LOGNORMAL": lambda g, size: (g.lognormal(0, 1, size) - math.exp(0.5)) / ROOT,
    "STUDENT": lambda g, size: g.standard_t(2, size),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("d", [2, 16, 100])
@pytest.mark.parametrize("beyond", [0.05, 0.003])
def test_distances_are_those_of_draws(name, d, beyond):
    law = getattr(row_lengths, name)
    drawn = DRAWS[name](np.random.default_rng(d), (60_000, d))
    distances = np.sqrt(np.mean(drawn**2, axis=1))
    expected = distance_quantile(law, d, beyond)
    assert np.mean(distances > expected) == pytest.approx(beyond, rel=0.25)
    assert np.mean(distances > 1.1 * expected) < 0.9 * beyond  # a tenth farther is told from it


@pytest.mark.parametrize("name", DRAWS)
def test_one_column_ends_on_both_sides(name):
    drawn = DRAWS[name](np.random.default_rng(1), 400_000)
    for beyond in (0.05, 0.003):
        low, high = np.quantile(drawn, [beyond / 2, 1 - beyond / 2])
        assert half_width(getattr(row_lengths, name), beyond) == pytest.approx((high - low) / 2, rel=0.05)


def test_normal_distances_are_exact_and_large_numbers_of_columns_go_on_smoothly():
    assert distance_quantile(row_lengths.NORMAL, 7, 0.01) == length_quantile(7, 0.99) / math.sqrt(7)
    at, beyond = (distance_quantile(row_lengths.EXPONENTIAL, d, 1e-3) for d in (4096, 4097))
    assert 0 < at - beyond < 1e-4
    assert 1 < distance_quantile(row_lengths.EXPONENTIAL, 10**6, 1e-3) < 1.01


def test_points_are_brought_to_mean_zero_and_variance_one():
    law = points((0.0, 1.0), (9.0, 1.0))
    assert law.skewness == pytest.approx((1 - 0.2) / 0.3)
    assert law.above(np.array([2.9, 3.0, 3.1])).tolist() == pytest.approx([0.1, 0.1, 0])
    assert law.below(np.array([0.3, 0.34])).tolist() == pytest.approx([0.9, 0])
    assert distance_quantile(points((0.0, 1.0), (1.0, 1.0)), 5, 0.01) == pytest.approx(1, rel=0.01)


def test_the_standard_deviation_of_students_t_grows_with_the_number_of_draws():
    generator = np.random.default_rng(2)
    for draws in (10_000, 300_000):
        found = [np.std(generator.standard_t(2, draws)) for _ in range(60)]
        assert row_lengths.student_std(draws) == pytest.approx(np.median(found), rel=0.12)


@pytest.mark.parametrize("name", ["NORMAL", "LAPLACE", "LOGNORMAL"])
@pytest.mark.parametrize("noise", [0.003, 0.05])
def test_the_least_error_is_that_of_the_best_clipping_of_draws(name, noise):
    """Clip draws at each radius, and add up noise and what clipping moves, in one sample after the other."""
    d, n, generator = 32, 2000, np.random.default_rng(3)
    law, found = getattr(row_lengths, name), []
    samples = [DRAWS[name](generator, (n, d)) / math.sqrt(d) for _ in range(8)]
    for radius in distance_quantile(law, d, noise) * 2.0 ** (-np.arange(17) / 8):
        squares = []
        for rows in samples:
            far = np.linalg.norm(rows, axis=1)
            kept = np.minimum(1, radius / far)
            shown = np.mean(np.where(kept == 1, 1, kept * (1 - 1 / d)))
            moved = np.linalg.norm(np.mean(rows * (1 - kept / shown)[:, np.newaxis], axis=0))
            squares.append((noise * radius / shown) ** 2 + moved**2)
        found.append(math.sqrt(np.mean(squares)))
    assert best_error(law, d, d, n, noise, noise) == pytest.approx(min(found), rel=0.08)


def test_clipping_pays_where_there_is_much_noise_and_little_else():
    law, end = row_lengths.LAPLACE, distance_quantile(row_lengths.LAPLACE, 64, 0.01)
    assert best_error(law, 64, 64, 10**6, 0.01, 0.01) < 0.9 * 0.01 * end
    assert best_error(law, 64, 64, 10, 1e-5, 0.01) > 0.9 * 1e-5 * end
