"""What a collection costs a client: every round's curve, what lies outside them, and how safe split sums are.

Clients compute this before they take part, so it needs no array library. See docs/privacy_guarantee.md, section 12.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpmean.errors import ArgumentError, OverspendError
from dpmean.privacy.budgets import ApproxDp
from dpmean.privacy.renyi import Renyi, compose, poisson_counts, security_of, skellam_sum
from dpmean.trust.shuffle.amounts import read_budget
from dpmean.trust.shuffle.schema import Collection, Counters, Stage

OUTSIDE = Fraction(1, 20)
"""The part of delta that is set aside for outcomes below the floors of counts, and as much again for split sums."""


def stage_costs(stages: Sequence[Stage], d: int, honest: int, delta: Fraction) -> list[Renyi]:
    """Return the cost of each round. Replacing a row moves one message of a client at each level of each round."""
    levels = sum(len(stage.levels) for stage in stages if isinstance(stage, Counters))
    costs = []
    for stage in stages:
        if isinstance(stage, Counters):
            shifts = len(stage.levels)
            costs.append(poisson_counts(stage.blanket, shifts, delta * OUTSIDE * Fraction(shifts, levels)))
        else:
            security = max(security_of(honest, 8 * stage.pack_bytes, stage.shares), 0.0)  # none is none
            distance = stage.packs * 2.0**-security
            costs.append(skellam_sum(Fraction(stage.variance), 2 * stage.radius, d).apart(distance))
    return costs


def total_cost(stages: Sequence[Stage], d: int, honest: int, budget: ApproxDp) -> ApproxDp:
    """Return the (epsilon, delta) of all rounds together, at the delta of the budget."""
    return ApproxDp(compose(stage_costs(stages, d, honest, budget.delta)).epsilon(budget.delta), budget.delta)


def check_cost(collection: Collection) -> ApproxDp:
    """Return what a collection costs a client; refuse one that costs more than it says."""
    said = read_budget(collection.budget)
    try:
        cost = total_cost(collection.stages, collection.d, collection.honest, said)
    except ArgumentError as error:
        raise OverspendError(f"the collection would cost more than the {said} that it says: {error}") from None
    if cost.epsilon > said.epsilon:
        raise OverspendError(f"the collection would cost {cost}, more than the {said} that it says")
    return cost


def cost_of_rounds(collection: Collection, rounds: Iterable[int]) -> ApproxDp:
    """Return what some rounds of a collection cost, the others being left out."""
    delta = read_budget(collection.budget).delta
    costs = stage_costs(collection.stages, collection.d, collection.honest, delta)
    return ApproxDp(compose(costs[number] for number in sorted(set(rounds))).epsilon(delta), delta)
