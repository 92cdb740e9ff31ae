"""Poisson numbers: the slow reference, the table and the fast sampler have one law, to the last bit."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpmean import ArgumentError
from dpmean.noise import exact, fast
from dpmean.noise import poisson as tables
from dpmean.noise.source import secure, seeded

MEANS = [Fraction(1, 30), Fraction(7, 3), Fraction(830), Fraction(40_000, 7), Fraction(10**6)]
ENOUGH = 40_000


def p_value(samples, mean):
    """Return the p-value of a chi-squared test on about 40 equally likely bins."""
    law = stats.poisson(float(mean))
    edges = np.unique(law.ppf(np.linspace(0.025, 0.975, 39)))
    chances = np.diff(np.concatenate(([0.0], law.cdf(edges), [1.0])))
    counts = np.histogram(samples, bins=np.concatenate(([-np.inf], edges + 0.5, [np.inf])))[0]
    keep = chances * len(samples) > 5
    observed, expected = counts[keep], chances[keep] * len(samples)
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), max(len(observed) - 1, 1)))


@pytest.mark.parametrize("mean", MEANS, ids=float)
def test_the_fast_sampler_fits_and_wrong_means_do_not(mean):
    samples = seeded(3).at("fit").poisson(mean, ENOUGH)
    assert p_value(samples, mean) > 1e-6
    step = max(0.3 * float(mean), 1.0) if mean < 1 else 0.1 * math.sqrt(mean)
    assert p_value(samples, float(mean) + step) < 1e-6
    assert p_value(samples, max(float(mean) - step, float(mean) / 3)) < 1e-6
    wider = np.rint((samples - float(mean)) * 1.1 + float(mean))
    assert mean < 100 or p_value(wider, mean) < 1e-6


@pytest.mark.parametrize("mean", [Fraction(1, 30), Fraction(7, 3), Fraction(100)], ids=float)
def test_the_reference_and_what_a_device_draws_fit_too(mean):
    bits = random.Random(1).getrandbits
    slow = [exact.poisson(mean, bits) for _ in range(4000)]
    device = [tables.poisson(mean, bits) for _ in range(ENOUGH)]
    assert p_value(np.array(slow), mean) > 1e-6
    assert p_value(np.array(device), mean) > 1e-6
    assert p_value(np.array(device), float(mean) * 1.3) < 1e-6


def test_secure_numbers_fit_and_nothing_comes_of_a_mean_of_zero():
    assert p_value(secure().poisson(Fraction(500), ENOUGH), 500) > 1e-9  # fresh entropy at every run
    assert not secure().poisson(Fraction(0), 100).any()
    assert tables.poisson(Fraction(0), random.Random(1).getrandbits) == 0


@given(mean=st.fractions(min_value=Fraction(1, 1000), max_value=60), bits=st.sampled_from([64, 100, 192]))
def test_chances_are_bounded_by_whole_numbers(mean, bits):
    """Exact sums of the series, in fractions, lie between the bounds."""
    first, bounds = tables._chances(mean, bits)
    low, high = exact.exp_bounds(mean, bits + 80)
    term, total = Fraction(1), Fraction(0)
    for k in range(first + len(bounds)):
        term = term * mean / k if k else Fraction(1)
        total += term
        if k >= first:
            below, above = bounds[k - first]
            assert below <= total * high / 2**80
            assert above >= total * low / 2**80
            assert above - below <= 4


@given(u=st.integers(0, 2**64 - 1), mean=st.sampled_from([Fraction(1, 3), Fraction(22, 7), Fraction(900)]))
def test_the_kernel_decides_as_exact_arithmetic_does(u, mean):
    check(u, mean)


@pytest.mark.parametrize("mean", [Fraction(1, 3), Fraction(22, 7), Fraction(900)])
def test_also_right_at_the_bounds(mean):
    law = tables.table(mean)
    statuses = [
        check(u, mean)
        for bound in law.bounds[:: max(1, len(law.bounds) // 25)]
        for u in range(max(bound - 3, 0), min(bound + 4, 2**64))
    ]
    assert fast.UNDECIDED in statuses
    assert fast.ACCEPTED in statuses
    check(0, mean)
    check(2**64 - 1, mean)


def check(u, mean):
    first, bounds = fast._poisson_law(mean)
    values, status = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    fast._pick(np.array([u], dtype=np.uint64), bounds, first, values, status)
    for following in (0, 2**64 - 1):
        more = itertools.chain([following], itertools.repeat(0x5555555555555555))
        settled = tables.settle(u, mean, lambda _, more=more: next(more))
        if status[0] == fast.ACCEPTED:
            assert settled == values[0]
    return int(status[0])


def test_seeded_numbers_are_a_function_of_seed_step_and_index():
    sampler = seeded(5)
    many = sampler.at("step").poisson(Fraction(9), 1000)
    assert np.array_equal(sampler.at("step", 300).poisson(Fraction(9), 100), many[300:400])
    assert not np.array_equal(sampler.at("other").poisson(Fraction(9), 1000), many)


def test_means_that_cannot_be_drawn_are_refused():
    for mean in (Fraction(-1), Fraction(2**60)):
        with pytest.raises(ArgumentError, match="the mean of a Poisson number"):
            secure().poisson(mean, 1)
