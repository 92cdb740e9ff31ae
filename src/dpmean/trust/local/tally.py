"""What the answers of one round add up to, and which of them an honest device could have sent."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpmean.privacy.budgets import PureDp
from dpmean.queries.queries import Ints
from dpmean.trust.devices.hashing import Lines, hashed_all, tree_places
from dpmean.trust.devices.signatures import digest_of
from dpmean.trust.local.randomizers import SCALE_BITS, Budget, vector_variance
from dpmean.trust.local.schema import COORDINATE, Task

DIGEST = 16
"""Bytes that are kept of the digest of each answer: enough to tell a duplicate from a conflict."""
_GAUSSIAN_REACH = 12  # standard deviations that honest noise does not exceed in the life of the universe


def empty_tally(task: Task) -> Ints:
    """Return zeros: by column, after how many were heard; or by line, place in the tree and bit."""
    if task.question == "vector":
        return np.zeros(task.d + 1, dtype=np.int64)
    size = len(task.signs) if task.question.startswith("median") else 1
    return np.zeros(
        (size, len(task.thresholds) + 1, 2) if task.question.endswith("tree") else (size, 2), dtype=np.int64
    )


def read_answers(task: Task, bodies: Lines, budget: Budget) -> tuple[NDArray[np.bool_], Ints]:
    """Read answers, and say which of them an honest device could have sent."""
    if task.question != "vector":
        values = bodies.astype(np.int64)
        return values[:, 0] <= 1, values
    values = np.ascontiguousarray(bodies).view(">i8").astype(np.int64).reshape(len(bodies), task.d)
    if isinstance(budget, PureDp):
        limit = _GAUSSIAN_REACH << SCALE_BITS
    else:
        limit = task.radius + _GAUSSIAN_REACH * (math.isqrt(math.ceil(vector_variance(task.radius, budget))) + 1)
    return np.all((values <= limit) & (values >= -limit), axis=1), values


def add_answers(tally: Ints, task: Task, users: Ints, values: Ints) -> None:
    """Add the answers of some users."""
    if task.question == "vector":
        tally[0] += len(users)
        tally[1:] += values.sum(axis=0)
        return
    line = np.zeros(len(users), dtype=np.int64)
    if task.question.startswith("median"):
        line = (hashed_all(task.name, users, COORDINATE) % np.uint64(len(task.signs))).astype(np.int64)
    if not task.question.endswith("tree"):
        np.add.at(tally, (line, values[:, 0]), 1)
        return
    np.add.at(tally, (line, tree_places(task, users), values[:, 0]), 1)


def digests(users: Ints, bodies: Lines) -> Lines:
    """Return the start of the digest of each answer."""
    whole = b"".join(
        digest_of(user.to_bytes(8) + body.tobytes())[:DIGEST] for user, body in zip(users.tolist(), bodies, strict=True)
    )
    return np.frombuffer(whole, dtype=np.uint8).reshape(-1, DIGEST)
