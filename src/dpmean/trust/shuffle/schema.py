"""What clients, shuffler and analyzer say to each other in the shuffle model. Version 2.

Documents are signed by the analyzer (``trust/devices/signatures.py``), and each names the one before by its digest. An
*invitation* says what will be asked, who analyzes, who shuffles, and what it may cost. A client answers it with a
*check-in*, a MessagePack array ``[2, digest, user]``, and the shuffler counts these: a *roll*,
``[2, digest, users, signature]``. Now the number of users is known, and a *collection* adds for every round what is
asked and how it is hidden. All that privacy rests on is in these two documents. A *round* adds what earlier rounds
found: where cells lie, a centre, a radius. A client answers a round with a *batch*, ``[2, digest, user, messages]``.
Its messages have one length that depends on the round alone, and are sealed to the analyzer's key, with the digest of
the round in the context: whoever was shown another round or collection is not mixed in. The shuffler hands on a
*delivery*, ``[2, digest, users, clients, signature, messages]``: the messages of all batches, in random order, and how
many clients they came from. An *extension* moves the time until which a round takes answers, and an *end* says that
nothing more will be asked.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from dpmean.trust.shuffle.amounts import read_share

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
    """A round of split sums: each client's clipped vector, in integers, with its part of the noise.

    Attributes:
        radius: the largest norm of a vector, in integers.
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


class Invitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a client knows before it checks in. Lengths are multiples of ``2^step``, times are in seconds since 1970.

    Attributes:
        version: The version of this schema.
        name: The name of the collection, 16 hexadecimal digits.
        d: The number of columns of a row.
        step: The exponent of the unit of length.
        reach: The largest norm of a row.
        budget: What all rounds together may cost a client, as ``"epsilon 1 delta 1/1000000000"``.
        silent: The share of users that may stay away from a round, of those who have checked in, as ``"1/10"``.
        colluding: The share of users that may tell others what they sent.
        analyzer: The public key by which the analyzer signs (Ed25519), hexadecimal.
        shuffler: The public key by which the shuffler signs.
        key: The public key to which messages are sealed (X25519).
        closes: Until when clients may check in.
        expires: When the collection is over at the latest.

    """

    version: int
    name: str
    d: int
    step: int
    reach: int
    budget: str
    silent: str
    colluding: str
    analyzer: str
    shuffler: str
    key: str
    closes: int
    expires: int


class Collection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What everybody knows before the first round: the invitation, who has checked in, and how each round is hidden.

    A collection that is only played in one process has no keys and no times.

    Attributes:
        version: The version of this schema.
        name: The name of the collection, 16 hexadecimal digits.
        d: The number of columns of a row.
        step: The exponent of the unit of length.
        reach: The largest norm of a row.
        budget: What all rounds together may cost a client.
        silent: The share of users that may stay away from a round.
        colluding: The share of users that may tell others what they sent.
        users: The number of users who have checked in.
        variant: How the centre is found.
        stages: The rounds.
        analyzer: The public key by which the analyzer signs (Ed25519), hexadecimal.
        shuffler: The public key by which the shuffler signs.
        key: The public key to which messages are sealed (X25519).
        closes: Until when clients could check in.
        expires: When the collection is over at the latest.
        invitation: The digest of the invitation, hexadecimal.
        roll: The signature of the shuffler, that so many users have checked in, hexadecimal.

    """

    version: int
    name: str
    d: int
    step: int
    reach: int
    budget: str
    silent: str
    colluding: str
    users: int
    variant: Variant
    stages: tuple[Stage, ...]
    analyzer: str = ""
    shuffler: str = ""
    key: str = ""
    closes: int = 0
    expires: int = 0
    invitation: str = ""
    roll: str = ""

    @property
    def honest(self) -> int:
        """How many clients answer in every round and are honest, at least: their noise alone is counted."""
        return math.floor(self.users * (1 - read_share(self.silent) - read_share(self.colluding)))

    @property
    def quorum(self) -> int:
        """How many clients must answer a round before the shuffler hands it on: all but the silent ones."""
        return self.users - math.floor(self.users * read_share(self.silent))

    @property
    def cheats(self) -> int:
        """How many clients may collude."""
        return math.floor(self.users * read_share(self.colluding))


class Round(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One round: what depends on earlier ones.

    Attributes:
        version: of this schema.
        collection: the digest of the collection, hexadecimal.
        round: its number.
        closes: until when it takes answers.
        lows: where the cells of each line start (counters).
        widths: the unit of length of each line (counters).
        gaps: cell i ends ``gaps[i]`` such units above the start; the last one has no end (counters).
        centre: where distances and vectors start from; empty for zeros.
        radius: the largest length of a vector, before it is put into integers (sums).

    """

    version: int
    collection: str
    round: int
    closes: int = 0
    lows: list[int] = []
    widths: list[int] = []
    gaps: list[int] = []
    centre: list[int] = []
    radius: int = 0


class Extension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A round (its digest, hexadecimal) takes answers until another time."""

    version: int
    round: str
    closes: int


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A collection (its digest, hexadecimal) is over: nothing more will be asked, whether there is a result or not."""

    version: int
    collection: str
