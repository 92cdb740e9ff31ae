"""A device: one row, one answer, randomized before it leaves. Knows the task and its row, and nothing else.

It takes no array library: whole numbers, exact coins from the operating system, and the schema of messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar, final

import msgspec

from dpmean.budget import ApproxDp, PureDp, Zcdp
from dpmean.errors import ArgumentError, OverspendError
from dpmean.trust import place
from dpmean.trust.coins import Coins, SystemCoins
from dpmean.trust.randomizers import (
    SCALE_BITS,
    WORD,
    Budget,
    HalfSpace,
    flips_are_covered,
    half_space_is_covered,
    vector_variance,
)
from dpmean.trust.schema import (
    COORDINATE,
    LEVEL,
    PATTERN,
    VERSION,
    Message,
    Task,
    check_form,
    hashed,
    is_asked,
    read_budget,
)
from dpmean.trust.shuffle import encoder
from dpmean.trust.shuffle.costs import check_cost
from dpmean.trust.shuffle.schema import VERSION as COLLECTED
from dpmean.trust.shuffle.schema import Batch, Collection, Round, check_collection, check_round, digest_of
from dpmean.trust.shuffle.seal import seal


@final
class Client:
    """One user's device. It answers one task of its life, or all rounds of one collection.

    ``memory`` holds what must survive a restart. In the shuffle model it agrees to a collection only if that relies on
    no more than ``honest`` of its users, and seals what is sent unless ``sealed`` is False.

    A device that forgets its answer, and answers again, spends twice: ``remember`` is called with the memory before
    the message is returned, to store it where it survives.
    """

    def __init__(
        self,
        user: int,
        row: Sequence[float],
        budget: Budget | ApproxDp,
        memory: dict[str, bytes | str] | None = None,
        coins: Coins | None = None,
        remember: Callable[[dict[str, bytes | str]], None] | None = None,
        honest: Fraction = Fraction(4, 5),
        sealed: bool = True,
    ) -> None:
        self.user, self.budget = user, budget
        self._honest, self._sealed = honest, sealed
        self.memory = {} if memory is None else memory
        self._row = [place.number(x) for x in row]
        self._remember = remember
        self._coins = coins or SystemCoins()

    def answer(self, document: bytes) -> bytes | None:
        """Answer a task, or return None if it asks others. The same task gets the same bytes again."""
        task = _read(document, Task, "task")
        self._check(task)
        if not is_asked(task, self.user):
            return None
        at = f"{task.name}/{task.round}"
        if self.memory:
            if self.memory.get("place") == at and self.memory.get("task") == document:
                return self._recall("message")
            raise OverspendError(f"this device has answered {self.memory.get('place')!r} and answers only once")
        body = self._body(task)
        message = msgspec.msgpack.encode(
            Message(VERSION, bytes.fromhex(task.name), task.round, self.user.to_bytes(8), body)
        )
        self._keep(place=at, task=document, message=message)
        return message

    def join(self, document: bytes) -> ApproxDp:
        """Agree to a collection in the shuffle model, or refuse one that could cost more than is allowed.

        Return what its rounds cost together, as long as the collection's number of clients is honest.
        """
        collection = _read(document, Collection, "collection")
        check_collection(collection)
        if not isinstance(self.budget, ApproxDp):
            raise OverspendError(f"a collection costs an epsilon and a delta, and this device allows {self.budget}")
        if len(self._row) != collection.d:
            raise ArgumentError(
                f"the collection is about rows of {collection.d} columns, this one has {len(self._row)}"
            )
        if not 0 <= self.user < collection.users:
            raise ArgumentError(f"users of the collection are numbered 0 to {collection.users - 1}, got {self.user}")
        if collection.honest > self._honest * collection.users:
            raise OverspendError(
                f"the collection relies on {collection.honest} of {collection.users} users, and this device on "
                f"{float(self._honest):.0%} at most: the others may be silent or collude"
            )
        if self._sealed and not collection.key:
            raise OverspendError("the collection has no key, and this device seals what it sends: see sealed=False")
        cost = check_cost(collection, self.budget)
        if self.memory and self.memory.get("collection") != document:
            raise OverspendError(
                "this device has answered, or agreed to another collection, and takes part in one only"
            )
        self._keep(collection=document)
        return cost

    def encode(self, document: bytes) -> bytes:
        """Return the batch of messages that answers a round of the collection; the same one when asked again."""
        if "collection" not in self.memory:
            raise ArgumentError("this device has agreed to no collection: call join first")
        collection = msgspec.json.decode(self._recall("collection"), type=Collection)
        asked = _read(document, Round, "round")
        stage = check_round(collection, asked)
        known = self.memory.get(f"round {asked.round}")
        if known is not None:
            if known != document:
                raise OverspendError(f"this device has answered round {asked.round} and answers it only once")
            return self._recall(f"batch {asked.round}")
        messages = encoder.messages(collection, stage, asked, self.user, self._row, self._coins)
        digest = digest_of(self._recall("collection"))
        if collection.key:
            messages = seal(messages, collection.key, digest, asked.round)
        batch = Batch(COLLECTED, digest, asked.round, self.user.to_bytes(8), messages)
        encoded = msgspec.msgpack.encode(batch)
        self._keep(**{f"round {asked.round}": document, f"batch {asked.round}": encoded})
        return encoded

    def _recall(self, fact: str) -> bytes:
        """Return what was kept: bytes, or whatever kind of them a memory gives back."""
        return bytes(self.memory[fact])  # type: ignore[arg-type]  # only the place is text, and is not asked for

    def _keep(self, **facts: bytes | str) -> None:
        """Remember, where it survives, before anything is sent."""
        if self._remember is not None:
            self._remember({**self.memory, **facts})
        self.memory.update(facts)

    def _check(self, task: Task) -> None:
        """Refuse a task that this version does not know, that is not well formed, or that costs more than is allowed.

        Nothing here depends on the row: an error must not tell anything about it either.
        """
        if task.version != VERSION:
            raise ArgumentError(f"this device speaks version {VERSION}, and the task is of version {task.version}")
        if len(self._row) != task.d:
            raise ArgumentError(f"the task is about rows of {task.d} columns, this one has {len(self._row)}")
        check_form(task)
        budget = read_budget(task.budget)
        mine = self.budget
        if isinstance(mine, ApproxDp) or type(budget) is not type(mine) or _amount(budget) > _amount(mine):
            raise OverspendError(f"the task would cost {budget}, and this device allows {self.budget}")
        if task.question != "vector":
            covered = flips_are_covered(int(task.lie), budget)
        elif isinstance(budget, Zcdp):
            covered = True  # the device computes the noise itself
        else:
            covered = half_space_is_covered(_half_space(task), budget)
        if not covered:
            raise OverspendError(f"the answer would cost more than the task says, {budget}")

    def _body(self, task: Task) -> bytes:
        row = place.on_grid(self._row, task.step, task.reach, task.centre)
        if task.question == "vector":
            limit = (1 << 63) - 1
            return b"".join(max(-limit, min(x, limit)).to_bytes(8, signed=True) for x in self._vector(task, row))
        told = self._bit(task, row)
        lied = self._coins.word("answer") < int(task.lie)
        return bytes([told ^ lied])

    def _bit(self, task: Task, row: list[int]) -> int:
        """Compare a rotated coordinate, or the distance, with a threshold; or look up a pattern of cells."""
        if task.question.startswith("median"):
            j = hashed(task.name, self.user, COORDINATE) % len(task.signs)
            value = place.rotated(row, task.signs, j)
        else:
            j, value = 0, place.length(place.moved(row, task.centre))
        if not task.question.endswith("tree"):
            return int(value <= task.thresholds[j])
        cell = sum(value > end for end in task.thresholds)
        return tree_bit(cell, len(task.thresholds) + 1, task.name, self.user)

    def _vector(self, task: Task, row: list[int]) -> list[int]:
        """Hide the row, minus the centre and clipped to the radius."""
        budget = read_budget(task.budget)
        moved = place.moved(row, task.centre)
        if isinstance(budget, Zcdp):
            length = place.length(moved)
            if length > task.radius:
                moved = [x * task.radius // length if x >= 0 else -(-x * task.radius // length) for x in moved]
            noise = self._coins.gaussians("vector", vector_variance(task.radius, budget), task.d)
            return [x + z for x, z in zip(moved, noise, strict=True)]
        return self._in_half_space(task, moved, math.sqrt(sum(x * x for x in moved)))

    def _in_half_space(self, task: Task, moved: list[int], length: float) -> list[int]:
        """Turn the vector into a direction, forwards or backwards, and propose until one is kept."""
        forwards = (1 + min(length / task.radius, 1.0)) / 2
        if not length:
            moved, length = [1] + [0] * (task.d - 1), 1.0
        sign = 1 if (self._coins.word("sign") >> 11) * 2.0**-53 < forwards else -1
        level = math.ldexp(task.threshold, SCALE_BITS) * length
        proposal = 0
        while True:
            drawn = self._coins.gaussians(f"proposal {proposal}", Fraction(1 << (2 * SCALE_BITS)), task.d)
            along = 0.0
            for z, x in zip(drawn, moved, strict=True):
                along += float(z) * float(x)
            if sign * along >= level or self._coins.word(f"keep {proposal}") < int(task.outside):
                return drawn
            proposal += 1


def tree_bit(cell: int, cells: int, name: str, user: int) -> int:
    """Return one bit about which of ``cells`` cells holds a value, seen through a public pattern.

    The user's level cuts the line into 2^level blocks. The sign is +1 in the left half of a block and -1 in the right
    one, times the entry of a Hadamard matrix in the user's row and the block's column; 1 stands for +1.
    """
    depth = (cells - 1).bit_length()
    level = hashed(name, user, LEVEL) % depth
    block, half = cell >> (depth - level), cell >> (depth - level - 1) & 1
    pattern = hashed(name, user, PATTERN) % (1 << level)
    return 1 ^ half ^ ((pattern & block).bit_count() & 1)


_Document = TypeVar("_Document", Task, Collection, Round)


def _read(document: bytes, kind: type[_Document], name: str) -> _Document:
    try:
        return msgspec.json.decode(document, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"this is not a {name}: {error}") from None


def _amount(budget: Budget) -> Fraction:
    return budget.epsilon if isinstance(budget, PureDp) else budget.rho


def _half_space(task: Task) -> HalfSpace:
    return HalfSpace(task.threshold, min(int(task.outside), WORD))
