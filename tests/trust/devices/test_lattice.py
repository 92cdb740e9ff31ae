"""The lattice: where a row lies on it, on a device and for many rows at once."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpmean.trust.devices import lattice, lattice_numpy


@given(row=st.lists(st.floats(allow_nan=True), min_size=1, max_size=9), step=st.integers(-30, 5))
@example(row=[1e300, -1e300], step=-20)
@example(row=[9.0, 9.0, 9.0], step=-20)
@example(row=[2.0**20 - 1, 0.5, 1.5], step=0)
def test_one_row_and_many_lie_at_the_same_place_within_reach(row, step):
    reach, centre = 1 << 20, list(range(len(row)))
    one = lattice.on_grid(row, step, reach, centre)
    assert one == lattice_numpy.on_grid(np.array([row, row]), step, reach, centre)[1].tolist()
    assert sum(x * x for x in one) <= (reach + math.sqrt(len(row)) / 2) ** 2 or not all(map(math.isfinite, row))
    if math.hypot(*row) <= reach * 2.0**step:
        assert all(abs(x - y / 2.0**step) <= 0.5 for x, y in zip(one, row, strict=True))


def test_a_row_beyond_the_bound_is_shortened_and_keeps_its_direction():
    short = lattice.on_grid([30.0, -40.0], -20, 10 << 20, [0, 0])
    assert short == pytest.approx([6 * 2**20, -8 * 2**20], abs=2)


def test_roots_are_rounded_up_exactly():
    roots = np.array([0, 1, 2, 3, 10**6, 3 * 10**8, 2**30])
    for off in (-1, 0, 1):
        squares = np.maximum(roots**2 + off, 0)
        assert lattice_numpy.root_up(squares).tolist() == [math.isqrt(int(s) - 1) + 1 if s else 0 for s in squares]
