"""What there is to expect, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from dpmean.enums import Trust
from dpmean.estimators.feasibility import Verdict
from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp


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
    trust: Trust
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
            f"{f', {self.trust} model' * (self.trust is not Trust.CENTRAL)}: {verdict}",
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
