"""Same seed, same release: whatever the threads, the blocks and the memory order."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dpmean
from dpmean.estimators.clipped import ClippedMean
from dpmean.estimators.refined.estimator import RefinedMean
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.noise.public import PublicCoins
from dpmean.noise.source import seeded
from dpmean.numerics.grid import Grid
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.domain import Domain
from dpmean.rows import block_query
from dpmean.rows.memory import MemoryRows
from dpmean.rows.threads import threads_to_use
from dpmean.trust.central.curator import Curator

D, REACH = 37, 60.0
DATA = np.random.default_rng(0).standard_t(2, (5000, D)) + 3  # heavy tails: rows beyond the bound, too
GRID = Grid(2.0**-20, REACH, D)
METHODS = {
    "clipped": ClippedMean(GRID, PublicCoins("equality")),
    "shifted": ShiftedClippedMean(GRID, PublicCoins("equality")),
    "refined": RefinedMean(GRID, PublicCoins("equality")),
}


def run(method, **changes):
    rows = replace(MemoryRows(DATA, Domain.within_norm(D, REACH, impute=False)), **changes)
    return METHODS[method](Curator(rows, Zcdp(2), seeded(5), Neighbours.REPLACE_ONE))


def same(one, other):
    return np.array_equal(one.mean, other.mean) and one.radius == other.radius and one.receipts == other.receipts


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("span_rows", [None, 16, 496, 100_000])
def test_threads_and_spans_do_not_show(method, threads, span_rows):
    assert same(run(method, threads=threads, span_rows=span_rows), run(method, threads=1))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("block_bytes", [1, 5000, 1 << 30])
def test_blocks_of_converted_rows_do_not_show(method, block_bytes, monkeypatch):
    expected = run(method)
    monkeypatch.setattr(block_query, "BLOCK_BYTES", block_bytes)
    assert same(run(method, array=np.asfortranarray(DATA)), expected)


@pytest.mark.parametrize("portion", [1, 3, 64])
def test_portions_of_coordinates_do_not_show(portion, monkeypatch):
    expected = run("shifted")
    monkeypatch.setattr("dpmean.estimators.shifted._TALLY_BYTES", 4 * len(DATA) * portion)
    assert same(run("shifted"), expected)


def test_rows_at_positions_are_those_rows():
    rows = MemoryRows(DATA, Domain.within_norm(D, REACH, impute=False))
    positions = np.array([3, 17, 4000, 4999])
    plain = replace(rows, array=DATA[positions])
    view = GRID.distances(np.ones(D))
    assert np.array_equal(rows.take(positions).answer(view).counts, plain.answer(view).counts)
    again = rows.take(positions).take(np.array([1, 3]))
    assert np.array_equal(again.answer(view).counts, plain.take(np.array([1, 3])).answer(view).counts)
    assert again.n == 2


def test_the_environment_can_set_the_threads(monkeypatch):
    monkeypatch.setenv("DPMEAN_THREADS", "3")
    assert threads_to_use() == 3
    monkeypatch.setenv("DPMEAN_THREADS", "many")
    with pytest.raises(ValueError, match="DPMEAN_THREADS must be a positive integer"):
        threads_to_use()
    monkeypatch.delenv("DPMEAN_THREADS")
    assert threads_to_use() >= 1


def test_releases_with_one_seed_are_alike_in_any_order_and_precision_that_holds_them():
    data = np.random.default_rng(1).integers(-1000, 1000, (3000, 5)) / 8  # exact in float32
    expected = dpmean.mean(data, rho=1, norm_bound=400, seed=1)
    for other in (np.asfortranarray(data), data.astype("f4"), np.asfortranarray(data.astype("f4")), data.astype(">f8")):
        assert np.array_equal(dpmean.mean(other, rho=1, norm_bound=400, seed=1).mean, expected.mean)
    assert not math.isnan(expected.radius)
