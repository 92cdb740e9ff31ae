"""What to expect, before any data are touched: ``dpmean.plan``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpmean.budget import ApproxDp, Number, PureDp, Zcdp
from dpmean.door.budgets import LARGEST_EPSILON, read_budget, read_local_budget, read_shuffle_budget
from dpmean.door.choices import read_honest, read_neighbours, read_rounds
from dpmean.door.rows import read_columns
from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.estimators import plan as planner
from dpmean.estimators.enough import Need, Verdict
from dpmean.estimators.refined import rows_needed
from dpmean.neighbours import Neighbours
from dpmean.trust import division
from dpmean.trust.central import FOR_NUMBER, REPLACING, Central
from dpmean.trust.shuffle.design import NEAR, clients_needed, design
from dpmean.uncertainty import length_quantile

_FAR = 10.0
"""How many spreads the mean is taken to be away from the origin, or from the middle of the bounds."""


@final
@dataclass(frozen=True, slots=True)
class Traffic:
    """What the shuffle model asks of each user.

    Attributes:
        variant: how the centre is found, the cheapest way that meets the accuracy.
        rounds: how many rounds there are; every user takes part in each.
        messages: how many messages a user sends, on average, in all rounds together.
        bytes: how many bytes that is, frames included.
        sealed_bytes: the same with every message sealed to the analyzer.
        loosest: a bound of up to so many spreads adds at most a quarter to the error.

    """

    variant: str
    rounds: int
    messages: float
    bytes: float
    sealed_bytes: float
    loosest: float

    def __str__(self) -> str:
        return (
            f"  variant {self.variant}: {self.rounds} rounds, {self.messages:.1f} messages and {self.bytes:.0f} bytes "
            f"per user, {self.sealed_bytes:.0f} when sealed;\n"
            f"    the bound may be up to {self.loosest:.3g} spreads"
        )


@final
@dataclass(frozen=True, slots=True)
class Outlook:
    """What n rows in d dimensions and a budget promise.

    Attributes:
        n: how many rows.
        d: how many columns.
        budget: the budget: zCDP, or pure differential privacy in the local model, or epsilon and delta in the shuffle
            model.
        trust: central, local or shuffle.
        verdict: whether there are enough rows: fine, risky, or hopeless.
        error: the error that privacy adds on average to the mean of the rows (l2 norm), in multiples of their spread
            (their typical distance from the mean), for rows that look normal around a mean that is ten spreads away
            from the origin or the middle of the bounds. Clusters may double it; heavy tails and skewed rows in few
            dimensions may take it tenfold.
        sampling_error: the error that the rows have anyway, as a sample, in the same unit.
        rows_needed: how many rows would do well with this budget.
        budget_needed: which rho, or epsilon, would do well with these rows; infinity if none does.
        rows_to_match: from how many rows on privacy adds no more than sampling does, with this budget; 0 in the local
            model, where it hardly ever is, and in the shuffle model, which is planned for one number of users.
        traffic: what each user sends, in the shuffle model.

    """

    n: int
    d: int
    budget: Zcdp | PureDp | ApproxDp
    trust: str
    verdict: Verdict
    error: float
    sampling_error: float
    rows_needed: int
    budget_needed: float
    rows_to_match: int
    traffic: Traffic | None = None

    def __str__(self) -> str:
        ratio = self.error / self.sampling_error
        budget = self.budget
        notion = "rho" if isinstance(budget, Zcdp) else "epsilon"
        amount = float(budget.rho if isinstance(budget, Zcdp) else budget.epsilon)
        verdict = {
            Verdict.FINE: "enough rows",
            Verdict.RISKY: "few rows: expect a larger error, and now and then a much larger one",
            Verdict.HOPELESS: "too few rows: centre and radius could not be found",
        }[self.verdict]
        lines = [
            f"{self.n} rows in {self.d} dimension{'s' if self.d > 1 else ''}, {notion} = {amount:.4g}"
            f"{f', {self.trust} model' * (self.trust != 'central')}: {verdict}",
            f"  privacy adds an error of {'at least ' * (self.verdict is Verdict.HOPELESS)}{self.error:.3g} spreads "
            "(l2 norm, for rows that look normal),",
            f"    {ratio:.2g} times the {self.sampling_error:.3g} that the rows have anyway as a sample",
        ]
        if ratio > 1 and self.rows_to_match >= self.rows_needed:  # fewer would not do well in any case
            lines.append(f"  from {self.rows_to_match} rows on, privacy adds no more than sampling")
        if self.verdict is not Verdict.FINE:
            other = f"or {notion} = {self.budget_needed:.3g} with these rows"
            if math.isinf(self.budget_needed):
                other = "and no budget is large enough for these rows"
            lines.append(f"  {self.rows_needed} rows would do well with this budget, {other}")
        if self.traffic is not None:
            lines.append(str(self.traffic))
        return "\n".join(lines)


def plan(
    n: int,
    d: int,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    trust: str = "central",
    rounds: str = "adaptive",
    honest: Number = 0.8,
    neighbours: str = Neighbours.REPLACE_ONE,
) -> Outlook:
    """Tell what the mean of n rows in d dimensions would be worth, before any data are touched.

    Args:
        n: how many rows there will be.
        d: how many columns.
        rho: the privacy budget in zCDP. Or else
        epsilon: the budget in approximate differential privacy, together with
        delta: which should be well below 1/n.
        trust: ``"central"`` (the refined mean), ``"local"``, where epsilon may come without a delta, or ``"shuffle"``.
        rounds: ``"adaptive"`` or ``"few"``, in the local and the shuffle model.
        honest: the part of the users that are, in the shuffle model.
        neighbours: in the central model, ``"replace-one"``, or ``"add-or-remove-one"``: the number of rows is private.

    Returns:
        An ``Outlook``: print it, or read its numbers.

    Example:
        >>> import dpmean
        >>> print(dpmean.plan(4000, 128, rho=0.5))
        4000 rows in 128 dimensions, rho = 0.5: enough rows
          privacy adds an error of 0.0059 spreads (l2 norm, for rows that look normal),
            0.37 times the 0.0158 that the rows have anyway as a sample

    """
    n, d = _whole(n, "n"), _whole(d, "d")
    if trust not in ("central", "local", "shuffle"):
        raise ArgumentError(f'trust must be "central", "local" or "shuffle", got {trust!r}')
    few = read_rounds(rounds)
    relation = read_neighbours(neighbours)
    if trust != "central":
        read_columns(d, trust)
        if relation is not Neighbours.REPLACE_ONE:
            raise ArgumentError(f"neighbours is for the central model, got {neighbours!r}: leave it out")
    if trust == "local":
        return _local(n, d, read_local_budget(rho, epsilon, delta), few_rounds=few)
    if trust == "shuffle":
        return _shuffle(n, d, read_shuffle_budget(rho, epsilon, delta), read_honest(honest), few_rounds=few)
    budget = read_budget(rho, epsilon, delta)
    model = Central(relation)
    left = budget if relation is Neighbours.REPLACE_ONE else model.divide(budget, *FOR_NUMBER)[1]
    need = rows_needed(d, left, model)
    return Outlook(
        n=n,
        d=d,
        budget=budget,
        trust=trust,
        verdict=need.verdict(n),
        error=expected_error(n, d, left, model),
        sampling_error=1 / math.sqrt(n),
        rows_needed=math.ceil(need.fine),
        budget_needed=float(budget.rho) * (need.fine / n) ** 2,
        rows_to_match=_rows_to_match(d, left, model),
    )


def _local(n: int, d: int, budget: Zcdp | PureDp, *, few_rounds: bool) -> Outlook:
    need = Need(*division.users_needed(d, budget, few_rounds=few_rounds))
    amount = budget.epsilon if isinstance(budget, PureDp) else budget.rho
    power = 1 if isinstance(budget, PureDp) else 2  # users make up for epsilon by the square, for rho in proportion
    return Outlook(
        n=n,
        d=d,
        budget=budget,
        trust="local",
        verdict=need.verdict(n),
        error=division.expected_error(n, d, budget, few_rounds=few_rounds),
        sampling_error=1 / math.sqrt(n),
        rows_needed=math.ceil(need.fine),
        budget_needed=float(amount) * (need.fine / n) ** (power / 2),
        rows_to_match=0,
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


def _shuffle(n: int, d: int, budget: ApproxDp, honest: Fraction, *, few_rounds: bool) -> Outlook:
    need = Need(*clients_needed(d, budget, honest))
    enough = math.ceil(need.fine)
    chosen = design(max(n, math.ceil(20 / honest)), d, budget, honest, few_rounds=few_rounds)
    error, loosest = chosen.error(NEAR), NEAR
    while loosest < 1e6 and chosen.error(2 * loosest) <= 1.25 * error:
        loosest *= 2
    return Outlook(
        n=n,
        d=d,
        budget=budget,
        trust="shuffle",
        verdict=need.verdict(n),
        error=error,
        sampling_error=1 / math.sqrt(n),
        rows_needed=enough,
        budget_needed=_epsilon_needed(n, d, budget, honest),
        rows_to_match=0,
        traffic=Traffic(
            chosen.variant,
            len(chosen.stages),
            chosen.messages,
            chosen.bytes(sealed=False),
            chosen.bytes(sealed=True),
            loosest,
        ),
    )


def _rows_to_match(d: int, budget: Zcdp, model: Central) -> int:
    """Return from how many rows on the error of privacy is below that of sampling; the former falls faster."""
    low, high = 1, 2
    while expected_error(high, d, budget, model) * math.sqrt(high) > 1:
        low, high = high, 2 * high
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        enough = expected_error(middle, d, budget, model) * math.sqrt(middle) <= 1
        low, high = (low, middle) if enough else (middle, high)
    return high


def expected_error(n: int, d: int, budget: Zcdp, model: Central = REPLACING) -> float:
    """Predict the error of the refined mean in multiples of the spread, for normal rows.

    The planner's prediction is for rows that are all one spread away. The farthest but a few are farther by the ratio
    of two quantiles, and clipping a little more than these is what the search for the radius gains.
    """
    m = planner.rows_to_locate(n, d, float(budget.rho))
    left = float(budget.rho - planner.divide(budget.rho, n, m, d).total)
    alike = 4 / model.neighbours.contributions**2
    predicted = planner.rounds(n, m, d, left * alike, _FAR)[-1].error
    clipped = min(max(planner.noise(n, d, float(budget.rho) * alike), 1e-12), 0.25)
    return predicted * 0.9 * length_quantile(d, 1 - clipped) / length_quantile(d, 0.75)


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(f"{name} must be a whole number, got {value!r}")
    if value < 1:
        raise ArgumentError(f"{name} must be at least 1, got {value}")
    return int(value)
