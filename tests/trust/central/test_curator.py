"""What a curator lets out: answers with noise, and handles that tell nothing."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from dpmean import ArgumentError, Neighbours, Zcdp
from dpmean.baselines.floats import FloatCurator
from dpmean.noise.public import PublicCoins
from dpmean.noise.source import seeded
from dpmean.numerics.grid import Grid
from dpmean.numerics.rotation import Rotation, hadamard
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Shells
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central import handles
from dpmean.trust.central.curator import Curator
from tests.support.curators import ANSWERS, HANDLES

PUBLIC = {
    "Sample": {"n", "d", "domain"},
    "Counts": {"points", "n", "of_pairs"},
    "Sums": {"shells"},
    "Binned": {"bins", "counts"},
}
"""What handles tell; each of it is public before anything is asked."""
GRID = Grid(2.0**-20, 10.0, 2)


def curator_of(rows, budget=1):
    held = MemoryRows(rows, Domain.within_norm(rows.shape[1], 10.0, impute=False), threads=1)
    return Curator(held, Zcdp(budget), seeded(1), Neighbours.REPLACE_ONE)


def test_every_public_method_of_a_curator_is_an_answer_or_gives_a_handle():
    public = {name for name, one in vars(Curator).items() if callable(one) and not name.startswith("_")}
    assert public == {*ANSWERS, *HANDLES, "quantile_std", "put_aside", "take_back"}  # the last are public arithmetic


def test_handles_have_public_fields_and_no_others():
    named = [one for one in vars(handles).values() if getattr(one, "__module__", "") == handles.__name__]
    made = [one for one in named if isinstance(one, type)]
    assert {one.__name__: {field.name for field in dataclasses.fields(one)} for one in made} == PUBLIC
    assert not any(hasattr(one, "__dict__") for one in (handles.Sample(1, 1, GRID), handles.Counts(1, 1)))


def facts(handle):
    """Return all that a handle tells."""
    return {
        name: facts(value) if dataclasses.is_dataclass(value) else repr(value)
        for name in handle.__dataclass_fields__
        for value in [getattr(handle, name)]
    }


def test_handles_of_any_rows_are_the_same():
    """Handles are made of queries and of the number of rows: two curators with other rows give the same ones."""
    found = []
    for rows in (np.zeros((20, 2)), np.random.default_rng(1).normal(3, 2, (20, 2))):
        curator = curator_of(rows)
        some = curator.take(np.array([3, 1, 4, 15]))
        binned = curator.bin(curator.rows, GRID.bins(np.zeros(2), 0.1, 20))
        shells = GRID.shells(np.zeros(2), [4.0, 2.0], 20)
        made = [curator.rows, some, curator.count(some, GRID.pairs()), curator.count(some, GRID.distances(np.zeros(2)))]
        made += [binned, curator.add_up(curator.rows, shells), curator.add_up_bins(binned, [3, 1])]
        found.append([facts(handle) for handle in made])
        assert curator.receipts == ()
    assert found[0] == found[1]


def test_a_handle_of_another_curator_stands_for_nothing():
    one, two = curator_of(np.zeros((20, 2))), curator_of(np.zeros((20, 2)))
    counts = one.count(one.rows, GRID.distances(np.zeros(2)))
    with pytest.raises(KeyError):
        two.count_beyond(counts, 3, two.left, "alarm")


@pytest.mark.parametrize("size", [1, 2, 4])
def test_medians_lie_between_the_points_where_more_than_half_of_the_rows_are(size):
    """With so large a budget that there is no noise: the noise on a count has a standard deviation below 1e-3."""
    grid, steps = Grid(2.0**-8, 10.0, 3), np.random.default_rng(2).integers(-1000, 1000, (21, 3))
    rotation = Rotation.draw(grid, PublicCoins("medians"))
    curator = curator_of(steps * grid.step, 10**9)
    found = curator.coordinate_medians(curator.rows, rotation.views(size), rotation.width, curator.left, "centre")
    turned = [hadamard(rotation.signs * np.append(row, 0)) for row in steps]
    assert np.abs(found - np.median(turned, axis=0)).max() <= rotation.spacing / 2


def test_counts_of_pairs_are_half_as_many_as_rows():
    curator = curator_of(np.zeros((21, 2)))
    assert curator.count(curator.rows, GRID.pairs()).n == 10
    assert curator.count(curator.rows, GRID.distances(np.zeros(2))).n == 21


@pytest.mark.parametrize(
    "positions",
    [
        np.zeros(1000, dtype=int),
        np.array([0, 1, 1]),
        np.array([-1]),
        np.array([4000]),
        np.array([[0]]),
        np.array([0.5]),
    ],
    ids=["one row a thousand times", "twice", "before the first", "beyond the last", "a table", "no integers"],
)
def test_a_row_is_in_a_sample_once_at_most(positions):
    """Costs are about one row: were it there a thousand times, a sum would tell it at the price of one."""
    rows = MemoryRows(np.random.default_rng(0).normal(size=(4000, 3)), Domain.within_norm(3, 60.0, impute=False))
    for neighbours in Neighbours:
        curator = Curator(rows, Zcdp(1), seeded(1), neighbours)
        with pytest.raises(ArgumentError, match="positions must be different integers from 0 to 3999"):
            curator.take(positions)
        assert curator.take(np.arange(4000)[::-1]).n == 4000


def test_portions_of_coordinates_are_those_that_are_paid_for():
    """Medians of as many coordinates as are paid for, each once."""
    grid, rows = Grid(2.0**-20, 10.0, 4), np.random.default_rng(0).normal(size=(100, 4))
    rotation = Rotation.draw(grid, PublicCoins("a"))
    (view,) = rotation.views(4)
    for views, width in (([view, view], 4), ([view], 2), ([dataclasses.replace(view, first=1)], 8)):
        asked = curator_of(rows)
        with pytest.raises(ArgumentError, match="views must cover the coordinates in order"):
            asked.coordinate_medians(asked.rows, views, width, Fraction(1, 2), "medians")


def test_shells_that_grow_are_refused():
    """What a sum may move by is the radius that is asked for, where smaller balls lie within larger ones."""
    for radii, slack in (((1, 100), 0), ((3, -1), 0), ((3, 2), -1)):
        with pytest.raises(ArgumentError, match="radii must be in descending order"):
            Shells(np.zeros(2), 1.0, radii, 1 << 10, slack)


def test_peers_in_floats_take_replaced_rows_only():
    rows = MemoryRows(np.zeros((10, 2)), Domain.within_norm(2, 1.0, impute=False))
    with pytest.raises(ArgumentError, match="baselines in floats need neighbours"):
        FloatCurator(rows, Zcdp(1), seeded(1), Neighbours.ADD_OR_REMOVE_ONE)
