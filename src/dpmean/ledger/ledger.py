"""Privacy budgets of datasets: the total cost of their releases, and the budget that is left.

The public class is one file because all of its guarantees are explained in its docstrings.
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

from dpmean.errors import ArgumentError, ArgumentTypeError, LedgerError, OverspendError, describe
from dpmean.ledger.account import Account, Entry, convert_cost, digits
from dpmean.ledger.codec import Accounts
from dpmean.ledger.entries import Recordable, entry_for, entry_of
from dpmean.ledger.filter import Cost
from dpmean.ledger.storage import File, Memory
from dpmean.ledger.terms import read_kind, read_limit, read_name, refuse_dataset, spell, with_neighbours
from dpmean.privacy.budgets import ApproxDp, Number, Zcdp


@final
class Ledger:
    """Adds up the costs of releases from one dataset, and refuses a release that exceeds the budget or protects nobody.

    >>> import numpy as np, dpmean
    >>> ledger = dpmean.Ledger(rho=1.0)  # in memory; Ledger("budget.json", rho=1.0) is a file
    >>> rows = np.random.default_rng(0).normal(5, 1, (4000, 100))
    >>> ledger.record(dpmean.mean(rows, rho=0.5, norm_bound=500.0))
    >>> float(ledger.left)
    0.5

    Several processes may use the same file at the same time, and spend from the same budgets. A release that was
    recorded is on the disk, and stays there after a crash. Do not show a release to anybody before it is recorded.

    Attributes:
        budget: The total budget.
        dataset: The name of the dataset.
        path: The file, or None.

    Args:
        path: The name of the file. It is created if it does not exist. By default the ledger is in memory.
        rho: The budget in zCDP. Give either ``rho`` or ``epsilon``. Leave both out for a dataset that is already in the
            file.
        epsilon: The budget in approximate differential privacy, instead of ``rho``. It needs a ``delta``. Costs of all
            kinds, including the shuffle model, are then added as Rényi divergences.
        delta: The delta of ``epsilon``.
        neighbours: The neighbours of all costs. By default those of the first release. A ledger of ``"replace-one"``
            also accepts releases of ``"add-or-remove-one"``, at four times their rho, because a replacement is a
            removal and an addition. A ledger of ``"add-or-remove-one"`` refuses ``"replace-one"``, which publishes n.
        dataset: A name of your choice for the rows. Each name has its own budget. A ledger cannot see the rows: if you
            give the same rows two names, two budgets are spent on them. If you identify persons by arrays of keys,
            which have no names, all arrays must mean the same persons.

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
        if isinstance(path, Real | Decimal) and rho is None:  # Ledger(1.0), as in versions without files
            path, rho = None, path
        if path is not None and not isinstance(path, str | os.PathLike):
            raise ArgumentTypeError(f"path must be the name of a file, got {describe(path)}")
        self.dataset = read_name(dataset)
        self._storage: Memory | File = Memory() if path is None else File(path)
        self.path = self._storage.name or None
        self.budget = self._begin(read_limit(rho, epsilon, delta), kind := read_kind(neighbours))
        if kind is not None and self._account().kind != kind:
            self._storage.change(
                lambda old: {**old, self.dataset: with_neighbours(self._account(old), kind, self.dataset)}
            )

    def _begin(self, asked: Zcdp | ApproxDp | None, kind: str | None) -> Zcdp | ApproxDp:
        found = self._storage.read()
        if self.dataset not in found:
            if asked is None:
                raise ArgumentError(refuse_dataset(self.dataset, found, self._storage.name))
            fresh = Account(asked, neighbours=kind)
            self._storage.change(lambda old: old if self.dataset in old else {**old, self.dataset: fresh})
        budget = self._storage.read()[self.dataset].budget
        if asked is not None and asked != budget:
            raise ArgumentError(
                f"the budget of dataset {self.dataset!r} in {self._storage.name} is {spell(budget)}, got "
                f"{spell(asked)}: leave the budget out, or give a new name for another dataset"
            )
        return budget

    def _account(self, found: Accounts | None = None) -> Account:
        found = self._storage.read() if found is None else found
        if self.dataset not in found or found[self.dataset].budget != self.budget:
            raise LedgerError(
                f"dataset {self.dataset!r} was removed from {self._storage.name}, or its budget was changed: restore "
                "the file from a backup"
            )
        return found[self.dataset]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries: costs with their dates."""
        return self._account().entries

    @property
    def neighbours(self) -> str | None:
        """The neighbours of all costs; None until they are known."""
        return self._account().kind

    @property
    def spent(self) -> Fraction:
        """The total cost of the recorded releases: a rho, or an epsilon at the delta of the budget, rounded up.

        The epsilon is computed at the Rényi order that the first cost fixed. Therefore it holds at any time, even if
        later releases depend on earlier ones. After one small release it is much larger than the epsilon of this
        release alone.
        """
        return self._account().spent

    @property
    def left(self) -> Fraction:
        """The largest cost of one more release: ``dpmean.mean(X, rho=ledger.left, ...)`` spends the rest.

        In a ledger of ``"replace-one"`` this is for releases of ``"replace-one"``; others cost four times their rho.
        For a budget in epsilon and delta it is the epsilon of one more release in the central model, at this delta,
        rounded down. The sum of ``spent`` and ``left`` is then larger than the budget, because the epsilon of several
        releases is less than the sum of their epsilons. If the first cost was pure and at least half of the budget,
        only pure costs fit in the rest, and ``left`` is a pure epsilon; ``print(ledger)`` says so.
        """
        return self._account().left

    def record(self, release: Recordable, *, asked: Cost | None = None) -> None:
        """Record a release, and take its cost from the budget; in a file, it is on the disk when this returns.

        A release is identified by a hash of its JSON, which contains 128 random bits (its public coins). Recording the
        same release again, or a copy of it, costs nothing.

        Args:
            release: The result of ``dpmean.mean`` or ``dpmean.mean_by``.
            asked: The largest possible cost, as for ``charge``.

        Raises:
            OverspendError: if it costs more than is left. Nothing is recorded, and the release must not be shown.
            ArgumentError: if it has a seed, noise in floating point, or a cost that this budget cannot add.

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
        """Record another cost, such as a query on the same rows with another library.

        Args:
            cost: The privacy cost, such as ``dpmean.Zcdp(0.1)``.
            what: A short description.
            neighbours: The neighbours of the cost, if you know them. In a ledger of ``"replace-one"``, a cost for
                ``"add-or-remove-one"`` is converted to 4 rho, 2 epsilon and (1 + e^epsilon) delta. Other neighbours
                than those of the ledger are refused.
            unit: The column that identifies the person of each row, if all rows of one person are protected together.
            asked: The largest possible cost, if the actual cost depends on an answer. If this is the first entry of a
                budget in epsilon and delta, it is recorded instead of ``cost``, because the first entry determines the
                order of the Rényi divergences.

        """
        words = " ".join(what.split()) if isinstance(what, str) else ""
        if not words or not words.isprintable():
            raise ArgumentError(f"what must be a short printable description of the cost, got {what!r}")
        self._append(entry_for(cost, words, self.budget, neighbours, unit), "this", asked)

    def check(self, cost: Cost, *, neighbours: str | None = None, unit: str | None = None) -> None:
        """Raise an error if a cost exceeds the budget that is left, or has other neighbours. This spends nothing.

        Args:
            cost: The privacy cost, such as ``dpmean.Zcdp(0.1)``.
            neighbours: The neighbours of the cost, if you know them.
            unit: The column that identifies the person of each row, if all rows of one person are protected together.

        """
        account = self._account()
        with self._name_dataset():
            account.with_entry(entry_for(cost, "", account.budget, neighbours, unit), "this")

    def _append(self, entry: Entry, what: str, asked: Cost | None = None) -> None:
        def add(old: Accounts) -> Accounts:
            account = self._account(old)
            if any(entry.id == known.id for known in account.entries):
                return old
            paid = entry
            if asked is not None and not account.entries and isinstance(self.budget, ApproxDp):
                paid = replace(entry, cost=convert_cost(asked, self.budget))
            with self._name_dataset():
                return {**old, self.dataset: account.with_entry(paid, what)}

        self._storage.change(add)

    @contextlib.contextmanager
    def _name_dataset(self) -> Iterator[None]:
        """Add the name of the dataset to an error about the budget."""
        try:
            yield
        except OverspendError as error:
            where = "" if self.path is None else f"{self.dataset!r} in {self.path}: "
            raise OverspendError(f"{where}{error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise ArgumentTypeError(
                "a ledger in memory cannot be pickled or copied to another process, because its budget could be spent "
                'twice: use a file, dpmean.Ledger("budget.json", rho=1.0), or leave the ledger out'
            )
        return _reopen, (self._storage.place, self.dataset, self.budget)

    def __copy__(self) -> Self:
        return self  # a copy would be a second budget for the same rows

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
        from dpmean.ledger.summary import summarize  # rarely used

        title = f"Ledger of {self.dataset}" + ("" if self.path is None else f" in {self.path}")
        return "\n".join([title, *summarize(self._account())])


def datasets(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the names of the datasets in an existing file."""
    file = File(path)
    found = file.read()
    if not found:
        raise LedgerError(
            f"there is no ledger {file.name}: check the name; the first release that is recorded creates the file"
        )
    return tuple(found)


def _reopen(path: str, dataset: str, budget: Zcdp | ApproxDp) -> Ledger:
    """Open the same file again, with the same budget."""
    if isinstance(budget, Zcdp):
        return Ledger(path, rho=budget.rho, dataset=dataset)
    return Ledger(path, epsilon=budget.epsilon, delta=budget.delta, dataset=dataset)
