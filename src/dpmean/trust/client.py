"""A device: one row, one answer, randomized before it leaves. Knows the task and its row, and nothing else.

It takes no array library: whole numbers, exact coins from the operating system, and the schema of messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol, final

import msgspec

from dpmean.budget import PureDp, Zcdp
from dpmean.errors import ArgumentError, OverspendError
from dpmean.noise import exact
from dpmean.noise.entropy import entropy
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


class Coins(Protocol):
    """Where a device gets its randomness from."""

    def word(self, step: str) -> int:
        """Draw a uniform whole number below 2^64."""
        ...

    def gaussians(self, step: str, variance: Fraction, count: int) -> list[int]:
        """Draw from the discrete Gaussian."""
        ...


@final
class SystemCoins:
    """Exact variates from the operating system's entropy."""

    def word(self, step: str) -> int:  # noqa: ARG002  fresh bits need no address
        """Draw a uniform whole number below 2^64."""
        return _system_bits(64)

    def gaussians(self, step: str, variance: Fraction, count: int) -> list[int]:  # noqa: ARG002
        """Draw from the discrete Gaussian."""
        return [exact.discrete_gaussian(variance, _system_bits) for _ in range(count)]


def _system_bits(count: int) -> int:
    size = -(-count // 8)
    return int.from_bytes(entropy(size)) >> (8 * size - count)


@final
class Client:
    """One user's device. It answers one task of its life; ``memory`` holds what must survive a restart.

    A device that forgets its answer, and answers again, spends twice: ``remember`` is called with the memory before
    the message is returned, to store it where it survives.
    """

    def __init__(
        self,
        user: int,
        row: Sequence[float],
        budget: Budget,
        memory: dict[str, bytes | str] | None = None,
        coins: Coins | None = None,
        remember: Callable[[dict[str, bytes | str]], None] | None = None,
    ) -> None:
        self.user, self.budget = user, budget
        self.memory = {} if memory is None else memory
        self._row = [_number(x) for x in row]
        self._remember = remember
        self._coins = coins or SystemCoins()

    def answer(self, document: bytes) -> bytes | None:
        """Answer a task, or return None if it asks others. The same task gets the same bytes again."""
        try:
            task = msgspec.json.decode(document, type=Task)
        except msgspec.DecodeError as error:
            raise ArgumentError(f"this is not a task: {error}") from None
        self._check(task)
        if not is_asked(task, self.user):
            return None
        place = f"{task.name}/{task.round}"
        if self.memory:
            if self.memory.get("place") == place and self.memory.get("task") == document:
                return bytes(self.memory["message"])  # type: ignore[arg-type]
            raise OverspendError(f"this device has answered {self.memory.get('place')!r} and answers only once")
        body = self._body(task)
        message = msgspec.msgpack.encode(
            Message(VERSION, bytes.fromhex(task.name), task.round, self.user.to_bytes(8), body)
        )
        self.memory.update(place=place, task=document, message=message)
        if self._remember is not None:
            self._remember(self.memory)
        return message

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
        mine, theirs = _amount(self.budget), _amount(budget)
        if type(budget) is not type(self.budget) or theirs > mine:
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
        row = self._on_grid(task)
        if task.question == "vector":
            limit = (1 << 63) - 1
            return b"".join(max(-limit, min(x, limit)).to_bytes(8, signed=True) for x in self._vector(task, row))
        told = self._bit(task, row)
        lied = self._coins.word("answer") < int(task.lie)
        return bytes([told ^ lied])

    def _on_grid(self, task: Task) -> list[int]:
        """Return the row in whole numbers; one that is not within reach answers as if it were the centre."""
        unit = math.ldexp(1.0, task.step)
        limit = 2.0 * task.reach * unit
        if all(-limit <= x <= limit for x in self._row):  # NaN is not
            row = [round(x / unit) for x in self._row]
            if sum(x * x for x in row) <= task.reach**2:
                return row
        return list(task.centre) or [0] * task.d

    def _bit(self, task: Task, row: list[int]) -> int:
        """Compare a rotated coordinate, or the distance, with a threshold; or look up a pattern of cells."""
        if task.question.startswith("median"):
            width = len(task.signs)
            j = hashed(task.name, self.user, COORDINATE) % width
            parity = (-1 if (j & k).bit_count() & 1 else 1 for k in range(task.d))
            value = sum(p * s * x for p, s, x in zip(parity, task.signs, row, strict=False))
        else:
            j = 0
            square = sum((x - c) ** 2 for x, c in zip(row, task.centre, strict=True))
            value = _root_up(square)
        if not task.question.endswith("tree"):
            return int(value <= task.thresholds[j])
        cell = sum(value > end for end in task.thresholds)
        return tree_bit(cell, len(task.thresholds) + 1, task.name, self.user)

    def _vector(self, task: Task, row: list[int]) -> list[int]:
        """Hide the row, minus the centre and clipped to the radius."""
        budget = read_budget(task.budget)
        moved = [x - c for x, c in zip(row, task.centre, strict=True)]
        square = sum(x * x for x in moved)
        if isinstance(budget, Zcdp):
            if square > task.radius**2:
                length = _root_up(square)
                moved = [x * task.radius // length if x >= 0 else -(-x * task.radius // length) for x in moved]
            noise = self._coins.gaussians("vector", vector_variance(task.radius, budget), task.d)
            return [x + z for x, z in zip(moved, noise, strict=True)]
        return self._in_half_space(task, moved, math.sqrt(square))

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


def _number(x: object) -> float:
    """Read a number of the row; what is none is NaN, and the row answers as the centre would."""
    try:
        return float(x)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _root_up(square: int) -> int:
    return math.isqrt(square - 1) + 1 if square else 0


def _amount(budget: Budget) -> Fraction:
    return budget.epsilon if isinstance(budget, PureDp) else budget.rho


def _half_space(task: Task) -> HalfSpace:
    return HalfSpace(task.threshold, min(int(task.outside), WORD))
