"""Rows that are hard to treat alike: rounding ties, subnormal numbers, rows on and beyond the bound, both orders."""

import importlib
import json
import os
from functools import lru_cache

import numpy as np
import pytest

import dpmean
from dpmean.errors import DataError
from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid, norm_bits, power_of_two_at_most
from dpmean.numerics.rotation import Rotation
from dpmean.queries.domain import Domain
from dpmean.queries.queries import BallSquares, Columns, Octaves, Squares
from dpmean.queries.totals import BinSums, Histogram, ShellSums
from dpmean.rows.memory import MemoryRows
from dpmean.rows.row_places import RowPlaces
from tests.support.public import REPLACED

D, BOUND = 5, 64.0
MANY, FEW = 17_000, 700  # a sample finds the centre, or all rows are held
DTYPES = ("float64", "float32", "bfloat16", "int64", "int16")
METHODS = (("refined", 2), ("refined", 1), ("shifted", 2), ("shifted", 1), ("clipped", 2), ("clipped", 1))


@lru_cache
def rows(dtype, n=MANY):
    """Return the rows of one kind; bfloat16 as floats that bfloat16 can hold."""
    generator = np.random.default_rng(7)
    values = generator.standard_t(2, (n, D)) * 3 + 5  # heavy tails: rows beyond the bound, too
    values[::7] = np.round(values[::7] * 2**9) / 2**9 + 2.0**-10  # ties on a grid
    values[1::11] = np.round(values[1::11])
    values[2::101] = [3.0, -4.0, 12.0, 0.0, 84.0]  # norms that are whole numbers, one beyond the bound
    values[3::97] = [0.0, 0.0, 0.0, 0.0, BOUND]  # on the bound
    if dtype.startswith("int"):
        found = np.round(values).clip(-30_000, 30_000).astype(dtype)
    else:
        tiny = [5e-324, -1e-310, 2e-308, 0.0, -0.0] if dtype == "float64" else [1e-45, -3e-42, 1e-38, 0.0, -0.0]
        values[4::89] = tiny
        values[5::83, 2] = [1e300, 1e30][dtype != "float64"]
        found = values.astype("float64" if dtype == "float64" else "float32")
    if dtype == "bfloat16":
        found = (found.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    found.setflags(write=False)
    return found


def domains(d, impute=True):
    """Return domains of every kind: as users give them, and reshaped, with scales that differ a hundredfold.

    Of the middles for a bound on the norm, one is beyond it, so that every row must be looked at.
    """
    scales = np.geomspace(0.13, 13.0, d) if d > 1 else np.array([0.7])
    lower, upper = np.full(d, -40.0), np.linspace(30.0, 90.0, d)
    ball, box = Domain.within_norm(d, BOUND, impute=impute), Domain.within_box(lower, upper, impute=impute)
    return {
        "norm": ball,
        "box": box,
        "norm, reshaped": ball.reshape(np.zeros(d), scales),
        "norm, moved": ball.reshape(np.linspace(2.9, -1.3, d), scales),
        "norm, beyond": ball.reshape(np.full(d, 1.5 * BOUND), scales),
        "box, reshaped": box.reshape(np.linspace(1.3, -2.1, d), scales),
    }


def questions(domain, n):
    """Return every kind of question, about rows near N(5, 1) in the user's units and about all that are far."""
    d, reach = domain.d, domain.reach
    grid = Grid(power_of_two_at_most(reach / 2**24), reach, d)
    centres = [grid.round(np.zeros(d)), grid.round(domain.working(np.full((1, d), 5.0))[0] * 0.5)]
    asked = [grid.pairs(), *Rotation.draw(grid, PublicCoins("domains")).views(2), *questions_of_shape(domain)]
    for centre in centres:
        asked += [grid.distances(centre), *([grid.sides(centre)] if d == 1 else [])]
        for radius in (reach / 300, reach / 20, 0.9 * reach):
            asked += [grid.ball(centre, radius), grid.shells(centre, [radius, radius * 0.84], n)]
        asked.append(grid.bins(centre, reach / 50, n))
    return asked


def questions_of_shape(domain):
    """Return what is asked for the scales of columns: octaves and squares of pairs, and where values are."""
    d, low = domain.d, int(np.floor(np.log2(domain.reach))) - 41
    fine = Columns(
        np.linspace(-1.0, 0.1, d) * domain.reach, domain.reach / np.geomspace(3, 2**27, d), LAST[:1].repeat(d)
    )
    coarse = Columns(np.full(d, -domain.reach), np.geomspace(0.01, 3.0, d) * domain.reach, LAST.take(np.arange(d) % 5))
    outside = Columns(np.linspace(-0.3, 0.01, d) * domain.reach, np.full(d, 0.2 * domain.reach), np.full(d, 2))
    grid, centre = (
        Grid(power_of_two_at_most(domain.reach / 2**24), domain.reach, d),
        domain.working(np.full((1, d), 4.0)),
    )
    balls = [grid.ball_squares(centre[0] * 0.5, domain.reach * part, 1000) for part in (0.9, 0.05)]
    rough = BallSquares(np.zeros(d), domain.reach / 900, 300, 5)
    asked = [Octaves(low, 42), Octaves(low + 34, 4), Squares(1 << 24), Squares(3), fine, coarse, outside]
    return [*asked, *balls, rough]


LAST = np.array([5000, 257, 64, 1, 0])


def answers(rows, domain):
    """Return what rows answer to every kind of question, as one list of whole numbers for each."""
    return [_numbers(rows.answer(question)) for question in questions(domain, rows.n)]


def wanted_answers(array, domain):
    """Return what the rows of an array must answer."""
    return answers(in_working_units(array, domain), domain)


def _numbers(total):
    match total:
        case np.ndarray():
            return total.tolist()
        case Histogram():
            return total.counts.tolist()
        case ShellSums():
            return total.inner.tolist() + total.outer.tolist()
        case BinSums():
            return total.histogram.counts.tolist() + total.inner.tolist() + total.outer.tolist()
        case _:  # counts on demand: those at some points of the line
            size = len(total.indices) if isinstance(total, RowPlaces) else total.indices.shape[1]
            return [total.count_at_most(np.full(size, index)).tolist() for index in (0, 1, 9, 77, 1000, 4000)]


def in_working_units(array, domain):
    """Return rows that numpy has mapped, seen through a domain that maps nothing: what answers must agree with."""
    with np.errstate(over="ignore"):
        values = np.asarray(array).astype(np.float64)
    if domain.ball is None:
        working = np.where(np.isfinite(values), domain.working(values), domain.fill)
        return MemoryRows(working, Domain.within_norm(domain.d, domain.reach, impute=False))
    working = domain.working(shortened(np.where(np.isfinite(values), values, domain.missing), domain.ball))
    return MemoryRows(working, Domain.within_norm(domain.d, 2 * domain.reach, impute=False))  # none is beyond that


def shortened(rows, longest):
    """Return rows of a bounded norm, with the roundings of loops: norms are truncated in the unit of the row."""
    bits = norm_bits(rows.shape[1])
    exponent = np.maximum(np.frexp(np.abs(rows).max(axis=1))[1] - 1, -900)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        wholes = np.trunc(np.ldexp(rows, (bits - 1 - exponent)[:, np.newaxis])).astype(np.int64)
        norm = np.sqrt((wholes**2).sum(axis=1).astype(np.float64)) * 2.0 ** (1 - bits)
        first, second = exponent >> 1, exponent - (exponent >> 1)
        short = norm <= np.ldexp(np.ldexp(longest, -first), -second)
        units = np.ldexp(np.ldexp(rows, -first[:, np.newaxis]), -second[:, np.newaxis])
        return np.where(short[:, np.newaxis], rows, units * (longest / norm)[:, np.newaxis])


def far_apart(array, device="cpu", *, by_row=False):
    """Return rows as a tensor whose columns, or rows, lie almost 2^30 numbers apart: four of them are beyond 32 bits.

    Hardly any of that memory is touched. An address that wraps around in 32 bits lies within it, too, so that wrong
    numbers are read there, and no test ends with a fault of memory.
    """
    import torch

    values, apart = torch.tensor(array), 2**30 - 3
    strides = (apart, 1) if by_row else (1, apart)
    last = sum((size - 1) * stride for size, stride in zip(values.shape, strides, strict=True))
    room = torch.empty(2**30 + last + 1, dtype=values.dtype, device=device)
    return room.as_strided(values.shape, strides, 2**30).copy_(values)


@lru_cache
def with_gaps(n=MANY):
    """Return rows of which a fifth lacks a value, or all of them."""
    found, generator = np.array(rows("float64", n)), np.random.default_rng(9)
    gaps = generator.random((n, D)) < 0.04
    found[gaps] = np.array([np.nan, np.nan, np.inf, -np.inf])[generator.integers(0, 4, gaps.sum())]
    found[6::500] = np.nan
    found.setflags(write=False)
    return found


LEFT_OUT = {"neighbours": "add-or-remove-one", "nan": "drop", "count_values": True}


def assert_leaves_out(make, n=MANY):
    """Insist that rows that lack a value are left out as in memory, and values counted, whatever is made of them."""
    X = make(with_gaps(n))
    for method, passes in METHODS:
        assert_same(release(X, method, passes, **LEFT_OUT), left_out(method, passes, n))
    with pytest.raises(DataError, match="NaN or infinity"):
        release(X, "clipped", 2)


@lru_cache
def left_out(method, passes, n):
    """Return what rows in memory give where those that lack a value are left out."""
    return release(with_gaps(n), method, passes, **LEFT_OUT)


@lru_cache
def uneven():
    """Return rows whose columns differ in scale so much that noise follows them: one, a half, a third, and so on."""
    found = np.random.default_rng(3).normal(5, 1 / np.arange(1, D + 1), (3000, D))
    found[::500, 1] = -20.0  # a few that are clipped
    found.setflags(write=False)
    return found


@lru_cache
def expected_of_uneven(passes=2):
    """Return what uneven rows in memory give: a release with noise that differs from column to column."""
    found = release(uneven(), "refined", passes)
    assert found.scales.used
    return found


@lru_cache
def expected(dtype, method, passes, n=MANY, box=False):
    """Return what rows in memory give."""
    return release(rows(dtype, n), method, passes, box=box)


def release(X, method, passes, box=False, **more):
    """Release a mean with a seed, so that two of them can be compared."""
    bound = {"bounds": ([-40.0] * D, [40.0, 50.0, 30.0, 45.0, 90.0])} if box else {"norm_bound": BOUND}
    return dpmean.mean(X, rho=4.0, method=method, passes=passes, seed=11, **bound, **{**REPLACED, **more})


def assert_same(found, wanted):
    """Insist on the same bits everywhere, whatever the columns are called."""
    assert np.array_equal(found.mean, wanted.mean)
    assert _nameless(found) == _nameless(wanted)


def _nameless(release):
    document = json.loads(release.to_json())
    document["public"].pop("columns", None)
    document["public"].pop("imputed", None)
    document["public"].pop("dropped", None)
    return document


def missing(reason):
    """Skip for a user, fail in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}: in CI every engine must run")
    pytest.skip(reason, allow_module_level=True)


def needed(module, engine):
    """Import what an engine is made of, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return missing(f"{module} is not installed: pip install 'dpmean[{engine}]'")
