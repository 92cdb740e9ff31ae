"""What travels between devices and the analyzer: public documents one way, messages the other. Version 2.

A *setup* and its *tasks* are signed documents (``trust/devices/signatures.py``) that everybody may read. A task asks
one question of some of the users: those whose ticket, a public hash of the user's number, falls into its range. A
*message* is a MessagePack array ``[2, digest, user, body]``: the digest (32 bytes) is that of the task, so that nobody
can show different tasks to different users; the user's number has 8 bytes (big endian). Bodies have a length that
depends on the task alone: one byte, 0 or 1, for a bit; 8 bytes (big endian, signed) per column for a vector.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import Literal

import msgspec

from dpmean.errors import ArgumentError
from dpmean.privacy.budgets import PureDp, Zcdp

Question = Literal["median", "radius", "median tree", "radius tree", "vector"]
TICKETS = 1 << 32
LARGEST = 1 << 40
"""No length in a task may exceed this, so that answers fit into 8 bytes."""
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15

TICKET, COORDINATE, LEVEL, PATTERN = range(4)
"""What a public hash of a user's number is used for."""


class Outcome(StrEnum):
    """What became of a message, or of a batch of them."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    REJECTED = "rejected"


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question. Lengths are integer multiples of ``2^step``, integers above 2^53 are strings.

    Attributes:
        version: of this schema.
        collection: the digest of the setup, hexadecimal.
        name: of the whole collection, 16 hexadecimal digits; its rounds have the same name.
        closes: until when answers are taken, in seconds since 1970.
        round: the number of this round, from 0 on.
        question: which one.
        tickets: the users whose ticket is at least the first and below the second number are asked.
        budget: what an answer may cost, ``"rho 1/2"`` or ``"epsilon 1"``.
        d: how many columns a row has.
        step: the exponent of the unit of length.
        reach: the largest norm of a row.
        signs: +1 or -1 for every rotated coordinate (medians).
        thresholds: what is compared with, for every rotated coordinate or for the distance; for trees the ends of
            all cells but the last.
        centre: where distances and vectors start from.
        radius: the largest norm of a vector.
        lie: how often of 2^64 times a bit is flipped.
        threshold: of the half space, in standard deviations (vectors, pure privacy).
        outside: how often of 2^64 times a vector outside the half space is kept.

    """

    version: int
    collection: str
    name: str
    closes: int
    round: int
    question: Question
    tickets: tuple[int, int]
    budget: str
    d: int
    step: int
    reach: int
    signs: list[int] = []
    thresholds: list[int] = []
    centre: list[int] = []
    radius: int = 0
    lie: str = "0"
    threshold: float = 0.0
    outside: str = "0"


class Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One answer."""

    version: int
    task: bytes
    user: bytes
    body: bytes


def read_budget(text: str) -> Zcdp | PureDp:
    """Read the budget of a task."""
    notion, _, amount = text.partition(" ")
    short = len(amount) <= 400 and not set(amount) - set("0123456789/")  # 1e9000000 would keep a device busy
    try:
        if notion == "rho" and short:
            return Zcdp(Fraction(amount))
        if notion == "epsilon" and short:
            return PureDp(Fraction(amount))
    except (ValueError, ZeroDivisionError):
        pass
    raise ArgumentError(f'a budget is written "rho 1/2" or "epsilon 1", got {text!r}')


def write_budget(budget: Zcdp | PureDp) -> str:
    """Write a budget for a task."""
    return f"rho {budget.rho}" if isinstance(budget, Zcdp) else f"epsilon {budget.epsilon}"


def hashed(name: str, user: int, purpose: int) -> int:
    """Return a public integer below 2^64 for a user: SplitMix64 of the name, the user and the purpose."""
    x = (int(name, 16) + (4 * user + purpose + 1) * _GOLDEN) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def is_asked(task: Task, user: int) -> bool:
    """Return whether a task asks this user."""
    return task.tickets[0] <= hashed(task.name, user, TICKET) >> 32 < task.tickets[1]
