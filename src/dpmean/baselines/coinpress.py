"""COINPRESS (Biswas, Dong, Kamath, Ullman 2020): a confidence ball that shrinks in a given number of rounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from dpmean.arguments.bounds import read_sigmas
from dpmean.baselines.floats import FloatCurator
from dpmean.baselines.peer import Basics, Common, last_release, noisy_mean_in_ball, only_basics, read_rounds, run_peer
from dpmean.numerics.grid import Grid
from dpmean.privacy.budgets import positive
from dpmean.queries.queries import Floats
from dpmean.release.estimate import Estimate
from dpmean.release.release import Release
from dpmean.trust.central.curator import Curator

_MEAN_FAILURE, _COVARIANCE_FAILURE = 0.01, 0.1


def coinpress_mean(X: ArrayLike, *, norm_bound: float, rounds: int = 4, **basics: Unpack[Basics]) -> Release:
    """Release the mean by MVMRec, which assumes rows from N(mean, identity).

    If the standard deviation of your rows is known and not 1, divide the rows by it first.

    Args:
        X: The rows, an (n, d) array.
        norm_bound: A bound on the norm of the mean.
        rounds: The number of rounds. The best number depends on the rows.
        **basics: As for ``dpmean.mean``: the budget ``rho``, or ``epsilon`` and ``delta``; the resolution ``step``;
            ``nan``; and ``seed``.

    """
    number, bound = read_rounds(rounds, "rounds"), float(positive(norm_bound, "norm_bound"))

    def ask(grid: Grid, curator: Curator) -> Estimate:
        n, d, rho, centre, radius = curator.rows.n, grid.d, curator.left, np.zeros(grid.d), bound
        for round_, share in enumerate(shares(number)[:-1], start=1):
            clip, cost = clip_at(radius, d), rho * share
            centre, std = noisy_mean_in_ball(curator, grid, grid.round(centre), clip, cost, f"round {round_}")
            radius = min(math.sqrt(1 / n + std**2) * tail(d, _MEAN_FAILURE), bound)
        return last_release(curator, grid, grid.round(centre), clip_at(radius, d))

    return run_peer("coinpress", ask, X, **only_basics(basics), norm_bound=bound, sigma_min=1.0, sigma_max=1.0)


def coinpress_covariance_mean(
    X: ArrayLike,
    *,
    norm_bound: float,
    covariance_rounds: int = 3,
    rounds: int = 10,
    sigma_min: float | None = None,
    sigma_max: float | None = None,
    **basics: Unpack[Basics],
) -> Release:
    """Release the mean by MVCRec, which estimates the covariance with half of the budget, and MVMRec on scaled rows.

    It assumes rows around zero. Noise is drawn in floats, and differs between directions: ``noise_std`` is its root
    mean square.

    Args:
        X: The rows, an (n, d) array.
        norm_bound: A bound on the norm of every row, or of the mean if ``sigma_min`` and ``sigma_max`` are given.
        covariance_rounds: The number of rounds that find the covariance.
        rounds: The number of rounds that find the mean.
        sigma_min: A lower bound on the standard deviation in any direction. By default it is
            norm_bound / sqrt(d) / 1000000.
        sigma_max: An upper bound on the standard deviation in any direction. By default it is norm_bound / sqrt(d).
        **basics: As for ``dpmean.mean``: the budget ``rho``, or ``epsilon`` and ``delta``; the resolution ``step``;
            ``nan``; and ``seed``.

    """
    number, covariance_number = read_rounds(rounds, "rounds"), read_rounds(covariance_rounds, "covariance_rounds")
    bound, sigmas = float(positive(norm_bound, "norm_bound")), read_sigmas(sigma_min, sigma_max, None)

    def ask(_: Grid, curator: FloatCurator) -> Estimate:
        n, d, rho, note = curator.rows.n, curator.rows.d, curator.left, ""
        widest = bound / math.sqrt(d)
        smallest, largest = (widest * 1e-6, widest) if sigmas is None else sigmas
        try:
            axes, stds = _find_covariance(curator, rho / 2, covariance_number, largest)
            stds = np.clip(stds, smallest, largest)
        except np.linalg.LinAlgError as error:
            axes, stds = np.eye(d), np.full(d, largest)
            note = f"the covariance could not be inverted ({error}), so rows were not scaled by it"
        scaled, first = curator.times(curator.rows, axes / stds), bound / float(stds.min())
        centre, std, clip, radius = np.zeros(d), 0.0, first, first
        for round_, share in enumerate(shares(number), start=1):
            clip = clip_at(radius, d)
            centre, std = curator.ball_mean(scaled, centre, clip, rho / 2 * share, f"round {round_}")
            radius = min(math.sqrt(1 / n + std**2) * tail(d, _MEAN_FAILURE), first)
        return Estimate(
            mean=axes @ (stds * centre),
            noise_std=std * math.sqrt(float(np.mean(stds**2))),
            centre=np.zeros(d),
            radius=clip,
            receipts=curator.receipts,
            note=note,
            radius_unit=" in directions divided by their standard deviations",
        )

    name = "coinpress with covariance"
    ends = {**only_basics(basics), "norm_bound": bound, "sigma_min": sigma_min, "sigma_max": sigma_max}
    return run_peer(name, ask, X, FloatCurator, **cast(Common, ends))


def _find_covariance(curator: FloatCurator, rho: Fraction, rounds: int, largest: float) -> tuple[Floats, Floats]:
    """Find the axes of the covariance and the standard deviations along them (MVCRec)."""
    n, d = curator.rows.n, curator.rows.d
    gap = math.sqrt(d / n)
    slack = 0.5 * (2 * gap + gap**2)
    scale, moments = np.eye(d) / largest, np.eye(d)
    for round_, share in enumerate(shares(rounds), start=1):
        scaled, clip = curator.times(curator.rows, scale), tail(d, _COVARIANCE_FAILURE)
        sizes, axes = np.linalg.eigh(curator.second_moments(scaled, clip, rho * share, f"covariance {round_}"))
        sizes = np.maximum(sizes, 0)
        moments = (axes * sizes) @ axes.T
        if round_ < rounds:
            scale = scale @ ((axes / np.sqrt(sizes + slack)) @ axes.T)
    back = np.linalg.inv(scale)
    sizes, axes = np.linalg.eigh(back.T @ moments @ back)
    if not np.all(np.isfinite(sizes)):
        raise np.linalg.LinAlgError("its entries are not finite")
    return axes, np.sqrt(np.maximum(sizes, 0))


def shares(rounds: int) -> list[Fraction]:
    """Split a budget: three quarters for the last round, the rest shared by those before it, if any."""
    if rounds == 1:
        return [Fraction(1)]
    return [Fraction(1, 4 * (rounds - 1))] * (rounds - 1) + [Fraction(3, 4)]


def tail(d: int, failure: float) -> float:
    """Return a norm that a standard normal row exceeds with probability ``failure`` at most."""
    log = math.log(1 / failure)
    return math.sqrt(d + 2 * math.sqrt(d * log) + 2 * log)


def clip_at(radius: float, d: int) -> float:
    """Return the clipping radius: it holds almost all rows if the centre is within ``radius`` of their mean."""
    spread = tail(d, _MEAN_FAILURE)
    return min(math.sqrt(radius**2 + 6 * radius + spread**2), radius + spread)
