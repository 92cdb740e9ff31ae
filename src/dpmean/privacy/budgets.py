"""Privacy budgets as exact fractions: zero-concentrated (zCDP), approximate and pure differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import final

from dpmean.errors import ArgumentError, ArgumentTypeError, describe

Number = int | float | Fraction | Decimal

_SMALLEST, _LARGEST = Fraction(1, 10**300), Fraction(10**300)


def exact(value: object, name: str) -> Fraction:
    """Read a number exactly; a float is read as the decimal number that it prints as (0.1 is one tenth)."""
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise ArgumentTypeError(f"{name} must be a number, got {describe(value)}")
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        return Fraction(str(value))
    except ValueError:
        raise ArgumentError(f"{name} must be a finite number, got {value}") from None


def positive(value: object, name: str) -> Fraction:
    """Read a number exactly, and require that it is positive."""
    number = exact(value, name)
    if number <= 0:
        raise ArgumentError(f"{name} must be positive, got {value}")
    if not _SMALLEST <= number <= _LARGEST:
        raise ArgumentError(f"{name} must lie between 1e-300 and 1e300")
    return number


def proper_delta(delta: object) -> Fraction:
    """Read a delta exactly, and require that it is between 0 and 1."""
    number = positive(delta, "delta")
    if number >= 1:
        raise ArgumentError(f"delta must be below 1 (well below 1/n), got {delta}")
    return number


@final
@dataclass(frozen=True, slots=True)
class Zcdp:
    """Zero-concentrated differential privacy (zCDP, Definition 2.2): Rényi divergence at most ``rho * alpha``.

    Args:
        rho: The budget, above zero. A float is read as the decimal number that it prints as.

    """

    rho: Fraction

    def __init__(self, rho: Number) -> None:
        object.__setattr__(self, "rho", positive(rho, "rho"))

    def share(self, numerator: int, denominator: int) -> Zcdp:
        """Return the given fraction of this budget, exactly.

        Args:
            numerator: The numerator of the fraction.
            denominator: The denominator of the fraction.

        """
        return Zcdp(self.rho * Fraction(numerator, denominator))

    def __str__(self) -> str:
        return f"rho = {float(self.rho):.6g} (zCDP)"


@final
@dataclass(frozen=True, slots=True)
class PureDp:
    """Pure differential privacy: every probability changes by at most a factor ``exp(epsilon)``.

    Args:
        epsilon: The budget, above zero. A float is read as the decimal number that it prints as.

    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))

    def share(self, numerator: int, denominator: int) -> PureDp:
        """Return the given fraction of this budget, exactly.

        Args:
            numerator: The numerator of the fraction.
            denominator: The denominator of the fraction.

        """
        return PureDp(self.epsilon * Fraction(numerator, denominator))

    def __str__(self) -> str:
        return f"epsilon = {float(self.epsilon):.6g} (pure)"


@final
@dataclass(frozen=True, slots=True)
class ApproxDp:
    """Approximate differential privacy (Definition 2.1). It cannot be divided into shares: convert it to zCDP first.

    Args:
        epsilon: The epsilon, above zero. A float is read as the decimal number that it prints as.
        delta: The delta, between 0 and 1. It should be well below one over the number of rows.

    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", proper_delta(delta))

    def __str__(self) -> str:
        return f"epsilon = {float(self.epsilon):.6g}, delta = {float(self.delta):.3g}"
