"""Whatever is answered about the scales of columns, a shape is found, or none: no call is refused for it.

Answers tell of rows, with noise, and what a refused call pays is less than what its answers cost.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean.estimators.refined.columns import TURNS, WIDER, find_columns, given_columns
from dpmean.estimators.refined.directions import find_directions, given_directions
from dpmean.estimators.refined.shape import grid_through, takes_shape
from dpmean.numerics.grid import Grid
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Pairs
from dpmean.trust.central.curator import Answer, Answers, Curator
from dpmean.trust.central.handles import Counts, Sample

POWERS = (-500, -401, -400, -200, 0, 200, 400, 401, 500)
D = 3


@dataclass
class Anything:
    """A curator that answers whatever it is told to."""

    data: object
    left = Fraction(1)
    neighbours = Neighbours.REPLACE_ONE
    quantile_std = staticmethod(Curator.quantile_std)

    def through(self, sample, domain):
        assert domain.reach <= 2.0**500
        assert np.all((domain.scale >= 2.0**-500) & (domain.scale <= 2.0**500))
        return Sample(sample.n, sample.d, domain)

    def squares(self, _sample, squares, cost, _step):
        std = squares.length / float(cost) ** 0.5
        some = st.one_of(st.integers(-(10**9), 10**9), st.integers(-(2**60), 2**60))
        return Answers(np.array(self.data.draw(st.lists(some, min_size=D, max_size=D))), std)

    def octaves(self, sample, octaves, _cost, _step):
        some = st.one_of(st.just(0), st.integers(-sample.n, sample.n))
        values = self.data.draw(st.lists(some, min_size=octaves.points, max_size=octaves.points))
        return Answers(np.array([np.roll(values, j) for j in range(D)]), 9.0)

    def column_medians(self, _sample, view, _cost, _step):
        return np.array([self.data.draw(st.integers(0, int(last))) for last in view.last])

    def count_outside(self, sample, view, cost, _step):
        assert view.last.tolist() == [2] * D
        assert np.all(np.isfinite(view.low))
        some = st.integers(-sample.n, sample.n)
        values = np.array(self.data.draw(st.lists(some, min_size=D, max_size=D)))
        return Answers(values, (0.5 * D / float(cost)) ** 0.5)

    def count(self, sample, view):
        return Counts(view.points, sample.n // 2 if isinstance(view, Pairs) else sample.n)

    def quantile(self, counts, _rank, _cost, _step):
        return self.data.draw(st.integers(0, counts.points - 1))

    def count_beyond(self, counts, index, cost, _step):
        assert 0 <= index < counts.points
        return Answer(self.data.draw(st.integers(-counts.n, counts.n)), (0.5 / float(cost)) ** 0.5)


def grid_of(domain):
    return Grid.at_least(domain.reach / 2**28, domain.reach, D)


@pytest.mark.parametrize("power", POWERS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_answer_about_vectors_makes_a_call_refuse(power, data):
    domain = Domain.within_norm(D, 2.0**power, impute=True)
    if takes_shape(domain):
        shape = find_directions(Anything(data), Sample(2000, D, domain), grid_of(domain))
        Anything(data).through(Sample(2000, D, domain), shape.domain)
        assert grid_through(grid_of(domain), domain, shape.domain).reach == shape.domain.reach
    assert takes_shape(domain) == (power <= 400)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("scales", [None, (2.0**-400, 2.0**-345, 2.0**-340), (2.0**340, 2.0**390, 2.0**400)])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_answer_about_a_table_makes_a_call_refuse(power, scales, data):
    end = 2.0**power
    domain = Domain.within_box(np.array([-end, 0.0, 0.3 * end]), np.array([end, end, end]), impute=True)
    if takes_shape(domain):
        sample, asked = Sample(2000, D, domain), Anything(data)
        shape = (
            find_columns(asked, sample, sample, grid_of(domain))
            if scales is None
            else given_columns(domain, np.array(scales))
        )
        asked.through(sample, shape.domain)
        assert grid_through(grid_of(domain), domain, shape.domain).reach == shape.domain.reach


@dataclass
class Far(Anything):
    """A curator for whom all rows are far out, in some columns, however large their units are."""

    steps: tuple = ()

    def count_beyond(self, counts, index, cost, step):
        assert 0 <= index < counts.points
        self.steps += (step,)
        return Answer(counts.n, (0.5 / float(cost)) ** 0.5)

    def count_outside(self, sample, view, cost, step):
        super().count_outside(sample, view, cost, step)
        self.steps += (step,)
        return Answers(np.array([sample.n, 0, sample.n]), (0.5 * D / float(cost)) ** 0.5)


class NotFar(Far):
    """The same, but that in no column there are too many of them."""

    def count_outside(self, sample, view, cost, step):
        found = super().count_outside(sample, view, cost, step)
        return Answers(0 * found.values, found.std)


@pytest.mark.parametrize("power", [-400, 0, 400])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_units_grow_four_times_at_most_and_only_those_of_columns_with_far_rows(power, data):
    end = 2.0**power
    domain = Domain.within_box(np.array([-end, 0.0, 0.3 * end]), np.array([end, end, end]), impute=True)
    sample, of_some, of_none = Sample(2000, D, domain), Far(data), NotFar(data)
    shape = find_columns(of_some, sample, sample, grid_of(domain))
    assert of_some.steps == tuple(
        step for turn in range(1, TURNS + 1) for step in (f"tails {turn}", f"tails {turn}, by column")
    )
    of_none.through(sample, shape.domain)
    assert grid_through(grid_of(domain), domain, shape.domain).reach == shape.domain.reach
    assert shape.errors[[0, 2]].tolist() == [1.0, 1.0]  # their scales are not known any more
    least = WIDER**TURNS * domain.scale * 2.0**-44
    assert np.all(shape.domain.scale[[0, 2]] >= least[[0, 2]])
    find_columns(of_none, sample, sample, grid_of(domain))
    assert of_none.steps == ("tails 1", "tails 1, by column")


@pytest.mark.parametrize("power", [-400, 0, 400])
def test_given_scales_of_vectors_are_taken_whatever_the_bound(power):
    domain = Domain.within_norm(D, 2.0**power, impute=True)
    for first in (2.0**-400, 1.0, 2.0**340):
        shape = given_directions(domain, first * np.array([1.0, 2.0**30, 2.0**60]))
        assert shape.domain.reach <= 2.0**500


@pytest.mark.parametrize("bounds", [(-(2.0**500), 2.0**500), (0.0, 2.0**-499), (0.3 * 2.0**500, 2.0**500)])
def test_bounds_that_are_too_extreme_for_shapes_are_as_good_as_before(bounds):
    rows = np.random.default_rng(1).uniform(*bounds, (2000, 3)) if bounds[1] < 1 else np.full((2000, 3), bounds[1] / 2)
    with pytest.raises(dpmean.ArgumentError, match=r"shape=\[...\] needs bounds between 2\^-400 and 2\^400"):
        dpmean.mean(rows, rho=0.5, bounds=bounds, shape=(1.0, 2.0, 3.0), seed=1)
    release = dpmean.mean(rows, rho=0.5, bounds=bounds, seed=1)
    assert release.scales is None
    assert np.abs(release.mean / bounds[1] - np.clip(rows, *bounds).mean(axis=0) / bounds[1]).max() < 0.1


@pytest.mark.parametrize(("scales", "bounds"), [([1e-100] * 3, (-1e100, 1e100)), ([1e-15, 1.0, 10.0], (0.0, 1e16))])
def test_given_scales_may_be_as_small_as_one_likes(scales, bounds):
    rows = np.random.default_rng(1).normal(5, 1, (2000, 3))
    assert np.isfinite(dpmean.mean(rows, rho=0.5, bounds=bounds, shape=scales, seed=1).mean).all()
