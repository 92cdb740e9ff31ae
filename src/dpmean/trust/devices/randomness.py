"""Where a device gets its randomness from: exact variates from the operating system's entropy. No array library."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, final

from dpmean.noise import exact
from dpmean.noise.entropy import entropy
from dpmean.noise.poisson import poisson


class Coins(Protocol):
    """What a device draws; ``step`` says what for, so that a test can hand in what it likes."""

    def word(self, step: str) -> int:
        """Draw a uniform integer below 2^64."""
        ...

    def gaussians(self, step: str, variance: Fraction, count: int) -> list[int]:
        """Draw from the discrete Gaussian."""
        ...

    def poissons(self, step: str, mean: Fraction, count: int) -> list[int]:
        """Draw Poisson numbers."""
        ...

    def below(self, step: str, limit: int, count: int) -> list[int]:
        """Draw uniform integers below a limit."""
        ...


@final
class SystemCoins:
    """Exact variates from the operating system's entropy."""

    def word(self, step: str) -> int:  # noqa: ARG002  fresh bits need no address
        """Draw a uniform integer below 2^64."""
        return _system_bits(64)

    def gaussians(self, step: str, variance: Fraction, count: int) -> list[int]:  # noqa: ARG002  fresh bits need no address
        """Draw from the discrete Gaussian."""
        return [exact.discrete_gaussian(variance, _system_bits) for _ in range(count)]

    def poissons(self, step: str, mean: Fraction, count: int) -> list[int]:  # noqa: ARG002  fresh bits need no address
        """Draw Poisson numbers."""
        return [poisson(mean, _system_bits) for _ in range(count)]

    def below(self, step: str, limit: int, count: int) -> list[int]:  # noqa: ARG002  fresh bits need no address
        """Draw uniform integers below a limit."""
        return [exact.below(limit, _system_bits) for _ in range(count)]


def _system_bits(count: int) -> int:
    size = -(-count // 8)
    return int.from_bytes(entropy(size)) >> (8 * size - count)
