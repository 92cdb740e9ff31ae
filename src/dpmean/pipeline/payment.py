"""Payments from a ledger: noisy numbers that were drawn are charged even if the call fails afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, final

from dpmean.ledger.ledger import Ledger
from dpmean.privacy.budgets import Zcdp

_Found = TypeVar("_Found")


@final
@dataclass(slots=True)
class Payment:
    """The payment of one call: its ledger, if any, the requested budget, who is protected, and the cost so far."""

    ledger: Ledger | None
    asked: Zcdp
    neighbours: str
    unit: str | None
    paid: Zcdp | None = None

    def pay(self, cost: Zcdp) -> None:
        """Remember a cost, before the noisy number is shown."""
        self.paid = cost

    def check(self) -> None:
        """Refuse a request that exceeds the ledger, before any noise is drawn."""
        if self.ledger is not None:
            self.ledger.check(self.asked, neighbours=self.neighbours, unit=self.unit)

    def charged(self, work: Callable[[], _Found], what: str) -> _Found:
        """Run some work; if it fails, charge the cost so far to the ledger, as the error may reveal a noisy number.

        The ledger is charged outside of the exception handler: if it refuses, its error must not chain the first one.
        """
        failed = None
        try:
            return work()
        except BaseException as error:
            failed = error
        if self.ledger is not None and self.paid is not None:
            self.ledger.charge(self.paid, what, neighbours=self.neighbours, unit=self.unit, asked=self.asked)
        raise failed
