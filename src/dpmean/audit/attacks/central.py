"""Attacks on single steps of the central model: noisy counts, sums, searches and choices."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpmean.audit.attacks.noise import repeatable
from dpmean.audit.attacks.odds import odds_of_search
from dpmean.audit.attacks.target import MakeNoise, Target
from dpmean.numerics.grid import RADII_PER_OCTAVE, Grid
from dpmean.numerics.noisy_search import search
from dpmean.numerics.shells import FACTOR_ONE, shell_sums, shells_of
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.domain import Frame
from dpmean.queries.protocols import TrustModel
from dpmean.queries.queries import Ball, Distances, Floats
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.model import Central

REACH = 1.0
UNCOUNTED = Central(Neighbours.ADD_OR_REMOVE_ONE)
"""The number of rows is private."""


def rows_of(array: Floats, reach: float = REACH) -> MemoryRows:
    """Return rows as estimators see them, within a norm."""
    return MemoryRows(array, Frame.within_norm(array.shape[1], reach, impute=False), threads=1)


def release_step(trust: Central, make_noise: MakeNoise = repeatable) -> Target:
    """Attack the noisy sum: one row sits at one end of the ball or at the other, or else is not there."""
    claim = Zcdp(Fraction(1, 2))
    ball = Ball(np.zeros(1), 2.0**-20, 2**20)
    absent = trust.neighbours is Neighbours.ADD_OR_REMOVE_ONE
    ends = [rows_of(np.array(rows)) for rows in ([[0.0]] if absent else [[0.0], [-1.0]], [[0.0], [1.0]])]

    def score(run: int, neighbour: bool) -> float:
        found, _ = trust.bounded_sum(ends[neighbour], ball, claim, make_noise(2 * run + neighbour), "mean")
        return float(found.total[0])

    return Target(score, claim)


def number_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the number of rows, where it is private."""
    claim = Zcdp(Fraction(1, 2))

    def score(run: int, neighbour: bool) -> float:
        return float(UNCOUNTED.count(30 + neighbour, claim, make_noise(2 * run + neighbour), "number")[0])

    return Target(score, claim)


def radius_step(trust: TrustModel, make_noise: MakeNoise = repeatable) -> Target:
    """Attack the search for the radius: one row is near the centre or far away, and the rank lies between."""
    claim = Zcdp(Fraction(1, 2))
    view = Distances(np.zeros(1), low=-63, points=64)
    near, far = np.full((40, 1), 0.5), np.full((40, 1), 1.0)
    sides = [rows_of(np.concatenate((near[:end], far[end:]))) for end in (20, 21)]
    counts = [side.histogram(view).counts[0].tolist().__getitem__ for side in sides]

    def score(run: int, neighbour: bool) -> float:
        counter, _ = trust.open_counter(sides[neighbour], view, claim, make_noise(2 * run + neighbour), "radius")
        found = int(search(counter, 20)[0])
        return odds_of_search(found, view.points, counts, 20, counter.noise_std)

    return Target(score, claim)


def choice_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the choice of a radius: of two, with one row beyond the smaller or none, and odds that lie between."""
    claim = Zcdp(Fraction(1, 2))
    view = Distances(np.zeros(1), low=0, points=2)
    sides = [rows_of(np.array([[end]]), 2 * REACH).histogram(view) for end in (1.0, 1.005)]
    slope = math.sqrt(8 * claim.rho) / 2 * RADII_PER_OCTAVE / math.log(2)

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(claim, make_noise(2 * run + neighbour))
        return float(curator.upper_end(sides[neighbour], 0, 0, slope, claim.rho, "radius"))

    return Target(score, claim)


def gap_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the bias gap: one row lies beyond the larger radius on one side or on the other, where others are."""
    claim = Zcdp(Fraction(1, 2))
    shells = Grid(2.0**-20, REACH, 1).shells(np.zeros(1), [0.5, 0.25], 3)
    sides = [rows_of(np.array([[0.9], [0.9], [end]])).add_up_shells(shells) for end in (-0.9, 0.9)]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(claim, make_noise(2 * run + neighbour))
        return curator.bias_gap(sides[neighbour], shells, 1, [FACTOR_ONE, FACTOR_ONE], claim.rho, "bias 1").value

    return Target(score, claim)


def bins_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the sum that one pass puts together from bins: one row sits beyond the radius on one side or on the other.

    Others lie in bins of other units, within the radius and beyond it.
    """
    claim = Zcdp(Fraction(1, 2))
    bins = Grid(2.0**-20, REACH, 1).bins(np.zeros(1), 2.0**-6, 4)
    edge = bins.at(bins.first + 4 * RADII_PER_OCTAVE)
    shells = shells_of(bins, [edge])
    found = [rows_of(np.array([[0.9], [0.01], [-0.1], [end]])).add_up_bins(bins) for end in (-0.9, 0.9)]
    sides = [shell_sums(sums, bins, [edge]) for sums in found]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(claim, make_noise(2 * run + neighbour))
        return float(curator.clipped_sum(sides[neighbour], shells, 0, claim.rho, "mean").total[0])

    return Target(score, claim)
