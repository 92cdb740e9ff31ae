"""Attacks on single steps of the central model: noisy counts, sums, searches and choices."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpmean.audit.attacks.noise import repeatable
from dpmean.audit.attacks.odds import odds_of_search
from dpmean.audit.attacks.target import MakeNoise, Target
from dpmean.numerics.grid import RADII_PER_OCTAVE, Grid
from dpmean.numerics.shells import FACTOR_ONE
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Ball, Distances, Floats
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.costs import count_std
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.noisy_counter import count_rows

REACH = 1.0
REPLACED, UNCOUNTED = Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE_ONE
"""The number of rows is public, or private."""


def rows_of(array: Floats, reach: float = REACH) -> MemoryRows:
    """Return rows as estimators see them, within a norm."""
    return MemoryRows(array, Domain.within_norm(array.shape[1], reach, impute=False), threads=1)


def release_step(neighbours: Neighbours, make_noise: MakeNoise = repeatable) -> Target:
    """Attack the noisy sum: one row sits at one end of the ball or at the other, or else is not there."""
    claim = Zcdp(Fraction(1, 2))
    ball = Ball(np.zeros(1), 2.0**-20, 2**20)
    absent = neighbours is UNCOUNTED
    ends = [rows_of(np.array(rows)) for rows in ([[0.0]] if absent else [[0.0], [-1.0]], [[0.0], [1.0]])]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(ends[neighbour], claim, make_noise(2 * run + neighbour), neighbours)
        return float(curator.ball_sum(curator.rows, ball, claim.rho, "mean").total[0])

    return Target(score, claim)


def number_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the number of rows, where it is private."""
    claim = Zcdp(Fraction(1, 2))

    def score(run: int, neighbour: bool) -> float:
        return float(count_rows(30 + neighbour, claim, make_noise(2 * run + neighbour), "number")[0])

    return Target(score, claim)


def radius_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the search for the radius: one row is near the centre or far away, and the rank lies between."""
    claim = Zcdp(Fraction(1, 2))
    view = Distances(np.zeros(1), low=-63, points=64)
    near, far = np.full((40, 1), 0.5), np.full((40, 1), 1.0)
    sides = [rows_of(np.concatenate((near[:end], far[end:]))) for end in (20, 21)]
    counts = [side.answer(view).counts[0].tolist().__getitem__ for side in sides]
    std = count_std(view.points, 1, claim)

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(sides[neighbour], claim, make_noise(2 * run + neighbour), REPLACED)
        found = curator.quantile(curator.count(curator.rows, view), 20, claim.rho, "radius")
        return odds_of_search(found, view.points, counts, 20, std)

    return Target(score, claim)


def choice_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the choice of a radius: of two, with one row beyond the smaller or none, and odds that lie between."""
    claim = Zcdp(Fraction(1, 2))
    view = Distances(np.zeros(1), low=0, points=2)
    sides = [rows_of(np.array([[end]]), 2 * REACH) for end in (1.0, 1.005)]
    slope = math.sqrt(8 * claim.rho) / 2 * RADII_PER_OCTAVE / math.log(2)

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(sides[neighbour], claim, make_noise(2 * run + neighbour), REPLACED)
        counts = curator.count(curator.rows, view)
        return float(curator.upper_end(counts, 0, 0, slope, claim.rho, "radius"))

    return Target(score, claim)


def gap_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the bias gap: one row lies beyond the larger radius on one side or on the other, where others are."""
    claim = Zcdp(Fraction(1, 2))
    shells = Grid(2.0**-20, REACH, 1).shells(np.zeros(1), [0.5, 0.25], 3)
    sides = [rows_of(np.array([[0.9], [0.9], [end]])) for end in (-0.9, 0.9)]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(sides[neighbour], claim, make_noise(2 * run + neighbour), REPLACED)
        sums = curator.add_up(curator.rows, shells)
        return curator.bias_gap(sums, 1, [FACTOR_ONE, FACTOR_ONE], claim.rho, "bias 1").value

    return Target(score, claim)


def bins_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the sum that one pass puts together from bins: one row sits beyond the radius on one side or on the other.

    Others lie in bins of other units, within the radius and beyond it.
    """
    claim = Zcdp(Fraction(1, 2))
    bins = Grid(2.0**-20, REACH, 1).bins(np.zeros(1), 2.0**-6, 4)
    edge = bins.at(bins.first + 4 * RADII_PER_OCTAVE)
    sides = [rows_of(np.array([[0.9], [0.01], [-0.1], [end]])) for end in (-0.9, 0.9)]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(sides[neighbour], claim, make_noise(2 * run + neighbour), REPLACED)
        sums = curator.add_up_bins(curator.bin(curator.rows, bins), [edge])
        return float(curator.clipped_sum(sums, 0, claim.rho, "mean").total[0])

    return Target(score, claim)
