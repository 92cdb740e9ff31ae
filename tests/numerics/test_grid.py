import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmean import ArgumentError
from dpmean.numerics.grid import Grid, norm_bits, padded, power_of_two_at_most, radius_at, radius_index, squared_rungs


@given(st.floats(1e-300, 1e300))
def test_powers_of_two(x):
    power = power_of_two_at_most(x)
    assert math.frexp(power)[0] == 0.5
    assert power <= x < 2 * power


@pytest.mark.parametrize(("d", "width"), [(1, 1), (2, 2), (3, 4), (784, 1024), (1024, 1024), (1025, 2048)])
def test_padding(d, width):
    assert padded(d) == width


@given(st.integers(-6000, 6000))
def test_rungs_and_their_numbers(index):
    assert radius_index(radius_at(index)) == index
    assert radius_index(radius_at(index) * 1.001) == index + 1


def test_squared_rungs_are_exact():
    for rung, whole in enumerate(squared_rungs().tolist()):
        # floor(2^60 4^(rung/64)), checked by raising to the 64th power.
        assert Fraction(whole, 2**60) ** 64 <= Fraction(4) ** rung < Fraction(whole + 1, 2**60) ** 64


@given(st.integers(1, 2**20))
def test_squares_of_all_coordinates_fit_62_bits(d):
    assert d * (2 ** norm_bits(d)) ** 2 <= 2**62
    assert norm_bits(d) >= 21


@given(radius=st.floats(1e-100, 1e100), d=st.integers(1, 10**5))
def test_a_ball_is_no_larger_than_asked_and_hardly_smaller(radius, d):
    ball = Grid(2.0**-400, 2.0**-390, d).ball(np.zeros(d), radius)
    assert ball.radius * ball.unit <= radius
    assert (ball.radius + 1) * ball.unit >= radius
    assert ball.radius < 2 ** (norm_bits(d) - 1)


def test_too_fine_a_step_names_a_step_that_works():
    with pytest.raises(
        ArgumentError,
        match=r"step 2\.0\*\*-60 is too fine for d=1024 and a reach of 1e\+03: raise it to at least 2\.0\*\*-37",
    ):
        Grid(2.0**-60, 1e3, 1024)
    finest = 2 * power_of_two_at_most(1e3 * 32 / 2**52)
    Grid(finest, 1e3, 1024)


def test_a_step_beyond_the_bound_is_refused():
    with pytest.raises(ArgumentError, match=r"too coarse for d=3 and a reach of 2: lower it to 2\.0\*\*0 or less"):
        Grid(4.0, 2.0, 3)


def test_distances_cover_all_that_can_occur():
    grid = Grid(2.0**-20, 10.0, 3)
    view = grid.distances(np.array([0.0, 6.0, 8.0]))
    assert radius_at(view.low + view.points - 1) >= 20.0
    assert radius_at(view.low) <= 2.0**-20 * 1.01


def test_ladders_reach_from_the_resolution_to_all_that_can_occur():
    """Whether rows are asked for their distance from somewhere, or for their distance from each other."""
    grid, rung = Grid(2.0**-10, 3.0, 5), 2 ** (1 / 64)
    lowest, about = 2.0**-11 * math.sqrt(5), np.array([0.0, 0.0, 2.0, 0.0, 0.0])
    assert lowest <= radius_at(grid.lowest) < lowest * rung
    for ladder, factor, largest in (
        (grid.distances(about), 1, 5.0),
        (grid.sides(about), 1, 5.0),
        (grid.pairs(), math.sqrt(2), 6.0),
    ):
        assert radius_at(ladder.low) == pytest.approx(factor * radius_at(grid.lowest))
        assert 1 - 1e-9 <= radius_at(ladder.low + ladder.points - 1) / (factor * largest) < rung


@pytest.mark.parametrize("n", [10**9, 2**40, 2**40 - 1])
def test_directions_get_as_many_bits_as_their_sum_has_room_for(n):
    length = Grid(2.0**-10, 3.0, 5).shells(np.zeros(5), [2.0, 1.5], n).length
    assert n * length < 1 << 62
    assert length << n.bit_length() == 1 << 62
