"""Bookkeeping for data sets: what their releases cost together, and what is left of their budgets.

This is one file because every promise of the public class is explained where it is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, Self, final

from dpmean.errors import ArgumentError, ArgumentTypeError, LedgerError, OverspendError
from dpmean.ledger.account import Account, Entry, as_paid, digits
from dpmean.ledger.codec import Accounts
from dpmean.ledger.entries import Recordable, entry_for, entry_of
from dpmean.ledger.filter import Cost
from dpmean.ledger.storage import File, Memory
from dpmean.ledger.terms import of_kind, read_kind, read_limit, read_name, said, unknown
from dpmean.privacy.budgets import ApproxDp, Number, Zcdp


@final
class Ledger:
    """Adds up the releases from one data set, and refuses what protects nobody or costs more than is left.

    >>> import numpy as np, dpmean
    >>> ledger = dpmean.Ledger(rho=1.0)  # in memory; Ledger("budget.json", rho=1.0) remembers
    >>> rows = np.random.default_rng(0).normal(5, 1, (4000, 100))
    >>> ledger.record(dpmean.mean(rows, rho=0.5, norm_bound=500.0))
    >>> float(ledger.left)
    0.5

    With a file, all processes that name it spend from the same budgets, also at the same time: a release that was
    recorded is on the disk, and stays there after a crash. Show a release to nobody before it is recorded.

    Attributes:
        budget: What may be spent in all.
        dataset: The name of the rows.
        path: The file, or None.

    Args:
        path: The file, which need not be there yet. By default everything is kept in memory.
        rho: The budget in zCDP. Give either ``rho`` or ``epsilon``. A data set that is in the file already has its
            budget, which may be left out.
        epsilon: The budget in approximate differential privacy, in place of ``rho``. It needs a ``delta``. Costs of all
            kinds then add up as Rényi divergences, those of the shuffle model among them.
        delta: The delta that belongs to ``epsilon``.
        neighbours: Which neighbours all costs are about. By default those of the first release. A ledger of
            ``"replace-one"`` takes releases of ``"add-or-remove-one"`` too, at four times their rho: a replacement is a
            removal and an addition. One of ``"add-or-remove-one"`` refuses ``"replace-one"``, which publishes n.
        dataset: A name of your choice for the rows. Each name has a budget of its own. Nothing here looks at rows: if
            the same rows get two names, two budgets are spent on them. If persons are given by two arrays of keys,
            which have no names, both must mean the same persons.

    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Number | None = None,
        rho: Number | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        neighbours: str | None = None,
        dataset: str = "data",
    ) -> None:
        if isinstance(path, Real | Decimal) and rho is None:  # Ledger(1.0), as before there were files
            path, rho = None, path
        if path is not None and not isinstance(path, str | os.PathLike):
            raise ArgumentTypeError(f"path must be the name of a file, got {path!r} of type {type(path).__name__}")
        self.dataset = read_name(dataset)
        self._storage: Memory | File = Memory() if path is None else File(path)
        self.path = self._storage.name or None
        self.budget = self._begin(read_limit(rho, epsilon, delta), kind := read_kind(neighbours))
        if kind is not None and self._account().kind != kind:
            self._storage.change(lambda old: {**old, self.dataset: of_kind(self._account(old), kind, self.dataset)})

    def _begin(self, asked: Zcdp | ApproxDp | None, kind: str | None) -> Zcdp | ApproxDp:
        found = self._storage.read()
        if self.dataset not in found:
            if asked is None:
                raise ArgumentError(unknown(self.dataset, found, self._storage.name))
            fresh = Account(asked, neighbours=kind)
            self._storage.change(lambda old: old if self.dataset in old else {**old, self.dataset: fresh})
        budget = self._storage.read()[self.dataset].budget
        if asked is not None and asked != budget:
            raise ArgumentError(
                f"the budget of {self.dataset!r} in {self._storage.name} is {said(budget)}, got {said(asked)}: "
                "leave it out, or give another data set another name"
            )
        return budget

    def _account(self, found: Accounts | None = None) -> Account:
        found = self._storage.read() if found is None else found
        if self.dataset not in found or found[self.dataset].budget != self.budget:
            raise LedgerError(
                f"{self.dataset!r} has gone from {self._storage.name}, or has another budget: restore the file "
                "from a copy"
            )
        return found[self.dataset]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was paid, and when."""
        return self._account().entries

    @property
    def neighbours(self) -> str | None:
        """Which neighbours all costs are about; None as long as nothing decides that."""
        return self._account().kind

    @property
    def spent(self) -> Fraction:
        """What the recorded releases cost together: a rho, or an epsilon at the delta of the budget, rounded up.

        The epsilon is told at the Rényi order that the first cost fixed, so that it holds for whoever looks at answers
        and stops when they like. A first, small release is therefore told as much more than it costs by itself; what
        it takes from the budget is the difference to the next.
        """
        return self._account().spent

    @property
    def left(self) -> Fraction:
        """What one more release may cost: ``dpmean.mean(X, rho=ledger.left, ...)`` spends the rest.

        In a ledger of ``"replace-one"`` that is so for releases of ``"replace-one"``; others cost four times their rho.
        Of an epsilon and a delta it is the epsilon of one more release in the central model, at that delta, rounded
        down; ``spent`` and ``left`` then exceed the budget, since epsilons grow more slowly than they add up. Where the
        first cost was pure and at least half of the budget, only pure costs fit beside it, and it is a pure epsilon;
        ``print(ledger)`` says so then.
        """
        return self._account().left

    def record(self, release: Recordable, *, asked: Cost | None = None) -> None:
        """Take the cost of a release from the budget; when this returns, it is written down.

        A release is known by a hash of its JSON, in which are 128 random bits, its public coins: recorded again, as it
        is or as a copy, it is the same release and costs nothing, and no other one has the same hash.

        Args:
            release: What ``dpmean.mean`` or ``dpmean.mean_by`` returned.
            asked: What it might have cost, as for ``charge``.

        Raises:
            OverspendError: when it costs more than is left; then nothing was written, and it must not be shown.
            ArgumentError: when it was seeded, has noise in floats, or a cost that this budget cannot count.

        """
        self._append(entry_of(release, self.budget), "the release", asked)

    def charge(
        self,
        cost: Cost,
        what: str,
        *,
        neighbours: str | None = None,
        unit: str | None = None,
        asked: Cost | None = None,
    ) -> None:
        """Take from the budget what was paid without a release, such as another library's answer about these rows.

        Args:
            cost: What was paid.
            what: What it was paid for, in a few words.
            neighbours: Which neighbours the cost is about, if you know. About ``"add-or-remove-one"`` it is converted
                where rows are replaced: 4 rho, 2 epsilon, (1 + e^epsilon) delta. Otherwise it is refused beside others.
            unit: The column that says whose row it is, where the cost is about all rows of one person.
            asked: What it might have cost, where the cost depends on an answer. A budget of epsilon and delta takes
                that if it is the first entry, on which the order of its Rényi divergences rests.

        """
        words = " ".join(what.split()) if isinstance(what, str) else ""
        if not words or not words.isprintable():
            raise ArgumentError(f"say in a few words what was paid for, got {what!r}")
        self._append(entry_for(cost, words, self.budget, neighbours, unit), "this", asked)

    def check(self, cost: Cost, *, neighbours: str | None = None, unit: str | None = None) -> None:
        """Refuse a cost that is more than is left, or about others, before any work is done; spends nothing.

        Args:
            cost: What would be paid.
            neighbours: Which neighbours the cost is about, if you know.
            unit: The column that says whose row it is, where the cost is about all rows of one person.

        """
        account = self._account()
        with self._named():
            account.with_entry(entry_for(cost, "", account.budget, neighbours, unit), "this")

    def _append(self, entry: Entry, what: str, asked: Cost | None = None) -> None:
        def add(old: Accounts) -> Accounts:
            account = self._account(old)
            if any(entry.id == known.id for known in account.entries):
                return old
            paid = entry
            if asked is not None and not account.entries and isinstance(self.budget, ApproxDp):
                paid = replace(entry, cost=as_paid(asked, self.budget))
            with self._named():
                return {**old, self.dataset: account.with_entry(paid, what)}

        self._storage.change(add)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Say which data set it is that has too little left."""
        try:
            yield
        except OverspendError as error:
            where = "" if self.path is None else f"{self.dataset!r} in {self.path}: "
            raise OverspendError(f"{where}{error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise ArgumentTypeError(
                "a ledger in memory stays in its process, since a copy could be spent twice: give it a file, or leave "
                "it out of what you store"
            )
        return _reopen, (self._storage.place, self.dataset, self.budget)

    def __copy__(self) -> Self:
        return self  # two budgets for the same rows are none

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        account = self._account()
        where = "" if self.path is None else f" of {self.dataset} in {self.path}"
        spent, left = digits(account.spent, up=True), digits(account.left, up=False)
        if not isinstance(account.budget, ApproxDp):
            return f"<Ledger{where}: {account.unit} = {spent} spent, {left} left>"
        rest = f"{left} left{account.pure}" if account.pure else f"largest next release {left}"
        return f"<Ledger{where}: {account.unit} = {spent} spent, {rest}, delta = {float(account.budget.delta):g}>"

    def __str__(self) -> str:
        from dpmean.ledger.summary import describe  # here, as few need it

        title = f"Ledger of {self.dataset}" + ("" if self.path is None else f" in {self.path}")
        return "\n".join([title, *describe(self._account())])


def datasets(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the names of the data sets in a file, which must be there."""
    file = File(path)
    found = file.read()
    if not found:
        raise LedgerError(f"there is no ledger {file.name}: the first release that is recorded in it begins one")
    return tuple(found)


def _reopen(path: str, dataset: str, budget: Zcdp | ApproxDp) -> Ledger:
    """Open the same file again, with the same budget."""
    if isinstance(budget, Zcdp):
        return Ledger(path, rho=budget.rho, dataset=dataset)
    return Ledger(path, epsilon=budget.epsilon, delta=budget.delta, dataset=dataset)
