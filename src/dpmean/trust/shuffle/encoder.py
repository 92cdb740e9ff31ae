"""What a client sends in one round of the shuffle model: bucket numbers under a blanket, or shares of a clipped vector.

How many messages there are never depends on the row. No array library.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from dpmean.trust.devices import lattice
from dpmean.trust.devices.randomness import Coins
from dpmean.trust.local.schema import COORDINATE, TICKET, hashed
from dpmean.trust.shuffle.schema import BUCKET_BYTES, Collection, Counters, Round, Stage, Sums
from dpmean.trust.shuffle.sizes import blanket_mean, noise_mean


def messages(
    collection: Collection, stage: Stage, asked: Round, user: int, row: Sequence[float], coins: Coins
) -> list[bytes]:
    """Return the messages of a client in a round, not yet sealed."""
    whole = lattice.on_grid(row, collection.step, collection.reach, asked.centre)
    if isinstance(stage, Counters):
        hidden = buckets(collection, stage, asked, user, whole)
        blanket = coins.poissons("blanket", blanket_mean(collection, stage), 1)[0]
        hidden += coins.below("buckets", stage.buckets, blanket)
        return [bucket.to_bytes(BUCKET_BYTES) for bucket in hidden]
    vector = whole_vector(stage, asked, whole)
    noise = coins.poissons("noise", noise_mean(collection, stage), 2 * collection.d)
    noisy = [x + up - down for x, up, down in zip(vector, noise[::2], noise[1::2], strict=True)]
    return [
        number.to_bytes(stage.tag_bytes) + share.to_bytes(stage.pack_bytes)
        for number in range(stage.packs)
        for share in _shares(stage, _packed(stage, noisy, number), number, coins)
    ]


def signs(name: str, count: int) -> list[int]:
    """Return the public signs of the rotation."""
    return [1 - 2 * (hashed(name, k, TICKET) >> 63) for k in range(count)]


def buckets(collection: Collection, stage: Counters, asked: Round, user: int, row: Sequence[int]) -> list[int]:
    """Return the bucket of a row at each level."""
    line = 0
    if stage.about == "median":
        line = hashed(collection.name, user, COORDINATE) % stage.lines
        value = lattice.rotated(row, signs(collection.name, len(row)), line)
    else:
        value = lattice.length(lattice.moved(row, asked.centre))
    cell = bisect_left(asked.gaps, -((asked.lows[line] - value) // asked.widths[line]))
    found, start = [], line * stage.per_line
    for level in stage.levels:
        found.append(start + (cell >> level))
        start += stage.at_level(level)
    return found


def whole_vector(stage: Sums, asked: Round, row: Sequence[int]) -> list[int]:
    """Return the row minus the centre, clipped, as a whole vector of norm at most ``stage.radius``.

    It is scaled so that its norm is at most ``radius - sqrt(d) / 2``; rounding moves it by at most ``sqrt(d) / 2``.
    """
    moved = lattice.moved(row, asked.centre)
    longest = 2 * max(lattice.length(moved), asked.radius)
    inner = twice_inner(stage.radius, len(row))
    return [(2 * x * inner + longest) // (2 * longest) for x in moved]


def twice_inner(radius: int, d: int) -> int:
    """Return an integer that is at most ``2 radius - sqrt(d)``."""
    return 2 * radius - lattice.length([1] * d)


def _packed(stage: Sums, vector: Sequence[int], number: int) -> int:
    part = vector[number * stage.packed : (number + 1) * stage.packed]
    return sum(x << (stage.bits * k) for k, x in enumerate(part))


def _shares(stage: Sums, value: int, number: int, coins: Coins) -> list[int]:
    """Split a number into shares that add up to it modulo 2^(8 pack_bytes); all but one are uniform."""
    modulus = 1 << (8 * stage.pack_bytes)
    random = coins.below(f"shares {number}", modulus, stage.shares - 1)
    return [*random, (value - sum(random)) % modulus]
