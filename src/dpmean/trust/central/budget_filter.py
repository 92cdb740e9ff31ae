"""The budget of one run: the remaining budget, and the receipts of all payments."""

from __future__ import annotations

from fractions import Fraction
from typing import final

from dpmean.errors import OverspendError
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.receipts import Receipt


@final
class BudgetFilter:
    """Pays for steps, each only once, and never more than the budget."""

    def __init__(self, budget: Zcdp) -> None:
        self.left = budget.rho
        self.receipts: list[Receipt] = []
        self._aside = Fraction(0)
        self._steps: set[str] = set()

    def put_aside(self, cost: Fraction) -> None:
        """Reserve a part of the remaining budget for later: it cannot be spent before ``take_back``."""
        if not 0 < cost < self.left:
            raise OverspendError(f"{cost} cannot be put aside: {self.left} of the budget is left")
        self.left -= cost
        self._aside += cost

    def take_back(self) -> None:
        """Return the reserved part to the remaining budget."""
        self.left += self._aside
        self._aside = Fraction(0)

    def pay(self, step: str, asked: str, mechanism: str, cost: Fraction, *, exact: bool = True) -> None:
        """Take the cost of a step from the remaining budget, before it is answered, and write the receipt."""
        self.reserve(step, cost)
        self.note(step, asked, mechanism, cost, exact=exact)

    def reserve(self, step: str, cost: Fraction) -> None:
        """Take the cost of a step from the remaining budget; its receipt is written later, with ``note``."""
        if not 0 < cost <= self.left:
            raise OverspendError(f"{step} costs {cost}, but {self.left} of the budget is left")
        if step in self._steps:
            raise AssertionError(f"{step} was asked before: its noise would be used twice")
        self._steps.add(step)
        self.left -= cost

    def note(self, step: str, asked: str, mechanism: str, cost: Fraction, *, exact: bool = True) -> None:
        """Write the receipt of a step whose cost was taken."""
        self.receipts.append(Receipt(step, asked, mechanism, Zcdp(cost), exact))
