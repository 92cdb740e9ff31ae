"""Attacks on whole estimators of the central model: they use all numbers of a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.audit.attacks.central import REPLACED, UNCOUNTED, rows_of
from dpmean.audit.attacks.odds import COINS, FAR, Medians, Pair, circle, lumps, odds_of_search
from dpmean.audit.attacks.target import MakeNoise, Target
from dpmean.enums import Shaping
from dpmean.estimators.clipped import FAILURE, ClippedMean
from dpmean.estimators.feasibility import Estimator
from dpmean.estimators.registry import find_estimator
from dpmean.estimators.shifted import FEWEST_ROWS, count_centre_rows
from dpmean.numerics.grid import Grid, radius_at, radius_index
from dpmean.numerics.noisy_search import questions, rank_error
from dpmean.numerics.rotation import Rotation
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Distances, Floats, Ints
from dpmean.rows.memory import MemoryRows
from dpmean.rows.private_size import PrivateSizeRows
from dpmean.trust.central.costs import COUNT_SHARES, count_std, rows_to_clip, split
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.noisy_counter import count_rows

CLAIM = Zcdp(1)
GRID = Grid(2.0**-20, FAR, 2)
BALL = Domain.within_norm(2, FAR, impute=False)
BOX = Domain.within_box(np.array([-80.0, -1.0]), np.array([80.0, 1.0]), impute=False)
"""The domain of a table of two columns, whose ranges differ as much as their values."""


def _estimator(method: str, grid: Grid) -> Estimator:
    name, _, once = method.partition(" in ")
    return find_estimator(name, 1 if once else 2)(grid, COINS, Shaping.AUTO)


def finders(n: int) -> Ints:
    """Return the positions of the rows that find the centre of the shifted mean: all, or a public sample."""
    (for_centre, _), rotation = split(CLAIM, 1, 3), Rotation.draw(GRID, COINS)
    return COINS.sample(n, count_centre_rows(n, rotation, for_centre))


def halves(n: int) -> Floats:
    """Return n - 1 rows in two lumps, each with half of the rows that find the centre."""
    found = finders(n)
    return lumps(n - 1, int(found[len(found) // 2]))


def _whole(
    method: str,
    others: Floats,
    neighbours: Neighbours,
    make_noise: MakeNoise,
    more: int = 1,
    domain: Domain = BALL,
    far: float = FAR,
) -> Target:
    """Attack a whole estimator through its mean, its centre, and its number of rows if that is private.

    The rows that find a centre are public, and the one row is among them. If the number of rows is private, so is the
    sample: all rows are used in its place, as it leaves out few.
    """
    private = neighbours is UNCOUNTED
    pair = Pair.around(others, replaced=not private, far=far)
    grid = Grid(GRID.step, domain.reach, 2)
    estimator, sides = _estimator(method, grid), [MemoryRows(rows, domain, threads=1) for rows in pair.sides]
    for_number, left = split(CLAIM, *COUNT_SHARES) if private else (CLAIM, CLAIM)
    for_centre, _ = split(left, 1, 3)
    asked = [rows if private else rows[finders(len(rows))] for rows in pair.sides]
    medians = Medians(asked, GRID) if method.startswith("shifted") else None

    def score(run: int, neighbour: bool) -> float:
        noise, rows = make_noise(2 * run + neighbour), sides[neighbour]
        about, odds = rows.n, 0.0
        if private:
            about, _ = count_rows(rows.n, for_number, noise, "number")
            odds = 2 * float(for_number.rho) * (about - len(others) - 0.5)
        seen = PrivateSizeRows(rows, about, noise) if private else rows
        found = estimator(Curator(seen, left, noise, neighbours))
        odds += medians.odds(found, about if private else len(asked[0]), for_centre) if medians else 0.0
        return odds + pair.odds_of_mean(found, about)

    return Target(score, CLAIM, whole=True, more=more)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RadiusAttack:
    """The worst case for the radius of the clipped mean: one row decides every comparison of its search.

    As many rows as the rank are zero, the others lie at the bound, and one row is at either place. The ladder has 2^7
    radii, so the search uses all of its queries, and the radius reveals every comparison.
    """

    sides: tuple[MemoryRows, MemoryRows]
    distances: Distances
    rank: float
    std: float
    """The standard deviation of the noise on each count."""
    claim: Zcdp
    """The cost of the radius in its receipt: a quarter of the budget."""
    grid: Grid

    @staticmethod
    def worst(n: int = 30) -> RadiusAttack:
        """Return the attack on n rows."""
        claim, _ = split(CLAIM, 1, 3)
        grid = Grid(1.0, radius_at(radius_index(0.5) + 127), 1)
        distances = grid.distances(np.zeros(1))
        std = count_std(distances.points, 1, claim)
        rank = n - max(rows_to_clip(1, CLAIM, REPLACED), rank_error(std, questions(distances.points), FAILURE))
        one, other = (
            rows_of(np.where(np.arange(n) < near, 0.0, grid.reach)[:, np.newaxis], grid.reach)
            for near in (int(rank), int(rank) + 1)
        )
        return RadiusAttack((one, other), distances, rank, std, claim, grid)

    def counts(self) -> list[list[int]]:
        """Return the number of rows within each radius, for both neighbours."""
        return [side.answer(self.distances).counts[0].tolist() for side in self.sides]

    def target(self, make_noise: MakeNoise) -> Target:
        """Return the attack as a target."""
        estimator = ClippedMean(self.grid, COINS)
        counts = [found.__getitem__ for found in self.counts()]

        def score(run: int, neighbour: bool) -> float:
            curator = Curator(self.sides[neighbour], CLAIM, make_noise(2 * run + neighbour), REPLACED)
            radius = estimator(curator).radius
            found = radius_index(radius) - self.distances.low
            return odds_of_search(found, self.distances.points, counts, self.rank, self.std)

        return Target(score, self.claim)


def whole_estimators(make_noise: MakeNoise) -> dict[str, Target]:
    """Return attacks on every method, for both kinds of neighbours, in two passes and in one; and on a radius.

    For refined, there are also rows whose columns differ in scale, so that it finds a shape.
    """
    made, uneven = {}, circle(2000) * [1.0, 0.01]
    for about in (REPLACED, UNCOUNTED):
        table = _whole("refined", uneven, about, make_noise, domain=BOX, far=80.0)
        made[f"refined, uneven vectors, {about}"] = _whole("refined", uneven, about, make_noise)
        made[f"refined, table, {about}"] = table
        made[f"clipped, {about}"] = _whole("clipped", circle(300), about, make_noise)
        made[f"shifted, {about}"] = _whole("shifted", halves(301), about, make_noise)
        made[f"refined, {about}"] = _whole("refined", circle(2000), about, make_noise)
        made[f"clipped in one pass, {about}"] = _whole("clipped in one pass", circle(300), about, make_noise)
        made[f"refined in one pass, {about}"] = _whole("refined in one pass", circle(17_000), about, make_noise)
    fewest = halves(FEWEST_ROWS + 1)  # a sample leaves out one of these rows, or about one
    return {
        **made,
        "shifted in one pass, replace-one": _whole("shifted in one pass", fewest, REPLACED, make_noise),
        "shifted in one pass, add-or-remove-one": _whole("shifted in one pass", fewest, UNCOUNTED, make_noise, more=2),
        "radius of clipped": RadiusAttack.worst().target(make_noise),
    }
