import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmean.quantile import questions, rank_error, search


class Counts:
    """Exact counts of sorted values, with a fixed error added to each answer."""

    def __init__(self, columns, points, error=0):
        self.columns, self.points, self.size = columns, points, len(columns)
        self.questions, self.noise_std, self.error, self.asked = questions(points), 0.0, error, 0

    def count_at_most(self, index):
        self.asked += 1
        return np.array([np.sum(column <= i) for column, i in zip(self.columns, index, strict=True)]) + self.error


@pytest.mark.parametrize(("points", "expected"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1024, 10), (1025, 11)])
def test_enough_questions_for_every_universe(points, expected):
    assert questions(points) == expected


@given(
    columns=st.lists(st.lists(st.integers(0, 99), min_size=7, max_size=7), min_size=1, max_size=3),
    points=st.integers(1, 100),
    rank=st.integers(0, 6),
)
def test_without_noise_it_is_the_order_statistic(columns, points, rank):
    columns = [np.minimum(column, points - 1) for column in columns]
    counter = Counts(columns, points)
    assert search(counter, rank).tolist() == [sorted(column)[rank] for column in columns]
    assert counter.asked == questions(points)


@given(
    column=st.lists(st.integers(0, 63), min_size=40, max_size=40),
    rank=st.integers(8, 30),
    error=st.integers(-7, 7),
)
def test_an_error_of_tau_in_the_counts_is_an_error_of_tau_in_rank(column, rank, error):
    """Lemma 3.2."""
    ordered = sorted(column)
    found = search(Counts([np.array(column)], 64, error), rank)[0]
    assert ordered[rank - abs(error)] <= found <= ordered[rank + abs(error)]


def test_a_rank_above_all_rows_ends_at_the_last_point():
    assert search(Counts([np.zeros(5, dtype=int)], 10), 5) == [9]


def test_the_rank_error_holds_as_often_as_stated():
    """Theorem 3.1 with its repaired constant: noise stays below tau in all comparisons, but not below 0.7 tau."""
    generator = np.random.default_rng(3)
    worst = generator.normal(0, 5, (4000, 12)).max(axis=1)
    tau = rank_error(5, 12, 0.1)
    assert np.mean(worst > tau) < 0.1
    assert np.mean(worst > 0.7 * tau) > 0.1
    assert tau == pytest.approx(5 * math.sqrt(2 * math.log(120)))
