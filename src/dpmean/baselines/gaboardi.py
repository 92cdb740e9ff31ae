"""Gaboardi, Rogers, Sheffet (2019): the mean in the local model, one column at a time.

Every user answers about every column, with 1/d of the budget for each: where the value lies (randomized response), or
the value itself, clipped to an interval, with noise. All answers are randomized on the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Unpack, final

import numpy as np
from numpy.typing import ArrayLike

from dpmean.arguments.bounds import read_bound
from dpmean.arguments.budgets import read_zcdp
from dpmean.arguments.choices import read_randomness
from dpmean.arguments.missing import read_missing
from dpmean.arguments.rows import read_array
from dpmean.baselines.peer import Basics, only_basics
from dpmean.enums import Trust
from dpmean.errors import ArgumentError
from dpmean.noise.source import SecureNoise, SeededNoise
from dpmean.numerics.grid import padded, power_of_two_at_most
from dpmean.numerics.rotation import hadamard
from dpmean.privacy.budgets import Zcdp, positive
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt
from dpmean.queries.queries import Floats, Ints
from dpmean.release.release import Release
from dpmean.release.settings import NormBound, Settings
from dpmean.trust.local.randomizers import WORD, lies
from dpmean.trust.registry import find_trust_model
from dpmean.version import __version__

_STEPS_PER_BOUND = 2.0**24
_MOST_BINS = 1 << 22
_QUANTILE_OF_ONE_SIGMA = 0.8413


def known_variance(X: ArrayLike, *, norm_bound: float, sigma: float = 1.0, **basics: Unpack[Basics]) -> Release:
    """Release the mean by KnownVar, which assumes that the standard deviation of the columns is known.

    Half of the users report, with randomized response, in which bin of width sigma their value lies. The others send
    noisy values, clipped around the fullest bin.

    Args:
        X: The rows, an (n, d) array.
        norm_bound: A bound on the absolute value of every coordinate of the mean.
        sigma: The standard deviation of every column.
        **basics: As for ``dpmean.mean``: the budget ``rho``, or ``epsilon`` and ``delta``; and ``seed``. Values that
            are not finite count as zero, whatever ``nan`` is. Do not give ``step``, which is for the central model.

    """
    width, bound = float(positive(sigma, "sigma")), float(positive(norm_bound, "norm_bound"))
    if bound / width > _MOST_BINS:
        raise ArgumentError(f"sigma={width:g} is too small for a bound of {bound:g}: raise it")

    def locate(devices: Devices) -> tuple[Floats, Floats]:
        half = devices.n // 2
        centre = devices.fullest_bin(np.arange(half), width)
        return centre, np.full(devices.d, width)

    return _run("known variance", locate, 0.5, X, norm_bound, basics)


def unknown_variance(
    X: ArrayLike, *, norm_bound: float, sigma_min: float = 0.1, sigma_max: float | None = None, **basics: Unpack[Basics]
) -> Release:
    """Release the mean by UnkVar, which assumes that the standard deviations of the columns lie between two bounds.

    A quarter of the users find the medians by binary search. Another quarter find the 84.13 % quantiles, which are one
    standard deviation above the medians. The others send noisy values.

    Args:
        X: The rows, an (n, d) array.
        norm_bound: A bound on the absolute value of every coordinate of the mean.
        sigma_min: A lower bound on the standard deviation of every column.
        sigma_max: An upper bound on the standard deviation of every column. By default it is ``norm_bound``.
        **basics: As for ``dpmean.mean``: the budget ``rho``, or ``epsilon`` and ``delta``; and ``seed``. Values that
            are not finite count as zero, whatever ``nan`` is. Do not give ``step``, which is for the central model.

    """
    smallest = float(positive(sigma_min, "sigma_min"))
    largest = float(positive(norm_bound if sigma_max is None else sigma_max, "sigma_max"))
    if smallest > largest:
        raise ArgumentError(f"sigma_min must not exceed sigma_max, got {sigma_min} and {sigma_max}")

    def locate(devices: Devices) -> tuple[Floats, Floats]:
        quarter = devices.n // 4
        bound = float(norm_bound)
        medians = devices.quantiles(np.arange(quarter), 0.5, -bound, bound, smallest)
        above = devices.quantiles(
            np.arange(quarter, 2 * quarter), _QUANTILE_OF_ONE_SIGMA, -bound, bound + largest, smallest
        )
        return medians, np.clip(above - medians, smallest, largest)

    return _run("unknown variance", locate, 0.5, X, norm_bound, basics)


@final
class Devices:
    """The users' devices, which randomize every answer."""

    def __init__(self, rows: Floats, reach: float, budget: Zcdp, noise: SecureNoise | SeededNoise) -> None:
        self.rows, self.reach, self.noise = rows, reach, noise
        self.n, self.d = rows.shape
        self.each = Zcdp(budget.rho / self.d)

    def fullest_bin(self, users: Ints, width: float) -> Floats:
        """Find the fullest bin of each column: every user sends one bit of its bin's Hadamard pattern, randomized."""
        half = math.ceil(self.reach / width)
        size, lie = padded(2 * half + 1), lies(self.each)
        found = np.empty(self.d)
        for j in range(self.d):
            truth = np.clip(np.rint(self.rows[users, j] / width).astype(np.int64) + half, 0, 2 * half)
            pattern = (self.noise.at(f"pattern {j}").words(len(users)) % np.uint64(size)).astype(np.int64)
            bit = np.bitwise_count(pattern & truth).astype(np.int64) & 1
            sent = bit ^ (self.noise.at(f"bin {j}").words(len(users)) < np.uint64(lie))
            counts = hadamard(np.bincount(pattern, weights=1.0 - 2 * sent, minlength=size).astype(np.float64))
            found[j] = (int(np.argmax(counts[: 2 * half + 1])) - half) * width
        return found

    def quantiles(self, users: Ints, rank: float, low: float, high: float, precision: float) -> Floats:
        """Find a quantile of every column by binary search; each step asks other users for a randomized bit."""
        steps = max(1, math.ceil(math.log2((high - low) / precision)))
        lie = lies(self.each)
        left, right = np.full(self.d, low), np.full(self.d, high)
        for step, asked in enumerate(np.array_split(users, steps)):
            middle = (left + right) / 2
            truth = self.rows[asked] <= middle
            words = self.noise.at(f"quantile {rank} {step}").words(len(asked) * self.d).reshape(-1, self.d)
            sent = truth ^ (words < np.uint64(lie))
            share = (sent.mean(axis=0) - lie / WORD) / (1 - 2 * lie / WORD) if len(asked) else np.zeros(self.d)
            left, right = np.where(share <= rank, middle, left), np.where(share <= rank, right, middle)
        found: Floats = (left + right) / 2
        return found

    def mean(self, users: Ints, centre: Floats, spread: Floats, unit: float) -> tuple[Floats, Floats, Floats]:
        """Average clipped values with noise; return the means, the noise of each, and the half-widths of intervals."""
        reach = spread * (2 + math.sqrt(2 * math.log(max(self.n, 2))))
        mean, std = np.empty(self.d), np.empty(self.d)
        for j in range(self.d):
            limit = max(1, math.floor(reach[j] / unit))
            variance = Fraction((2 * limit) ** 2) / (2 * self.each.rho)
            values = np.rint((self.rows[users, j] - centre[j]) / unit)
            sent = np.clip(values, -limit, limit).astype(np.int64)
            sent += self.noise.at(f"mean {j}").gaussian(variance, len(users))
            mean[j] = centre[j] + sent.mean() * unit
            std[j] = math.sqrt(variance / len(users)) * unit
        return mean, std, reach


def _run(
    name: str,
    locate: Callable[[Devices], tuple[Floats, Floats]],
    for_location: float,
    X: ArrayLike,
    norm_bound: float,
    basics: Basics,
) -> Release:
    arguments = only_basics(basics)
    if arguments.get("step") is not None:
        raise ArgumentError("step is for the central model: leave it out")
    read_missing(arguments.get("nan", "impute"), find_trust_model(Trust.LOCAL))
    delta = arguments.get("delta")
    budget = read_zcdp(arguments.get("rho"), arguments.get("epsilon"), delta)
    bound = read_bound(norm_bound, None)
    array = read_array(X)
    n, d = array.shape
    reach = bound.domain(d, None, impute=True).reach
    noise, coins = read_randomness(arguments.get("seed"))
    rows = array.astype(np.float64)
    rows = np.where(np.isfinite(rows), rows, 0.0)  # non-finite values count as zero
    devices = Devices(np.clip(rows, -4 * reach, 4 * reach), reach, budget, noise)
    centre, spread = locate(devices)
    unit = power_of_two_at_most(reach / _STEPS_PER_BOUND)
    mean, std, width = devices.mean(np.arange(round(n * for_location), n), centre, spread, unit)
    receipt = Receipt(
        step="one answer per column",
        asked=f"a bit or a bin, or a value, for each of {d} columns; each user at most once for each",
        mechanism="randomized response, or discrete Gaussian noise",
        cost=budget,
    )
    return Release(
        mean=mean,
        noise_std=std,
        centre=centre,
        radius=float(np.linalg.norm(width)),
        receipts=(receipt,),
        n=n,
        d=d,
        method=name,
        trust=Trust.LOCAL,
        neighbours=Neighbours.REPLACE_ONE,
        seeded=noise.seeded,
        settings=Settings(
            bound=NormBound(reach, float(norm_bound)),
            step=unit,
            coins=coins.key,
            delta=None if delta is None else float(delta),
            version=__version__,
        ),
    )
