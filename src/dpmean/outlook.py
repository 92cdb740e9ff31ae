"""What to expect, before any data are touched: ``dpmean.plan``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.budget import Number, PureDp, Zcdp
from dpmean.door import read_budget, read_local_budget
from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.estimators import plan as planner
from dpmean.estimators.enough import Need, Verdict
from dpmean.estimators.refined import rows_needed
from dpmean.trust import division
from dpmean.trust.randomizers import MOST_COLUMNS
from dpmean.uncertainty import length_quantile

_FAR = 10.0
"""How many spreads the mean is taken to be away from the origin, or from the middle of the bounds."""


@final
@dataclass(frozen=True, slots=True)
class Outlook:
    """What n rows in d dimensions and a budget promise.

    Attributes:
        n: how many rows.
        d: how many columns.
        budget: the budget: zCDP, or pure differential privacy in the local model.
        trust: central or local.
        verdict: whether there are enough rows: fine, risky, or hopeless.
        error: the error that privacy adds on average to the mean of the rows (l2 norm), in multiples of their spread
            (their typical distance from the mean), for rows that look normal around a mean that is ten spreads away
            from the origin or the middle of the bounds. Clusters may double it; heavy tails and skewed rows in few
            dimensions may take it tenfold.
        sampling_error: the error that the rows have anyway, as a sample, in the same unit.
        rows_needed: how many rows would do well with this budget.
        budget_needed: which rho, or epsilon, would do well with these rows.
        rows_to_match: from how many rows on privacy adds no more than sampling does, with this budget; 0 in the local
            model, where it hardly ever is.

    """

    n: int
    d: int
    budget: Zcdp | PureDp
    trust: str
    verdict: Verdict
    error: float
    sampling_error: float
    rows_needed: int
    budget_needed: float
    rows_to_match: int

    def __str__(self) -> str:
        ratio = self.error / self.sampling_error
        budget = self.budget
        notion = "epsilon" if isinstance(budget, PureDp) else "rho"
        amount = float(budget.epsilon if isinstance(budget, PureDp) else budget.rho)
        verdict = {
            Verdict.FINE: "enough rows",
            Verdict.RISKY: "few rows: expect a larger error, and now and then a much larger one",
            Verdict.HOPELESS: "too few rows: centre and radius could not be found",
        }[self.verdict]
        lines = [
            f"{self.n} rows in {self.d} dimension{'s' if self.d > 1 else ''}, {notion} = {amount:.4g}"
            f"{', local model' * (self.trust == 'local')}: {verdict}",
            f"  privacy adds an error of {'at least ' * (self.verdict is Verdict.HOPELESS)}{self.error:.3g} spreads "
            "(l2 norm, for rows that look normal),",
            f"  {ratio:.2g} times the {self.sampling_error:.3g} that the rows have anyway as a sample",
        ]
        if ratio > 1 and self.rows_to_match:
            lines.append(f"  from {self.rows_to_match} rows on, privacy adds no more than sampling")
        if self.verdict is not Verdict.FINE:
            lines.append(
                f"  {self.rows_needed} rows would do well with this budget, "
                f"or {notion} = {self.budget_needed:.3g} with these rows"
            )
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
) -> Outlook:
    """Tell what the mean of n rows in d dimensions would be worth, before any data are touched.

    Args:
        n: how many rows there will be.
        d: how many columns.
        rho: the privacy budget in zCDP. Or else
        epsilon: the budget in approximate differential privacy, together with
        delta: which should be well below 1/n.
        trust: ``"central"`` (the refined mean), or ``"local"``, where epsilon may come without a delta.
        rounds: ``"adaptive"`` or ``"few"``, in the local model.

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
    if trust not in ("central", "local") or rounds not in ("adaptive", "few"):
        raise ArgumentError(
            f'trust must be "central" or "local" and rounds "adaptive" or "few", got {trust!r} and {rounds!r}'
        )
    if trust == "local" and d > MOST_COLUMNS:
        raise ArgumentError(f"the local model takes at most {MOST_COLUMNS} columns, got {d}")
    if trust == "local":
        return _local(n, d, read_local_budget(rho, epsilon, delta), few_rounds=rounds == "few")
    budget = read_budget(rho, epsilon, delta)
    need = rows_needed(d, budget)
    return Outlook(
        n=n,
        d=d,
        budget=budget,
        trust=trust,
        verdict=need.verdict(n),
        error=expected_error(n, d, budget),
        sampling_error=1 / math.sqrt(n),
        rows_needed=math.ceil(need.fine),
        budget_needed=float(budget.rho) * (need.fine / n) ** 2,
        rows_to_match=_rows_to_match(d, budget),
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


def _rows_to_match(d: int, budget: Zcdp) -> int:
    """Return from how many rows on the error of privacy is below that of sampling; the former falls faster."""
    low, high = 1, 2
    while expected_error(high, d, budget) * math.sqrt(high) > 1:
        low, high = high, 2 * high
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if expected_error(middle, d, budget) * math.sqrt(middle) <= 1 else (middle, high)
    return high


def expected_error(n: int, d: int, budget: Zcdp) -> float:
    """Predict the error of the refined mean in multiples of the spread, for normal rows.

    The planner's prediction is for rows that are all one spread away. The farthest but a few are farther by the ratio
    of two quantiles, and clipping a little more than these is what the search for the radius gains.
    """
    m = planner.rows_to_locate(n, d, float(budget.rho))
    left = float(budget.rho - planner.divide(budget.rho, n, m, d).total)
    predicted = planner.rounds(n, m, d, left, _FAR)[-1].error
    clipped = min(max(planner.noise(n, d, float(budget.rho)), 1e-12), 0.25)
    return predicted * 0.9 * length_quantile(d, 1 - clipped) / length_quantile(d, 0.75)


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(f"{name} must be a whole number, got {value!r}")
    if value < 1:
        raise ArgumentError(f"{name} must be at least 1, got {value}")
    return int(value)
