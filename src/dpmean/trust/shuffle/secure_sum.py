"""Packed split-and-mix sums: shares of many clients, added up modulo a power of two, tell the noisy sum and no more."""

from __future__ import annotations

import math

import numpy as np

from dpmean.errors import DataError
from dpmean.noise.jit import compiled
from dpmean.queries.queries import Ints
from dpmean.trust.devices.hashing import Lines
from dpmean.trust.shuffle.schema import Collection, Sums

_RELIABLE = 13.0
"""Standard deviations that honest noise does not exceed in the life of the universe."""


def tally(stage: Sums, lines: Lines) -> Lines:
    """Add up shares by pack, to one big number each (big endian); refuse if packs differ in the number of shares."""
    packs = np.zeros(len(lines), dtype=np.int64)
    if stage.tag_bytes:
        packs = np.ascontiguousarray(lines[:, : stage.tag_bytes]).view(">u2")[:, 0].astype(np.int64)
    held = np.bincount(packs, minlength=stage.packs)
    if len(held) > stage.packs or held.min() != held.max():
        raise DataError("shares are missing, or there are too many: the sum cannot be told")
    totals = np.zeros((stage.packs, stage.pack_bytes), dtype=np.int64)
    add_bytes(lines, packs, totals)
    return carried(totals)


@compiled
def add_bytes(lines: Lines, packs: Ints, totals: Ints) -> None:
    """Add up big numbers, byte by byte."""
    first = lines.shape[1] - totals.shape[1]
    for i in range(len(lines)):
        for j in range(totals.shape[1]):
            totals[packs[i], j] += lines[i, first + j]


def carried(totals: Ints) -> Lines:
    """Turn sums of bytes into bytes, modulo what they can hold."""
    modulus = 1 << (8 * totals.shape[1])
    numbers = [sum(int(x) << (8 * k) for k, x in enumerate(line[::-1])) % modulus for line in totals]
    return np.array([list(number.to_bytes(totals.shape[1])) for number in numbers], dtype=np.uint8)


def largest(collection: Collection, stage: Sums, clients: int) -> int:
    """Return the largest number that an honest sum can hold."""
    return clients * stage.radius + math.ceil(_RELIABLE * math.sqrt(stage.variance * clients / collection.honest))


def decoded(collection: Collection, stage: Sums, totals: Lines, clients: int) -> Ints:
    """Unpack the sum; refuse one that honest clients could not have sent."""
    found: list[int] = []
    size, half = 1 << stage.bits, 1 << (stage.bits - 1)
    modulus = 1 << (8 * stage.pack_bytes)
    for total in totals:
        left = int.from_bytes(total.tobytes())
        left -= modulus if left >= modulus // 2 else 0
        for _ in range(stage.packed):
            number = (left + half) % size - half
            found.append(number)
            left = (left - number) >> stage.bits
        if left:
            raise DataError("the sum is out of range: a share was lost or forged, and it cannot be told")
    limit = largest(collection, stage, clients)
    if any(found[collection.d :]) or max(map(abs, found)) > limit:
        raise DataError("the sum is out of range: a share was lost or forged, and it cannot be told")
    return np.array(found[: collection.d], dtype=np.int64)


def packed(stage: Sums, sums: Ints) -> Lines:
    """Pack sums as shares that were added up would: what ``decoded`` unpacks."""
    modulus = 1 << (8 * stage.pack_bytes)
    lines = []
    for number in range(stage.packs):
        part = sums[number * stage.packed : (number + 1) * stage.packed].tolist()
        total = sum(x << (stage.bits * k) for k, x in enumerate(part)) % modulus
        lines.append(list(total.to_bytes(stage.pack_bytes)))
    return np.array(lines, dtype=np.uint8)
