"""Choices of how to ask: neighbours, rounds, line breaks, who is honest, which ledger, whose randomness."""

from __future__ import annotations

import operator
from fractions import Fraction

from dpmean.account import Ledger
from dpmean.budget import Number, positive
from dpmean.coins import PublicCoins
from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.neighbours import Neighbours
from dpmean.noise.entropy import entropy
from dpmean.noise.source import SecureNoise, SeededNoise, secure, seeded
from dpmean.rows.records import Newlines


def read_neighbours(neighbours: str) -> Neighbours:
    """Read which pairs of data sets are to be hard to tell apart."""
    try:
        return Neighbours(neighbours)
    except ValueError:
        raise ArgumentError(
            f'neighbours must be "{Neighbours.REPLACE_ONE}" (the number of rows is public) or '
            f'"{Neighbours.ADD_OR_REMOVE_ONE}" (it is private), got {neighbours!r}'
        ) from None


def read_rounds(rounds: str) -> bool:
    """Read whether there should be few rounds."""
    if rounds not in ("adaptive", "few"):
        raise ArgumentError(f'rounds must be "adaptive" or "few", got {rounds!r}')
    return rounds == "few"


def read_newlines(newlines: str) -> Newlines:
    """Read what line breaks do in a CSV file."""
    if newlines == "records":
        return "records"
    if newlines == "quoted":
        return "quoted"
    raise ArgumentError(
        'newlines must be "records" (every line is a record) or "quoted" (quoted fields may contain line breaks), '
        f"got {newlines!r}"
    )


def read_honest(honest: Number) -> Fraction:
    """Read which part of the users is honest."""
    part = positive(honest, "honest")
    if not Fraction(1, 2) <= part <= 1:
        raise ArgumentError(f"honest must lie between 0.5 and 1 (it is the part of the users that are), got {honest}")
    return part


def check_ledger(ledger: object) -> None:
    """Insist that a ledger is one."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise ArgumentTypeError(
            f'ledger must be a dpmean.Ledger, got {ledger!r}: give dpmean.Ledger("b.json", rho=1.0)'
        )


def read_randomness(seed: int | None) -> tuple[SecureNoise | SeededNoise, PublicCoins]:
    """Return the private noise and the public coins."""
    if seed is None:
        return secure(), PublicCoins(entropy(16).hex())
    try:
        number = operator.index(seed)
    except TypeError:
        kind = type(seed).__name__
        raise ArgumentTypeError(f"seed must be a whole number, got {seed!r} of type {kind}") from None
    return seeded(number), PublicCoins(f"seed {number}")
