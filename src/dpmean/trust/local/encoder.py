"""What a device answers in the local model: a bit that may lie, or a vector hidden in noise. No array library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpmean.privacy.budgets import Zcdp
from dpmean.trust.devices import lattice
from dpmean.trust.devices.randomness import Coins
from dpmean.trust.local.randomizers import SCALE_BITS, vector_variance
from dpmean.trust.local.schema import COORDINATE, LEVEL, PATTERN, Task, hashed, read_budget

_LARGEST = (1 << 63) - 1


def body(task: Task, user: int, row: Sequence[float], coins: Coins) -> bytes:
    """Return the randomized answer of a device, as it travels."""
    whole = lattice.on_grid(row, task.step, task.reach, task.centre)
    if task.question == "vector":
        hidden = _vector(task, whole, coins)
        return b"".join(max(-_LARGEST, min(x, _LARGEST)).to_bytes(8, signed=True) for x in hidden)
    told = _bit(task, user, whole)
    lied = coins.word("answer") < int(task.lie)
    return bytes([told ^ lied])


def _bit(task: Task, user: int, row: list[int]) -> int:
    """Compare a rotated coordinate, or the distance, with a threshold; or look up a pattern of cells."""
    if task.question.startswith("median"):
        j = hashed(task.name, user, COORDINATE) % len(task.signs)
        value = lattice.rotated(row, task.signs, j)
    else:
        j, value = 0, lattice.length(lattice.moved(row, task.centre))
    if not task.question.endswith("tree"):
        return int(value <= task.thresholds[j])
    cell = sum(value > end for end in task.thresholds)
    return tree_bit(cell, len(task.thresholds) + 1, task.name, user)


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


def _vector(task: Task, row: list[int], coins: Coins) -> list[int]:
    """Hide the row, minus the centre and clipped to the radius."""
    budget = read_budget(task.budget)
    moved = lattice.moved(row, task.centre)
    if isinstance(budget, Zcdp):
        length = lattice.length(moved)
        if length > task.radius:
            moved = [x * task.radius // length if x >= 0 else -(-x * task.radius // length) for x in moved]
        noise = coins.gaussians("vector", vector_variance(task.radius, budget), task.d)
        return [x + z for x, z in zip(moved, noise, strict=True)]
    return _in_half_space(task, moved, math.sqrt(sum(x * x for x in moved)), coins)


def _in_half_space(task: Task, moved: list[int], length: float, coins: Coins) -> list[int]:
    """Turn the vector into a direction, forwards or backwards, and propose until one is kept."""
    forwards = (1 + min(length / task.radius, 1.0)) / 2
    if not length:
        moved, length = [1] + [0] * (task.d - 1), 1.0
    sign = 1 if (coins.word("sign") >> 11) * 2.0**-53 < forwards else -1
    level = math.ldexp(task.threshold, SCALE_BITS) * length
    proposal = 0
    while True:
        drawn = coins.gaussians(f"proposal {proposal}", Fraction(1 << (2 * SCALE_BITS)), task.d)
        along = 0.0
        for z, x in zip(drawn, moved, strict=True):
            along += float(z) * float(x)
        if sign * along >= level or coins.word(f"keep {proposal}") < int(task.outside):
            return drawn
        proposal += 1
