"""Forecasts for groups of given sizes, and their text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpmean.enums import Verdict
from dpmean.errors import plural
from dpmean.privacy.budgets import Number, Zcdp

if TYPE_CHECKING:
    from dpmean.pipeline.outlook import Outlook

_DIGITS = 3


@final
@dataclass(frozen=True, slots=True)
class GroupOutlook:
    """The forecast for one group.

    Attributes:
        n: The number of rows or persons in the group.
        verdict: Whether these are enough: fine, risky or hopeless. A hopeless group is refused.
        error: The error that privacy adds to its mean, in the unit of the ``Outlook``.
        sampling_error: Its sampling error, in the same unit.

    """

    n: int
    verdict: Verdict
    error: float
    sampling_error: float

    def words(self, rows_least: int, unit: str) -> str:
        """Return the text for one group; with fewer rows than ``rows_least`` its mean may be refused."""
        if self.verdict is Verdict.HOPELESS:
            return "too few, its mean would be refused"
        found = f"privacy adds an error of {self.error:.3g}{unit}, sampling {self.sampling_error:.3g}"
        if self.n < rows_least:
            return f"barely enough: sizes are noisy, so its mean may be refused; {found}"
        few = "few, the error may be much larger" if self.verdict is Verdict.RISKY else "enough"
        return f"{few}; {found}"


def groups_in_words(outlook: Outlook, one: str, unit: str) -> Iterator[str]:
    """Yield lines about the groups: the forecast for each size, and the budget that the smallest needs."""
    sizes = Counter(group.n for group in outlook.groups)
    least = outlook.rows_least
    for group in {group.n: group for group in outlook.groups}.values():
        many = f" ({sizes[group.n]} groups)" if sizes[group.n] > 1 else ""
        yield f"  {plural(group.n, one)}{many}: {group.words(least, unit)}"
    recommended = f"; {outlook.rows_needed} are recommended" if outlook.rows_needed > least else ""
    yield f"  a group needs {plural(least, one)} with this budget{recommended}"
    if outlook.n < least:
        needed = budget_in_words(outlook.budget_least, outlook.delta)
        more = f"; {budget_in_words(outlook.budget_needed, outlook.delta)} is recommended"
        yield f"  {needed} would be enough for {plural(outlook.n, one)}{more * (outlook.rows_needed > least)}"
    if outlook.contributions == 1:
        yield f"  a {one} is in one group only, so every group gets the full budget"


def budget_in_words(rho: float, delta: Number | None) -> str:
    """Return the text of a budget, rounded up; with a delta also as an epsilon."""
    from dpmean.privacy.conversions import tight_epsilon  # here, as few need it

    amount = _round_up(rho)
    if delta is None:
        return f"rho = {amount:g}"
    epsilon = _round_up(float(tight_epsilon(Zcdp(amount), delta)))
    return f"rho = {amount:g} (epsilon = {epsilon:g} at delta = {float(delta):g})"


def _round_up(value: float) -> float:
    """Round a positive number up to three digits."""
    power = _DIGITS - 1 - math.floor(math.log10(value))
    scaled = value * 10.0**power
    return math.ceil(scaled - 1e-9) / 10.0**power if power >= 0 else math.ceil(scaled - 1e-9) * 10.0**-power
