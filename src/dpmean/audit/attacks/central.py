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
from dpmean.queries.queries import Ball, BallSquares, Columns, Distances, Floats, Octaves, Squares
from dpmean.rows.memory import MemoryRows
from dpmean.rows.private_size import PrivateSizeRows
from dpmean.trust.central.costs import count_std
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.noisy_counter import count_rows

REACH = 1.0
REPLACED, UNCOUNTED = Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE_ONE
"""Neighbours with a public number of rows, and with a private one."""


def rows_of(array: Floats, reach: float = REACH) -> MemoryRows:
    """Return rows within a bound on the norm, as estimators use them."""
    return MemoryRows(array, Domain.within_norm(array.shape[1], reach, impute=False), threads=1)


def release_step(neighbours: Neighbours, make_noise: MakeNoise = repeatable) -> Target:
    """Attack the noisy sum: one row is at one end of the ball or at the other, or is absent."""
    claim = Zcdp(Fraction(1, 2))
    ball = Ball(np.zeros(1), 2.0**-20, 2**20)
    absent = neighbours is UNCOUNTED
    ends = [rows_of(np.array(rows)) for rows in ([[0.0]] if absent else [[0.0], [-1.0]], [[0.0], [1.0]])]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(ends[neighbour], claim, make_noise(2 * run + neighbour), neighbours)
        return float(curator.ball_sum(curator.rows, ball, claim.rho, "mean").total[0])

    return Target(score, claim)


def number_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the private number of rows."""
    claim = Zcdp(Fraction(1, 2))

    def score(run: int, neighbour: bool) -> float:
        return float(count_rows(30 + neighbour, claim, make_noise(2 * run + neighbour), "number")[0])

    return Target(score, claim)


def radius_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the search for the radius: one row is near the centre or far away, so that it decides every comparison."""
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
    """Attack the choice between two radii: one row is beyond the smaller one, or none is."""
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
    """Attack the bias gap: one row lies beyond the larger radius, on one side or on the side of the others."""
    claim = Zcdp(Fraction(1, 2))
    shells = Grid(2.0**-20, REACH, 1).shells(np.zeros(1), [0.5, 0.25], 3)
    sides = [rows_of(np.array([[0.9], [0.9], [end]])) for end in (-0.9, 0.9)]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(sides[neighbour], claim, make_noise(2 * run + neighbour), REPLACED)
        sums = curator.add_up(curator.rows, shells)
        return curator.bias_gap(sums, 1, [FACTOR_ONE, FACTOR_ONE], claim.rho, "bias 1").value

    return Target(score, claim)


def bins_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the sum that one pass combines from bins: one row is beyond the radius, on one side or on the other.

    Other rows lie in bins with other units, within the radius and beyond it.
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


def squares_step(neighbours: Neighbours, make_noise: MakeNoise = repeatable) -> Target:
    """Attack the squared differences: the one row turns the direction of one pair by a right angle.

    If it is absent, the pair consists of other rows, which all differ along one column. Their number is even, so the
    one row is rarely unpaired.
    """
    claim, squares, absent = Zcdp(Fraction(1, 2)), Squares(1 << 20), neighbours is UNCOUNTED
    others = np.stack((np.linspace(-0.1, 0.1, 20 if absent else 1), np.zeros(20 if absent else 1)), axis=1)
    with_it = np.vstack((others, [[0.0, 0.9]]))
    sides = [rows_of(others if absent else np.vstack((others, [[0.9, 0.0]]))), rows_of(with_it)]

    def score(run: int, neighbour: bool) -> float:
        noise, rows = make_noise(2 * run + neighbour), sides[neighbour]
        curator = Curator(PrivateSizeRows(rows, 21, noise) if absent else rows, claim, noise, neighbours)
        drawn = curator.take(np.arange(curator.rows.n))
        values = curator.squares(drawn, squares, claim.rho, "squares").values
        return float(values[1] - values[0])

    return Target(score, claim)


def variances_step(neighbours: Neighbours, make_noise: MakeNoise = repeatable) -> Target:
    """Attack the squares of rows in a ball: the one row is at the end of one column or of another, or is absent."""
    claim, squares = Zcdp(Fraction(1, 2)), BallSquares(np.zeros(2), 2.0**-20, 2**20, 10)
    absent, end = neighbours is UNCOUNTED, [[0.0, 1.0]]
    others = np.full((2, 2), 0.1)
    sides = [rows_of(others if absent else np.vstack((others, [[1.0, 0.0]]))), rows_of(np.vstack((others, end)))]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(sides[neighbour], claim, make_noise(2 * run + neighbour), neighbours)
        values = curator.ball_squares(curator.rows, squares, claim.rho, "variances").values
        return float(values[1] if absent else values[1] - values[0])

    return Target(score, claim)


def octaves_step(make_noise: MakeNoise = repeatable) -> Target:
    """Attack the octaves of differences: in every column, the only pair is in one octave or in the next."""
    claim, octaves, d = Zcdp(Fraction(1, 2)), Octaves(-4, 4), 8
    sides = [rows_of(np.vstack((np.zeros(d), np.full(d, apart)))) for apart in (0.1, 0.2)]

    def score(run: int, neighbour: bool) -> float:
        curator = Curator(sides[neighbour], claim, make_noise(2 * run + neighbour), REPLACED)
        values = curator.octaves(curator.rows, octaves, claim.rho, "octaves").values
        return float((values[:, 1] - values[:, 0]).sum())

    return Target(score, claim)


def outside_step(neighbours: Neighbours, make_noise: MakeNoise = repeatable) -> Target:
    """Attack the counts of rows outside of an interval: the one row is outside in all columns, or inside or absent."""
    claim, d, absent = Zcdp(Fraction(1, 2)), 8, neighbours is UNCOUNTED
    view = Columns(np.full(d, -0.1), np.full(d, 0.2), np.full(d, 2))
    others = np.zeros((9, d))
    sides = [rows_of(others if absent else np.zeros((10, d))), rows_of(np.vstack((others, np.full((1, d), 0.3))))]

    def score(run: int, neighbour: bool) -> float:
        noise, rows = make_noise(2 * run + neighbour), sides[neighbour]
        curator = Curator(PrivateSizeRows(rows, 10, noise) if absent else rows, claim, noise, neighbours)
        return float(curator.count_outside(curator.rows, view, claim.rho, "tails 1, by column").values.sum())

    return Target(score, claim)


def medians_step(neighbours: Neighbours, make_noise: MakeNoise = repeatable) -> Target:
    """Attack the medians of columns: one comparison, whose count is equal to the rank or one more."""
    claim, view, absent = Zcdp(2), Columns(np.zeros(1), np.ones(1), np.ones(1, dtype=np.int64)), neighbours is UNCOUNTED
    low, high = np.zeros((10, 1)), np.ones((9 if absent else 10, 1))
    sides = [rows_of(np.vstack((low, high))), rows_of(np.vstack((low, [[0.0]], high[:9])))]

    def score(run: int, neighbour: bool) -> float:
        noise, rows = make_noise(2 * run + neighbour), sides[neighbour]
        curator = Curator(PrivateSizeRows(rows, 20, noise) if absent else rows, claim, noise, neighbours)
        return -float(curator.column_medians(curator.rows, view, claim.rho, "medians")[0])

    return Target(score, claim)
