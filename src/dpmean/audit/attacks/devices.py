"""Attacks on the messages of devices: a single answer in the local model, a round in the shuffle model."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import numpy as np

from dpmean.audit.attacks.noise import repeatable
from dpmean.audit.attacks.target import MakeNoise, Target
from dpmean.privacy.budgets import PureDp
from dpmean.trust.devices.hashing import body_size
from dpmean.trust.devices.signatures import VERSION
from dpmean.trust.local.randomizers import Budget, half_space, lies
from dpmean.trust.local.schema import TICKETS, Question, Task, write_budget
from dpmean.trust.local.simulation import Fleet
from dpmean.trust.shuffle.costs import stage_costs
from dpmean.trust.shuffle.schema import Collection, Counters, Round, Stage, Sums
from dpmean.trust.shuffle.simulation import Crowd


def local_step(question: Question, budget: Budget, make_noise: MakeNoise = repeatable) -> Target:
    """Attack the single answer of a device whose row is at one end of the bound or at the other."""
    bound = {"version": VERSION, "collection": "0" * 64, "name": "0" * 16, "closes": 0}
    asked = {**bound, "round": 0, "tickets": (0, TICKETS), "d": 1, "step": -20}
    place = {
        "reach": 1 << 20,
        "centre": [0],
        "radius": 1 << 20,
        "signs": [1],
        "thresholds": [0],
        "lie": str(lies(budget)),
    }
    price = {"budget": write_budget(budget), "lie": str(lies(budget))}
    hidden = half_space(budget.epsilon) if isinstance(budget, PureDp) else None
    kept = {"threshold": hidden.threshold, "outside": str(hidden.outside)} if hidden else {}
    task = msgspec.convert({**asked, **place, **kept, "question": question, **price}, Task)
    size = body_size(task)

    def score(run: int, neighbour: bool) -> float:
        fleet = Fleet(np.array([[1.0 if neighbour else -1.0]]), make_noise(2 * run + neighbour))
        (lines,) = fleet.answers(task)
        return float(int.from_bytes(lines[0, -size:].tobytes(), signed=size > 1))

    return Target(score, budget)


def shuffle_step(stage: Stage, make_noise: MakeNoise = repeatable) -> Target:
    """Attack one shuffled round of thirty clients, one of which is near the centre or far away, or on either side.

    All messages are made and mixed; the attack uses their sums.
    """
    users = 30
    terms = (VERSION, "0" * 16, 1, -20, 1 << 20, "epsilon 1 delta 1/100", "0", "0")
    collection = Collection(*terms, users, "mean", (stage,))
    counters = isinstance(stage, Counters)
    cells = {"lows": [0], "widths": [1], "gaps": [1 << 19]} if counters else {"radius": 1 << 20}
    asked = msgspec.convert({"version": VERSION, "collection": "0" * 64, "round": 0, **cells}, Round)
    (claim,) = stage_costs((stage,), 1, users, Fraction(1, 100))

    def score(run: int, neighbour: bool) -> float:
        rows = np.zeros((users, 1))
        rows[0] = 1.0 if neighbour else 0.0 if counters else -1.0
        numbers = Crowd(rows, make_noise(2 * run + neighbour), totals=False).answer(collection, asked)
        return float(numbers[0] - numbers[-1] if counters else numbers[0])

    return Target(score, claim)


SHUFFLED: dict[str, Stage] = {
    "shuffled counts": Counters("radius", 1, 2, (0,), 10),
    "shuffled sum": Sums(8, 400, 12, 1, 1, 16),
}
"""The rounds that are attacked."""
