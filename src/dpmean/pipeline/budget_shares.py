"""The division of a budget among groups, counts, variances and the mean itself; it is public."""

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
    """The shares of a budget, known before rows are read."""

    d: int
    group: Zcdp
    """The budget of one group: a part of all if a person may count in several groups."""
    counted: Zcdp
    """The rest of it after rows and values have been counted."""
    population: bool

    @staticmethod
    def of(d: int, terms: Terms, rows: ExpectedRows) -> BudgetShares:
        """Divide a budget for rows in d dimensions."""
        group = terms.zcdp.share(1, rows.contributions)
        counted = left_for_mean(group, terms.neighbours, values=rows.count_values)
        return BudgetShares(d, group, counted, rows.population)

    def variances(self, n: int) -> Fraction:
        """Return the cost of the variances of columns for n rows; 0 if they are not requested."""
        return price(n, self.d, self.counted.rho) if self.population else Fraction(0)

    def for_mean(self, n: int) -> Zcdp:
        """Return the budget that is left for the mean of n rows."""
        return Zcdp(self.counted.rho - self.variances(n))
