"""Errors on the paper's settings, in multiples of the oracle's; fixed seeds, so nothing here fails by chance."""

import math

import numpy as np
import pytest

from tests.support.oracle import ratio_to_oracle
from tests.support.public import mean

N, TRIALS = 4000, 48


def gaussian(d, mu):
    return lambda generator: generator.normal(mu, 1, (N, d))


def stretched(d, kappa, mu):
    def rows(generator):
        axes = np.linalg.qr(generator.normal(size=(d, d)))[0]
        return mu + generator.normal(size=(N, d)) * np.sqrt(generator.uniform(1, kappa, d)) @ axes.T

    return rows


def shifted(rho, bound, **extra):
    def estimate(rows, trial):
        reach = bound * math.sqrt(rows.shape[1])
        return mean(rows, rho=rho, norm_bound=reach, method="shifted", seed=trial, **extra).mean

    return estimate


STATISTICAL = {"sigma_min": 0.1, "sigma_max": 50.0}

# The last release gets 9/16 of the budget, which alone costs a factor 1.33 in noise; the rest is radius and centre.
SETTINGS = {
    "figure 1, d=16": (gaussian(16, 5), 0.5, shifted(0.5, 50, **STATISTICAL)),
    "figure 1, d=64": (gaussian(64, 10), 0.5, shifted(0.5, 50, **STATISTICAL)),
    "figure 1, d=256": (gaussian(256, 5), 0.5, shifted(0.5, 50, **STATISTICAL)),
    "figure 2, rho=.045": (gaussian(128, 5), 0.045, shifted(0.045, 50, **STATISTICAL)),
    "figure 3, kappa=10": (stretched(64, 10, 0), 0.5, shifted(0.5, 100, **STATISTICAL)),
    "figure 3, kappa=1000": (stretched(64, 1000, 0), 0.5, shifted(0.5, 100, sigma_min=0.1, sigma_max=100.0)),
    "figure 6, R=200": (stretched(128, 10, 10), 0.5, shifted(0.5, 200, **STATISTICAL)),
    "general setting": (gaussian(64, 5), 0.5, shifted(0.5, 50)),
    "a bound a million times too large": (gaussian(64, 5), 0.5, shifted(0.5, 1e6)),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_shifted_is_close_to_the_oracle(name):
    make_rows, rho, estimate = SETTINGS[name]
    ratio, worst = ratio_to_oracle(make_rows, rho, estimate, TRIALS)
    assert ratio < 1.4
    assert worst < 2


def test_shifted_does_not_mind_a_translation_and_clipped_does():
    """Claim (6) of the paper."""
    rows = np.random.default_rng(1).normal(0, 1, (N, 32))
    near, far = {}, {}
    for method in ("shifted", "clipped"):
        for errors, shift in ((near, 0.0), (far, 40.0)):
            trials = [
                np.linalg.norm(
                    mean(rows + shift, rho=0.5, norm_bound=400, method=method, seed=s).mean - (rows + shift).mean(0)
                )
                for s in range(6)
            ]
            errors[method] = float(np.mean(trials))
    assert far["shifted"] < 1.1 * near["shifted"]
    assert far["clipped"] > 20 * near["clipped"]


def test_the_error_follows_the_spread_and_not_the_bound():
    generator = np.random.default_rng(2)
    shape = generator.normal(0, 1, (N, 32))
    errors = [
        np.linalg.norm(mean(3 + s * shape, rho=0.5, norm_bound=1e4, seed=1).mean - (3 + s * shape).mean(0))
        for s in (1e-2, 1, 1e2)
    ]
    assert errors[1] == pytest.approx(100 * errors[0], rel=0.3)
    assert errors[2] == pytest.approx(100 * errors[1], rel=0.3)


def test_nothing_blows_up():
    """The paper's constants, read literally, leave too little slack in the ranks and fail now and then here."""
    rows = np.random.default_rng(3).normal(5, 1, (N, 16))
    truth = rows.mean(axis=0)
    errors = [np.linalg.norm(mean(rows, rho=0.5, norm_bound=200, seed=s).mean - truth) for s in range(120)]
    assert max(errors) < 3 * np.median(errors)


def test_the_noise_is_as_large_as_the_release_says():
    rows = np.random.default_rng(4).normal(5, 1, (N, 100))
    found = [mean(rows, rho=0.5, norm_bound=500, seed=s) for s in range(12)]
    ratios = [np.linalg.norm(f.mean - rows.mean(axis=0)) / np.linalg.norm(f.noise_std) for f in found]
    assert np.mean(ratios) == pytest.approx(1, rel=0.1)
