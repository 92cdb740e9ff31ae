"""Sources of random bits: the operating system, or a seed for experiments."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dpmean.noise import fast
from dpmean.noise.entropy import entropy
from dpmean.noise.fast import Words
from dpmean.queries.queries import Ints

_Kind = TypeVar("_Kind", np.int64, np.uint64)
_GROUP = 256  # seeded variates are drawn in groups of this size, each from its own key


def _system_words(count: int) -> Words:
    return np.frombuffer(bytearray(entropy(8 * count)), dtype=np.uint64)


@final
@dataclass(frozen=True, slots=True)
class SecureNoise:
    """Noise from the operating system's entropy: every call draws new bits."""

    seeded = False

    def at(self, step: str, start: int = 0) -> SecureNoise:  # noqa: ARG002  new bits need no address
        """Return a sampler; new bits need no address."""
        return self

    def gaussian(self, variance: Fraction, count: int) -> Ints:
        """Draw from the discrete Gaussian."""
        return fast.discrete_gaussian(variance, count, _system_words)

    def poisson(self, mean: Fraction, count: int) -> Ints:
        """Draw Poisson numbers."""
        return fast.poisson(mean, count, _system_words)

    def choose(self, exponents: Sequence[int], unit: int) -> int:
        """Choose an index with probability proportional to ``exp(-exponent / unit)``."""
        return fast.choose(exponents, unit, fast.as_bits(_system_words))

    def words(self, count: int) -> Words:
        """Draw uniform integers below 2^64."""
        return _system_words(count)


@final
@dataclass(frozen=True, slots=True)
class SeededNoise:
    """Noise that anyone with the seed can compute, for experiments; a function of (seed, step, index) only."""

    seed: int

    seeded = True

    def at(self, step: str, start: int = 0) -> SeededSampler:
        """Return the sampler of a step, beginning at variate number ``start``."""
        return SeededSampler(self.seed, step, start)


@final
@dataclass(frozen=True, slots=True)
class SeededSampler:
    """The variates of one step, beginning at number ``start``."""

    seed: int
    step: str
    start: int

    def gaussian(self, variance: Fraction, count: int) -> Ints:
        """Draw from the discrete Gaussian."""
        return self._grouped(count, lambda words: fast.discrete_gaussian(variance, _GROUP, words))

    def poisson(self, mean: Fraction, count: int) -> Ints:
        """Draw Poisson numbers."""
        return self._grouped(count, lambda words: fast.poisson(mean, _GROUP, words))

    def choose(self, exponents: Sequence[int], unit: int) -> int:
        """Choose an index with probability proportional to ``exp(-exponent / unit)``."""
        return fast.choose(exponents, unit, fast.as_bits(self._words(self.start // _GROUP)))

    def words(self, count: int) -> Words:
        """Draw uniform integers below 2^64."""
        return self._grouped(count, lambda words: words(_GROUP))

    def _grouped(self, count: int, draw: Callable[[Callable[[int], Words]], NDArray[_Kind]]) -> NDArray[_Kind]:
        """Draw all groups that contain some of the requested variates."""
        first, last = self.start // _GROUP, (self.start + max(count, 1) - 1) // _GROUP
        skip = self.start - first * _GROUP
        groups = [draw(self._words(group)) for group in range(first, last + 1)]
        return np.concatenate(groups)[skip : skip + count]

    def _words(self, group: int) -> Callable[[int], Words]:
        address = f"{self.seed}/{self.step}/{group}".encode()
        key = np.frombuffer(hashlib.blake2b(address, digest_size=16).digest(), dtype=np.uint64)
        return np.random.Philox(key=key).random_raw


def secure() -> SecureNoise:
    """Return noise from the operating system's entropy."""
    return SecureNoise()


def seeded(seed: int) -> SeededNoise:
    """Return reproducible noise, for experiments only."""
    return SeededNoise(seed)
