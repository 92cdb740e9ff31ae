"""The yardstick: an estimator that knows the centre and the best radius exactly. Not private."""

import numpy as np
from scipy.stats import trim_mean

from dpmean.experiments.methods import oracle


def ratio_to_oracle(make_rows, rho, estimate, trials):
    """Return the trimmed mean error over paired trials divided by the oracle's, and the worst trial's."""
    errors, oracles = [], []
    for trial in range(trials):
        generator = np.random.default_rng([trial, 2021])
        rows = make_rows(generator)
        errors.append(np.linalg.norm(estimate(rows, trial) - rows.mean(axis=0)))
        oracles.append(np.linalg.norm(oracle(rows, rho, generator) - rows.mean(axis=0)))
    yardstick = trim_mean(oracles, 0.1)
    return trim_mean(errors, 0.1) / yardstick, max(errors) / yardstick
