"""What a collection costs a client: every round's curve, what lies outside them, and how safe split sums are.

Clients compute this before they take part, so it needs no array library. See docs/privacy_guarantee.md, section 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpmean.budget import ApproxDp
from dpmean.errors import ArgumentError, OverspendError
from dpmean.renyi import NOTHING, Renyi, compose, poisson_counts, security_cost, security_of, skellam_sum
from dpmean.trust.shuffle.schema import Collection, Counters, Stage, Sums

OUTSIDE = Fraction(1, 20)
"""The part of delta that is set aside for outcomes below the floors of counts, and as much again for split sums."""


def stage_costs(stages: Sequence[Stage], d: int, delta: Fraction) -> list[Renyi]:
    """Return the cost of each round. Replacing a row moves one message of a client at each level of each round."""
    levels = sum(len(stage.levels) for stage in stages if isinstance(stage, Counters))
    costs = []
    for stage in stages:
        if isinstance(stage, Counters):
            shifts = len(stage.levels)
            costs.append(poisson_counts(stage.blanket, shifts, delta * OUTSIDE * Fraction(shifts, levels)))
        else:
            costs.append(skellam_sum(Fraction(stage.variance), 2 * stage.radius, d))
    return costs


def split_cost(stages: Sequence[Stage], honest: int, epsilon: Fraction) -> Fraction:
    """Return the delta that all split sums cost together."""
    return sum(
        (
            security_cost(stage.packs, epsilon, security_of(honest, 8 * stage.pack_bytes, stage.shares))
            for stage in stages
            if isinstance(stage, Sums)
        ),
        start=Fraction(0),
    )


def total_cost(stages: Sequence[Stage], d: int, honest: int, budget: ApproxDp) -> ApproxDp:
    """Return the (epsilon, delta) of all rounds together, at the delta of the budget."""
    split = split_cost(stages, honest, budget.epsilon)
    together = compose(stage_costs(stages, d, budget.delta)) + Renyi(NOTHING.curve, split)
    return ApproxDp(together.epsilon(budget.delta), budget.delta)


def check_cost(collection: Collection, budget: ApproxDp) -> ApproxDp:
    """Return what a collection costs; refuse one that exceeds what its client allows."""
    try:
        cost = total_cost(collection.stages, collection.d, collection.honest, budget)
    except ArgumentError as error:
        raise OverspendError(f"the collection would cost more than {budget}: {error}") from None
    if cost.epsilon > budget.epsilon:
        raise OverspendError(f"the collection would cost {cost}, and this client allows {budget}")
    return cost
