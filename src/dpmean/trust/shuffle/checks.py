"""Which collections and rounds are refused: parts that do not fit together, numbers beyond what messages can hold.

And those that would keep a client busy: how much work a collection is follows from its public numbers, and a client
looks at these before it computes anything. Limits of work are beyond what ``design`` chooses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from dpmean.errors import ArgumentError
from dpmean.noise.poisson import LARGEST_PIECE
from dpmean.trust.local.randomizers import MOST_COLUMNS
from dpmean.trust.shuffle.schema import LARGEST, VERSION, Collection, Counters, Round, Stage, Sums, read_budget
from dpmean.trust.shuffle.sizes import bytes_sent, messages_sent

MOST_USERS, MOST_ROUNDS, MOST_SHARES = 1 << 40, 32, 4096
MOST_CELLS, MOST_LEVELS, MOST_BUCKETS, MOST_BLANKET = 1 << 16, 16, 1 << 31, 1 << 30
MOST_MESSAGES = 1 << 20
"""On average, of one client in one round."""
_Limit = tuple[str, int, int, int]
"""A name, a value, the lowest and the highest that it may be."""
SMALLEST_DELTA = Fraction(1, 10**30)
WORK = {
    "messages": 1 << 16,
    "bytes": 1 << 23,
    "Poisson draws": 1 << 21,
    "messages on average in a bucket": 1 << 27,
    "kinds of counters": 4,
}
"""How much of what a client may have to do in all rounds together: seal, send, draw; and to compute what it costs."""

_PRIME = (1 << 255) - 19
_LOW_ORDER = {
    0,
    1,
    _PRIME - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
}
"""The points of X25519 whose order divides 8: what is sealed to them, anybody can open (RFC 7748, section 6.1)."""


def check_collection(collection: Collection) -> None:
    """Refuse a collection whose parts do not fit together, or whose numbers are beyond what messages can hold."""
    c = collection
    _check_limits(_limits(c))
    if len(c.name) != 16 or any(letter not in "0123456789abcdef" for letter in c.name):
        raise ArgumentError("this is not a collection: its name must be 16 hexadecimal digits")
    if c.key and not _is_key(c.key):
        raise ArgumentError("this is not a collection: its key is not a public key of X25519 that hides what is sealed")
    for number, stage in enumerate(c.stages):
        limits = _limits_of_counters(stage, c) if isinstance(stage, Counters) else _limits_of_sums(stage, c)
        _check_limits(limits, f" in round {number}")
    delta = read_budget(c.budget).delta
    if delta < SMALLEST_DELTA:
        raise ArgumentError(
            f"this is not a collection: delta must be at least {float(SMALLEST_DELTA):g}, got {float(delta):g}"
        )


def _check_limits(limits: Iterable[_Limit], where: str = "") -> None:
    for name, value, lowest, highest in limits:
        if not lowest <= value <= highest:
            span = f"{lowest}" if lowest == highest else f"{lowest} to {highest}"
            raise ArgumentError(f"this is not a collection: {name}{where} must be {span}, got {value}")


def _limits(c: Collection) -> Iterator[_Limit]:
    yield "version", c.version, VERSION, VERSION
    yield "users", c.users, 1, MOST_USERS
    yield "honest", c.honest, 1, c.users
    yield "quorum", c.quorum, c.users - (c.users - c.honest) // 2, c.users
    yield "number of columns", c.d, 1, MOST_COLUMNS
    yield "step", c.step, -1000, 900
    yield "reach", c.reach, 1, LARGEST
    yield "number of rounds", len(c.stages), 1, MOST_ROUNDS


def _is_key(key: str) -> bool:
    """Return whether a text is a public key that hides something: a point in its only encoding, not of low order."""
    if len(key) != 64 or any(letter not in "0123456789abcdef" for letter in key):
        return False
    point = int.from_bytes(bytes.fromhex(key), "little")
    return point < _PRIME and point not in _LOW_ORDER


def check_work(collection: Collection) -> None:
    """Refuse a collection that would keep a client busy for longer than any that is designed here."""
    reason = too_much(collection.stages, collection.d, collection.honest)
    if reason:
        raise ArgumentError(
            f"this collection is too much work for a client: {reason}. Ask for fewer columns, cells or rounds, invite "
            "more users, or allow a larger epsilon"
        )


def too_much(stages: Sequence[Stage], d: int, honest: int) -> str:
    """Return which part of a client's work is beyond its limit, with both numbers; nothing if none is."""
    return "; ".join(
        f"{math.ceil(number)} {name}, and {WORK[name]} are the limit"
        for name, number in work_of(stages, d, honest).items()
        if number > WORK[name]
    )


def work_of(stages: Sequence[Stage], d: int, honest: int) -> dict[str, float]:
    """Return how much of each kind of work the rounds of a collection are for one client, on average."""
    counters = [stage for stage in stages if isinstance(stage, Counters)]
    return {
        "messages": sum(messages_sent(stage, honest) for stage in stages),
        "bytes": sum(bytes_sent(stage, honest, sealed=True) for stage in stages),
        "Poisson draws": sum(_draws(stage, d, honest) for stage in stages),
        "messages on average in a bucket": max((stage.blanket for stage in counters), default=0),
        "kinds of counters": len({(stage.blanket, len(stage.levels)) for stage in counters}),
    }


def _draws(stage: Stage, d: int, honest: int) -> int:
    """Return how many Poisson numbers a client draws in a round; large means are cut into pieces."""
    if isinstance(stage, Counters):
        return 1 + stage.buckets * stage.blanket // (honest * LARGEST_PIECE)
    return 2 * d * (1 + stage.variance // (2 * honest * LARGEST_PIECE))


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


def check_round(collection: Collection, asked: Round) -> Stage:
    """Refuse a round that does not belong to a collection, or does not fit it; return what it asks."""
    c = collection
    if asked.version != VERSION or asked.name != c.name or not 0 <= asked.round < len(c.stages):
        raise ArgumentError("this round does not belong to the collection")
    stage = c.stages[asked.round]
    counters = isinstance(stage, Counters)
    lines, cells = (stage.lines, stage.cells) if isinstance(stage, Counters) else (0, 1)
    numbers = [*asked.lows, *asked.widths, *asked.gaps, *asked.centre, asked.radius]
    wrong = {
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
