"""Mechanisms that are broken on purpose, for the audit to catch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmean.audit.attacks.catalogue import targets
from dpmean.audit.attacks.central import (
    REPLACED,
    UNCOUNTED,
    bins_step,
    choice_step,
    gap_step,
    medians_step,
    number_step,
    octaves_step,
    outside_step,
    radius_step,
    release_step,
    squares_step,
    variances_step,
)
from dpmean.audit.attacks.devices import SHUFFLED, local_step, shuffle_step
from dpmean.audit.attacks.noise import repeatable
from dpmean.audit.attacks.target import MakeNoise, Target
from dpmean.noise.source import seeded
from dpmean.privacy.budgets import PureDp, Zcdp
from dpmean.queries.domain import Domain
from dpmean.queries.interfaces import Sampler
from dpmean.queries.queries import Ball, Ints
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.curator import Curator


class ScaledNoise:
    """Noise of which one step, or all, gets only a given part of the standard deviation that was paid for."""

    def __init__(self, seed: int, part: Fraction, only: str = "", make: MakeNoise = seeded) -> None:
        self.noise, self.part, self.only = make(seed), part, only
        self.seeded = self.noise.seeded

    def at(self, step: str, start: int = 0) -> ScaledSampler:
        part = self.part if self.only in step else Fraction(1)
        return ScaledSampler(self.noise.at(step, start), part, step.startswith(("answer", "keep")))


@dataclass(frozen=True)
class ScaledSampler:
    sampler: Sampler
    part: Fraction
    lies: bool = False
    """Whether words below a threshold are lies, or vectors that are kept outside: then there are fewer of these."""

    def gaussian(self, variance: Fraction, count: int) -> Ints:
        if not self.part:
            return np.zeros(count, dtype=np.int64)
        return self.sampler.gaussian(variance * self.part**2, count)

    def choose(self, exponents: Sequence[int], unit: int) -> int:
        if not self.part:
            return exponents.index(min(exponents))
        return self.sampler.choose(exponents, int(unit * self.part))

    def words(self, count: int) -> NDArray[np.uint64]:
        words = self.sampler.words(count)
        if not self.lies or self.part == 1:
            return words
        fewer = (words >> np.uint64(11)) * 2.0**-53 / float(self.part)
        return np.asarray(np.minimum(fewer, 1 - 2.0**-53) * 2.0**64, dtype=np.uint64)

    def poisson(self, mean: Fraction, count: int) -> Ints:
        return self.sampler.poisson(mean * self.part**2, count)


def with_part(part: Fraction, only: str = "") -> MakeNoise:
    """Return noise of which one step, or all, gets a part."""
    return lambda seed: ScaledNoise(seed, part, only, repeatable)


weaker, halved, thinned, quartered = (with_part(Fraction(*part)) for part in ((7, 10), (1, 2), (1, 3), (1, 4)))
of_rows = with_part(Fraction(17, 24))
"""Half of the variance, all but a little: what a pair would cost if it were there or not, and never another one."""
weaker_sums = with_part(Fraction(7, 10), " noise")


class TruthfulNoise:
    """Words that are always the largest: no bit is flipped, and nothing outside the half space is kept."""

    seeded = True

    def __init__(self, seed: int) -> None:
        self.noise = seeded(seed)

    def at(self, step: str, start: int = 0) -> Sampler:
        sampler = self.noise.at(step, start)
        return sampler if step == "sign" else TruthfulSampler(sampler)


@dataclass(frozen=True)
class TruthfulSampler:
    sampler: Sampler

    def gaussian(self, variance: Fraction, count: int) -> Ints:
        return self.sampler.gaussian(variance, count)

    def choose(self, exponents: Sequence[int], unit: int) -> int:
        return self.sampler.choose(exponents, unit)

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.full(count, np.iinfo(np.uint64).max, dtype=np.uint64)

    def poisson(self, mean: Fraction, count: int) -> Ints:
        return self.sampler.poisson(mean, count)


def silent(step: str) -> MakeNoise:
    """Return noise that is missing from one step."""
    return with_part(Fraction(0), step)


def float_noise() -> Target:
    """A noisy sum in floats, given away by its support.

    A sum of zero plus noise near zero has more digits than a large sum plus noise that happens to cancel it: in
    the latter case only multiples of the large sum's last digit occur.
    """
    claim = Zcdp(Fraction(1, 2))
    total = 2.0

    def score(run: int, neighbour: bool) -> float:
        noise = np.random.default_rng([run, neighbour]).normal(0, total / math.sqrt(2 * float(claim.rho)))
        released = total + noise if neighbour else 0.0 + noise
        coarse = (released / math.ulp(total / 2)).is_integer()
        return float(abs(released) < total / 4 and not coarse)

    return Target(score, claim)


def replaced_step() -> Target:
    """A sum with noise for one row more or less, where a row is replaced by its opposite: it moves twice as far."""
    claim = Zcdp(Fraction(1, 2))
    ball, ends = Ball(np.zeros(1), 2.0**-20, 2**20), ([[0.0], [-1.0]], [[0.0], [1.0]])
    domain = Domain.within_norm(1, 1.0, impute=False)

    def score(run: int, neighbour: bool) -> float:
        rows = MemoryRows(np.array(ends[neighbour]), domain, threads=1)
        curator = Curator(rows, claim, seeded(2 * run + neighbour), UNCOUNTED)
        return float(curator.ball_sum(curator.rows, ball, claim.rho, "mean").total[0])

    return Target(score, claim)


def broken_targets() -> dict[str, Target]:
    """Return the broken mechanisms by name."""
    broken = {
        "noisy sum with half the noise": release_step(REPLACED, halved),
        "noisy sum, private number, with half the noise": release_step(UNCOUNTED, halved),
        "noisy sum of a private number, priced for it, of rows that are replaced": replaced_step(),
        "private number with half the noise": number_step(halved),
        "radius from the exact quantile": radius_step(silent("radius")),
        "choice of the radius with four times the epsilon": choice_step(quartered),
        "bias gap without its noise": gap_step(silent("bias")),
        "sum by bins with half the noise": bins_step(halved),
        "squares of differences, priced as if a pair were only added": squares_step(REPLACED, of_rows),
        "squares of rows, priced as if a row were only added": variances_step(REPLACED, of_rows),
        "squares of rows, private number, with half the noise": variances_step(UNCOUNTED, halved),
        "octaves of differences with half the noise": octaves_step(halved),
        "rows outside of an interval, in eight columns for the price of two": outside_step(REPLACED, halved),
        "medians of columns, all levels for the price of none": medians_step(UNCOUNTED, silent("medians")),
        "noisy sum in floats, by its support": float_noise(),
        "local vector with half the noise": local_step("vector", Zcdp(Fraction(1, 2)), halved),
        "shuffled counts with a tenth of the blanket": shuffle_step(SHUFFLED["shuffled counts"], thinned),
        "shuffled sum with a quarter of the variance": shuffle_step(SHUFFLED["shuffled sum"], halved),
        "local bit that never lies": local_step("median", PureDp(1), TruthfulNoise),
        "local vector that is never kept outside": local_step("vector", PureDp(1), TruthfulNoise),
    }
    return broken | {
        "radius of clipped with half the noise": targets(halved)["radius of clipped"],
        "shifted, replace-one, whose centre has no noise": targets(silent("centre"))["shifted, replace-one"],
        "shifted in one pass, replace-one, with half the noise": targets(halved)["shifted in one pass, replace-one"],
    }


def weaker_targets() -> dict[str, Target]:
    """Return everything with 0.7 of the standard deviation of its noise, or 0.7 times as many lies.

    Of a shuffled collection it is the noise of sums: counts would be wrong.
    """
    return targets(weaker) | {name: made for name, made in targets(weaker_sums).items() if name.startswith("shuffle, ")}
