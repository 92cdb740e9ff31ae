"""Noise for attacks: drawn sequentially, as for a release, but from a seed, so that every run is repeatable."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np

from dpmean.noise import fast
from dpmean.noise.fast import Words
from dpmean.queries.queries import Ints


@final
class RepeatableNoise:
    """The noise of one run. It has no addresses: steps draw in the order of their queries, as in a release."""

    seeded = False

    def __init__(self, seed: int) -> None:
        self._words = np.random.Philox(key=seed).random_raw

    def at(self, step: str, start: int = 0) -> RepeatableNoise:  # noqa: ARG002  there are no addresses
        """Return a sampler."""
        return self

    def gaussian(self, variance: Fraction, count: int) -> Ints:
        """Draw from the discrete Gaussian."""
        return fast.discrete_gaussian(variance, count, self._words)

    def poisson(self, mean: Fraction, count: int) -> Ints:
        """Draw Poisson numbers."""
        return fast.poisson(mean, count, self._words)

    def choose(self, exponents: Sequence[int], unit: int) -> int:
        """Choose an index with probability proportional to ``exp(-exponent / unit)``."""
        return fast.choose(exponents, unit, fast.as_bits(self._words))

    def words(self, count: int) -> Words:
        """Draw uniform integers below 2^64."""
        return self._words(count)


def repeatable(seed: int) -> RepeatableNoise:
    """Return the noise of a run."""
    return RepeatableNoise(seed)
