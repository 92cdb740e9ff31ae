"""Small arguments: neighbours, rounds, the share of honest users, integers, flags, the ledger, the seed."""

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
    """Read the neighbour relation. The default depends on the trust model, and on the sizes of groups."""
    public = sizes is Sizes.PUBLIC
    if neighbours is None:
        return Neighbours.REPLACE_ONE if public else model.neighbours[0]
    found = read_name(Neighbours, neighbours, "neighbours", "add-or-remove-one keeps the number of rows private")
    if found not in model.neighbours:
        raise ArgumentError(
            f'neighbours="{found}" is for the central model: in the {model.name} model the number of users is public. '
            'Leave neighbours out, or give trust="central"'
        )
    if public and found is not Neighbours.REPLACE_ONE:
        raise ArgumentError(
            f'sizes="public" reveals who is in the dataset: give neighbours="replace-one", not {neighbours!r}'
        )
    return found


def read_rounds(rounds: str) -> bool:
    """Return whether few rounds are wanted."""
    return read_name(Rounds, rounds, "rounds") is Rounds.FEW


def read_honest(honest: Number) -> Fraction:
    """Read the share of honest users."""
    part = positive(honest, "honest")
    if not Fraction(3, 10) <= part <= 1:
        raise ArgumentError(f"honest is the share of honest users and must lie between 0.3 and 1, got {honest}")
    return part


def read_flag(value: bool, name: str) -> bool:
    """Read a boolean."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(f"{name} must be True or False, got {describe(value)}")
    return bool(value)


def read_integer(value: int, name: str) -> int:
    """Read a positive integer."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(f"{name} must be an integer, got {describe(value)}")
    if value < 1:
        raise ArgumentError(f"{name} must be at least 1, got {value}")
    return int(value)


def read_ledger(ledger: Ledger | None, seed: int | None) -> Ledger | None:
    """Read the ledger to charge. A seeded release protects nobody and cannot be recorded."""
    if ledger is None:
        return None
    if not isinstance(ledger, Ledger):
        raise ArgumentTypeError(
            f'ledger must be a dpmean.Ledger, got {describe(ledger)}: give dpmean.Ledger("ledger.json", rho=1.0)'
        )
    if seed is not None:
        raise ArgumentError(
            "a release with a seed protects nobody and cannot be recorded in a ledger: leave out seed "
            "(random_state), or leave out ledger"
        )
    return ledger


def read_seed(seed: int | None) -> int | None:
    """Read the seed, if one is given."""
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
