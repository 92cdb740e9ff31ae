"""What is to be beaten: noise for the whole bound; and what cannot be: clipping by one who sees the rows."""

from __future__ import annotations

import math

import numpy as np

from bench.problem import Floats


def noise_std(n: int, radius: float, rho: float) -> float:
    """Return the noise on a mean of rows in a ball: replacing one moves it by at most 2 radius / n."""
    return 2 * radius / (n * math.sqrt(2 * rho))


def noisy_mean_in_ball(
    rows: Floats, centre: Floats, radius: float, rho: float, generator: np.random.Generator | None = None
) -> Floats:
    """Clip rows to a ball and add Gaussian noise to their mean (in floats: to compare errors, not to protect)."""
    n, d = rows.shape
    shifted = rows - centre
    lengths = np.linalg.norm(shifted, axis=1, keepdims=True)
    shifted *= np.minimum(1.0, radius / np.maximum(lengths, radius / 2))
    noise = (generator or np.random.default_rng()).normal(0.0, noise_std(n, radius, rho), d)
    mean: Floats = centre + shifted.mean(axis=0) + noise
    return mean


def whole_bound(rows: Floats, norm_bound: float, rho: float) -> Floats:
    """Clip where the bound is: the Gaussian mechanism."""
    return noisy_mean_in_ball(rows, np.zeros(rows.shape[1]), norm_bound, rho)


def oracle(rows: Floats, rho: float, generator: np.random.Generator | None = None) -> Floats:
    """Clip around the exact mean at the exact best distance, and spend the whole budget on the noise (not private)."""
    n, d = rows.shape
    centre = rows.mean(axis=0)
    rank = max(1, int(n - math.sqrt(2 * d / rho)))
    distances = np.sort(np.linalg.norm(rows - centre, axis=1))
    return noisy_mean_in_ball(rows, centre, float(distances[rank - 1]), rho, generator)
