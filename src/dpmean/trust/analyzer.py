"""The analyzer: asks in rounds, hears messages in any order, and knows nothing that devices did not randomize.

The protocol is a generator that yields tasks and is sent tallies. What must survive a crash is the public setup, the
tallies of closed rounds, and that of the open one: replaying the former leads back to the same task.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator
from typing import final

import msgspec
import numpy as np
from numpy.typing import NDArray

from dpmean.budget import PureDp, Zcdp
from dpmean.errors import ArgumentError
from dpmean.grid import padded
from dpmean.receipt import Receipt
from dpmean.rotation import hadamard
from dpmean.trust.division import LADDER_BITS, LINE_BITS, TREE_BITS, divide
from dpmean.trust.randomizers import (
    MOST_COLUMNS,
    SCALE_BITS,
    WORD,
    Budget,
    half_space,
    lies,
    unit_variance,
    vector_variance,
)
from dpmean.trust.schema import (
    COORDINATE,
    TICKET,
    TICKETS,
    VERSION,
    Message,
    Outcome,
    Question,
    Task,
    read_budget,
    write_budget,
)
from dpmean.trust.search import WeighedSearch, farthest, halved, ladder_up_to, shares_from_tree
from dpmean.trust.wire import Lines, body_size, hashed_all, header, tree_places
from dpmean.types import Estimate, Ints

_GRID_BITS = 24
_PER_OCTAVE = 10
_GAUSSIAN_REACH = 12  # standard deviations that honest noise does not exceed in the life of the universe


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What everybody knows before the first round: public, like all tasks that follow from it."""

    name: str
    users: int
    d: int
    reach: float
    budget: str
    few_rounds: bool = False


@final
class Analyzer:
    """Plays its part of one collection."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.budget = read_budget(setup.budget)
        self.lie = lies(self.budget)
        self.step = math.frexp(setup.reach)[1] - _GRID_BITS
        self.reach = math.ceil(math.ldexp(setup.reach, -self.step)) + math.isqrt(setup.d) + 1  # rounding is forgiven
        self.division = divide(setup.users, setup.d, self.budget, few_rounds=setup.few_rounds)
        self.width = padded(setup.d)
        self.signs = 1 - 2 * (hashed_all(setup.name, np.arange(self.width), TICKET) >> np.uint64(63)).astype(np.int64)
        self.outcomes: Counter[str] = Counter()
        self.answered = np.zeros(setup.users, dtype=np.bool_)
        self.closed: list[Ints] = []
        self.estimate: Estimate | None = None
        self._protocol = self._play()
        self._open(next(self._protocol))

    # --- the protocol ----------------------------------------------------------------------------------------

    def _play(self) -> Generator[Task, Ints, Estimate]:
        """Find medians, then a radius, then the mean."""
        plan = self.division
        first, second = (round(TICKETS * share) for share in (plan.for_medians, plan.for_medians + plan.for_radius))
        find = self._all_at_once if self.setup.few_rounds else self._step_by_step

        half = 1 << (TREE_BITS if self.setup.few_rounds else LINE_BITS) - 1
        line = (np.arange(2 * half) - half + 1) * -(-farthest(self.reach, self.width) // half)
        found = yield from find("median", (0, first), line, self.width, 0.5, signs=self.signs.tolist())
        centre = np.rint(self.signs * hadamard(line[found].astype(np.float64)) / self.width)[: self.setup.d]
        length = float(np.linalg.norm(centre))
        centre = np.rint(centre * min(1.0, self.reach / max(length, 1.0))).astype(np.int64)

        ladder = ladder_up_to(2 * self.reach, 1 << LADDER_BITS, _PER_OCTAVE)
        index = yield from find("radius", (first, second), ladder, 1, 1 - plan.clipped, centre=centre.tolist())
        radius = int(ladder[index[0]])

        tally = yield self._task("vector", second, TICKETS, centre=centre.tolist(), radius=radius, **self._hiding())
        return self._finish(tally, centre, radius)

    def _step_by_step(
        self, question: Question, tickets: tuple[int, int], points: Ints, size: int, rank: float, **more: object
    ) -> Generator[Task, Ints, Ints]:
        """Search lines of points for a quantile, one point of each line in a round, each with other users."""
        search = WeighedSearch(size, len(points), rank)
        rounds = self.division.median_rounds if question == "median" else self.division.radius_rounds
        (first, last), lie = tickets, self.lie / WORD
        for number in range(rounds):
            low, high = (first + (last - first) * k // rounds for k in (number, number + 1))
            middle = search.middle
            asked = {"thresholds": points[middle].tolist(), "lie": str(self.lie), **more}
            tally = yield self._task(question, low, high, **asked)
            users = tally.sum(axis=1)
            shares = (tally[:, 1] / np.maximum(users, 1) - lie) / (1 - 2 * lie)
            std = np.where(users > 0, np.sqrt(unit_variance(self.lie) / np.maximum(users, 1)), np.inf)
            search.learn(middle, shares, std)
        return search.answer

    def _all_at_once(
        self, question: Question, tickets: tuple[int, int], points: Ints, size: int, rank: float, **more: object
    ) -> Generator[Task, Ints, Ints]:
        """Search lines of points for a quantile in one round, with a tree over the cells between them."""
        tree: Question = "median tree" if question == "median" else "radius tree"
        asked = {"thresholds": points[:-1].tolist(), "lie": str(self.lie), **more}
        tally = yield self._task(tree, *tickets, **asked)
        shares, _ = shares_from_tree(tally[:size, :, 1], tally[:size, :, 0], self.lie / WORD)
        return halved(shares, rank)

    def _hiding(self) -> dict[str, object]:
        if isinstance(self.budget, Zcdp):
            return {}
        answer = half_space(self.budget.epsilon)
        return {"threshold": answer.threshold, "outside": str(answer.outside)}

    def _task(self, question: Question, first: int, last: int, **more: object) -> Task:
        setup = self.setup
        common = {"version": VERSION, "name": setup.name, "round": len(self.closed), "budget": setup.budget}
        place = {"d": setup.d, "step": self.step, "reach": self.reach, "tickets": (first, last)}
        return msgspec.convert({**common, **place, "question": question, **more}, Task)

    def _finish(self, tally: Ints, centre: Ints, radius: int) -> Estimate:
        users, unit = int(tally[0]), math.ldexp(1.0, self.step)
        if isinstance(self.budget, Zcdp):
            scale, std = 1.0, math.sqrt(float(vector_variance(radius, self.budget)) / users)
        else:
            scale = radius / math.ldexp(half_space(self.budget.epsilon).gain, SCALE_BITS)
            std = math.ldexp(scale, SCALE_BITS) / math.sqrt(users)
        moved = tally[1:].astype(np.float64) * (scale / users)
        counted = f"{int(self.answered.sum())} of {self.setup.users} users were heard in {len(self.closed)} rounds"
        receipt = Receipt(
            step="answers",
            asked=f"one answer per user, a bit or a vector of norm at most {radius * unit:.4g}; {counted}",
            mechanism=f"randomized response, {'discrete Gaussian' if scale == 1.0 else 'half spaces of vectors'}",
            cost=self.budget,
        )
        return Estimate(
            mean=(centre + moved) * unit,
            noise_std=std * unit,
            centre=centre.astype(np.float64) * unit,
            radius=radius * unit,
            receipts=(receipt,),
        )

    # --- rounds and messages ---------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether there is an estimate."""
        return self.estimate is not None

    def document(self) -> bytes:
        """Return the open task as devices read it."""
        if self.done:
            raise ArgumentError("this collection is complete: there is nothing left to ask")
        return msgspec.json.encode(self.task)

    def _open(self, task: Task) -> None:
        self.task = task
        self.tally = np.zeros(_tally_shape(task), dtype=np.int64)

    def close(self) -> None:
        """End the open round; who has not answered by now is not heard."""
        if self.done:
            raise ArgumentError("this collection is complete")
        if self.task.question == "vector" and not self.tally[0]:
            raise ArgumentError("nobody has answered the last round: there is no mean yet")
        self.closed.append(self.tally.copy())
        try:
            self._open(self._protocol.send(self.tally))
        except StopIteration as end:
            self.estimate = end.value

    def receive(self, message: bytes) -> tuple[Outcome, str]:
        """Take in one message; return what became of it, and why."""
        judged = self._judge(message)
        self._count(*judged)
        return judged

    def _count(self, outcome: Outcome, reason: str) -> None:
        self.outcomes[f"{outcome}: {reason}" if reason else outcome] += 1

    def _judge(self, message: bytes) -> tuple[Outcome, str]:
        if self.done:
            return Outcome.REJECTED, "the collection is complete"
        try:
            read = msgspec.msgpack.decode(message, type=Message)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Outcome.REJECTED, "malformed"
        if read.version != VERSION:
            return Outcome.REJECTED, "another version"
        if read.name != bytes.fromhex(self.setup.name):
            return Outcome.REJECTED, "another task"
        if read.round != self.task.round:
            return Outcome.REJECTED, "a closed round" if read.round < self.task.round else "a future round"
        user = int.from_bytes(read.user)
        if len(read.user) != 8 or user >= self.setup.users:
            return Outcome.REJECTED, "an unknown user"
        body = np.frombuffer(read.body, dtype=np.uint8)[np.newaxis]
        if body.shape[1] != body_size(self.task):
            return Outcome.REJECTED, "a body of the wrong length"
        accepted, reasons = self._take(np.array([user]), body)
        return (Outcome.ACCEPTED, "") if accepted[0] else reasons[0]

    def receive_lines(self, lines: Lines) -> None:
        """Take in many messages of the right length at once; others, one by one."""
        start, user_at, body_at = header(self.task)
        right = not self.done and lines.shape[1] == body_at + body_size(self.task)
        if right:
            fits = np.all(lines[:, :user_at] == start[:user_at], axis=1)
            fits &= np.all(lines[:, user_at + 8 : body_at] == start[user_at + 8 :], axis=1)
            users = np.ascontiguousarray(lines[:, user_at : user_at + 8]).view(">u8")[:, 0].astype(np.uint64)
            fits &= users < self.setup.users
            chosen = np.flatnonzero(fits)
            accepted, reasons = self._take(users[chosen].astype(np.int64), lines[chosen, body_at:])
            self.outcomes[Outcome.ACCEPTED] += int(accepted.sum())
            for judged in reasons:
                self._count(*judged)
            others = np.flatnonzero(~fits)
        else:
            others = np.arange(len(lines))
        for k in others:
            self.receive(lines[k].tobytes())

    def _take(self, users: Ints, bodies: Lines) -> tuple[NDArray[np.bool_], list[tuple[Outcome, str]]]:
        """Add answers to the tally; each user counts once. Return who was accepted, and why others were not."""
        task = self.task
        tickets = hashed_all(task.name, users, TICKET) >> np.uint64(32)
        invited = (tickets >= np.uint64(task.tickets[0])) & (tickets < np.uint64(task.tickets[1]))
        legal, values = _read_bodies(task, bodies, self.budget)
        usable = np.flatnonzero(invited & legal)
        accepted = np.zeros(len(users), dtype=np.bool_)
        accepted[usable[np.unique(users[usable], return_index=True)[1]]] = True  # the first of each user
        accepted &= ~self.answered[users]
        reasons: list[tuple[Outcome, str]] = []
        for k in np.flatnonzero(~accepted):
            if not invited[k]:
                reasons.append((Outcome.REJECTED, "a user who was not asked"))
            elif not legal[k]:
                reasons.append((Outcome.REJECTED, "an impossible answer"))
            else:
                reasons.append((Outcome.DUPLICATE, ""))
        self.answered[users[accepted]] = True
        self._add(users[accepted], values[accepted])
        return accepted, reasons

    def _add(self, users: Ints, values: Ints) -> None:
        task = self.task
        if task.question == "vector":
            self.tally[0] += len(users)
            self.tally[1:] += values.sum(axis=0)
            return
        line = np.zeros(len(users), dtype=np.int64)
        if task.question.startswith("median"):
            line = (hashed_all(task.name, users, COORDINATE) % np.uint64(self.width)).astype(np.int64)
        if not task.question.endswith("tree"):
            np.add.at(self.tally, (line, values[:, 0]), 1)
            return
        np.add.at(self.tally, (line, tree_places(task, users), values[:, 0]), 1)

    # --- what survives ---------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """Return everything that must survive; ``resume`` goes on from there."""
        state = {
            "version": VERSION,
            "setup": self.setup,
            "closed": [[list(tally.shape), tally.tobytes()] for tally in self.closed],
            "open": self.tally.tobytes(),
            "answered": np.packbits(self.answered).tobytes(),
            "outcomes": dict(self.outcomes),
        }
        return msgspec.msgpack.encode(state)

    @staticmethod
    def resume(saved: bytes) -> Analyzer:
        """Go on where ``save`` was called."""
        try:
            state = msgspec.msgpack.decode(saved)
            if state["version"] != VERSION:
                raise ValueError(f"it is of version {state['version']}")
            analyzer = Analyzer(msgspec.convert(state["setup"], Setup))
            bits = np.unpackbits(np.frombuffer(state["answered"], dtype=np.uint8), count=analyzer.setup.users)
            analyzer.answered = bits.astype(np.bool_)
            for size, tally in state["closed"]:
                analyzer.tally = np.frombuffer(tally, dtype=np.int64).reshape(size).copy()
                analyzer.close()
            analyzer.tally = np.frombuffer(state["open"], dtype=np.int64).reshape(analyzer.tally.shape).copy()
            analyzer.outcomes = Counter(state["outcomes"])
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError, ValueError) as error:
            raise ArgumentError(f"this is not a saved analyzer: {error}") from None
        return analyzer


def _tally_shape(task: Task) -> tuple[int, ...]:
    if task.question == "vector":
        return (task.d + 1,)
    size = len(task.signs) if task.question.startswith("median") else 1
    return (size, len(task.thresholds) + 1, 2) if task.question.endswith("tree") else (size, 2)


def _read_bodies(task: Task, bodies: Lines, budget: Budget) -> tuple[NDArray[np.bool_], Ints]:
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


def setup_for(name: str, users: int, d: int, reach: float, budget: Budget, *, few_rounds: bool) -> Setup:
    """Write down what everybody knows."""
    if len(name) != 16 or any(letter not in "0123456789abcdef" for letter in name):
        raise ArgumentError(f"a name has 16 hexadecimal digits, got {name!r}")
    if not 1 <= users < 1 << 40:
        raise ArgumentError(f"users must be at least 1, got {users}")
    if not 1 <= d <= MOST_COLUMNS:
        raise ArgumentError(f"the local model takes from 1 to {MOST_COLUMNS} columns, got {d}")
    if not 2.0**-500 <= reach <= 2.0**500:
        raise ArgumentError(f"reach must lie between 2^-500 and 2^500, got {reach}")
    return Setup(name, users, d, reach, write_budget(budget), few_rounds)
