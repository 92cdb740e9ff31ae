"""Choices of how to ask: neighbours, rounds, line breaks, who is honest, which ledger, whose randomness."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np

from dpmean.enums import Rounds, Trust, read_name
from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.ledger.ledger import Ledger
from dpmean.noise.entropy import entropy
from dpmean.noise.public import PublicCoins
from dpmean.noise.source import SecureNoise, SeededNoise, secure, seeded
from dpmean.privacy.budgets import Number, positive
from dpmean.privacy.neighbours import Neighbours


def read_neighbours(neighbours: str | None, trust: Trust = Trust.CENTRAL) -> Neighbours:
    """Read which pairs of data sets are to be hard to tell apart; if it is not said, as is usual in a trust model."""
    central = trust is Trust.CENTRAL
    if neighbours is None:
        return Neighbours.ADD_OR_REMOVE_ONE if central else Neighbours.REPLACE_ONE
    found = read_name(Neighbours, neighbours, "neighbours", "the latter keeps the number of rows private")
    if not central and found is not Neighbours.REPLACE_ONE:
        raise ArgumentError(
            f'neighbours="{found}" is for the central model: in the {trust} model everybody sees how many take part. '
            'Leave neighbours out, or give trust="central"'
        )
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
        raise ArgumentTypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def read_ledger(ledger: Ledger | None, seed: int | None) -> Ledger | None:
    """Read which ledger is to be charged; not for what protects nobody."""
    if ledger is None:
        return None
    if not isinstance(ledger, Ledger):
        raise ArgumentTypeError(
            f'ledger must be a dpmean.Ledger, got {ledger!r}: give dpmean.Ledger("b.json", rho=1.0)'
        )
    if seed is not None:
        raise ArgumentError("a release made with a seed protects nobody and is not recorded: leave out seed, or ledger")
    return ledger


def read_seed(seed: int | None) -> int | None:
    """Read the seed of noise that everybody may know, if there is to be one."""
    if seed is None:
        return None
    try:
        return operator.index(seed)
    except TypeError:
        kind = type(seed).__name__
        raise ArgumentTypeError(f"seed must be a whole number, got {seed!r} of type {kind}") from None


def read_randomness(seed: int | None) -> tuple[SecureNoise | SeededNoise, PublicCoins]:
    """Return the private noise and the public coins."""
    number = read_seed(seed)
    if number is None:
        return secure(), PublicCoins(entropy(16).hex())
    return seeded(number), PublicCoins(f"seed {number}")
