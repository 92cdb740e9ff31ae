"""The yardstick: an estimator that knows the centre and the best radius exactly. Not private."""

import math

import numpy as np
from scipy.stats import trim_mean


def oracle_error(rows, rho, generator):
    """Return the error of clipping around the true mean at the (n - sqrt(2 d / rho))-th distance, with all of rho."""
    n, d = rows.shape
    centred = rows - rows.mean(axis=0)
    distances = np.linalg.norm(centred, axis=1)
    radius = np.sort(distances)[max(0, int(n - math.sqrt(2 * d / rho)) - 1)]
    clipped = np.minimum(1, radius / np.maximum(distances, 1e-300)) @ centred / n
    return float(np.linalg.norm(clipped + generator.normal(0, math.sqrt(2 / rho) * radius / n, d)))


def ratio_to_oracle(make_rows, rho, estimate, trials):
    """Return the trimmed mean error over paired trials divided by the oracle's, and the worst trial's."""
    errors, oracles = [], []
    for trial in range(trials):
        generator = np.random.default_rng([trial, 2021])
        rows = make_rows(generator)
        errors.append(np.linalg.norm(estimate(rows, trial) - rows.mean(axis=0)))
        oracles.append(oracle_error(rows, rho, generator))
    yardstick = trim_mean(oracles, 0.1)
    return trim_mean(errors, 0.1) / yardstick, max(errors) / yardstick
