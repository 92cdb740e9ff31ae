"""The law of a private choice: probabilities exactly proportional to exponentials of given fractions."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmean.noise import exact
from dpmean.noise.exact import choose, exactly_below, exp_bounds
from dpmean.noise.source import secure, seeded

EXPONENTS = [37, 5, 0, 11, 64, 5, 900, 23]
UNIT = 16
ENOUGH = 12_000


def p_value(drawn, unit):
    weights = np.exp(-np.array(EXPONENTS) / unit)
    expected = weights / weights.sum() * len(drawn)
    keep = expected > 5
    observed = np.bincount(drawn, minlength=len(EXPONENTS))
    assert observed[~keep].sum() < 10
    return stats.chisquare(observed[keep], expected[keep] * observed[keep].sum() / expected[keep].sum()).pvalue


def test_choices_fit_and_a_wrong_scale_does_not():
    drawn = [seeded(seed).at("fit").choose(EXPONENTS, UNIT) for seed in range(ENOUGH)]
    assert p_value(drawn, UNIT) > 1e-6
    assert p_value(drawn, UNIT * 1.2) < 1e-6
    assert p_value(drawn, UNIT * 0.8) < 1e-6


def test_secure_choices_fit():
    assert p_value([secure().choose(EXPONENTS, UNIT) for _ in range(ENOUGH)], UNIT) > 1e-9


@pytest.mark.parametrize("bits", [2, 5, 40])
def test_the_law_does_not_depend_on_how_coarse_the_proposal_is(bits, monkeypatch):
    """With few bits nearly every draw has to be settled by more of them."""
    monkeypatch.setattr(exact, "CHOICE_BITS", bits)
    coins = random.Random(bits).getrandbits
    assert p_value([choose(EXPONENTS, UNIT, coins) for _ in range(ENOUGH)], UNIT) > 1e-6


@pytest.mark.parametrize(
    "gap", [Fraction(0), Fraction(1, 9), Fraction(7, 10), Fraction(20), Fraction(27), Fraction(300)]
)
def test_the_proposal_is_never_below_the_weight(gap):
    power = max(0, 40 - 7213 * gap.numerator // (5000 * gap.denominator))
    assert 1 << power >= exp_bounds(gap, 40)[0]
    assert 7213 * math.log(2) < 5000


def test_a_draw_is_kept_exactly_if_it_is_below_the_weight():
    """Whatever bits follow, the first 40 decide unless the weight begins with the same 40."""
    gap = Fraction(1, 3)
    low, high = exp_bounds(gap, 40)
    for following in (0, 2**64 - 1):
        words = itertools.chain([following], itertools.repeat(0x5555555555555555))
        assert exactly_below(low - 1, 40, gap, lambda _, words=words: next(words))
        assert not exactly_below(high, 40, gap, lambda _, words=words: next(words))


def test_a_single_index_and_equal_ones():
    assert seeded(1).at("one").choose([123], 7) == 0
    drawn = np.bincount([seeded(seed).at("equal").choose([9] * 5, 1) for seed in range(5000)])
    assert stats.chisquare(drawn).pvalue > 1e-6
    assert seeded(1).at("far").choose([10**9, 0, 10**9], 1) == 1
