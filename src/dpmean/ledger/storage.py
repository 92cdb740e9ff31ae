"""Where accounts are kept: in memory, or in a file."""

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
    """Accounts that are forgotten with the process."""

    name = place = ""

    def __init__(self) -> None:
        self._accounts: Accounts = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    def read(self) -> Accounts:
        """Return all data sets."""
        self._check_process()
        return self._accounts

    def change(self, edit: Callable[[Accounts], Accounts]) -> None:
        """Put what ``edit`` makes of the accounts in their place, while nobody else does."""
        self._check_process()  # a lock that was held at the fork is never given back
        with self._lock:
            self._accounts = edit(self._accounts)

    def _check_process(self) -> None:
        """Refuse to be a copy, which another process has after a fork: both would spend the same budget."""
        if os.getpid() != self._process:
            raise ArgumentError(
                "a ledger in memory stays in its process, since a copy could be spent twice: give it a file, which "
                "all processes share"
            )


@final
class File:
    """Accounts in a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = AtomicFile(path)
        self.name, self.place = self._file.name, self._file.place

    def read(self) -> Accounts:
        """Return all data sets."""
        return codec.read(self._file.read(), self.name)

    def change(self, edit: Callable[[Accounts], Accounts]) -> None:
        """Put what ``edit`` makes of the accounts in their place, while nobody else does."""

        def edit_bytes(content: bytes | None) -> bytes | None:
            old = codec.read(content, self.name)
            new = edit(old)
            return None if new is old else codec.write(new)

        self._file.change(edit_bytes)
