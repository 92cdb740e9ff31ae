"""Messages and public hashes of many users at once, in arrays: what ``trust.local.schema`` says of one."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from dpmean.queries.queries import Ints
from dpmean.trust.devices.signatures import VERSION, digest_of
from dpmean.trust.local.schema import LEVEL, PATTERN, Message, Task

Lines = NDArray[np.uint8]
"""Messages of equal length, one a line."""


def hashed_all(name: str, users: Ints, purpose: int) -> NDArray[np.uint64]:
    """Return the public hashes of many users: ``schema.hashed`` for each."""
    with np.errstate(over="ignore"):
        x = np.uint64(int(name, 16)) + (np.uint64(4) * users.astype(np.uint64) + np.uint64(purpose + 1)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def tree_places(task: Task, users: Ints) -> Ints:
    """Return 2^level + pattern for each user of a tree."""
    depth = len(task.thresholds).bit_length()
    level = (hashed_all(task.name, users, LEVEL) % np.uint64(depth)).astype(np.int64)
    pattern = hashed_all(task.name, users, PATTERN).astype(np.uint64) % (np.uint64(1) << level.astype(np.uint64))
    return (1 << level) + pattern.astype(np.int64)


def body_size(task: Task) -> int:
    """Return the length of a message's body."""
    return 8 * task.d if task.question == "vector" else 1


def header(task: Task) -> tuple[Lines, int, int]:
    """Return the bytes before the body, with a user of 0, and where the user's number and the body start."""
    empty = Message(VERSION, digest_of(msgspec.json.encode(task)), bytes(8), bytes(body_size(task)))
    whole = msgspec.msgpack.encode(empty)
    body_at = len(whole) - body_size(task)
    user_at = body_at - 8 - (2 if body_size(task) < 256 else 3 if body_size(task) < 65536 else 5)
    return np.frombuffer(whole[:body_at], dtype=np.uint8), user_at, body_at
