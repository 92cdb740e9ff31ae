"""The problem of the benchmark: N(5, 1) rows, a bound that is ten times too loose, and the sizes to run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

import dpmean

Floats = NDArray[np.float64]

RHO = 0.5
DELTA = 1e-6
COORDINATE_BOUND = 50.0
METHODS = ("refined", "shifted", "clipped")


@final
@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a run."""

    rounds: int
    tall_rows: int
    wide_rows: int
    variates: int
    peer_variates: int
    trials: int
    judged: bool
    """Whether the requirements apply: they are for full sizes."""


FULL = Sizes(
    rounds=5,
    tall_rows=1_000_000,
    wide_rows=70_000,
    variates=1_000_000,
    peer_variates=20_000,
    trials=30,
    judged=True,
)
QUICK = Sizes(
    rounds=2,
    tall_rows=100_000,
    wide_rows=7_000,
    variates=100_000,
    peer_variates=5_000,
    trials=5,
    judged=False,
)

TALL_COLUMNS = 128
TABLE_COLUMNS = 64
NARROW_COLUMNS = 8
WIDE_COLUMNS = 784


def draw_rows(n: int, d: int, seed: int = 0) -> Floats:
    """Draw rows from N(5, 1); the same ones for the same seed."""
    rows = np.random.default_rng(seed).standard_normal((n, d))
    rows += 5.0
    return rows


def norm_bound(d: int) -> float:
    """Return the bound on the norm of a row, which all methods get."""
    return COORDINATE_BOUND * math.sqrt(d)


def private_mean(rows: Floats, method: str) -> Floats:
    """Release the mean with secure noise, as a user would."""
    release = dpmean.mean(rows, rho=RHO, norm_bound=norm_bound(rows.shape[1]), method=method, neighbours="replace-one")
    return release.mean
