"""Which rows are taken: each with its exact probability, whatever becomes of the others, and whatever follows them."""

import itertools
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpmean.noise.source import secure, seeded
from dpmean.rows import permutation
from dpmean.rows.permutation import draw_sample

SHARES = [Fraction(1, 2), Fraction(1, 3), Fraction(5, 7), Fraction(8192, 1_000_003), Fraction(1, 2**62 + 1)]
TOP = (1 << 64) - 1


@dataclass
class Script:
    """Known words, then one word for ever; of words that do not settle it, known ones to go on with."""

    known: list
    rest: int = TOP
    further: dict = field(default_factory=dict)
    step: str = "places"
    start: int = 0

    seeded = True

    def at(self, step, start=0):
        return replace(self, step=step, start=start)

    def words(self, count):
        listed = self.known if self.step == "places" else self.further[self.step]
        found = listed[self.start : self.start + count]
        assert self.step == "places" or len(found) == count
        return np.array([*found, *[self.rest] * (count - len(found))], dtype=np.uint64)


def passed_over(real, share):
    """Return how many rows a real passes over, by the definition."""
    return sum(real < (1 - share) ** k for k in range(1, permutation._FURTHEST + 1))


def ways(n, share):
    """Yield all ways to decide n rows: how many each real passes over, and the exact chance of that."""
    furthest, stay = permutation._FURTHEST, 1 - share
    if n <= 0:
        yield (), Fraction(1)
        return
    for passed in range(furthest + 1):
        chance = stay**passed - (stay ** (passed + 1) if passed < furthest else 0)
        for rest, weight in ways(n - passed - (passed < furthest), share) if passed < n else [((), 1)]:
            yield (passed, *rest), chance * weight


@pytest.mark.parametrize("share", SHARES[:3], ids=str)
@pytest.mark.parametrize(("n", "furthest"), [(1, 16), (5, 1), (5, 2), (5, 3), (4, 8)])
def test_rows_are_taken_independently_of_each_other_by_exact_counting(monkeypatch, share, n, furthest):
    """Exactly, over all reals: every set of rows has the product of its chances, whatever the words that follow."""
    monkeypatch.setattr(permutation, "_FURTHEST", furthest)
    law = Counter()
    for way, chance in ways(n, share):
        middles = [((1 - share) ** k + ((1 - share) ** (k + 1) if k < furthest else 0)) / 2 for k in way]
        known = [int(middle * 2**64) for middle in middles]
        assert [passed_over(Fraction(word, 2**64), share) for word in known] == list(way)
        one, two = (draw_sample(n, share, Script(known, rest), "places").tolist() for rest in (TOP, 1))
        assert one == two
        law[tuple(one)] += chance
    assert sum(law.values()) == 1
    for size in range(n + 1):
        for rows in itertools.combinations(range(n), size):
            assert law[rows] == share**size * (1 - share) ** (n - size)


@pytest.mark.parametrize("share", SHARES, ids=str)
@given(data=st.data())
def test_a_word_decides_as_exact_arithmetic_does(share, data):
    """Also at the bounds, where the next bits decide, and the bits after them."""
    k = data.draw(st.one_of(st.integers(1, 4), st.integers(1, permutation._FURTHEST)))
    chance, off = (1 - share) ** k, st.sampled_from([0, 0, -1, 1])
    digits = [int(chance * 2 ** (64 * j)) & TOP for j in range(1, 4)]
    first, *more = [min(max(digit + data.draw(off), 0), TOP) for digit in digits]
    real = sum(Fraction(word, 2 ** (64 * j)) for j, word in enumerate([first, *more], 1))
    script = Script([first], further={"places, word 0": [*more, *[0] * 300]})
    assert draw_sample(2 * permutation._FURTHEST, share, script, "places")[0] == passed_over(real, share)


@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_a_word_in_the_middle_has_bits_of_its_own_to_go_on_with(monkeypatch, at_once):
    monkeypatch.setattr(permutation, "_AT_ONCE", at_once)
    share, bound = Fraction(1, 3), int(Fraction(4, 9) * 2**64)
    digit = int(Fraction(4, 9) * 2**128) & TOP
    for further, expected in ((digit + 1, [0, 2, 3]), (digit - 1, [0, 3, 4]), (TOP, [0, 2, 3]), (0, [0, 3, 4])):
        script = Script([TOP, bound], further={"places, word 1": [further]})
        assert draw_sample(5, share, script, "places").tolist()[:3] == expected
    script = Script([bound], further={"places, word 0": [digit, 0]})
    assert draw_sample(5, share, script, "places").tolist() == [2, 3, 4]


def test_where_a_bound_is_met_exactly_no_bits_are_missing():
    for k in range(1, 60):
        assert draw_sample(99, Fraction(1, 2), Script([1 << (64 - k)]), "places")[0] == k - 1


# --- fit -----------------------------------------------------------------------------------------------------------


def p_value_of_numbers(counts, n, share):
    """Return the p-value of a chi-squared test: are these binomial numbers?"""
    law = stats.binom(n, float(share))
    edges = np.unique(law.ppf(np.linspace(0.05, 0.95, 19)))
    chances = np.diff(np.concatenate(([0.0], law.cdf(edges), [1.0])))
    found = np.histogram(counts, bins=np.concatenate(([-np.inf], edges + 0.5, [np.inf])))[0]
    return stats.chisquare(found, chances * len(counts)).pvalue


@pytest.mark.parametrize(
    ("n", "share"), [(40, Fraction(1, 5)), (300, Fraction(9, 10)), (5000, Fraction(1, 101))], ids=str
)
def test_the_number_taken_fits_and_wrong_probabilities_do_not(n, share):
    trials, p = 4000, float(share)
    kept, counts = np.zeros(n), []
    for seed in range(trials):
        rows = draw_sample(n, share, seeded(seed), "places")
        kept[rows] += 1
        counts.append(len(rows))
    assert p_value_of_numbers(counts, n, share) > 1e-6
    wrong = 0.3 * np.sqrt(p * (1 - p) / n)
    assert max(p_value_of_numbers(counts, n, p + wrong), p_value_of_numbers(counts, n, p - wrong)) < 1e-6
    std = np.sqrt(trials * p * (1 - p))
    assert np.abs(kept - trials * p).max() < 6 * std  # every row by itself
    assert stats.chi2.sf(((kept - trials * p) ** 2).sum() / std**2, n) > 1e-6
    assert stats.chi2.sf(((kept - trials * p) ** 2).sum() / (0.5 * std) ** 2, n) < 1e-6


def p_value_of_gaps(rows, share):
    """Return the p-value of a chi-squared test: are the rows passed over geometric numbers?"""
    law, gaps = stats.geom(float(share)), np.diff(rows, prepend=-1)
    edges = np.unique(law.ppf(np.linspace(0.025, 0.975, 39)))
    chances = np.diff(np.concatenate(([0.0], law.cdf(edges), [1.0])))
    found = np.histogram(gaps, bins=np.concatenate(([-np.inf], edges + 0.5, [np.inf])))[0]
    return stats.chisquare(found, chances * len(gaps)).pvalue


@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(1, 61), Fraction(2, 997)], ids=str)
def test_what_lies_between_fits_also_where_it_takes_several_words(share):
    for noise, level in ((seeded(4), 1e-6), (secure(), 1e-9)):  # fresh entropy at every run
        rows = draw_sample(int(40_000 / share), share, noise, "places")
        assert np.all(np.diff(rows) > 0)
        assert p_value_of_gaps(rows, share) > level
        assert max(p_value_of_gaps(rows, share * factor) for factor in (Fraction(9, 10), Fraction(11, 10))) < 1e-6


# --- edges ---------------------------------------------------------------------------------------------------------


def test_all_or_none_are_taken_without_a_word():
    for n, share in itertools.product((0, 1, 7), (0, 1, 3)):
        assert draw_sample(n, Fraction(share), None, "places").tolist() == list(range(n if share else 0))
    assert draw_sample(0, Fraction(1, 3), None, "places").tolist() == []


def test_one_row_and_tiny_probabilities():
    assert draw_sample(1, Fraction(1, 2), Script([1 << 63]), "places").tolist() == [0]
    assert draw_sample(1, Fraction(1, 2), Script([(1 << 63) - 1]), "places").tolist() == []
    assert len(draw_sample(100_000, Fraction(1, 2**63), seeded(1), "places")) == 0
    assert len(draw_sample(100_000, 1 - Fraction(1, 2**63), seeded(1), "places")) == 100_000


@pytest.mark.parametrize("share", SHARES, ids=str)
def test_neither_rows_that_follow_nor_blocks_of_words_change_what_is_taken(monkeypatch, share):
    whole = draw_sample(3000, share, seeded(7), "places")
    assert not np.array_equal(whole, draw_sample(3000, share, seeded(8), "places")) or share < Fraction(1, 10**6)
    for n in (0, 1, 2, 17, 255, 256, 257, 1024, 2999):
        assert np.array_equal(draw_sample(n, share, seeded(7), "places"), whole[whole < n])
    for at_once in (1, 7, 64):
        monkeypatch.setattr(permutation, "_AT_ONCE", at_once)
        assert np.array_equal(draw_sample(3000, share, seeded(7), "places"), whole)


def test_few_words_are_drawn_where_few_rows_are_taken():
    drawn = []

    class Counting(Script):
        def words(self, count):
            drawn.append(count)
            return seeded(1).at(self.step, self.start).words(count)

    draw_sample(1_000_000, Fraction(8192, 1_000_000), Counting([]), "places")
    assert sum(drawn) < 13_000
