"""Choices of how to ask: neighbours, rounds, who is honest, which ledger, whose randomness."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np

from dpmean.enums import Rounds, Sizes, read_name
from dpmean.errors import ArgumentError, ArgumentTypeError, describe
from dpmean.ledger.ledger import Ledger
from dpmean.noise.entropy import entropy
from dpmean.noise.public import PublicCoins
from dpmean.noise.source import SecureNoise, SeededNoise, secure, seeded
from dpmean.privacy.budgets import Number, positive
from dpmean.privacy.neighbours import Neighbours
from dpmean.trust.registry import TrustModel


def read_neighbours(neighbours: str | None, model: TrustModel, sizes: Sizes | None = None) -> Neighbours:
    """Read which data sets are neighbours; by default those of the trust model, or of groups with such sizes."""
    public = sizes is Sizes.PUBLIC
    if neighbours is None:
        return Neighbours.REPLACE_ONE if public else model.neighbours[0]
    found = read_name(Neighbours, neighbours, "neighbours", "the latter keeps the number of rows private")
    if found not in model.neighbours:
        raise ArgumentError(
            f'neighbours="{found}" is for the central model: in the {model.name} model everybody sees how many take '
            'part. Leave neighbours out, or give trust="central"'
        )
    if public and found is not Neighbours.REPLACE_ONE:
        raise ArgumentError(f'sizes="public" tells who is there: give neighbours="replace-one", not {neighbours!r}')
    return found


def read_rounds(rounds: str) -> bool:
    """Read whether there should be few rounds."""
    return read_name(Rounds, rounds, "rounds") is Rounds.FEW


def read_honest(honest: Number) -> Fraction:
    """Read which part of the users is honest."""
    part = positive(honest, "honest")
    if not Fraction(1, 2) <= part <= 1:
        raise ArgumentError(f"honest must lie between 0.5 and 1 (it is the part of the users that are), got {honest}")
    return part


def read_flag(value: bool, name: str) -> bool:
    """Read a yes or a no."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(f"{name} must be True or False, got {describe(value)}")
    return bool(value)


def read_integer(value: int, name: str) -> int:
    """Read a number of rows or columns."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(f"{name} must be an integer, got {describe(value)}")
    if value < 1:
        raise ArgumentError(f"{name} must be at least 1, got {value}")
    return int(value)


def read_ledger(ledger: Ledger | None, seed: int | None) -> Ledger | None:
    """Read which ledger is to be charged; not for what protects nobody."""
    if ledger is None:
        return None
    if not isinstance(ledger, Ledger):
        raise ArgumentTypeError(
            f'ledger must be a dpmean.Ledger, got {describe(ledger)}: give dpmean.Ledger("b.json", rho=1.0)'
        )
    if seed is not None:
        raise ArgumentError("a release made with a seed protects nobody and is not recorded: leave out seed, or ledger")
    return ledger


def read_seed(seed: int | None) -> int | None:
    """Read the seed of noise that everybody may know, if there is to be one."""
    if seed is None:
        return None
    try:
        return operator.index(_not_boolean(seed))
    except TypeError:
        raise ArgumentTypeError(f"seed must be an integer, got {describe(seed)}") from None


def _not_boolean(seed: int) -> int:
    if isinstance(seed, bool | np.bool_):
        raise TypeError
    return seed


def read_randomness(seed: int | None) -> tuple[SecureNoise | SeededNoise, PublicCoins]:
    """Return the private noise and the public coins."""
    number = read_seed(seed)
    if number is None:
        return secure(), PublicCoins(entropy(16).hex())
    return seeded(number), PublicCoins(f"seed {number}")
