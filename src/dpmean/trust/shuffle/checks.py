"""Which invitations, collections and rounds are refused: parts that do not fit, numbers that messages cannot hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from dpmean.errors import ArgumentError
from dpmean.trust.devices.signatures import VERSION, bytes_of, is_identity, is_signed, read_content, read_signed
from dpmean.trust.local.randomizers import MOST_COLUMNS
from dpmean.trust.shuffle.amounts import read_budget, read_share
from dpmean.trust.shuffle.messages import Roll
from dpmean.trust.shuffle.schema import LARGEST, Collection, Counters, Extension, Invitation, Round, Stage, Sums

LEAST_HONEST = Fraction(3, 10)
"""The smallest share of users that noise is calibrated to."""
MOST_USERS, MOST_ROUNDS, MOST_SHARES = 1 << 40, 32, 4096
MOST_CELLS, MOST_LEVELS, MOST_BUCKETS, MOST_BLANKET = 1 << 16, 16, 1 << 31, 1 << 30
MOST_MESSAGES = 1 << 20
"""On average, of one client in one round."""
_Limit = tuple[str, int, int, int]
"""A name, a value, the lowest and the highest that it may be."""
SMALLEST_DELTA = Fraction(1, 10**30)
LATEST = 1 << 40
"""No time may be later, in seconds since 1970."""
_PRIME = (1 << 255) - 19
_LOW_ORDER = {
    0,
    1,
    _PRIME - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
}
"""The points of X25519 whose order divides 8: what is sealed to them, anybody can open (RFC 7748, section 6.1)."""


def check_invitation(invitation: Invitation) -> None:
    """Refuse an invitation whose parts do not fit together, or that names a key that is none."""
    _check_terms(invitation, "an invitation")
    for whose, public in (("analyzer", invitation.analyzer), ("shuffler", invitation.shuffler)):
        if not is_identity(public):
            raise ArgumentError(
                f"this is not an invitation: the public key of its {whose} must be 64 hexadecimal digits, and not of "
                "low order"
            )
    if not _is_key(invitation.key):
        raise ArgumentError(
            "this is not an invitation: its key is not a public key of X25519 that hides what is sealed"
        )
    if not 0 < invitation.closes <= invitation.expires:
        raise ArgumentError(
            "this is not an invitation: clients check in until closes, and that is not after expires, got "
            f"{invitation.closes} and {invitation.expires}"
        )


def check_collection(collection: Collection) -> None:
    """Refuse a collection whose parts do not fit together, or whose numbers are beyond what messages can hold."""
    c = collection
    _check_terms(c, "a collection")
    _check_limits(
        [
            ("users", c.users, 1, MOST_USERS),
            ("number of honest users", c.honest, 1, c.users),
            ("number of rounds", len(c.stages), 1, MOST_ROUNDS),
        ]
    )
    for number, stage in enumerate(c.stages):
        limits = _limits_of_counters(stage, c) if isinstance(stage, Counters) else _limits_of_sums(stage, c)
        _check_limits(limits, f" in round {number}")


def check_invited(collection: Collection, invitation: Invitation, digest: bytes) -> None:
    """Refuse a collection that is not what its clients were invited to, or whose users the shuffler has not counted."""
    for name in invitation.__struct_fields__:
        if getattr(collection, name) != getattr(invitation, name):
            raise ArgumentError(f"this collection is not what clients were invited to: its {name} differs")
    if collection.invitation != digest.hex():
        raise ArgumentError("this collection belongs to another invitation")
    if not is_counted(Roll(VERSION, digest, collection.users, bytes_of(collection.roll)), invitation.shuffler):
        raise ArgumentError(
            f"the shuffler has not signed that {collection.users} users have checked in: the analyzer may have made "
            "up users to hide among"
        )


def is_counted(roll: Roll, shuffler: str) -> bool:
    """Return whether a roll was signed by a shuffler."""
    return is_signed(shuffler, "roll", rolled(roll.invitation, roll.users), roll.signature)


def rolled(invitation: bytes, users: int) -> bytes:
    """Return what a shuffler signs when it has counted the users who checked in."""
    return invitation + users.to_bytes(8)


def _check_terms(terms: Invitation | Collection, name: str) -> None:
    """Check what an invitation and a collection have in common."""
    limits = [
        ("version", terms.version, VERSION, VERSION),
        ("number of columns", terms.d, 1, MOST_COLUMNS),
        ("step", terms.step, -1000, 900),
        ("reach", terms.reach, 1, LARGEST),
        ("closes", terms.closes, 0, LATEST),
        ("expires", terms.expires, 0, LATEST),
    ]
    _check_limits(limits, name=name)
    if len(terms.name) != 16 or not _is_hexadecimal(terms.name):
        raise ArgumentError(f"this is not {name}: its name must be 16 hexadecimal digits")
    honest = 1 - read_share(terms.silent) - read_share(terms.colluding)
    if honest < LEAST_HONEST:
        raise ArgumentError(
            f"{terms.silent} of the users may be silent and {terms.colluding} collude: at least "
            f"{float(LEAST_HONEST):.0%} must be left who are honest and answer, and {float(honest):.0%} are"
        )
    delta = read_budget(terms.budget).delta
    if delta < SMALLEST_DELTA:
        raise ArgumentError(
            f"this is not {name}: delta must be at least {float(SMALLEST_DELTA):g}, got {float(delta):g}"
        )


def _check_limits(limits: Iterable[_Limit], where: str = "", name: str = "a collection") -> None:
    for number, value, lowest, highest in limits:
        if not lowest <= value <= highest:
            span = f"{lowest}" if lowest == highest else f"{lowest} to {highest}"
            raise ArgumentError(f"this is not {name}: {number}{where} must be {span}, got {value}")


def _is_hexadecimal(text: str) -> bool:
    return not set(text) - set("0123456789abcdef")


def _is_key(key: str) -> bool:
    """Return whether a text is a public key that hides something: a point in its only encoding, not of low order."""
    if len(key) != 64 or not _is_hexadecimal(key):
        return False
    point = int.from_bytes(bytes.fromhex(key), "little")
    return point < _PRIME and point not in _LOW_ORDER


def _limits_of_counters(stage: Counters, c: Collection) -> Iterator[_Limit]:
    """Yield one after the other: those that come later can be computed only if the earlier ones hold."""
    lines = 1 << (c.d - 1).bit_length() if stage.about == "median" else 1
    yield "lines", stage.lines, lines, lines
    yield "cells", stage.cells, 2, MOST_CELLS
    yield "number of levels", len(stage.levels), 1, MOST_LEVELS
    for level in stage.levels:
        yield "level", level, 0, MOST_LEVELS - 1
    yield "number of different levels", len(set(stage.levels)), len(stage.levels), len(stage.levels)
    yield "number of buckets", stage.buckets, 1, MOST_BUCKETS
    yield "blanket", stage.blanket, 1, MOST_BLANKET
    yield "messages of a client, on average,", -(-stage.buckets * stage.blanket // c.honest), 1, MOST_MESSAGES


def _limits_of_sums(stage: Sums, c: Collection) -> Iterator[_Limit]:
    yield "radius", stage.radius, math.isqrt(c.d // 4) + 1, 1 << 30  # 4 radius^2 > d, or rounding takes it all
    yield "variance", stage.variance, 1, 1 << 53
    yield "bits", stage.bits, 2, 120
    yield "packed", stage.packed, 1, c.d
    yield "packs", stage.packs, -(-c.d // stage.packed), -(-c.d // stage.packed)
    yield "shares", stage.shares, 2, MOST_SHARES


def check_round(collection: Collection, digest: bytes, asked: Round) -> Stage:
    """Refuse a round that does not belong to a collection, or does not fit it; return what it asks."""
    c = collection
    if asked.version != VERSION or asked.collection != digest.hex() or not 0 <= asked.round < len(c.stages):
        raise ArgumentError("this round does not belong to the collection")
    stage = c.stages[asked.round]
    counters = isinstance(stage, Counters)
    lines, cells = (stage.lines, stage.cells) if isinstance(stage, Counters) else (0, 1)
    numbers = [*asked.lows, *asked.widths, *asked.gaps, *asked.centre, asked.radius]
    wrong = {
        "closes": not 0 <= asked.closes <= LATEST,
        "centre": len(asked.centre) not in (0, c.d),
        "lows": len(asked.lows) != lines,
        "widths": len(asked.widths) != lines or any(width < 1 for width in asked.widths),
        "gaps": len(asked.gaps) != cells - 1 or list(asked.gaps) != sorted(asked.gaps),
        "radius": (asked.radius != 0) if counters else asked.radius < 1,
        "numbers": any(abs(number) > LARGEST for number in numbers),
    }
    for name, is_wrong in wrong.items():
        if is_wrong:
            raise ArgumentError(f"this is not a round of the collection: its {name} cannot be right")
    return stage


def read_extension(extension: bytes, analyzer: str, asked: bytes) -> int:
    """Return until when a round takes answers; refuse an extension of another round."""
    read = read_content(read_signed(extension, "extension", analyzer), Extension, "extension")
    if read.round != asked.hex() or not 0 <= read.closes <= LATEST:
        raise ArgumentError("this extension belongs to another round")
    return read.closes
