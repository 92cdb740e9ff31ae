"""A baseline: a published estimator, run like our own ones, but never refused for too few rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypedDict, Unpack, final

import numpy as np
from numpy.typing import ArrayLike

from dpmean.arguments.bounds import Bounds
from dpmean.arguments.request import read_request
from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.estimators.feasibility import ANY_NUMBER, Need
from dpmean.numerics.grid import Grid
from dpmean.pipeline.central import Curate, run_job
from dpmean.pipeline.opening import open_rows
from dpmean.privacy.budgets import Number, Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.queries import Floats
from dpmean.release.estimate import Estimate
from dpmean.release.release import Release
from dpmean.trust.central.curator import Curator

Ask = Callable[[Grid, Any], Estimate]
"""A function that sends queries to a curator (ours, or one that answers in floats) and returns an estimate."""


class Basics(TypedDict, total=False):
    """Arguments of all baselines; ``dpmean.mean`` explains them."""

    rho: Number | None
    epsilon: Number | None
    delta: Number | None
    step: float | None
    nan: str
    seed: int | None


class Common(Basics, total=False):
    """Arguments of most baselines: also bounds."""

    norm_bound: float | None
    bounds: Bounds | None
    sigma_min: float | None
    sigma_max: float | None


@final
@dataclass(frozen=True, slots=True)
class Peer:
    """A published estimator, with the interface of ours."""

    name: str
    grid: Grid
    ask: Ask

    def __call__(self, curator: Any) -> Estimate:
        """Estimate the mean of the rows within the budget."""
        return self.ask(self.grid, curator)

    def rows_needed(self, budget: Zcdp, neighbours: Neighbours) -> Need:  # noqa: ARG002  baselines have no rule
        """Return that any number of rows is accepted."""
        return ANY_NUMBER


def only_basics(basics: Basics) -> Basics:
    """Refuse arguments that a baseline does not take; Python would detect them only later."""
    unknown = set(basics) - set(Basics.__annotations__)
    if unknown:
        raise ArgumentTypeError(f"this baseline takes no argument {', '.join(sorted(unknown))}")
    return basics


def run_peer(name: str, ask: Ask, X: ArrayLike, curate: Curate = Curator, **common: Unpack[Common]) -> Release:
    """Release a mean by a baseline."""
    request = read_request(**common, neighbours=Neighbours.REPLACE_ONE)
    request = replace(request, build=lambda grid, *_: Peer(name, grid, ask))
    return run_job(request.of(open_rows(X, request)), curate=curate)


def noisy_mean_in_ball(
    curator: Curator, grid: Grid, centre: Floats, radius: float, cost: Fraction, step: str
) -> tuple[Floats, float]:
    """Release the mean of rows clipped to a ball; return it and the standard deviation of its noise."""
    found = curator.ball_sum(curator.rows, grid.ball(centre, radius), cost, step)
    scale = found.unit / curator.rows.n
    return centre + found.total * scale, math.sqrt(found.variance) * scale


def last_release(curator: Curator, grid: Grid, centre: Floats, radius: float) -> Estimate:
    """Release the mean of clipped rows with the remaining budget."""
    mean, std = noisy_mean_in_ball(curator, grid, centre, radius, curator.left, "mean")
    return Estimate(mean=mean, noise_std=std, centre=centre, radius=radius, receipts=curator.receipts)


def read_rounds(value: int, name: str) -> int:
    """Read a number of rounds."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= 10**4:
        raise ArgumentError(f"{name} must be an integer from 1 to 10000, got {value!r}")
    return int(value)


def read_fraction(value: float, name: str) -> float:
    """Read a number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, float | int | np.floating) or not 0 < value < 1:
        raise ArgumentError(f"{name} must lie between 0 and 1, got {value!r}")
    return float(value)
