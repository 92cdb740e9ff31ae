"""The methods of the comparison, with their notions of privacy."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from bench import diffprivlib_mean, opendp_mean
from bench.problem import COORDINATE_BOUND, METHODS, RHO, Floats, norm_bound, private_mean
from dpmean import baselines
from dpmean.experiments.methods import oracle

ROWS, COLUMNS = 4000, 128
_STEPS = (1, 2, 3, 4, 10)
_BOUND = norm_bound(COLUMNS)
_ZCDP = f"rho = {RHO:g} zCDP"
_EPSILON = math.sqrt(2 * RHO)  # pure epsilon-DP implies epsilon^2 / 2 zCDP

Release = Callable[[Floats], tuple[Floats, float]]


@final
@dataclass(frozen=True, slots=True)
class Peer:
    """A method that returns the mean and the seconds it took."""

    name: str
    privacy: str
    release: Release | str
    """A function, or the reason why there is none."""


def _timed(estimate: Callable[[Floats], Floats]) -> Release:
    def release(rows: Floats) -> tuple[Floats, float]:
        start = time.perf_counter()
        mean = estimate(rows)
        return mean, time.perf_counter() - start

    return release


NUMPY = Peer("numpy.mean", "none", _timed(lambda rows: rows.mean(axis=0)))
ORACLE = Peer(
    "oracle: exact centre and radius",
    f"none (noise as for {_ZCDP})",
    _timed(lambda rows: oracle(rows, RHO, np.random.default_rng())),
)


def all_peers(stack: ExitStack, *, may_install: bool) -> list[Peer]:
    """Return all methods; the stack ends the processes that some of them need."""
    ours = [
        Peer(f"dpmean {method}", f"{_ZCDP}, exact noise", _timed(partial(private_mean, method=method)))
        for method in METHODS
    ]
    shrinking = [
        Peer(
            f"COINPRESS MVMRec, t = {steps}",
            f"{_ZCDP}, exact noise",
            _timed(partial(_coinpress, rounds=steps)),
        )
        for steps in _STEPS
    ]
    return [NUMPY, ORACLE, *ours, *shrinking, _gaussian(), _opendp(), _diffprivlib(stack, may_install=may_install)]


def _coinpress(rows: Floats, rounds: int) -> Floats:
    return baselines.coinpress_mean(rows, rho=RHO, norm_bound=_BOUND, rounds=rounds).mean


def _gaussian() -> Peer:
    release = _timed(lambda rows: baselines.gaussian_mechanism(rows, rho=RHO, norm_bound=_BOUND).mean)
    return Peer("Gaussian mechanism for the whole bound", f"{_ZCDP}, exact noise", release)


def _opendp() -> Peer:
    release = _timed(opendp_mean.vector_mean(ROWS, COLUMNS, _BOUND, RHO))
    return Peer(f"OpenDP {opendp_mean.version()} private numpy mean, norm=R", f"{_ZCDP}, float sums", release)


def _diffprivlib(stack: ExitStack, *, may_install: bool) -> Peer:
    name = f"diffprivlib {diffprivlib_mean.VERSION} mean(axis=0), +-{COORDINATE_BOUND:g}"
    privacy = f"epsilon = {_EPSILON:g} pure (implies {_ZCDP})"
    if not (diffprivlib_mean.install() if may_install else diffprivlib_mean.installed()):
        return Peer(name, privacy, "could not be installed" if may_install else "not installed: run without --quick")
    worker = stack.enter_context(diffprivlib_mean.worker(_EPSILON, COORDINATE_BOUND))
    return Peer(name, privacy, worker)
