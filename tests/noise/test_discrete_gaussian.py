"""The laws of the noise. Seeds are fixed, so nothing here can fail by chance; limits leave 1e-6 to it anyway."""

import math
import random
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from dpmean.noise import exact
from dpmean.noise.source import secure, seeded
from tests.support.laws import p_value

VARIANCES = [Fraction(1, 5), Fraction(1), Fraction(22, 7), Fraction(300), Fraction(10**6), Fraction(10**18, 3), 10**24]
ENOUGH = 40_000


def reference(variance, count, seed=1):
    bits = random.Random(seed).getrandbits
    return np.array([exact.discrete_gaussian(Fraction(variance), bits) for _ in range(count)], dtype=float)


@pytest.mark.parametrize("variance", VARIANCES, ids=lambda v: f"{float(v):.3g}")
def test_the_fast_sampler_fits_and_wrong_scales_do_not(variance):
    samples = seeded(11).at("fit").gaussian(Fraction(variance), ENOUGH)
    assert p_value(samples, variance) > 1e-6
    assert p_value(samples, Fraction(variance) * Fraction(8, 10)) < 1e-6
    assert p_value(samples, Fraction(variance) * Fraction(12, 10)) < 1e-6


@pytest.mark.parametrize("variance", VARIANCES, ids=lambda v: f"{float(v):.3g}")
def test_the_reference_fits_wrong_scales_do_not_and_the_fast_sampler_agrees(variance):
    samples = reference(variance, 24_000)
    assert p_value(samples, variance) > 1e-6
    assert p_value(samples, Fraction(variance) * Fraction(8, 10)) < 1e-6
    assert p_value(samples, Fraction(variance) * Fraction(12, 10)) < 1e-6
    fast = seeded(12).at("beside").gaussian(Fraction(variance), ENOUGH).astype(float)
    assert stats.ks_2samp(samples, fast).pvalue > 1e-6
    if variance >= 1:
        assert stats.ks_2samp(samples, 1.2 * fast).pvalue < 1e-6


@pytest.mark.parametrize("variance", [1, 90_000])
def test_opendp_fits_too(variance):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i32"), size=3000), dp.l2_distance(T="f64")
    measurement = space >> dp.m.then_gaussian(scale=math.sqrt(variance))
    samples = np.concatenate([measurement([0] * 3000) for _ in range(4)])
    assert p_value(samples, variance) > 1e-9  # its entropy cannot be seeded
    assert p_value(samples, Fraction(7 * variance, 10)) < 1e-6


def test_secure_noise_fits():
    assert p_value(secure().gaussian(Fraction(1000), ENOUGH), 1000) > 1e-9  # fresh entropy at every run


def test_small_values_have_the_exact_probabilities():
    samples = seeded(5).at("atoms").gaussian(Fraction(1, 2), ENOUGH)
    weights = {x: math.exp(-(x**2)) for x in range(-6, 7)}
    for x in (-2, -1, 0, 1, 2):
        probability = weights[x] / sum(weights.values())
        spread = math.sqrt(ENOUGH * probability * (1 - probability))
        assert abs((samples == x).sum() - ENOUGH * probability) < 5 * spread


def test_a_tiny_variance_is_zero_nearly_always_and_a_huge_one_never_overflows():
    assert not seeded(1).at("tiny").gaussian(Fraction(1, 10**9), 1000).any()
    assert np.abs(seeded(1).at("huge").gaussian(Fraction(2**112), 1000)).max() < 2**60


def test_the_reference_laplace_and_bernoulli():
    bits = random.Random(2).getrandbits
    draws = np.array([exact.discrete_laplace(3, bits) for _ in range(20_000)])
    assert np.mean(draws == 0) == pytest.approx((1 - math.exp(-1 / 3)) / (1 + math.exp(-1 / 3)), abs=0.015)
    for gamma in (Fraction(1, 3), Fraction(5, 2)):
        hits = sum(exact.bernoulli_exp(gamma, bits) for _ in range(20_000))
        assert hits / 20_000 == pytest.approx(math.exp(-gamma), abs=0.02)
