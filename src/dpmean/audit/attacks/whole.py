"""Attacks on whole estimators of the central model, on all that a release tells."""

from __future__ import annotations

import numpy as np

from dpmean.audit.attacks.central import UNCOUNTED, rows_of
from dpmean.audit.attacks.odds import COINS, FAR, Medians, Pair, circle, lumps, odds_of_search
from dpmean.audit.attacks.target import MakeNoise, Target
from dpmean.estimators.clipped import FAILURE, ClippedMean
from dpmean.estimators.refined.estimator import RefinedMean
from dpmean.estimators.shifted import FEWEST_ROWS, ShiftedClippedMean
from dpmean.numerics.grid import Grid, radius_index
from dpmean.numerics.noisy_search import questions, rank_error
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.protocols import Estimator
from dpmean.queries.queries import Floats
from dpmean.rows.private_size import UncountedRows
from dpmean.trust.central.model import FOR_NUMBER, REPLACING, Central

CLAIM = Zcdp(1)
STEP = 2.0**-20


def _estimator(method: str, grid: Grid, trust: Central) -> Estimator:
    name, _, once = method.partition(" in ")
    match name:
        case "clipped":
            return ClippedMean(grid, trust, bool(once))
        case "shifted":
            return ShiftedClippedMean(grid, trust, COINS, bool(once))
        case _:
            return RefinedMean(grid, COINS, bool(once), trust)


def _whole(method: str, others: Floats, trust: Central, make_noise: MakeNoise) -> Target:
    """Attack a whole estimator by its mean, its centre, and its number of rows if that is private."""
    private = trust.neighbours is Neighbours.ADD_OR_REMOVE_ONE
    grid, pair = Grid(STEP, FAR, 2), Pair.around(others, replaced=not private)
    estimator, sides = _estimator(method, grid, trust), [rows_of(rows, FAR) for rows in pair.sides]
    medians = Medians(pair, grid) if method.startswith("shifted") and len(others) < FEWEST_ROWS else None
    for_number, left = trust.divide(CLAIM, *FOR_NUMBER) if private else (CLAIM, CLAIM)
    for_centre, _ = trust.divide(left, 1, 3)

    def score(run: int, neighbour: bool) -> float:
        noise, rows = make_noise(2 * run + neighbour), sides[neighbour]
        about, odds = rows.n, 0.0
        if private:
            about, _ = trust.count(rows.n, for_number, noise, "number")
            odds = 2 * float(for_number.rho) * (about - len(others) - 0.5)
        found = estimator(UncountedRows(rows, about, noise) if private else rows, left, noise)
        odds += medians.odds(found, about, for_centre) if medians else 0.0
        return odds + pair.odds_of_mean(found, about)

    return Target(score, CLAIM, whole=True)


def _radius(make_noise: MakeNoise) -> Target:
    """Attack the radius of the clipped mean, which its receipt says a quarter of the budget was paid for.

    As many rows as are searched for lie near zero, the others far away, and one here or there.
    """
    n, grid, (claim, _) = 100, Grid(STEP, FAR, 1), REPLACING.divide(CLAIM, 1, 3)
    distances = grid.distances(np.zeros(1))
    std = REPLACING.count_std(distances.points, 1, claim)
    rank = n - max(REPLACING.rows_to_clip(1, CLAIM), rank_error(std, questions(distances.points), FAILURE))
    near = int(rank)
    sides = [rows_of(np.where(np.arange(n) < count, STEP, FAR)[:, np.newaxis], FAR) for count in (near, near + 1)]
    estimator = ClippedMean(grid, REPLACING)
    counts = [side.histogram(distances).counts[0].tolist().__getitem__ for side in sides]

    def score(run: int, neighbour: bool) -> float:
        radius = estimator(sides[neighbour], CLAIM, make_noise(2 * run + neighbour)).radius
        return odds_of_search(radius_index(radius) - distances.low, distances.points, counts, rank, std)

    return Target(score, claim, whole=True)


def whole_estimators(make_noise: MakeNoise) -> dict[str, Target]:
    """Return every method, for both kinds of neighbours, in two passes and in one; and a radius alone."""
    made = {}
    for trust in (REPLACING, UNCOUNTED):
        about = trust.neighbours
        made[f"clipped, {about}"] = _whole("clipped", circle(300), trust, make_noise)
        made[f"shifted, {about}"] = _whole("shifted", lumps(300), trust, make_noise)
        made[f"refined, {about}"] = _whole("refined", circle(2000), trust, make_noise)
        made[f"clipped in one pass, {about}"] = _whole("clipped in one pass", circle(300), trust, make_noise)
    return {
        **made,
        "shifted in one pass, replace-one": _whole("shifted in one pass", circle(2400), REPLACING, make_noise),
        "refined in one pass, replace-one": _whole("refined in one pass", circle(17_000), REPLACING, make_noise),
        "radius of clipped": _radius(make_noise),
    }
