"""The rounds of one variant, with noise worth a given rho: how many cells, how thick a blanket, how many shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from dpmean.numerics.grid import padded
from dpmean.privacy.budgets import ApproxDp
from dpmean.privacy.renyi import security_needed, shares_needed
from dpmean.trust.shuffle.costs import OUTSIDE
from dpmean.trust.shuffle.schema import Counters, Stage, Sums, Variant
from dpmean.trust.shuffle.sizes import SEAL_BYTES

FOR_CENTRE = {"mean": 0.04, "twice": 0.05, "two": 0.06, "tree": 0.08, "binary": 0.08}
FOR_RADIUS, FOR_ROUGH_RADIUS = 0.12, 0.04
"""Shares of the budget; the mean gets the rest."""
OCTAVES = 25
"""Radii to choose from reach over so many, up to twice the bound."""
CELLS = 34
"""Cells of a line in one of two rounds: 32, and one beyond either end."""
TREE_CELLS, TREE_LEVEL = 1024, 5
LINE_BITS, HALVINGS = 12, 14
_GUARD_BITS = 2
_RELIABLE = 14.0


def per_octave(d: int) -> int:
    """Return how many radii there are to an octave: in many dimensions distances differ little."""
    return 4 if d < 64 else 8


def stages_worth(variant: Variant, users: int, honest: int, d: int, budget: ApproxDp, rho: float) -> tuple[Stage, ...]:
    """Return the rounds: centre, radius, mean."""
    twice = variant == "twice"
    for_centre = FOR_CENTRE[variant] * rho
    left = rho - for_centre - rho * FOR_RADIUS - rho * FOR_ROUGH_RADIUS * twice
    thinnest = math.ceil(-math.log(float(budget.delta * OUTSIDE) / (20 * HALVINGS))) + 2

    def counters(rho: float, about: Literal["median", "radius"], cells: int, *levels: int) -> Counters:
        lines = padded(d) if about == "median" else 1
        return Counters(about, lines, cells, levels, max(thinnest, math.ceil(len(levels) / rho)))

    def radius(share: float) -> Counters:
        return counters(rho * share, "radius", OCTAVES * per_octave(d) + 1, 0)

    means = {"mean": 1, "twice": 2}.get(variant, 0)
    coarse = [_room(users, honest, d, for_centre / means, 16) for _ in range(means)]
    *coarse, mean = _split([*coarse, _room(users, honest, d, left, 64)], d, honest, budget)
    match variant:
        case "mean":
            centre: list[Stage] = [*coarse]
        case "twice":
            centre = [coarse[0], radius(FOR_ROUGH_RADIUS), coarse[1]]
        case "two":
            centre = [counters(for_centre / 2, "median", CELLS, 0)] * 2
        case "tree":
            centre = [counters(for_centre, "median", TREE_CELLS, TREE_LEVEL, 0)]
        case _:
            centre = [counters(for_centre / HALVINGS, "median", 2, 0)] * HALVINGS
    return (*centre, radius(FOR_RADIUS), mean)


def _room(users: int, honest: int, d: int, rho: float, fine: int) -> Sums:
    """Return a sum with its noise, and room for it; rounding to integers adds little to the noise."""
    finest = max(fine * math.sqrt(d), 8.0 * fine, fine / 64 * 2 * math.sqrt(2 * rho * users))
    radius = 1 << math.ceil(math.log2(finest))
    variance = math.ceil((2 * radius) ** 2 / (2 * rho))
    largest = users * radius + _RELIABLE * math.sqrt(variance * users / honest)
    return Sums(radius, variance, math.ceil(math.log2(largest)) + _GUARD_BITS, 1, d, 2)


def _split(sums: Sequence[Sums], d: int, honest: int, budget: ApproxDp) -> list[Sums]:
    """Pack and split sums, so that all together cost a twentieth of delta and each as few sealed bytes as possible."""

    def fitted(stage: Sums, packed: int) -> Sums:
        packs = -(-d // packed)
        one = Sums(stage.radius, stage.variance, stage.bits, packed, packs, 2)
        each = security_needed(packs * len(sums), budget.epsilon, budget.delta * OUTSIDE)
        shares = shares_needed(honest, 8 * one.pack_bytes, each)
        return Sums(stage.radius, stage.variance, stage.bits, packed, packs, shares)

    def cost(stage: Sums) -> int:
        return stage.packs * stage.shares * (stage.size + SEAL_BYTES + 2)

    return [min((fitted(stage, packed) for packed in range(1, min(d, 64) + 1)), key=cost) for stage in sums]
