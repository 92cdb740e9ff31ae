"""The map into working units: what it gives, what it bounds, and how it goes back."""

import copy
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmean.errors import ArgumentError
from dpmean.queries.domain import Domain

LARGEST = 2.0**500
scales = st.one_of(st.floats(1e-3, 1e3), st.floats(1e-140, 1e140), st.sampled_from([1.0, 2.0**-30]))
numbers = st.one_of(st.floats(-100, 100), st.floats(-1e140, 1e140), st.sampled_from([0.0, -0.0]))


def lists(values, d):
    return st.lists(values, min_size=d, max_size=d).map(np.array)


@st.composite
def reshaped(draw):
    """Draw a domain as users give it, and another that it becomes."""
    d = draw(st.integers(1, 5))
    if draw(st.booleans()):
        ends = np.sort([draw(lists(numbers, d)), draw(lists(numbers, d))], axis=0)
        domain = Domain.within_box(ends[0], ends[1] + 1e-3 + np.abs(ends[1]) * 1e-3, impute=True)
    else:
        domain = Domain.within_norm(d, draw(scales), impute=True)
    try:
        return domain, domain.reshape(draw(lists(numbers, d)), draw(lists(scales, d)))
    except ArgumentError:  # out of range: tested below
        return domain, domain


def norm_at_most(row, reach):
    """Whether a row of floats is no longer than the reach, decided in fractions."""
    return sum(Fraction(float(x)) ** 2 for x in row) <= Fraction(reach) ** 2


@settings(max_examples=300, deadline=None)
@given(case=reshaped(), data=st.data())
def test_every_row_within_the_bound_is_within_the_new_reach(case, data):
    domain, new = case
    row = data.draw(lists(st.floats(-1, 1), domain.d))
    if domain.ball is None:
        row = data.draw(lists(st.floats(allow_nan=False, allow_infinity=False), domain.d))
    else:
        row = row * (domain.ball * (1 - 2**-50) / max(1.0, math.hypot(*row)))
    if new is not domain:
        assert norm_at_most(new.working(row[np.newaxis])[0], new.reach)
        assert norm_at_most(new.fill, new.reach)


def test_the_new_reach_is_reached():
    """Nothing is given away: the corner of a box, and the row along the column of the smallest scale."""
    box = Domain.within_box(np.array([-1.0, 0.0]), np.array([3.0, 100.0]), impute=False)
    new = box.reshape(np.array([0.0, 10.0]), np.array([0.5, 2.0]))
    corner = new.working(np.array([[1e9, 1e9]]))[0]
    assert corner.tolist() == [6.0, 45.0]
    assert math.hypot(*corner) <= new.reach <= math.hypot(*corner) * (1 + 1e-11)
    ball = Domain.within_norm(2, 6.0, impute=False).reshape(np.zeros(2), np.array([0.25, 2.0]))
    assert 24.0 <= ball.reach <= 24.0 * (1 + 1e-11)
    assert ball.working(np.array([[6.0, 0.0], [1.5, 3.0]])).tolist() == [[24.0, 0.0], [6.0, 1.5]]


@settings(max_examples=200, deadline=None)
@given(case=reshaped(), data=st.data())
def test_a_finite_row_stays_finite_and_a_missing_value_is_its_stand_in(case, data):
    domain, new = case
    row = data.draw(lists(st.floats(allow_nan=False, allow_infinity=False), domain.d))
    assert np.isfinite(new.working(row[np.newaxis])).all()
    assert np.array_equal(new.missing, domain.missing)
    assert new.fill.tolist() == new.working(domain.missing[np.newaxis])[0].tolist()
    odd = np.where(np.arange(domain.d) % 2 == 0, np.inf, np.nan)
    assert np.array_equal(new.working(odd[np.newaxis])[0], odd, equal_nan=True)


@settings(max_examples=300, deadline=None)
@given(case=reshaped(), data=st.data())
def test_a_row_that_is_surely_not_shortened_is_within_the_ball(case, data):
    _, new = case
    if new.ball is None:
        assert new.sure == new.limit == new.reach
        return
    assert new.sure <= new.reach
    far = np.array(data.draw(lists(st.floats(-1, 1), new.d)))
    far *= new.sure * (1 - 2**-50) / max(math.hypot(*far), 1e-3)
    row = [Fraction(m) + Fraction(s) * Fraction(y) for m, s, y in zip(new.middle, new.scale, far, strict=True)]
    assert new.sure == 0.0 or sum(x**2 for x in row) <= Fraction(new.ball) ** 2


def test_few_rows_of_a_loose_bound_are_looked_at_twice():
    ball = Domain.within_norm(2, 100.0, impute=False)
    new = ball.reshape(np.array([30.0, 40.0]), np.array([1.0, 5.0]))
    assert 9.9 < new.sure <= 10.0
    assert ball.sure == ball.limit == new.limit == 100.0
    assert ball.reshape(np.zeros(2), np.ones(2)).sure == 100.0
    for middle in (100.0, 1000.0):
        assert ball.reshape(np.array([middle, 0.0]), np.ones(2)).sure == 0.0


def test_a_reshaped_ball_shortens_rows_in_the_users_units():
    ball = Domain.within_norm(2, 10.0, impute=True)
    new = ball.reshape(np.array([1.0, -2.0]), np.array([0.5, 4.0]))
    assert (new.ball, new.reshape(np.zeros(2), np.full(2, 2.0)).ball) == (10.0, 10.0)
    assert new.reshape(np.zeros(2), np.full(2, 2.0)).reach == pytest.approx(5.0)
    rows = np.array([[30.0, 40.0], [3.0, 4.0], [np.nan, 20.0], [1e300, 0.0]])
    wanted = [[6.0, 8.0], [3.0, 4.0], [0.0, 10.0], [10.0, 0.0]]
    assert np.allclose(ball.enter(rows), wanted)
    assert np.allclose(new.enter(rows), new.working(np.array(wanted)))
    assert np.allclose(new.to_user(new.enter(rows)), wanted)


@settings(max_examples=100, deadline=None)
@given(case=reshaped(), data=st.data())
def test_points_and_lengths_go_back_to_the_users_units(case, data):
    _, new = case
    point = data.draw(lists(st.floats(-100, 100), new.d))
    assert np.array_equal(new.to_user(point), new.middle + new.scale * point)
    assert np.array_equal(new.lengths_to_user(np.abs(point)), new.scale * np.abs(point))
    assert np.array_equal(new.lengths_to_user(2.0), new.scale * 2.0)


def test_what_is_asked_for_nothing_is_as_before():
    ball = Domain.within_norm(3, 7.0, impute=False)
    same = ball.reshape(np.zeros(3), np.ones(3))
    assert not ball.is_mapped
    assert not same.is_mapped
    assert same.reach == pytest.approx(7.0, rel=1e-11)
    box = Domain.within_box(np.zeros(3), np.ones(3), impute=False)
    assert box.reach == math.sqrt(3)
    assert box.reshape(box.middle, box.scale).reach == pytest.approx(math.sqrt(3), rel=1e-11)
    rows = np.array([[-1.0, 0.25, 2.0]])
    assert box.working(rows).tolist() == box.reshape(box.middle, box.scale).working(rows).tolist() == [[-1, -0.5, 1]]


@pytest.mark.parametrize(
    ("middle", "scale", "message"),
    [
        (0.0, 0.0, "scales must lie between 2^-500 and 2^500, got 0: "),
        (0.0, -1.0, "scales must lie .* got -1"),
        (0.0, math.nan, "scales must lie .* got nan"),
        (0.0, math.inf, "scales must lie .* got inf"),
        (math.inf, 1.0, "the middle of a column must be at most 2^500, got inf"),
        (-2.0 * LARGEST, 1.0, "the middle of a column must be at most 2^500, got -6.5"),
        (0.0, 2.0**-499, r"may be longer than 2^500: use larger scales"),
        (LARGEST, 1.0, r"may be longer than 2^500: use larger scales"),
    ],
)
def test_what_cannot_be_represented_is_refused(middle, scale, message):
    domain = Domain.within_norm(2, 7.0, impute=False)
    with pytest.raises(ArgumentError, match=message.replace("^", r"\^")):
        domain.reshape(np.array([0.0, middle]), np.array([1.0, scale]))


def test_a_domain_travels_to_workers():
    box = Domain.within_box(np.zeros(3), np.ones(3), impute=True).reshape(np.zeros(3), np.array([1.0, 2.0, 4.0]))
    for other in (pickle.loads(pickle.dumps(box)), copy.deepcopy(box), replace(box, strict=(1,))):  # noqa: S301  ours
        assert np.array_equal(other.lines, box.lines)
        assert (other.reach, other.impute) == (box.reach, True)
