"""Queries are data that can be sent to workers and not be changed; totals are looked up line by line."""

import dataclasses
import pickle
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from dpmean.errors import ArgumentError
from dpmean.queries.queries import (
    Ball,
    BallSquares,
    Bins,
    Columns,
    Coordinates,
    Distances,
    Octaves,
    Pairs,
    Present,
    Query,
    Shells,
    Sides,
    Squares,
    VectorSum,
)
from dpmean.queries.totals import Histogram

CENTRE = np.array([1.0, -2.0])
QUERIES = (
    Distances(CENTRE, low=-3, points=8),
    Sides(CENTRE[:1], low=-3, points=8),
    Pairs(low=0, points=5),
    Octaves(low=-3, points=5),
    Squares(length=1 << 24),
    Present(),
    Columns(CENTRE, spacing=np.array([0.5, 2.0]), last=np.array([7, 0])),
    Coordinates(np.array([1.0, -1.0]), step=0.5, first=0, size=2, low=-1.0, spacing=0.25, points=9),
    Ball(CENTRE, unit=0.5, radius=7),
    BallSquares(CENTRE, unit=0.5, radius=7, shift=2),
    Shells(CENTRE, unit=0.5, radii=(9, 7), length=100),
    Bins(Distances(CENTRE, low=-3, points=8), first=2, radii=(4, 8, 16), exponents=(-3, -2, -1), length=100),
)


def test_the_cases_are_all_queries():
    assert {type(query) for query in QUERIES} == set(get_args(Query))


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
def test_a_query_can_be_sent_to_a_worker_and_not_be_changed(query):
    sent = pickle.loads(pickle.dumps(query))  # noqa: S301  our own bytes
    assert repr(sent) == repr(query)
    for field in dataclasses.fields(query):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(query, field.name, 0)


def test_queries_that_loops_could_not_answer_in_64_bits_are_refused():
    for length in (0, -1, (1 << 30) + 1, 1 << 62):
        with pytest.raises(ArgumentError, match=r"between 1 and 2\^30"):
            Squares(length)
    for radius, shift in ((0, 0), (1 << 30, 0), (7, -1), (7, 62)):
        with pytest.raises(ArgumentError, match="radius must be below"):
            BallSquares(CENTRE, 0.5, radius, shift)
    with pytest.raises(ArgumentError, match="points must be at least 1"):
        Octaves(-40, 0)
    for spacing, last in (((1.0, 1.0), (1,)), ((1.0,), (1, 1)), ((1.0, 1.0), (1, -1)), ((1.0, 0.0), (1, 1))):
        with pytest.raises(ArgumentError, match=r"one entry per column|every line must have"):
            Columns(CENTRE, np.array(spacing), np.array(last))
    with pytest.raises(ArgumentError, match=r"2\^52"):
        Columns(CENTRE, np.ones(2), np.array([1, (1 << 52) + 1]))


def test_a_rung_of_the_ladder_is_in_the_smallest_bin_that_holds_it():
    bins = QUERIES[-1]
    ends = [bins.first + bins.stride * b for b in range(len(bins.radii))]
    for rung in range(-20, ends[-1] + 1):
        assert bins.at(rung) == next(b for b, end in enumerate(ends) if rung <= end)
    assert bins.at(ends[-1] + 100) == len(ends) - 1


def test_counts_are_looked_up_line_by_line_and_the_last_is_no_point():
    histogram = Histogram(np.array([[0, 2, 5, 9], [1, 1, 1, 9]]))
    assert histogram.points == 3
    assert histogram.count_at_most(np.array([2, 0])).tolist() == [5, 1]


def test_a_sum_is_scaled_and_its_integers_are_left_alone():
    total = VectorSum(np.array([3, -4]), 0.5, Fraction(1))
    assert total.times(0.5).tolist() == [1.5, -2.0]
    assert total.total.tolist() == [3, -4]
