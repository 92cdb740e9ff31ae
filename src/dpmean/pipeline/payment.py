"""Paying from a ledger: what was drawn is charged, whatever goes wrong after it."""

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
    """The ledger that a call pays from, if there is one, what it asks for, whom that is about, and what was drawn."""

    ledger: Ledger | None
    asked: Zcdp
    neighbours: str
    unit: str | None
    paid: Zcdp | None = None

    def pay(self, cost: Zcdp) -> None:
        """Remember what was drawn, before anybody can have seen it."""
        self.paid = cost

    def check(self) -> None:
        """Refuse what would be refused in the end, before anything is drawn."""
        if self.ledger is not None:
            self.ledger.check(self.asked, neighbours=self.neighbours, unit=self.unit)

    def charged(self, work: Callable[[], _Found], what: str) -> _Found:
        """Do some work; if anything goes wrong, take what was drawn so far from the ledger, since that may tell of it.

        Outside of any handler: were the ledger to refuse, its error must not carry the other one along.
        """
        failed = None
        try:
            return work()
        except BaseException as error:
            failed = error
        if self.ledger is not None and self.paid is not None:
            self.ledger.charge(self.paid, what, neighbours=self.neighbours, unit=self.unit, asked=self.asked)
        raise failed
