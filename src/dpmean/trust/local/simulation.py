"""The local model over rows in memory: every row a device, all of them at once, with the messages they would send."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.privacy.budgets import Zcdp
from dpmean.queries.interfaces import Noise
from dpmean.queries.queries import Floats, Ints
from dpmean.release.estimate import Estimate
from dpmean.trust.devices import lattice_numpy
from dpmean.trust.devices.hashing import Lines, hashed_all, header, tree_places
from dpmean.trust.local.analyzer import LocalAnalyzer
from dpmean.trust.local.randomizers import SCALE_BITS, vector_variance
from dpmean.trust.local.schema import COORDINATE, TICKET, Task, read_budget

_BLOCK = 1 << 17


@final
class Fleet:
    """One device per row. Does what ``Client`` does, for many at a time; a test compares their bytes."""

    def __init__(self, rows: Floats, noise: Noise) -> None:
        self.rows, self._noise = rows, noise
        self.messages = self.bytes = 0

    def play(self, analyzer: LocalAnalyzer) -> Estimate:
        """Answer every round until there is an estimate."""
        while not analyzer.done:
            for lines in self.answers(analyzer.task):
                analyzer.receive_lines(lines)
                self.messages += len(lines)
                self.bytes += lines.size
            analyzer.close()
        if analyzer.estimate is None:
            raise AssertionError("a complete collection has an estimate")
        return analyzer.estimate

    def answers(self, task: Task) -> list[Lines]:
        """Return the messages of all users that a task asks, in blocks."""
        everyone = np.arange(len(self.rows))
        tickets = hashed_all(task.name, everyone, TICKET) >> np.uint64(32)
        asked = everyone[(tickets >= np.uint64(task.tickets[0])) & (tickets < np.uint64(task.tickets[1]))]
        return [self._lines(task, asked[start : start + _BLOCK]) for start in range(0, len(asked), _BLOCK)]

    def _lines(self, task: Task, users: Ints) -> Lines:
        start, user_at, body_at = header(task)
        bodies = self._bodies(task, users)
        lines = np.empty((len(users), body_at + bodies.shape[1]), dtype=np.uint8)
        lines[:, :body_at] = start
        lines[:, user_at : user_at + 8] = users.astype(">u8")[:, np.newaxis].view(np.uint8)
        lines[:, body_at:] = bodies
        return lines

    def _bodies(self, task: Task, users: Ints) -> Lines:
        rows = lattice_numpy.on_grid(self.rows[users], task.step, task.reach, task.centre)
        if task.question == "vector":
            answers = self._vectors(task, users, rows)
            return answers.astype(">i8").view(np.uint8).reshape(len(users), 8 * task.d)
        lied = self._words("answer", users) < np.uint64(int(task.lie))
        return (bits(task, users, rows) ^ lied.astype(np.int64)).astype(np.uint8)[:, np.newaxis]

    def _vectors(self, task: Task, users: Ints, rows: Ints) -> Ints:
        budget = read_budget(task.budget)
        moved = lattice_numpy.moved(rows, task.centre)
        squares = np.einsum("ij,ij->i", moved, moved)
        if isinstance(budget, Zcdp):
            noise = self._gaussians("vector", users, vector_variance(task.radius, budget), task.d)
            return clipped(moved, squares, task.radius) + noise
        return self._in_half_space(task, users, moved, np.sqrt(squares.astype(np.float64)))

    def _in_half_space(self, task: Task, users: Ints, moved: Ints, lengths: Floats) -> Ints:
        forwards = (1 + np.minimum(lengths / task.radius, 1.0)) / 2
        nowhere = lengths == 0
        moved[nowhere], lengths[nowhere] = 0, 1.0
        moved[nowhere, 0] = 1
        words = self._words("sign", users) >> np.uint64(11)
        signs = np.where(words.astype(np.float64) * 2.0**-53 < forwards, 1, -1)
        levels = math.ldexp(task.threshold, SCALE_BITS) * lengths
        answers = np.empty_like(moved)
        left = np.arange(len(users))
        proposal = 0
        while len(left):
            drawn = self._gaussians(f"proposal {proposal}", users[left], Fraction(1 << (2 * SCALE_BITS)), task.d)
            along = np.zeros(len(left))
            for j in range(task.d):  # in the order of the columns, as a device adds up
                along += drawn[:, j].astype(np.float64) * moved[left, j].astype(np.float64)
            kept = signs[left] * along >= levels[left]
            outside = np.flatnonzero(~kept)
            words = self._words(f"keep {proposal}", users[left[outside]])
            kept[outside] = words < np.uint64(int(task.outside))
            answers[left[kept]] = drawn[kept]
            left = left[~kept]
            proposal += 1
        return answers

    def _words(self, step: str, users: Ints) -> NDArray[np.uint64]:
        """Draw one word for each user; a seed gives each user the same one, whoever else is asked."""
        if not self._noise.seeded:
            return self._noise.at(step).words(len(users))
        return self._noise.at(step).words(int(users.max()) + 1)[users] if len(users) else np.empty(0, np.uint64)

    def _gaussians(self, step: str, users: Ints, variance: Fraction, d: int) -> Ints:
        if not self._noise.seeded:
            return self._noise.at(step).gaussian(variance, len(users) * d).reshape(-1, d)
        if not len(users):
            return np.empty((0, d), dtype=np.int64)
        return self._noise.at(step).gaussian(variance, (int(users.max()) + 1) * d).reshape(-1, d)[users]


def bits(task: Task, users: Ints, rows: Ints) -> Ints:
    """Return the true answers to a question about a bit."""
    if task.question.startswith("median"):
        line = (hashed_all(task.name, users, COORDINATE) % np.uint64(len(task.signs))).astype(np.int64)
        values = lattice_numpy.rotated(rows, task.signs, line)
    else:
        line = np.zeros(len(users), dtype=np.int64)
        values = lattice_numpy.lengths(lattice_numpy.moved(rows, task.centre))
    thresholds = np.array(task.thresholds)
    if not task.question.endswith("tree"):
        return np.asarray(values <= thresholds[line], dtype=np.int64)
    cells = np.searchsorted(thresholds, values, side="left")
    spots = tree_places(task, users)
    depth = len(task.thresholds).bit_length()
    level = np.frexp(spots.astype(np.float64))[1] - 1
    pattern = spots - (1 << level)
    block, half = cells >> (depth - level), cells >> (depth - level - 1) & 1
    answers: Ints = 1 ^ half ^ (np.bitwise_count(pattern & block).astype(np.int64) & 1)
    return answers


def clipped(rows: Ints, squares: Ints, radius: int) -> Ints:
    """Shorten rows, in integers and towards zero, so that none is longer than the radius."""
    long = squares > radius**2
    lengths = np.where(long, lattice_numpy.root_up(squares), 1)[:, np.newaxis]
    short = np.sign(rows) * (np.abs(rows) * radius // lengths)
    found: Ints = np.where(long[:, np.newaxis], short, rows)
    return found
