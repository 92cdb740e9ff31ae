"""Attacks on whole collections in the local and the shuffle model, using all that the analyzer sees of one client."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpmean.audit.attacks.odds import COINS, FAR, Pair, circle
from dpmean.audit.attacks.target import MakeNoise, Target
from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
from dpmean.privacy.renyi import compose
from dpmean.queries.queries import Floats
from dpmean.trust.devices.hashing import Lines, hashed_all, header
from dpmean.trust.local.analyzer import LocalAnalyzer
from dpmean.trust.local.protocol import setup_for
from dpmean.trust.local.randomizers import SCALE_BITS, Budget, vector_variance
from dpmean.trust.local.schema import TICKET, Task
from dpmean.trust.local.simulation import Fleet
from dpmean.trust.shuffle.costs import stage_costs
from dpmean.trust.shuffle.design import design
from dpmean.trust.shuffle.progress import Rounds, played_collection
from dpmean.trust.shuffle.simulation import Crowd

CLIENTS = 1000


def _local(budget: Budget, make_noise: MakeNoise) -> Target:
    """Attack a client that is asked for its vector, in a complete simulated collection.

    The messages of others do not depend on its row. The adversary sees its message, and knows the centre and the radius
    of the query.
    """
    pair, name = Pair.around(circle(CLIENTS)), COINS.digest()
    setup = setup_for(name, CLIENTS + 1, 2, FAR, budget, few_rounds=True)
    client = int(np.argmax(hashed_all(name, np.arange(CLIENTS + 1), TICKET)))  # the last clients are asked for vectors
    sides = [np.roll(rows, client + 1, axis=0) for rows in pair.sides]
    rows = tuple(side[client] for side in sides)

    def score(run: int, neighbour: bool) -> float:
        fleet, analyzer, odds = Fleet(sides[neighbour], make_noise(2 * run + neighbour)), LocalAnalyzer(setup), 0.0
        while not analyzer.done:
            for lines in fleet.answers(analyzer.task):
                if analyzer.task.question == "vector":
                    odds = _odds_of_vector(_sent(lines, analyzer.task, client), analyzer.task, budget, rows)
                analyzer.receive_lines(lines)
            analyzer.close()
        return odds

    return Target(score, budget, whole=True)


def _sent(lines: Lines, task: Task, client: int) -> Floats:
    """Find the vector of a client among all messages."""
    _, user_at, body_at = header(task)
    users = np.ascontiguousarray(lines[:, user_at : user_at + 8]).view(">u8")[:, 0]
    body = np.ascontiguousarray(lines[users == client, body_at:])
    return np.asarray(body.view(">i8")[0], dtype=np.float64)


def _odds_of_vector(sent: Floats, task: Task, budget: Budget, rows: tuple[Floats, ...]) -> float:
    """Return the log-likelihood ratio of a message for the second of two rows against the first."""
    moved = [np.ldexp(row, -task.step) - np.array(task.centre) for row in rows]
    lengths = [float(np.linalg.norm(row)) for row in moved]
    if isinstance(budget, Zcdp):
        one, other = (row * min(1.0, task.radius / length) for row, length in zip(moved, lengths, strict=True))
        return float((sent - (one + other) / 2) @ (other - one) / float(vector_variance(task.radius, budget)))
    level = math.ldexp(task.threshold, SCALE_BITS)
    one, other = (sent @ row >= level * length for row, length in zip(moved, lengths, strict=True))
    return float(other) - float(one)


def _shuffle(rounds: str, make_noise: MakeNoise) -> Target:
    """Attack the mean of a shuffled collection in which all clients are honest, so that there is no excess noise."""
    pair, budget = Pair.around(circle(300)), ApproxDp(6, Fraction(1, 10**5))
    users = len(pair.sides[0])
    plan = design(users, 2, budget, Fraction(1), few_rounds=rounds == "few")
    collection = played_collection(plan, COINS.digest(), FAR)
    claim = compose(stage_costs(plan.stages, 2, users, budget.delta))

    def score(run: int, neighbour: bool) -> float:
        crowd = Crowd(pair.sides[neighbour], make_noise(2 * run + neighbour), totals=True)
        return pair.odds_of_mean(crowd.play(Rounds(collection)), users)

    return Target(score, claim, whole=True)


def whole_collections(make_noise: MakeNoise) -> dict[str, Target]:
    """Return attacks on collections of the local and the shuffle model."""
    return {
        "local, zCDP": _local(Zcdp(1), make_noise),
        "local, pure": _local(PureDp(1), make_noise),
        "shuffle, adaptive rounds": _shuffle("adaptive", make_noise),
        "shuffle, few rounds": _shuffle("few", make_noise),
    }
