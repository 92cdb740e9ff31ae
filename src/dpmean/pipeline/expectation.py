"""What a mean would be worth, computed from public numbers alone; ``dpmean.plan`` explains them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpmean.arguments.budgets import LARGEST_EPSILON, read_budget, read_local_budget, read_shuffle_budget
from dpmean.arguments.choices import read_honest, read_neighbours, read_rounds
from dpmean.arguments.rows import read_columns
from dpmean.enums import Trust, read_name
from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.estimators.feasibility import Need
from dpmean.estimators.refined import plan as planner
from dpmean.estimators.refined.estimator import rows_needed
from dpmean.numerics.error_quantiles import length_quantile
from dpmean.pipeline.outlook import Outlook, Traffic
from dpmean.privacy.budgets import ApproxDp, Number, PureDp, Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.trust.central.costs import left_for_mean
from dpmean.trust.local import division
from dpmean.trust.shuffle.design import NEAR, Design, clients_needed, design

_FAR = 10.0
"""How many spreads the mean is taken to be away from the origin, or from the middle of the bounds."""


Given = tuple[Number | None, Number | None, Number | None]
"""A budget as it was given: rho, epsilon and delta."""


def expect(n: int, d: int, given: Given, *, trust: str, rounds: str, honest: Number, neighbours: str | None) -> Outlook:
    """Read what was asked, and tell what to expect."""
    n, d = _whole(n, "n"), _whole(d, "d")
    model = read_name(Trust, trust, "trust")
    few = read_rounds(rounds)
    relation = read_neighbours(neighbours, model)
    if model is not Trust.CENTRAL:
        read_columns(d, model)
    if model is Trust.LOCAL:
        return _local(n, d, read_local_budget(*given), few_rounds=few)
    if model is Trust.SHUFFLE:
        return _shuffle(n, d, read_shuffle_budget(*given), read_honest(honest), few_rounds=few)
    return _central(n, d, read_budget(*given), relation)


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(f"{name} must be a whole number, got {value!r}")
    if value < 1:
        raise ArgumentError(f"{name} must be at least 1, got {value}")
    return int(value)


def _outlook(
    n: int,
    d: int,
    budget: Zcdp | PureDp | ApproxDp,
    trust: Trust,
    need: Need,
    *,
    neighbours: Neighbours,
    error: float,
    budget_needed: float,
    rows_to_match: int = 0,
    traffic: Traffic | None = None,
) -> Outlook:
    return Outlook(
        n=n,
        d=d,
        budget=budget,
        trust=trust,
        neighbours=neighbours,
        verdict=need.verdict(n),
        error=error,
        sampling_error=1 / math.sqrt(n),
        rows_needed=math.ceil(need.fine),
        budget_needed=budget_needed,
        rows_to_match=rows_to_match,
        traffic=traffic,
    )


def _central(n: int, d: int, budget: Zcdp, relation: Neighbours) -> Outlook:
    left = left_for_mean(budget, relation)
    need = rows_needed(d, left, relation)
    return _outlook(
        n,
        d,
        budget,
        Trust.CENTRAL,
        need,
        error=_expected_error(n, d, left, relation),
        budget_needed=float(budget.rho) * (need.fine / n) ** 2,
        neighbours=relation,
        rows_to_match=_rows_to_match(d, left, relation),
    )


def _rows_to_match(d: int, budget: Zcdp, relation: Neighbours) -> int:
    """Return from how many rows on the error of privacy is below that of sampling; the former falls faster."""
    low, high = 1, 2
    while _expected_error(high, d, budget, relation) * math.sqrt(high) > 1:
        low, high = high, 2 * high
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        enough = _expected_error(middle, d, budget, relation) * math.sqrt(middle) <= 1
        low, high = (low, middle) if enough else (middle, high)
    return high


def _expected_error(n: int, d: int, budget: Zcdp, relation: Neighbours) -> float:
    """Predict the error of the refined mean in multiples of the spread, for normal rows.

    The planner's prediction is for rows that are all one spread away. The farthest but a few are farther by the ratio
    of two quantiles, and clipping a little more than these is what the search for the radius gains.
    """
    m = planner.rows_to_locate(n, d, float(budget.rho))
    left = float(budget.rho - planner.divide(budget.rho, n, m, d).total)
    alike = 4 / relation.contributions**2
    predicted = planner.rounds(n, m, d, left * alike, _FAR)[-1].error
    clipped = min(max(planner.noise(n, d, float(budget.rho) * alike), 1e-12), 0.25)
    return predicted * 0.9 * length_quantile(d, 1 - clipped) / length_quantile(d, 0.75)


def _local(n: int, d: int, budget: Zcdp | PureDp, *, few_rounds: bool) -> Outlook:
    need = Need(*division.users_needed(d, budget, few_rounds=few_rounds))
    amount = budget.epsilon if isinstance(budget, PureDp) else budget.rho
    power = 1 if isinstance(budget, PureDp) else 2  # users make up for epsilon by the square, for rho in proportion
    return _outlook(
        n,
        d,
        budget,
        Trust.LOCAL,
        need,
        error=division.expected_error(n, d, budget, few_rounds=few_rounds),
        neighbours=Neighbours.REPLACE_ONE,
        budget_needed=float(amount) * (need.fine / n) ** (power / 2),
    )


def _shuffle(n: int, d: int, budget: ApproxDp, honest: Fraction, *, few_rounds: bool) -> Outlook:
    need = Need(*clients_needed(d, budget, honest))
    chosen = design(max(n, math.ceil(20 / honest)), d, budget, honest, few_rounds=few_rounds)
    return _outlook(
        n,
        d,
        budget,
        Trust.SHUFFLE,
        need,
        error=chosen.error(NEAR),
        neighbours=Neighbours.REPLACE_ONE,
        budget_needed=_epsilon_needed(n, d, budget, honest),
        traffic=_traffic(chosen),
    )


def _traffic(chosen: Design) -> Traffic:
    loosest, most = NEAR, 1.25 * chosen.error(NEAR)
    while loosest < 1e6 and chosen.error(2 * loosest) <= most:
        loosest *= 2
    return Traffic(
        chosen.variant,
        len(chosen.stages),
        chosen.messages,
        chosen.bytes(sealed=False),
        chosen.bytes(sealed=True),
        loosest,
    )


def _epsilon_needed(n: int, d: int, budget: ApproxDp, honest: Fraction) -> float:
    """Return an epsilon that would do well with n rows, to two digits and rounded up; infinity if none is allowed."""
    low, high = float(budget.epsilon), float(LARGEST_EPSILON)

    def enough(epsilon: float) -> bool:
        return clients_needed(d, ApproxDp(epsilon, budget.delta), honest)[0] <= n

    if enough(low):
        return low
    if not enough(high):
        return math.inf
    while high - low > 0.005 * high:
        middle = round((low + high) / 2, 4)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
