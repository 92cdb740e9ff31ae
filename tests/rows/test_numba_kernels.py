"""What the compiled loops do to a row, against exact arithmetic written out in fractions."""

import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpmean import DataError
from dpmean.noise.jit import compiled
from dpmean.numerics.grid import Grid, norm_bits, radius_index
from dpmean.numerics.shells import clipped_sum
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Ball, Distances, Pairs, Sides
from dpmean.rows.memory import MemoryRows
from dpmean.rows.numba_kernels import _find_factor, shrink_by

REACH = 100.0
WIDE = Distances(centre=np.zeros(1), low=-40 * 64, points=100 * 64)

values = st.one_of(
    st.floats(-50, 50),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-310, 2.0**-30, 1.0, 1e6, 1e200, 1.7e308]),
)


@st.composite
def rows_and_centre(draw, most=6):
    d = draw(st.integers(1, most))
    row = np.array(draw(st.lists(values, min_size=d, max_size=d)))
    centre = np.array(draw(st.lists(st.floats(-5, 5), min_size=d, max_size=d)))
    return row, centre


def memory(row, reach=REACH, impute=False):
    return MemoryRows(np.atleast_2d(row), Domain.within_norm(row.shape[-1], reach, impute=impute), threads=1)


def own_unit(row, centre):
    """Return the squared distance of a row as the kernel defines it: truncated in the row's own unit."""
    bits = norm_bits(len(row))
    differences = [Fraction(float(x) - float(c)) for x, c in zip(row, centre, strict=True)]
    largest = max(abs(y) for y in differences)
    if largest == 0:
        return Fraction(0)
    exponent = max(math.frexp(float(largest))[1] - 1, -900)
    unit = Fraction(2) ** (exponent - bits + 1)
    return sum((math.trunc(y / unit) * unit) ** 2 for y in differences)


def entered(row):
    """Return the row, or its direction times the reach: floats, in a unit of the row so that nothing overflows."""
    exponent = max(math.frexp(np.abs(row).max())[1] - 1, -900)
    bits = norm_bits(len(row))
    norm = math.sqrt(own_unit(row, np.zeros(len(row))) / Fraction(4) ** (exponent - bits + 1)) * 2.0 ** (1 - bits)
    if Fraction(norm) * Fraction(2) ** exponent <= Fraction(REACH):
        return row
    return np.array([math.ldexp(x, -exponent) for x in row]) * (REACH / norm)


def rung_of(row, centre, view=WIDE):
    """Return where a row is counted."""
    view = Distances(centre=centre, low=view.low, points=view.points)
    counts = memory(row).answer(view).counts
    return view.low + int(np.flatnonzero(counts)[0])


@settings(max_examples=300, deadline=None)
@given(rows_and_centre())
@example((np.array([8.0]), np.array([0.0])))
@example((np.array([3.0, 4.0]), np.array([0.0, 0.0])))
def test_a_row_is_counted_at_the_first_rung_not_below_its_distance(case):
    row, centre = case
    square = own_unit(entered(row), centre)
    rung = rung_of(row, centre)
    # distance <= 2^(rung/64), that is square^64 <= 4^rung, exactly
    if rung > WIDE.low:
        assert square**64 <= Fraction(4) ** rung
        assert square**64 > Fraction(4) ** (rung - 1)
    else:
        assert square**64 <= Fraction(4) ** WIDE.low


@settings(max_examples=300, deadline=None)
@given(rows_and_centre(), st.integers(-30, 60))
def test_a_clipped_row_is_never_longer_than_the_radius_and_points_the_same_way(case, octave):
    row, centre = case
    ball = Grid(2.0**-30, REACH, len(row)).ball(centre, 1.37 * 2.0**octave)
    whole = [int(x) for x in memory(row).answer(ball)]
    assert sum(x * x for x in whole) <= ball.radius**2
    inside = entered(row)
    length = math.hypot(*(inside - centre))
    expected = (inside - centre) / ball.unit * min(1.0, ball.radius * ball.unit / max(length, 1e-300))
    slack = 2 + ball.radius * len(row) * 2.0 ** (2 - norm_bits(len(row)))
    assert np.all(np.abs(np.array(whole) - expected) <= slack)


@given(rows_and_centre())
def test_a_row_enters_within_the_bound_and_in_its_own_direction(case):
    row, _ = case
    ball = Ball(np.zeros(len(row)), 2.0**-18, 2**27)  # contains everything within reach, and more
    whole = memory(row).answer(ball) * ball.unit
    assert math.hypot(*whole) <= REACH * (1 + 1e-5)
    largest = np.abs(row).max()
    if largest > 2 * REACH:
        assert math.hypot(*whole) >= REACH * (1 - 1e-4)
        assert np.allclose(whole / REACH, row / largest / math.hypot(*(row / largest)), atol=1e-4)


@pytest.mark.parametrize("d", [1, 4, 16, 64, 256])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_row_of_nothing_but_missing_values(d, bad):
    rows = np.full((40, d), 7.0)
    rows[5] = bad
    grid = Grid(2.0**-20, REACH, d)
    view = grid.distances(np.full(d, 3.0))
    with pytest.raises(DataError):
        memory(rows).answer(view)
    clean = np.where(np.isfinite(rows), rows, 0.0)
    assert np.array_equal(memory(rows, impute=True).answer(view).counts, memory(clean).answer(view).counts)
    ball = grid.ball(np.full(d, 3.0), 5.0)
    assert np.array_equal(memory(rows, impute=True).answer(ball), memory(clean).answer(ball))


@pytest.mark.parametrize("excess", [1.0, 1 + 1e-12, 1 + 1e-6])
def test_a_factor_that_is_too_large_is_lowered_until_whole_numbers_agree(excess):
    """The last line of defence: whatever floats say, a row of whole numbers is not longer than the radius."""
    row, centre, whole = np.array([[3.0, 4.0, 12.0]]), np.zeros(3), np.zeros(3, dtype=np.int32)
    radius = 13 * 10**6
    shrink_by(excess * radius / 13.0 / 2**20, row, 0, centre, 2.0**20, radius, whole)
    length = sum(int(x) ** 2 for x in whole)
    assert radius**2 * (1 - 1e-5) < length <= radius**2


def test_a_row_inside_the_ball_is_only_truncated():
    row, centre = np.array([3.3, -2.7, 0.1]), np.array([1.0, 1.0, 1.0])
    ball = Ball(centre, 2.0**-4, 200)
    assert memory(row).answer(ball).tolist() == [math.trunc(x * 16) for x in row - centre]


def test_a_row_outside_the_bound_counts_as_shortened_to_it():
    far = np.array([3e4, 4e4])
    near = far * (REACH / 5e4)
    centre = np.array([1.0, -2.0])
    ball = Grid(2.0**-20, REACH, 2).ball(centre, 150.0)
    assert np.array_equal(memory(far).answer(ball), memory(near).answer(ball))
    assert rung_of(far, centre) == rung_of(near, centre)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_stop_everything(bad):
    rows = np.ones((50, 3))
    rows[31, 1] = bad
    for work in (
        lambda: memory(rows).answer(Grid(2.0**-20, REACH, 3).distances(np.zeros(3))),
        lambda: memory(rows).answer(Ball(np.zeros(3), 1.0, 10)),
    ):
        with pytest.raises(DataError, match="NaN or infinity, so nothing was released") as caught:
            work()
        assert "31" not in str(caught.value)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_imputed_values_are_the_public_centre(bad):
    rows, clean = np.full((40, 3), 7.0), np.full((40, 3), 7.0)
    rows[5, 1], clean[5, 1] = bad, 0.0
    grid = Grid(2.0**-20, REACH, 3)
    centre = np.array([1.0, 2.0, 3.0])
    for radius in (1.0, 30.0, 150.0):
        ball = grid.ball(centre, radius)
        assert np.array_equal(memory(rows, impute=True).answer(ball), memory(clean).answer(ball))
    view = grid.distances(centre)
    assert np.array_equal(memory(rows, impute=True).answer(view).counts, memory(clean).answer(view).counts)


def test_high_dimensions_do_not_overflow():
    d = 200_000
    rows = np.full((3, d), 1e3)
    rows[1] *= -1
    reach = 1e3 * math.sqrt(d)
    grid = Grid(2.0**-10, reach, d)
    domain = Domain.within_norm(d, reach, impute=False)
    ball = grid.ball(np.zeros(d), reach)
    total = MemoryRows(rows, domain).answer(ball)
    assert np.allclose(total * ball.unit, 1e3, rtol=1e-3)
    counts = MemoryRows(rows, domain).answer(grid.distances(np.zeros(d))).counts
    assert counts[0, radius_index(reach) - grid.distances(np.zeros(d)).low] == 3


def test_a_loop_compiles_where_nothing_can_be_kept_on_disk():
    names = {}
    exec("def add(a, b):\n    return a + b\n", names)  # noqa: S102  a function without a file has no place in a cache
    assert compiled(names["add"])(2, 3) == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_threads_of_its_own():
    code = """
import os, numpy, dpmean
rows = numpy.ones((300000, 4))
first = dpmean.mean(rows, rho=1, norm_bound=10, seed=1)
child = os.fork()
if not child:
    os._exit(0 if dpmean.mean(rows, rho=1, norm_bound=10, seed=1).mean.tolist() == first.mean.tolist() else 1)
print(os.waitpid(child, 0)[1])
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.strip() == "0"


# --- pairs, sides, shells ------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_pair_is_as_far_apart_as_its_rows(data):
    row, _ = data.draw(rows_and_centre())
    other = np.array(data.draw(st.lists(values, min_size=len(row), max_size=len(row))))
    inside = all(math.hypot(*x) < 0.99 * REACH for x in (row.tolist(), other.tolist()))
    counts = memory(np.array([row, other])).answer(Pairs(WIDE.low, WIDE.points)).counts[0]
    assert counts[-1] == 1
    if not inside:
        return
    alone = memory(row, reach=1e3).answer(Distances(other, WIDE.low, WIDE.points)).counts[0]
    assert np.array_equal(counts, alone)


def test_an_odd_row_has_no_partner_and_the_first_half_goes_with_the_second():
    rows = np.array([[0.0], [10.0], [1.0], [14.0], [50.0]])
    counts = memory(rows).answer(Pairs(0, 64 * 7)).counts[0]
    assert counts[0] == 1  # 1 - 0
    assert counts[64 * 2 - 1] == 1
    assert counts[64 * 2] == 2  # 14 - 10
    assert counts[-1] == 2


@settings(max_examples=200, deadline=None)
@given(
    x=values,
    centre=st.one_of(st.just(0.0), st.floats(-5, -0.01), st.floats(0.01, 5)),
    index=st.integers(0, WIDE.points - 1),
)
def test_a_number_is_above_the_centre_or_below(x, centre, index):
    x = max(-REACH, min(x, REACH)) * 0.99
    where = np.array([centre])
    sides = memory(np.array([x])).answer(Sides(where, WIDE.low, WIDE.points)).counts
    plain = memory(np.array([x])).answer(Distances(where, WIDE.low, WIDE.points)).counts[0]
    above = x >= centre
    assert np.array_equal(sides[0 if above else 1], plain)
    assert sides[1 if above else 0, index] == 1


def test_rows_that_are_no_numbers_stop_pairs_and_sides_and_shells():
    rows = memory(np.array([[1.0], [math.nan]]))
    shells = Grid(2.0**-20, REACH, 1).shells(np.zeros(1), [2.0, 1.0], 2)
    for ask in (
        lambda: rows.answer(Pairs(0, 10)),
        lambda: rows.answer(Sides(np.zeros(1), 0, 10)),
        lambda: rows.answer(shells),
    ):
        with pytest.raises(DataError):
            ask()
    imputed = memory(np.array([[1.0], [math.nan]]), impute=True)
    assert imputed.answer(Pairs(0, 10)).counts[0, 0] == 1
    assert imputed.answer(Sides(np.zeros(1), 0, 10)).counts[:, 0].tolist() == [2, 2]


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_shells_put_together_are_the_rows_clipped_at_each_radius(data):
    d = data.draw(st.sampled_from([1, 3, 40]))
    rows = np.random.default_rng(data.draw(st.integers(0, 1000))).standard_t(2, (50, d)) * 3
    centre = np.full(d, data.draw(st.floats(-2, 2)))
    radii = [8.0, 6.5, 3.0, 0.5]
    grid = Grid(2.0**-20, 1e4, d)
    shells = grid.shells(centre, radii, data.draw(st.sampled_from([50, 10**9])))
    sums = memory(rows, reach=1e4).answer(shells)
    lengths = np.linalg.norm(rows - centre, axis=1)
    for k, radius in enumerate(radii):
        wanted = ((rows - centre) * np.minimum(1, radius / lengths)[:, np.newaxis]).sum(axis=0)
        found = clipped_sum(sums, shells, k) * shells.unit
        assert np.linalg.norm(found - wanted) < 50 * radius * 2**-10 + 50 * math.sqrt(d) * shells.unit


def test_sums_of_directions_fit_into_64_bits_for_any_number_of_rows():
    for d in (1, 16, 4096, 10**6):
        for n in (1, 10**4, 10**7, 10**10):
            shells = Grid(2.0**-10, 1e5, d).shells(np.zeros(d), [9.99, 2.5], n)
            assert n * shells.length < 2**62
            assert shells.radii[0] < 2 ** (norm_bits(d) - 1)
            assert shells.length >= 2**12 * shells.radii[0] >= shells.length / 4
            assert shells.length // shells.radii[1] < 2**31


@settings(deadline=None)
@given(
    squared=st.one_of(st.integers(1, 2**56), st.integers(1, 2**28).map(lambda x: x * x + 1)), bits=st.integers(30, 50)
)
def test_a_direction_is_never_longer_than_its_length(squared, bits):
    factor = int(_find_factor(squared, 1 << bits))
    assert factor**2 * squared <= 1 << (2 * bits)
    assert (factor + 2) ** 2 * (math.isqrt(squared) + 1) ** 2 > 1 << (2 * bits)


def test_rows_beyond_reach_are_brought_in_before_they_are_put_into_shells():
    """The ball pokes out of the bound: a row there is moved first, and then lies in another shell."""
    centre = np.array([90.0, 0.0])
    rows = np.array([[130.0, 0.0], [90.0, 60.0], [95.0, 10.0]])
    shells = Grid(2.0**-20, REACH, 2).shells(centre, [45.0, 30.0], 3)
    sums = memory(rows).answer(shells)
    lengths = np.linalg.norm(rows, axis=1)
    moved = rows * np.minimum(1, REACH / lengths)[:, np.newaxis] - centre
    for k, radius in enumerate([45.0, 30.0]):
        factors = np.minimum(1, radius / np.linalg.norm(moved, axis=1))
        assert np.allclose(
            clipped_sum(sums, shells, k) * shells.unit, (moved * factors[:, np.newaxis]).sum(axis=0), rtol=1e-3
        )


def test_what_bounds_mean_in_working_units():
    box = Domain.within_box(np.array([-1.0, 2.0]), np.array([3.0, 10.0]), impute=True)
    assert (box.d, box.reach, box.impute, box.strict) == (2, math.sqrt(2), True, ())
    assert (box.middle.tolist(), box.scale.tolist()) == ([1.0, 6.0], [2.0, 4.0])
    assert box.to_user(np.array([0.5, -1.0])).tolist() == [2.0, 2.0]
    ball = Domain.within_norm(2, 7.0, impute=False)
    assert (ball.d, ball.reach, ball.impute, ball.lower, ball.upper) == (2, 7.0, False, None, None)
    assert ball.to_user(np.array([0.5, -1.0])).tolist() == [0.5, -1.0]
    assert ball.fill.tolist() == box.fill.tolist() == [0.0, 0.0]
