"""The storage of accounts: memory, or a file."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import final

from dpmean.errors import ArgumentError
from dpmean.ledger import codec
from dpmean.ledger.atomic_file import AtomicFile
from dpmean.ledger.codec import Accounts


@final
class Memory:
    """Accounts in the memory of the process."""

    name = place = ""

    def __init__(self) -> None:
        self._accounts: Accounts = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    def read(self) -> Accounts:
        """Return the accounts of all datasets."""
        self._check_process()
        return self._accounts

    def change(self, edit: Callable[[Accounts], Accounts]) -> None:
        """Replace the accounts with the result of ``edit``, under a lock."""
        self._check_process()  # a lock that was held during the fork is never released
        with self._lock:
            self._accounts = edit(self._accounts)

    def _check_process(self) -> None:
        """Refuse to work in a forked process: both copies would spend the same budget."""
        if os.getpid() != self._process:
            raise ArgumentError(
                "a ledger in memory cannot be used in another process, because its budget could be spent twice: use a "
                'file, which processes share: dpmean.Ledger("budget.json", rho=1.0)'
            )


@final
class File:
    """Accounts in a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = AtomicFile(path)
        self.name, self.place = self._file.name, self._file.place

    def read(self) -> Accounts:
        """Return the accounts of all datasets."""
        return codec.read(self._file.read(), self.name)

    def change(self, edit: Callable[[Accounts], Accounts]) -> None:
        """Replace the accounts with the result of ``edit``, under a lock."""

        def edit_bytes(content: bytes | None) -> bytes | None:
            old = codec.read(content, self.name)
            new = edit(old)
            return None if new is old else codec.write(new)

        self._file.change(edit_bytes)
