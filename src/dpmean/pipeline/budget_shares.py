"""How the budget of a mean will be divided: among groups, counts, variances and the mean itself; public."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpmean.arguments.questions import ExpectedRows
from dpmean.arguments.terms import Terms
from dpmean.estimators.refined.variances import price
from dpmean.privacy.budgets import Zcdp
from dpmean.trust.central.costs import left_for_mean


@final
@dataclass(frozen=True, slots=True)
class BudgetShares:
    """The shares of a budget, before rows are read."""

    d: int
    group: Zcdp
    """What one group gets, where a person counts in several."""
    counted: Zcdp
    """What is left of that once rows and values are counted."""
    population: bool

    @staticmethod
    def of(d: int, terms: Terms, rows: ExpectedRows) -> BudgetShares:
        """Divide a budget, for what is expected of rows in d dimensions."""
        group = terms.zcdp.share(1, rows.contributions)
        counted = left_for_mean(group, terms.neighbours, values=rows.count_values)
        return BudgetShares(d, group, counted, rows.population)

    def variances(self, n: int) -> Fraction:
        """Return what the variances of the columns of n rows cost, if they are asked for."""
        return price(n, self.d, self.counted.rho) if self.population else Fraction(0)

    def for_mean(self, n: int) -> Zcdp:
        """Return what is left for the mean of n rows."""
        return Zcdp(self.counted.rho - self.variances(n))
