"""The protocol of the local model, as a generator that yields tasks and is sent what their answers add up to."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import final

import msgspec
import numpy as np

from dpmean.errors import ArgumentError
from dpmean.numerics.grid import padded
from dpmean.numerics.rotation import hadamard
from dpmean.privacy.budgets import Zcdp
from dpmean.queries.queries import Ints
from dpmean.release.estimate import Estimate
from dpmean.trust.devices.hashing import hashed_all
from dpmean.trust.devices.search import WeighedSearch, farthest, halved, ladder_up_to, shares_from_tree
from dpmean.trust.devices.signatures import VERSION, check_identity, digest_of
from dpmean.trust.local.division import LADDER_BITS, LINE_BITS, TREE_BITS, divide
from dpmean.trust.local.randomizers import (
    MOST_COLUMNS,
    SCALE_BITS,
    WORD,
    Budget,
    half_space,
    lies,
    unit_variance,
    vector_variance,
)
from dpmean.trust.local.schema import TICKET, TICKETS, Question, Task, read_budget, write_budget

_GRID_BITS = 24
_PER_OCTAVE = 10


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What everybody knows before the first round: public, like all tasks that follow from it.

    Attributes:
        version: The version of the schema.
        name: The name of the collection: 16 hexadecimal digits, drawn at random, as ``secrets.token_hex(8)`` gives.
        users: The number of users. They are numbered from 0.
        d: The number of columns of a row.
        reach: A bound on the l2 norm of every row.
        budget: What one user spends, as ``"rho 1/2"`` or ``"epsilon 1"``.
        few_rounds: Whether to ask in 3 rounds.
        analyzer: The public key by which devices know the analyzer (Ed25519), hexadecimal; empty if the collection is
            only played in one process.

    """

    version: int
    name: str
    users: int
    d: int
    reach: float
    budget: str
    few_rounds: bool = False
    analyzer: str = ""


def setup_for(
    name: str, users: int, d: int, reach: float, budget: Budget, *, few_rounds: bool, analyzer: str = ""
) -> Setup:
    """Return what everybody knows before a collection in the local model.

    Args:
        name: The name of the collection: 16 hexadecimal digits, drawn at random, as ``secrets.token_hex(8)`` gives.
        users: The number of users. They are numbered from 0.
        d: The number of columns of a row.
        reach: A bound on the l2 norm of every row.
        budget: What one user spends: ``Zcdp`` or ``PureDp``.
        few_rounds: Whether to ask in 3 rounds. With False it takes 33 rounds, and is more accurate.
        analyzer: The public key of the analyzer, as ``new_identity`` returns it. Without one, the collection can only
            be played in one process: devices answer signed tasks.

    """
    if analyzer:
        check_identity(analyzer, "analyzer")
    if len(name) != 16 or any(letter not in "0123456789abcdef" for letter in name):
        raise ArgumentError(f"a name has 16 hexadecimal digits, got {name!r}")
    if not 1 <= users < 1 << 40:
        raise ArgumentError(f"users must be at least 1, got {users}")
    if not 1 <= d <= MOST_COLUMNS:
        raise ArgumentError(f"the local model takes from 1 to {MOST_COLUMNS} columns, got {d}")
    if not 2.0**-500 <= reach <= 2.0**500:
        raise ArgumentError(f"reach must lie between 2^-500 and 2^500, got {reach}")
    return Setup(VERSION, name, users, d, reach, write_budget(budget), few_rounds, analyzer)


@final
class Protocol:
    """Asks the rounds of one collection; each may depend on what earlier ones told."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._digest = digest_of(msgspec.json.encode(setup)).hex()
        self.budget = read_budget(setup.budget)
        self._lie = lies(self.budget)
        self.step = math.frexp(setup.reach)[1] - _GRID_BITS
        self._reach = math.ceil(math.ldexp(setup.reach, -self.step)) + math.isqrt(setup.d) + 1  # rounding is forgiven
        self._division = divide(setup.users, setup.d, self.budget, few_rounds=setup.few_rounds)
        self._width = padded(setup.d)
        words = hashed_all(setup.name, np.arange(self._width), TICKET)
        self._signs = 1 - 2 * (words >> np.uint64(63)).astype(np.int64)
        self._number = 0

    def play(self) -> Generator[Task, Ints, Estimate]:
        """Find medians, then a radius, then the mean."""
        plan = self._division
        first, second = (round(TICKETS * share) for share in (plan.for_medians, plan.for_medians + plan.for_radius))
        find = self._all_at_once if self.setup.few_rounds else self._step_by_step

        half = 1 << (TREE_BITS if self.setup.few_rounds else LINE_BITS) - 1
        line = (np.arange(2 * half) - half + 1) * -(-farthest(self._reach, self._width) // half)
        found = yield from find("median", (0, first), line, self._width, 0.5, signs=self._signs.tolist())
        centre = np.rint(self._signs * hadamard(line[found].astype(np.float64)) / self._width)[: self.setup.d]
        length = float(np.linalg.norm(centre))
        centre = np.rint(centre * min(1.0, self._reach / max(length, 1.0))).astype(np.int64)

        ladder = ladder_up_to(2 * self._reach, 1 << LADDER_BITS, _PER_OCTAVE)
        index = yield from find("radius", (first, second), ladder, 1, 1 - plan.clipped, centre=centre.tolist())
        radius = int(ladder[index[0]])

        tally = yield self._task("vector", second, TICKETS, centre=centre.tolist(), radius=radius, **self._hiding())
        return self._finish(tally, centre, radius)

    def _step_by_step(
        self, question: Question, tickets: tuple[int, int], points: Ints, size: int, rank: float, **more: object
    ) -> Generator[Task, Ints, Ints]:
        """Search lines of points for a quantile, one point of each line in a round, each with other users."""
        search = WeighedSearch(size, len(points), rank)
        rounds = self._division.median_rounds if question == "median" else self._division.radius_rounds
        (first, last), lie = tickets, self._lie / WORD
        for number in range(rounds):
            low, high = (first + (last - first) * k // rounds for k in (number, number + 1))
            middle = search.middle
            asked = {"thresholds": points[middle].tolist(), "lie": str(self._lie), **more}
            tally = yield self._task(question, low, high, **asked)
            users = tally.sum(axis=1)
            shares = (tally[:, 1] / np.maximum(users, 1) - lie) / (1 - 2 * lie)
            std = np.where(users > 0, np.sqrt(unit_variance(self._lie) / np.maximum(users, 1)), np.inf)
            search.learn(middle, shares, std)
        return search.answer

    def _all_at_once(
        self, question: Question, tickets: tuple[int, int], points: Ints, size: int, rank: float, **more: object
    ) -> Generator[Task, Ints, Ints]:
        """Search lines of points for a quantile in one round, with a tree over the cells between them."""
        tree: Question = "median tree" if question == "median" else "radius tree"
        asked = {"thresholds": points[:-1].tolist(), "lie": str(self._lie), **more}
        tally = yield self._task(tree, *tickets, **asked)
        shares, _ = shares_from_tree(tally[:size, :, 1], tally[:size, :, 0], self._lie / WORD)
        return halved(shares, rank)

    def _hiding(self) -> dict[str, object]:
        if isinstance(self.budget, Zcdp):
            return {}
        answer = half_space(self.budget.epsilon)
        return {"threshold": answer.threshold, "outside": str(answer.outside)}

    def _task(self, question: Question, first: int, last: int, **more: object) -> Task:
        setup, number = self.setup, self._number
        self._number += 1
        bound = {"version": VERSION, "collection": self._digest, "name": setup.name, "closes": 0}
        common = {**bound, "round": number, "budget": setup.budget}
        place = {"d": setup.d, "step": self.step, "reach": self._reach, "tickets": (first, last)}
        return msgspec.convert({**common, **place, "question": question, **more}, Task)

    def _finish(self, tally: Ints, centre: Ints, radius: int) -> Estimate:
        """Return the mean; whoever collected the answers writes the receipt."""
        users, unit = int(tally[0]), math.ldexp(1.0, self.step)
        if isinstance(self.budget, Zcdp):
            scale, std = 1.0, math.sqrt(float(vector_variance(radius, self.budget)) / users)
        else:
            scale = radius / math.ldexp(half_space(self.budget.epsilon).gain, SCALE_BITS)
            std = math.ldexp(scale, SCALE_BITS) / math.sqrt(users)
        moved = tally[1:].astype(np.float64) * (scale / users)
        return Estimate(
            mean=(centre + moved) * unit,
            noise_std=std * unit,
            centre=centre.astype(np.float64) * unit,
            radius=radius * unit,
            receipts=(),
        )
