"""Rows that are hard to treat alike: rounding ties, subnormal numbers, rows on and beyond the bound, both orders."""

import importlib
import json
import os
from functools import lru_cache

import numpy as np
import pytest

import dpmean
from dpmean.queries.domain import Domain
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
    """Return domains of every kind: as users give them, and reshaped, with scales that differ a hundredfold."""
    scales = np.geomspace(0.13, 13.0, d) if d > 1 else np.array([0.7])
    lower, upper = np.full(d, -40.0), np.linspace(30.0, 90.0, d)
    ball, box = Domain.within_norm(d, BOUND, impute=impute), Domain.within_box(lower, upper, impute=impute)
    tight = np.linspace(-15.1, -0.7, d), np.linspace(12.3, 200.0, d)  # wider than the bounds in places
    return {
        "norm": ball,
        "box": box,
        "norm, reshaped": ball.reshape(np.zeros(d), scales),
        "box, scales alone": box.reshape(np.full(d, 1.1), scales),
        "box, reshaped": box.reshape(np.linspace(1.3, -2.1, d), scales, tight),
    }


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
