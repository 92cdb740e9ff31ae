"""What groups of some sizes promise, in numbers and in words."""

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
    """What there is to expect of one group.

    Attributes:
        n: The number of its rows, or persons.
        verdict: Whether these are enough: fine, risky, or hopeless, which is refused.
        error: The error that privacy adds to its mean, in the unit of the ``Outlook``.
        sampling_error: The error that its rows have anyway, as a sample, in the same unit.

    """

    n: int
    verdict: Verdict
    error: float
    sampling_error: float

    def words(self, rows_least: int, unit: str) -> str:
        """Say what to expect; with fewer rows than ``rows_least`` it may be refused."""
        if self.verdict is Verdict.HOPELESS:
            return "too few, expect no mean"
        found = f"privacy adds an error of {self.error:.3g}{unit}, sampling {self.sampling_error:.3g}"
        if self.n < rows_least:
            return f"hardly enough, as sizes are told with noise: it may be refused; {found}"
        few = "few, expect now and then a much larger error" if self.verdict is Verdict.RISKY else "enough"
        return f"{few}; {found}"


def groups_in_words(outlook: Outlook, one: str, unit: str) -> Iterator[str]:
    """Yield lines about the groups: what each promises, and what the smallest needs."""
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
        yield f"  the budget is for all groups together: a {one} is in one of them, so each gets all of it"


def budget_in_words(rho: float, delta: Number | None) -> str:
    """Return a budget, rounded up; with a delta as an epsilon, too."""
    from dpmean.privacy.conversions import tight_epsilon  # here, as few need it

    amount = _rounded_up(rho)
    if delta is None:
        return f"rho = {amount:g}"
    epsilon = _rounded_up(float(tight_epsilon(Zcdp(amount), delta)))
    return f"rho = {amount:g} (epsilon = {epsilon:g} at delta = {float(delta):g})"


def _rounded_up(value: float) -> float:
    """Round a positive number up to a few digits."""
    power = _DIGITS - 1 - math.floor(math.log10(value))
    scaled = value * 10.0**power
    return math.ceil(scaled - 1e-9) / 10.0**power if power >= 0 else math.ceil(scaled - 1e-9) * 10.0**-power
