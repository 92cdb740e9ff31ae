"""The SQLite file of a device's ledger: a change is one transaction, waits for others, and ends on disk."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, final

from dpmean.errors import LedgerError

_FORMAT, _APPLICATION = 1, 0x64704D4C  # dpML
_TABLES = """
CREATE TABLE account (
  id INTEGER PRIMARY KEY, person TEXT NOT NULL, data TEXT NOT NULL, budget TEXT NOT NULL, UNIQUE (person, data)
);
CREATE TABLE part (
  id INTEGER PRIMARY KEY, account INTEGER NOT NULL REFERENCES account, invitation BLOB NOT NULL, name TEXT NOT NULL,
  collection BLOB, document BLOB NOT NULL, reserved TEXT NOT NULL, paid TEXT NOT NULL, expires INTEGER NOT NULL,
  state TEXT NOT NULL, UNIQUE (account, invitation)
);
CREATE TABLE sent (
  part INTEGER NOT NULL REFERENCES part, round INTEGER NOT NULL, digest BLOB NOT NULL, message BLOB,
  PRIMARY KEY (part, round)
);
"""


@final
class LedgerFile:
    """The open file. Threads may share it; another process opens its own."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._alone = threading.RLock()
        self._process = os.getpid()
        if not self.path.exists():
            self._make()
        self._file = self._connect(self.path)
        try:
            with self.transaction():
                self._check_format()
        except BaseException:
            self._file.close()
            raise

    def _connect(self, path: Path) -> sqlite3.Connection:
        try:
            return sqlite3.connect(str(path), timeout=60, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def _make(self) -> None:
        """Put a new file in place, whole or not at all; another process may be first."""
        fresh = self.path.with_name(f"{self.path.name}.{token_hex(8)}")
        self._file = self._connect(fresh)
        try:
            with self.transaction():
                for table in _TABLES.split(";")[:-1]:
                    self.write(table)
                self.write(f"PRAGMA application_id = {_APPLICATION}")
                self.write(f"PRAGMA user_version = {_FORMAT}")
            self._file.close()
            os.link(fresh, self.path)
        except FileExistsError:
            pass
        except OSError as error:
            raise LedgerError(f"the ledger {self.path} cannot be made: {error}") from None
        finally:
            self._file.close()
            fresh.unlink(missing_ok=True)

    def _check_format(self) -> None:
        """Refuse a file that is something else, and one that has lost what was in it."""
        (application,), (version,) = self.read("PRAGMA application_id")[0], self.read("PRAGMA user_version")[0]
        if (application, version) == (_APPLICATION, _FORMAT):
            return
        if not self.read("SELECT name FROM sqlite_master"):
            raise LedgerError(
                f"the ledger {self.path} is empty: what this device has spent is lost. Restore nothing older, and "
                "remove the file only if the device has never used it"
            )
        raise LedgerError(
            f"{self.path} is no ledger of a device that this version reads (format {version}): nothing was changed"
        )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make changes together, or none of them; others wait."""
        with self._alone:
            if os.getpid() != self._process:
                raise LedgerError(f"{self.path} was opened by another process: open it again in this one")
            if self._in_transaction():
                yield
                return
            self.write("PRAGMA synchronous = EXTRA")  # a commit is on disk; FULL may come undone if power is lost
            self.write("BEGIN IMMEDIATE")
            try:
                yield
                self.write("COMMIT")
            except BaseException:
                if self._in_transaction():
                    self.write("ROLLBACK")
                raise

    def _in_transaction(self) -> bool:
        try:
            return self._file.in_transaction
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the lines of a query."""
        try:
            return self._file.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def write(self, query: str, *values: object) -> None:
        """Change the file."""
        self.read(query, *values)

    def _unusable(self, error: sqlite3.Error) -> LedgerError:
        return LedgerError(
            f"the ledger {self.path} cannot be used: {error}. Nothing was sent. Do not start with an empty file: "
            "the device would forget what it has spent"
        )

    def close(self) -> None:
        """Let go of the file."""
        with self._alone:
            self._file.close()
