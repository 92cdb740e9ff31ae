"""What a device has spent, and may spend yet: one file, for each person and each kind of data. No array library.

What a device promises or sends is in the file before anybody else sees it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import final

from dpmean.errors import ArgumentError, LedgerError
from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
from dpmean.trust.devices.ledger_file import LedgerFile
from dpmean.trust.devices.spending import Amount, Budget, Part, Spending
from dpmean.trust.local import schema as local
from dpmean.trust.shuffle import amounts


@final
class DeviceAccount:
    """The budget of one person's data of one kind, and all collections that it was used for.

    ``DeviceLedger.account`` returns it, and a ``Client`` spends from it.

    Args:
        spending: What the budget is spent on.

    """

    def __init__(self, spending: Spending) -> None:
        self.spending = spending

    @property
    def budget(self) -> Budget:
        """What all collections together may cost."""
        return self.spending.budget

    @property
    def left(self) -> Amount:
        """What is left: rho or epsilon, and delta, as fractions."""
        return self.spending.left

    @property
    def parts(self) -> tuple[Part, ...]:
        """All collections, in order.

        Each has a ``name``; a ``state``, "checked in", "joined" or "ended"; what is ``reserved`` until it ends or
        ``expires``; the ``rounds`` that were answered; and what was ``paid`` for these.
        """
        return self.spending.parts


@final
class DeviceLedger:
    """The ledger of a device: one small file (SQLite). It survives a crash at any moment.

    Threads may share a ledger, and processes may share its file.

    Args:
        path: The file. It is made if it is not there. Never put an older copy in its place: the device would forget
            what it has sent.
        clock: A function that tells the time, in seconds since 1970.

    """

    def __init__(self, path: Path | str, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = LedgerFile(Path(path)), clock

    def account(self, person: str, data: str, budget: Budget) -> DeviceAccount:
        """Return the account of a person's data of one kind; it is opened with a budget, which stays what it is.

        Args:
            person: Who the data are about, for example ``"me"``.
            data: Which data, for example ``"steps per day"``. Rows of the same data share one budget.
            budget: What all collections together may cost: ``Zcdp`` or ``PureDp`` for the local model, ``ApproxDp``
                for the shuffle model (and for tasks of the local model with a pure epsilon).

        """
        text = _write(budget)
        with self._file.transaction():
            self._file.write(
                "INSERT OR IGNORE INTO account (person, data, budget) VALUES (?, ?, ?)", person, data, text
            )
            found = self._file.read("SELECT id, budget FROM account WHERE person = ? AND data = ?", person, data)
        number, known = found[0]
        if known != text:
            raise LedgerError(f"the account {person!r}, {data!r} has the budget {known}, and not {text}: open it so")
        return DeviceAccount(Spending(self._file, number, budget, self._clock))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> DeviceLedger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _write(budget: Budget) -> str:
    if isinstance(budget, ApproxDp):
        return amounts.write_budget(budget)
    if not isinstance(budget, Zcdp | PureDp):
        raise ArgumentError(f"the budget of an account is Zcdp, PureDp or ApproxDp, got {type(budget)}")
    return local.write_budget(budget)
