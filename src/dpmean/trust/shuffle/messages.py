"""The messages of the shuffle model, MessagePack arrays: ``trust/shuffle/schema.py`` says who sends them to whom."""

from __future__ import annotations

import msgspec


class CheckIn(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One client's answer to an invitation."""

    version: int
    invitation: bytes
    user: bytes


class Roll(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """How many users have checked in, signed by the shuffler."""

    version: int
    invitation: bytes
    users: int
    signature: bytes


class Batch(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """All messages of one client in one round."""

    version: int
    round: bytes
    user: bytes
    messages: list[bytes]


class Delivery(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """All messages of a round, in random order, signed by the shuffler."""

    version: int
    round: bytes
    users: int
    clients: int
    signature: bytes
    messages: list[bytes]
