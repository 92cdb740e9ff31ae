"""A trusted curator with a purse: questions in any order, each paid for, until the budget is spent.

What is asked, and how much is paid for it, may depend on all earlier answers. A zCDP filter (Feldman and Zrnic 2021;
Whitehouse et al. 2023) makes that safe: the exact sum of all costs never exceeds the budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dpmean.errors import OverspendError
from dpmean.numerics import shells as layers
from dpmean.numerics.grid import RADII_PER_OCTAVE
from dpmean.numerics.noisy_search import questions, search
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.receipts import Receipt
from dpmean.queries.protocols import Noise, Rows
from dpmean.queries.queries import Ball, Floats, Histogram, Ints, Shells, ShellSums, VectorSum
from dpmean.trust.central.model import REPLACING, Central, NoisyCounter

_CHOICE_UNIT = 1 << 40
WEIGHT_ONE = 1 << 12
"""Weights of rows are whole multiples of one WEIGHT_ONE-th, from zero to one."""


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """A noisy number and the standard deviation of its noise."""

    value: float
    std: float


@final
@dataclass(frozen=True, slots=True, eq=False)
class _From:
    """One line of a histogram, from one point on."""

    counts: Ints

    def count_at_most(self, index: Ints) -> Ints:
        found: Ints = self.counts[index]
        return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Exponents(Sequence[int]):
    """The exponents of radii to choose from, ``rise * j + epsilon * beyond[j]``: most are never looked at exactly."""

    rise: int
    epsilon: int
    beyond: Ints

    def __len__(self) -> int:
        return len(self.beyond)

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            places = range(len(self))[j]
            return [
                self.rise * place + self.epsilon * far
                for place, far in zip(places, self.beyond[j].tolist(), strict=True)
            ]
        return self.rise * (j if j >= 0 else j + len(self)) + self.epsilon * self.beyond.item(j)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """Return them as floats."""
        return float(self.rise) * np.arange(len(self), dtype=np.float64) + float(self.epsilon) * self.beyond


@final
class Curator:
    """Answers questions with exact noise and keeps the receipts."""

    def __init__(self, budget: Zcdp, noise: Noise, trust: Central = REPLACING) -> None:
        self.left, self.trust = budget.rho, trust
        self.receipts: list[Receipt] = []
        self._noise = noise

    def quantile(
        self, histogram: Histogram, rank: float, cost: Fraction, step: str, start: int = 0, line: int = 0
    ) -> int:
        """Search for the first point, from ``start`` on, with more than ``rank`` rows at or below it (Algorithm 1)."""
        points = histogram.points - start
        asked = questions(points)
        variance = _variance(asked, cost)
        self.pay(step, f"binary search of {asked} counts", f"{_noise(variance)} on counts of sensitivity 1", cost)
        counter = NoisyCounter(_From(histogram.counts[line, start:]), points, variance, self._noise, step)
        return start + int(search(counter, rank)[0])

    @staticmethod
    def quantile_std(histogram: Histogram, cost: Fraction, start: int = 0) -> float:
        """Return the noise on each count of ``quantile``, before it is asked."""
        return math.sqrt(questions(histogram.points - start) / (2 * cost))

    def upper_end(self, histogram: Histogram, line: int, start: int, slope: float, cost: Fraction, step: str) -> int:
        """Choose a point x, from ``start`` on, with weight ``x^-slope exp(-epsilon * rows beyond x)``.

        One row, replaced or not there, moves the numbers of rows beyond all points by 0 or +1, or all by 0 or -1: the
        exponents move within a range of epsilon, and that costs epsilon^2 / 8 (bounded range: Dong et al. 2020, Cesar
        and Rogers 2021).
        """
        epsilon = math.isqrt(math.floor(8 * cost * _CHOICE_UNIT**2))
        counts = histogram.counts[line]
        beyond = counts[-1] - counts[start:-1]
        rise = max(1, round(slope * math.log(2) / RADII_PER_OCTAVE * _CHOICE_UNIT))
        self.pay(
            step,
            f"one of {len(beyond)} radii, by the rows beyond it",
            f"exponential mechanism, epsilon {epsilon / _CHOICE_UNIT:.4g} per row",
            Fraction(epsilon**2, 8 * _CHOICE_UNIT**2),
        )
        return start + self._noise.at(step).choose(_Exponents(rise, epsilon, beyond), _CHOICE_UNIT)

    def count_beyond(self, histogram: Histogram, index: int, cost: Fraction, step: str) -> Answer:
        """Count the rows beyond a point."""
        variance = _variance(1, cost)
        self.pay(step, "number of rows beyond a radius", f"{_noise(variance)}, sensitivity 1", cost)
        noisy = int(histogram.counts[0, -1] - histogram.counts[0, index]) + self._draw(step, variance)
        return Answer(noisy, math.sqrt(variance))

    def mean_weights(self, histogram: Histogram, weights: Ints, cost: Fraction, step: str) -> tuple[Floats, float]:
        """Average some weights of the rows, whole numbers from 0 to WEIGHT_ONE that depend on the distance alone.

        One row, replaced or not there, changes each of the sums by at most WEIGHT_ONE.
        """
        size, n = len(weights), int(histogram.counts[0, -1])
        variance = _variance(size * WEIGHT_ONE**2, cost)
        self.pay(step, f"mean weight of the rows at {size} radii", f"{_noise(variance / WEIGHT_ONE**2)} rows", cost)
        if weights.min() < 0 or weights.max() > WEIGHT_ONE:
            raise AssertionError("a weight must lie between zero and one")
        counts = np.diff(histogram.counts[0], prepend=0)
        noisy = weights @ counts + self._noise.at(step).gaussian(variance, size)
        return noisy / (n * WEIGHT_ONE), math.sqrt(variance) / (n * WEIGHT_ONE)

    def ball_sum(self, rows: Rows, ball: Ball, cost: Fraction, step: str) -> VectorSum:
        """Add up the rows, each clipped to a ball."""
        self._take(step, cost)
        found, receipt = self.trust.bounded_sum(rows, ball, Zcdp(cost), self._noise, step)
        self.receipts.append(receipt)
        return found

    def clipped_sum(self, sums: ShellSums, shells: Shells, k: int, cost: Fraction, step: str) -> VectorSum:
        """Add up the rows, each clipped at one of the radii of its shells."""
        sensitivity = layers.clipped_sum_sensitivity(shells, k, self.trust.neighbours.contributions)
        variance = _variance(sensitivity**2, cost)
        asked = f"sum of clipped rows, of norm at most {shells.radii[k]} units of {shells.unit:.4g}"
        self.pay(step, asked, f"{_noise(variance)} units, sensitivity {sensitivity} units", cost)
        noise = self._noise.at(step).gaussian(variance, len(shells.centre))
        return VectorSum(layers.clipped_sum(sums, shells, k) + noise, shells.unit, variance)

    def bias_gap(
        self, sums: ShellSums, shells: Shells, k: int, factors: list[int], cost: Fraction, step: str
    ) -> Answer:
        """Ask how much bias radius k would cause: how far the sum clipped there is from that at the largest radius.

        In units of the shells; factors correct the sums for what clipping takes away.
        """
        sensitivity = layers.bias_gap_sensitivity(shells, k, factors, self.trust.neighbours.contributions)
        variance = _variance(sensitivity**2, cost)
        asked = f"bias of clipping at {shells.radii[k]} instead of {shells.radii[0]} units of {shells.unit:.4g}"
        self.pay(step, asked, f"{_noise(variance)} units, sensitivity {sensitivity} units", cost)
        return Answer(layers.bias_gap(sums, shells, k, factors) + self._draw(step, variance), math.sqrt(variance))

    def _draw(self, step: str, variance: Fraction) -> int:
        return int(self._noise.at(step).gaussian(variance, 1)[0])

    def pay(self, step: str, asked: str, mechanism: str, cost: Fraction, *, exact: bool = True) -> None:
        """Take the price of a step from the purse before it is answered."""
        self._take(step, cost)
        self.receipts.append(Receipt(step, asked, mechanism, Zcdp(cost), exact))

    def _take(self, step: str, cost: Fraction) -> None:
        if not 0 < cost <= self.left:
            raise OverspendError(f"{step} costs {cost}, and {self.left} of the budget is left")
        if any(receipt.step == step for receipt in self.receipts):
            raise AssertionError(f"{step} was asked before: its noise would be used twice")
        self.left -= cost


def _variance(square: int, cost: Fraction) -> Fraction:
    """Return the variance at which an answer of this squared sensitivity has that cost."""
    if cost <= 0:
        raise OverspendError(f"an answer must cost something, not {cost}")
    return Fraction(square) / (2 * cost)


def _noise(variance: Fraction) -> str:
    return f"discrete Gaussian of std {math.sqrt(variance):.4g}"
