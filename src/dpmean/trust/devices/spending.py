"""What one budget of a device is spent on: which collections were joined, what was sent, and what that cost.

A collection holds what it could cost, and once it is over, because it has ended or expired, what was sent for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import final

from dpmean.errors import OverspendError
from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
from dpmean.trust.devices.ledger_file import LedgerFile

Budget = Zcdp | PureDp | ApproxDp
Amount = tuple[Fraction, Fraction]
"""Rho or epsilon, and delta."""
NOTHING: Amount = (Fraction(0), Fraction(0))


class State(StrEnum):
    """How far a device is in a collection."""

    CHECKED_IN = "checked in"
    JOINED = "joined"
    ENDED = "ended"


@final
@dataclass(frozen=True, slots=True)
class Part:
    """One collection in which a device takes part, or took part.

    Attributes:
        name: The name of the collection.
        state: Whether the device has checked in, has joined, or is done with it.
        reserved: What it may cost until it is over: rho or epsilon, and delta.
        paid: What the messages cost that were sent so far: rho or epsilon, and delta.
        rounds: The rounds that were answered.
        expires: When it is over at the latest, in seconds since 1970.
        number: Its number in the file.
        document: What the device agreed to last, the invitation or the collection; empty when it is over.

    """

    name: str
    state: State
    reserved: Amount
    paid: Amount
    rounds: tuple[int, ...]
    expires: int
    number: int
    document: bytes

    @property
    def held(self) -> Amount:
        """What is taken from the budget: all that it may cost, and once it is over what was sent."""
        return self.paid if self.state is State.ENDED else self.reserved


@final
class Spending:
    """All collections that one budget was used for, as a client reads and changes them."""

    def __init__(self, file: LedgerFile, number: int, budget: Budget, clock: Callable[[], float]) -> None:
        self.budget = budget
        self._file, self._number, self._clock = file, number, clock

    @property
    def now(self) -> int:
        """The time, in seconds since 1970."""
        return int(self._clock())

    @property
    def left(self) -> Amount:
        """What is left: rho or epsilon, and delta."""
        return _minus(_amount(self.budget), _sum([part.held for part in self.parts]))

    @property
    def parts(self) -> tuple[Part, ...]:
        """All collections."""
        with self.change():
            return tuple(self._parts())

    def _parts(self, where: str = "", *values: object) -> list[Part]:
        query = "SELECT id, name, state, reserved, paid, expires, document FROM part WHERE account = ?"
        found = []
        for number, name, state, reserved, paid, expires, document in self._file.read(
            f"{query} {where} ORDER BY id", self._number, *values
        ):
            rounds = self._file.read("SELECT round FROM sent WHERE part = ? ORDER BY round", number)
            amounts = (_read(reserved), _read(paid), tuple(line[0] for line in rounds))
            found.append(Part(name, State(state), *amounts, expires, number, document))
        return found

    @contextmanager
    def change(self) -> Iterator[None]:
        """Look at the account and change it, with nobody in between; what has expired is over."""
        with self._file.transaction():
            for part in self._parts("AND state != ? AND expires <= ?", State.ENDED, self.now):
                self.end(part)
            yield

    def invited(self, invitation: bytes) -> Part | None:
        """Return the collection of an invitation."""
        return next(iter(self._parts("AND invitation = ?", invitation)), None)

    def joined(self, collection: bytes) -> Part | None:
        """Return the collection with some digest."""
        return next(iter(self._parts("AND collection = ?", collection)), None)

    def check_in(self, invitation: bytes, name: str, document: bytes, expires: int) -> Part:
        """Keep that the device has checked in: that costs nothing."""
        self._file.write(
            "INSERT INTO part (account, invitation, name, document, reserved, paid, expires, state) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(self._number, invitation, name, document, _text(NOTHING), _text(NOTHING), expires, State.CHECKED_IN),
        )
        (part,) = self._parts("AND invitation = ?", invitation)
        return part

    def join(self, part: Part, collection: bytes, document: bytes, cost: Budget) -> None:
        """Reserve what a collection may cost; refuse it if less is left."""
        reserved = self.affordable(cost)
        self._file.write(
            "UPDATE part SET collection = ?, document = ?, reserved = ?, state = ? WHERE id = ?",
            *(collection, document, _text(reserved), State.JOINED, part.number),
        )

    def affordable(self, cost: Budget) -> Amount:
        """Return the amount of a cost; refuse it if less is left, or if the budget is of another notion."""
        if type(cost) is not type(self.budget) and not (isinstance(cost, PureDp) and isinstance(self.budget, ApproxDp)):
            raise OverspendError(f"this would cost {cost}, and the budget of this device is {self.budget}")
        amount, left = _amount(cost), self.left
        if any(part < 0 for part in _minus(left, amount)):
            raise OverspendError(
                f"this would cost {cost}, and {_words(left, self.budget)} is left of {self.budget}: "
                "decline, or wait until a collection that was joined is over"
            )
        return amount

    def sent(self, part: Part, number: int) -> tuple[bytes, bytes | None] | None:
        """Return the digest of the document that was answered in a round, and the answer while it is kept."""
        found = self._file.read("SELECT digest, message FROM sent WHERE part = ? AND round = ?", part.number, number)
        return found[0] if found else None

    def keep(self, part: Part, number: int, digest: bytes, message: bytes, paid: Budget) -> None:
        """Keep an answer, and what all answers cost until now, before it is sent."""
        self._file.write("INSERT INTO sent VALUES (?, ?, ?, ?)", part.number, number, digest, message)
        self._file.write("UPDATE part SET paid = ? WHERE id = ?", _text(_amount(paid)), part.number)

    def end(self, part: Part) -> None:
        """Give back what was reserved and not used; answers are kept no longer."""
        self._file.write("UPDATE part SET state = ?, document = x'' WHERE id = ?", State.ENDED, part.number)
        self._file.write("UPDATE sent SET message = NULL WHERE part = ?", part.number)


def _amount(cost: Budget) -> Amount:
    if isinstance(cost, Zcdp):
        return cost.rho, Fraction(0)
    return cost.epsilon, cost.delta if isinstance(cost, ApproxDp) else Fraction(0)


def _sum(amounts: list[Amount]) -> Amount:
    return sum((amount[0] for amount in amounts), Fraction(0)), sum((amount[1] for amount in amounts), Fraction(0))


def _minus(one: Amount, other: Amount) -> Amount:
    return one[0] - other[0], one[1] - other[1]


def _words(amount: Amount, budget: Budget) -> str:
    if isinstance(budget, Zcdp):
        return f"rho = {float(amount[0]):.6g}"
    return f"epsilon = {float(amount[0]):.6g}" + (f", delta = {float(amount[1]):.3g}" if amount[1] else "")


def _text(amount: Amount) -> str:
    return f"{amount[0]} {amount[1]}"


def _read(text: str) -> Amount:
    first, second = text.split(" ")
    return Fraction(first), Fraction(second)
