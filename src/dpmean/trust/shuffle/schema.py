"""What clients, shuffler and analyzer say to each other in the shuffle model. Version 1.

A *collection* (JSON) is agreed on before anything is sent: who takes part, what may be spent, and for every round what
is asked and how it is hidden. All that privacy rests on is in it. A *round* (JSON) adds what earlier rounds found:
where cells lie, a centre, a radius. A client answers a round with a *batch*, a MessagePack array
``[1, digest, round, user, messages]``: the digest (BLAKE2b, 32 bytes) is that of the collection as it was published, so
that nobody can show different collections to different clients, or to the shuffler. Its messages have one length that
depends on the round alone, and are sealed to the analyzer's key. The shuffler hands on a *delivery*,
``[1, digest, round, clients, messages]``: the messages of all batches, in random order, and how many clients they came
from.
"""

from __future__ import annotations

from fractions import Fraction
from hashlib import blake2b
from typing import Literal

import msgspec

from dpmean.errors import ArgumentError
from dpmean.privacy.budgets import ApproxDp

VERSION = 1
Variant = Literal["mean", "twice", "two", "tree", "binary"]
LARGEST = 1 << 40
"""No length in a round may exceed this."""
BUCKET_BYTES = 4


class Counters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="counters"):
    """A round of blanket counters: each client names the cell of one number, on one of some lines, at some levels.

    Attributes:
        about: the number: a rotated coordinate, line by line, or the distance from the centre.
        lines: how many lines there are.
        cells: how many cells a line has.
        levels: at level s, 2^s neighbouring cells are one bucket; a client sends one message for each level.
        blanket: how many messages hide each bucket, on average.

    """

    about: Literal["median", "radius"]
    lines: int
    cells: int
    levels: tuple[int, ...]
    blanket: int

    @property
    def per_line(self) -> int:
        """How many buckets a line has, at all levels together."""
        return sum(self.at_level(level) for level in self.levels)

    @property
    def buckets(self) -> int:
        """How many buckets there are."""
        return self.lines * self.per_line

    def at_level(self, level: int) -> int:
        """How many buckets a line has at one level."""
        return -(-self.cells >> level)

    @property
    def size(self) -> int:
        """The length of a message."""
        return BUCKET_BYTES


class Sums(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="sum"):
    """A round of split sums: each client's clipped vector, in whole numbers, with its part of the noise.

    Attributes:
        radius: the largest norm of a vector, in whole numbers.
        variance: of the noise on each number of the sum, that honest clients make up together.
        bits: room for one number of the sum.
        packed: how many numbers are packed into one.
        packs: how many packs a vector fills.
        shares: into how many shares a pack is split.

    """

    radius: int
    variance: int
    bits: int
    packed: int
    packs: int
    shares: int

    @property
    def pack_bytes(self) -> int:
        """The length of a pack: arithmetic is modulo 2^(8 pack_bytes)."""
        return -(-self.bits * self.packed // 8)

    @property
    def tag_bytes(self) -> int:
        """The length of the number of a pack, which comes first in a message; one pack needs no number."""
        return 2 if self.packs > 1 else 0

    @property
    def size(self) -> int:
        """The length of a message."""
        return self.tag_bytes + self.pack_bytes


Stage = Counters | Sums


class Collection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What everybody knows before the first round in the shuffle model. Lengths are multiples of ``2^step``.

    Attributes:
        version: The version of this schema.
        name: The name of the collection, 16 hexadecimal digits.
        users: The number of clients that are invited. They are numbered from 0.
        honest: The number of clients that must take part in every round and be honest, for the guarantee to hold.
        quorum: The number of clients that must take part in a round before the shuffler hands it on: the honest ones,
            and those that may take part and tell others what they sent.
        d: The number of columns of a row.
        step: The exponent of the unit of length.
        reach: The largest norm of a row.
        budget: What all rounds together may cost a client, as ``"epsilon 1 delta 1/1000000000"``.
        variant: How the centre is found.
        stages: The rounds.
        key: The public key of the analyzer (X25519), hexadecimal. It is empty if messages are not sealed.

    """

    version: int
    name: str
    users: int
    honest: int
    quorum: int
    d: int
    step: int
    reach: int
    budget: str
    variant: Variant
    stages: tuple[Stage, ...]
    key: str = ""


class Round(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One round: what depends on earlier ones.

    Attributes:
        version: of this schema.
        name: of the collection.
        round: its number.
        lows: where the cells of each line start (counters).
        widths: the unit of length of each line (counters).
        gaps: cell i ends ``gaps[i]`` such units above the start; the last one has no end (counters).
        centre: where distances and vectors start from; empty for zeros.
        radius: the largest length of a vector, before it is put into whole numbers (sums).

    """

    version: int
    name: str
    round: int
    lows: list[int] = []
    widths: list[int] = []
    gaps: list[int] = []
    centre: list[int] = []
    radius: int = 0


class Delivery(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """All messages of a round, in random order."""

    version: int
    collection: bytes
    round: int
    clients: int
    messages: list[bytes]


class Batch(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """All messages of one client in one round."""

    version: int
    collection: bytes
    round: int
    user: bytes
    messages: list[bytes]


def write_budget(budget: ApproxDp) -> str:
    """Write a budget for a collection."""
    return f"epsilon {budget.epsilon} delta {budget.delta}"


def read_budget(text: str) -> ApproxDp:
    """Read the budget of a collection."""
    words = text.split(" ")
    try:
        short = len(text) <= 400 and not set("".join(words[1::2])) - set("0123456789/")  # 1e9000000 would take long
        if len(words) == 4 and words[::2] == ["epsilon", "delta"] and short:
            return ApproxDp(Fraction(words[1]), Fraction(words[3]))
    except (ValueError, ZeroDivisionError):
        pass
    raise ArgumentError(f'a budget is written "epsilon 1 delta 1/1000000", got {text!r}')


def digest_of(document: bytes) -> bytes:
    """Return the digest of a collection as it was published."""
    return blake2b(document, digest_size=32).digest()
