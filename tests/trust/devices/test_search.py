"""Searches by noisy answers: they find the rank, and end where they have asked."""

import math

import numpy as np
import pytest

from dpmean.trust.devices.search import WeighedSearch, _rising, halved


def test_a_search_that_forgives_finds_its_way_back():
    """The first three answers are plainly wrong; a plain binary search would end far away."""
    search = WeighedSearch(1, 1024, 0.5)
    for number in range(24):
        middle = search.middle
        share = 1 / (1 + math.exp(-(int(middle[0]) - 700) / 10))
        told = 1 - share if number < 3 else share
        search.learn(middle, np.array([told]), np.array([0.3]))
    assert abs(int(search.answer[0]) - 700) <= 10


def test_a_search_ends_where_it_has_asked():
    """Low shares in the last round push the weights into an interval that nobody asked about; the answer stays."""
    search = WeighedSearch(1, 1024, 0.5)
    generator = np.random.default_rng(3)
    asked = []
    for _ in range(14):
        middle = search.middle
        asked.append(int(middle[0]))
        share = 1 / (1 + math.exp(-(asked[-1] - 700) / 10))
        search.learn(middle, np.array([share + generator.normal(0, 0.17)]), np.array([0.17]))
    for _ in range(3):
        search.learn(np.array([max(asked)]), np.array([0.1]), np.array([0.17]))
    assert int(search.answer[0]) in asked
    unheard = WeighedSearch(2, 64, 0.5)
    unheard.learn(unheard.middle, np.array([0.0, 0.0]), np.array([np.inf, 0.1]))
    assert unheard.middle[0] == 31
    assert unheard.middle[1] > 31


def test_a_rising_sequence_is_left_alone_and_others_are_averaged():
    assert _rising(np.array([0.1, 0.2, 0.9]), np.ones(3)).tolist() == [0.1, 0.2, 0.9]
    assert _rising(np.array([0.4, 0.2, 0.9]), np.array([1.0, 3.0, 1.0])).tolist() == pytest.approx([0.25, 0.25, 0.9])


def test_halving_finds_the_rank_where_shares_rise():
    shares = np.cumsum(np.full((2, 16), 1 / 16), axis=1)
    assert halved(shares, 0.5).tolist() == [8, 8]
    assert halved(shares, 2.0).tolist() == [15, 15]
