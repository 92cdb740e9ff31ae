"""What is attacked: for each mechanism, two neighbouring data sets and a score that ought to tell them apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import msgspec
import numpy as np

from dpmean.audit import Finding, judge
from dpmean.budget import PureDp, Zcdp
from dpmean.coins import PublicCoins
from dpmean.estimators.clipped import ClippedMean
from dpmean.estimators.refined import RefinedMean
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.frame import Frame
from dpmean.grid import RADII_PER_OCTAVE, Grid
from dpmean.interfaces import Estimator, Noise, TrustModel
from dpmean.neighbours import Neighbours
from dpmean.noise.source import seeded
from dpmean.quantile import search
from dpmean.renyi import Renyi
from dpmean.rows.memory import MemoryRows
from dpmean.rows.uncounted import UncountedRows
from dpmean.shells import FACTOR_ONE, shell_sums, shells_of
from dpmean.trust.central import Central
from dpmean.trust.curator import Curator
from dpmean.trust.local import Fleet
from dpmean.trust.randomizers import Budget, half_space, lies
from dpmean.trust.schema import TICKETS, VERSION, Question, Task, write_budget
from dpmean.trust.shuffle.costs import stage_costs
from dpmean.trust.shuffle.crowd import Crowd
from dpmean.trust.shuffle.schema import Collection, Counters, Round, Stage, Sums
from dpmean.trust.wire import body_size
from dpmean.types import Ball, Distances, Estimate, Floats

_REACH = 1.0
UNCOUNTED = Central(Neighbours.ADD_OR_REMOVE_ONE)
"""The number of rows is private."""

MakeNoise = Callable[[int], Noise]


@final
@dataclass(frozen=True, slots=True)
class Target:
    """A mechanism under attack: run number and neighbour (False or True) in, score out."""

    score: Callable[[int, bool], float]
    claim: Budget | Renyi
    whole: bool = False
    """Whether a run is a whole estimator, which takes longer."""


LONGER = 10
"""A whole estimator takes about as many times longer than one step of it, and gets so many fewer runs."""


def attack(target: Target, runs: int, after_each: Callable[[], None] = lambda: None) -> Finding:
    """Run a mechanism so many times on each of two neighbours, and judge what can be told from it."""
    scores: tuple[list[float], list[float]] = ([], [])
    for neighbour in (False, True):
        for run in range(max(runs // LONGER, 2) if target.whole else runs):
            scores[neighbour].append(target.score(run, neighbour))
            after_each()
    return judge(np.array(scores[0]), np.array(scores[1]), target.claim)


def _rows(array: Floats, reach: float = _REACH) -> MemoryRows:
    return MemoryRows(array, Frame.within_norm(array.shape[1], reach, impute=False), threads=1)


def release_step(trust: Central, make_noise: MakeNoise = seeded) -> Target:
    """Attack the noisy sum: one row sits at one end of the ball or at the other, or else is not there."""
    claim = Zcdp(Fraction(1, 2))
    ball = Ball(np.zeros(1), 2.0**-20, 2**20)
    absent = trust.neighbours is Neighbours.ADD_OR_REMOVE_ONE
    ends = [_rows(np.array(rows)) for rows in ([[0.0]] if absent else [[0.0], [-1.0]], [[0.0], [1.0]])]

    def score(run: int, neighbour: bool) -> float:
        found, _ = trust.bounded_sum(ends[neighbour], ball, claim, make_noise(2 * run + neighbour), "mean")
        return float(found.total[0])

    return Target(score, claim)


def number_step(make_noise: MakeNoise = seeded) -> Target:
    """Attack the number of rows, where it is private."""
    claim = Zcdp(Fraction(1, 2))

    def score(run: int, neighbour: bool) -> float:
        return float(UNCOUNTED.count(30 + neighbour, claim, make_noise(2 * run + neighbour), "number")[0])

    return Target(score, claim)


def radius_step(trust: TrustModel, make_noise: MakeNoise = seeded) -> Target:
    """Attack the search for the radius: one row is near the centre or far away, and the rank lies between."""
    claim = Zcdp(Fraction(1, 2))
    view = Distances(np.zeros(1), low=-64, points=65)
    near, far = np.full((40, 1), 0.5), np.full((40, 1), 1.0)
    sides = [_rows(np.concatenate((near[:end], far[end:]))) for end in (20, 21)]

    def score(run: int, neighbour: bool) -> float:
        counter, _ = trust.open_counter(sides[neighbour], view, claim, make_noise(2 * run + neighbour), "radius")
        return float(search(counter, 20)[0])

    return Target(score, claim)


def choice_step(make_noise: MakeNoise = seeded) -> Target:
    """Attack the choice of a radius: of two, with one row beyond the smaller or none, and odds that lie between."""
    claim = Zcdp(Fraction(1, 50))
    view = Distances(np.zeros(1), low=0, points=2)
    sides = [_rows(np.array([[end]]), 2 * _REACH).histogram(view) for end in (1.0, 1.005)]
    slope = math.sqrt(8 * claim.rho) / 2 * RADII_PER_OCTAVE / math.log(2)

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(claim, make_noise(2 * run + neighbour))
        return float(curator.upper_end(sides[neighbour], 0, 0, slope, claim.rho, "radius"))

    return Target(score, claim)


def gap_step(make_noise: MakeNoise = seeded) -> Target:
    """Attack the bias gap: one row lies beyond the larger radius or at the centre, and others in its direction."""
    claim = Zcdp(Fraction(1, 2))
    shells = Grid(2.0**-20, _REACH, 1).shells(np.zeros(1), [0.5, 0.25], 2)
    sides = [_rows(np.array([[0.9], [end]])).add_up_shells(shells) for end in (0.0, 0.9)]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(claim, make_noise(2 * run + neighbour))
        return curator.bias_gap(sides[neighbour], shells, 1, [FACTOR_ONE, FACTOR_ONE], claim.rho, "bias 1").value

    return Target(score, claim)


def local_step(question: Question, budget: Budget, make_noise: MakeNoise = seeded) -> Target:
    """Attack the single answer of a device, whose row is at one end of the bound or at the other."""
    asked = {"version": VERSION, "name": "0" * 16, "round": 0, "tickets": (0, TICKETS), "d": 1, "step": -20}
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


def shuffle_step(stage: Stage, make_noise: MakeNoise = seeded) -> Target:
    """Attack one shuffled round of thirty clients, one of whom is near the centre or far away, or on either side.

    All messages are made and mixed; the attack looks at what they add up to.
    """
    users = 30
    collection = Collection(
        1, "0" * 16, users, users, users, 1, -20, 1 << 20, "epsilon 1 delta 1/100", "mean", (stage,)
    )
    counters = isinstance(stage, Counters)
    cells = {"lows": [0], "widths": [1], "gaps": [1 << 19]} if counters else {"radius": 1 << 20}
    asked = msgspec.convert({"version": 1, "name": "0" * 16, "round": 0, **cells}, Round)
    (claim,) = stage_costs((stage,), 1, users, Fraction(1, 100))

    def score(run: int, neighbour: bool) -> float:
        rows = np.zeros((users, 1))
        rows[0] = 1.0 if neighbour else 0.0 if counters else -1.0
        numbers = Crowd(rows, make_noise(2 * run + neighbour), totals=False).answer(collection, asked)
        return float(numbers[0] - numbers[-1] if counters else numbers[0])

    return Target(score, claim)


SHUFFLED: dict[str, Stage] = {
    "shuffled counts": Counters("radius", 1, 2, (0,), 30),
    "shuffled sum": Sums(8, 400, 12, 1, 1, 16),
}
"""Rounds to attack."""


def bins_step(make_noise: MakeNoise = seeded) -> Target:
    """Attack the sum that one pass puts together from bins: one row sits beyond the radius on one side or on the other.

    Others lie in bins of other units, within the radius and beyond it.
    """
    claim = Zcdp(Fraction(1, 2))
    bins = Grid(2.0**-20, _REACH, 1).bins(np.zeros(1), 2.0**-6, 4)
    edge = bins.at(bins.first + 4 * RADII_PER_OCTAVE)
    shells = shells_of(bins, [edge])
    found = [_rows(np.array([[0.9], [0.01], [-0.1], [end]])).add_up_bins(bins) for end in (-0.9, 0.9)]
    sides = [shell_sums(sums, bins, [edge]) for sums in found]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(claim, make_noise(2 * run + neighbour))
        return float(curator.clipped_sum(sides[neighbour], shells, 0, claim.rho, "mean").total[0])

    return Target(score, claim)


def _whole(method: str, neighbours: list[Floats], look: Callable[[Estimate], float], make_noise: MakeNoise) -> Target:
    """Attack a whole estimator, at a budget so small that few runs suffice to catch a broken one."""
    claim = Zcdp(Fraction(1, 50))
    grid = Grid(2.0**-20, _REACH, neighbours[0].shape[1])
    sides = [_rows(array) for array in neighbours]
    estimators: dict[str, Estimator] = {
        "clipped": ClippedMean(grid, Central()),
        "shifted": ShiftedClippedMean(grid, Central(), PublicCoins("attack")),
        "refined": RefinedMean(grid, PublicCoins("attack")),
        "uncounted": RefinedMean(grid, PublicCoins("attack"), trust=UNCOUNTED),
        "clipped, one pass": ClippedMean(grid, Central(), one_pass=True),
        "shifted, one pass": ShiftedClippedMean(grid, Central(), PublicCoins("attack"), one_pass=True),
        "refined, one pass": RefinedMean(grid, PublicCoins("attack"), one_pass=True),
    }

    def score(run: int, neighbour: bool) -> float:
        noise = make_noise(2 * run + neighbour)
        rows = sides[neighbour]
        return look(
            estimators[method](UncountedRows(rows, 3000, noise) if method == "uncounted" else rows, claim, noise)
        )

    return Target(score, claim, whole=True)


def _with(rows: list[float], *last: float) -> list[Floats]:
    """Return two neighbours: the same rows, and one of two others."""
    return [np.array([*rows, other])[:, np.newaxis] for other in last]


def _sum_in_radii(estimate: Estimate) -> float:
    """Return what an adversary makes of mean, centre and radius: the noisy sum, freed of the other two."""
    return float(estimate.mean[0] - estimate.centre[0]) / estimate.radius


def _mean_in_radii(estimate: Estimate) -> float:
    return float(estimate.mean[0]) / estimate.radius


def targets(make_noise: MakeNoise = seeded) -> dict[str, Target]:
    """Return each private step, and each number that a whole estimator releases.

    The replaced row decides the answer: it is far on one side or on the other (mean; with refined, the radius
    follows the many zeros, so that the sign of the mean tells), makes the difference between
    two medians (centre), or sits at the rank that is searched, the second smallest distance (radius).
    """
    apart = _with([0.0] * 30, -1.0, 1.0)
    tied = _with([-0.5] * 15 + [0.5] * 15, -0.5, 0.5)
    alone = _with([0.0] * 3000, -1.0, 1.0)
    missing = [np.zeros((3000, 1)), alone[1]]
    many = _with([0.0] * 17_000, -1.0, 1.0)  # a sample finds the centre: only then is all read once
    planar = [np.hstack((array, np.zeros_like(array))) for array in alone]
    ranked = _with([0.1] + [0.9] * 29, 0.1, 0.9)
    return {
        "noisy sum": release_step(Central(), make_noise),
        "noisy sum, private number": release_step(UNCOUNTED, make_noise),
        "private number": number_step(make_noise),
        "search for the radius": radius_step(Central(), make_noise),
        "choice of the radius": choice_step(make_noise),
        "bias gap": gap_step(make_noise),
        "sum by bins, in one pass": bins_step(make_noise),
        "local bit": local_step("median", PureDp(1), make_noise),
        "local vector, zCDP": local_step("vector", Zcdp(Fraction(1, 2)), make_noise),
        "local vector, pure": local_step("vector", PureDp(1), make_noise),
        **{name: shuffle_step(stage, make_noise) for name, stage in SHUFFLED.items()},
        "clipped: mean": _whole("clipped", apart, _sum_in_radii, make_noise),
        "clipped: radius": _whole("clipped", ranked, lambda estimate: estimate.radius, make_noise),
        "shifted: mean": _whole("shifted", apart, _sum_in_radii, make_noise),
        "shifted: centre": _whole("shifted", tied, lambda estimate: float(estimate.centre[0]), make_noise),
        "refined: mean": _whole("refined", alone, _mean_in_radii, make_noise),
        "refined, private number: mean": _whole("uncounted", missing, _mean_in_radii, make_noise),
        "refined (d = 2): mean": _whole("refined", planar, _mean_in_radii, make_noise),
        "clipped, one pass: mean": _whole("clipped, one pass", apart, _sum_in_radii, make_noise),
        "shifted, one pass: mean": _whole("shifted, one pass", apart, _sum_in_radii, make_noise),
        "refined, one pass: mean": _whole("refined, one pass", many, _mean_in_radii, make_noise),
    }
