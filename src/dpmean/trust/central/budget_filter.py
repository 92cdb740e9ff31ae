"""The budget of one run: what is left of it, and the receipts of what was paid."""

from __future__ import annotations

from fractions import Fraction
from typing import final

from dpmean.errors import OverspendError
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.receipts import Receipt


@final
class BudgetFilter:
    """Pays for steps, each once, and never more than there is."""

    def __init__(self, budget: Zcdp) -> None:
        self.left = budget.rho
        self.receipts: list[Receipt] = []
        self._aside = Fraction(0)
        self._steps: set[str] = set()

    def put_aside(self, cost: Fraction) -> None:
        """Keep some of what is left for later: until ``take_back`` it is as if it were not there."""
        if not 0 < cost < self.left:
            raise OverspendError(f"{cost} cannot be put aside, and {self.left} of the budget is left")
        self.left -= cost
        self._aside += cost

    def take_back(self) -> None:
        """Let what was put aside be spent."""
        self.left += self._aside
        self._aside = Fraction(0)

    def pay(self, step: str, asked: str, mechanism: str, cost: Fraction, *, exact: bool = True) -> None:
        """Take the price of a step from what is left, before it is answered, and write the receipt."""
        self.reserve(step, cost)
        self.note(step, asked, mechanism, cost, exact=exact)

    def reserve(self, step: str, cost: Fraction) -> None:
        """Take the price of a step from what is left; the receipt is written when it is known what was asked."""
        if not 0 < cost <= self.left:
            raise OverspendError(f"{step} costs {cost}, and {self.left} of the budget is left")
        if step in self._steps:
            raise AssertionError(f"{step} was asked before: its noise would be used twice")
        self._steps.add(step)
        self.left -= cost

    def note(self, step: str, asked: str, mechanism: str, cost: Fraction, *, exact: bool = True) -> None:
        """Write the receipt of a step whose price was taken."""
        self.receipts.append(Receipt(step, asked, mechanism, Zcdp(cost), exact))
