"""The journal of a shuffler: what was accepted, entry after entry, and a file of its own that says it is closed.

Two deliveries that differ by one batch give that batch away, so no damage may open a closed round again, or change what
it hands on. A journal is a title and entries: a length, a digest of it, the content, and a *link*, the digest of all
three and of the link before. A flipped bit anywhere, or an entry that was swapped, repeated or taken out, breaks a
digest, and the journal is refused.

What digests cannot show is a file that ends early, at the end of an entry or inside one: it looks as if the process had
died while it wrote. In an open round that is harmless: what is cut off was never acknowledged, and nothing has been
handed on. So the end of a round is kept in two places. Its last entry says that it is closed; when that is on disk, a
second file, ``NAME.closed``, is put in place whole, with the last link in it, unless there is one already that says
something else; when that is on disk, messages are handed on. Where the second file exists, the journal must end with
the link that it names, to the last byte: nothing may be missing, and nothing is dropped. If the second file alone is
lost, the last entry keeps the round closed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, final

from dpmean.errors import ArgumentError, DataError
from dpmean.ledger.atomic_file import sync

_TITLE, _OLD_TITLES = b"dpmean shuffle journal 3 ", (b"dpmean shuffle journal 1 ", b"dpmean shuffle journal 2 ")
_CLOSED_TITLE = b"dpmean shuffle round closed 3 "
_CLOSED = b"closed"
_LENGTH, _CHECK, _LINK = 8, 16, 32
_HEAD = _LENGTH + _CHECK


@final
class Journal:
    """A journal, of a round or of check-ins, open for writing by one shuffler; ``entries`` reads what it held, once."""

    def __init__(self, path: Path, identifier: bytes) -> None:
        locks = _find_locks()
        path = path.resolve()  # both files stay where they are, whatever the working directory or a link becomes
        self._path, self._title = path, _TITLE + identifier
        self._marker = path.with_name(path.name + ".closed")
        self._link = _digest(_LINK, self._title)
        new = not path.exists()
        self._file = path.open("a+b")
        try:
            _lock(self._file, locks)
            self._check_place()
            if new:
                _keep_folder(path.parent)
        except BaseException:
            self._file.close()
            raise

    def entries(self) -> Iterator[bytes | None]:
        """Yield what was accepted before, and None at the end of a round that is closed; then the file can be written.

        The last entry of an open round may be cut off: it was never acknowledged, and is dropped.
        """
        self._file.seek(0)
        closed, whole = False, self._read_title()
        while whole and (entry := self._read_entry()) is not None:
            if closed:
                raise self._damage("there is more after its end")
            closed = entry == _CLOSED
            whole = self._file.tell()
            yield None if closed else entry
        rest = os.fstat(self._file.fileno()).st_size - whole
        said = self._read_marker()
        if said is not None and (rest or said != self._closed_marker()):
            raise self._damage(f"it does not end as {self._marker.name} says")
        if closed and rest:
            raise self._damage("there is more after its end")
        if closed and said is None:
            self._write_marker()
        self._file.truncate(whole)
        if not whole:
            self._write(self._title)

    def append(self, entry: bytes) -> None:
        """Put an entry on disk."""
        self._check_place()
        length = len(entry).to_bytes(_LENGTH)
        link = _digest(_LINK, self._link, length, entry)
        self._write(length + _digest(_CHECK, self._link, length) + entry + link)
        self._link = link

    def end(self) -> None:
        """Put on disk, twice, that the round is closed."""
        self.append(_CLOSED)
        self._write_marker()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    # --- reading -----------------------------------------------------------------------------------------------

    def _read_title(self) -> int:
        """Return where entries start; 0 if the file ends before."""
        found = self._file.read(len(self._title))
        if found == self._title:
            return len(found)
        if self._title.startswith(found):
            return 0
        if found.startswith(_OLD_TITLES) or found[_HEAD:].startswith(_OLD_TITLES):
            raise DataError(
                f"{self._path} was written by an older dpmean, in a format that is not read any more: finish this "
                "round with that version, or start the collection anew"
            )
        kind = "the journal of this round" if found.startswith(_TITLE) else "a journal of a shuffler"
        raise DataError(
            f"{self._path} is not {kind}, or its title is damaged; nothing in it was changed. Give each round of a "
            "collection a file of its own"
        )

    def _read_entry(self) -> bytes | None:
        """Return the next entry; None if the file ends before it does."""
        head = self._file.read(_HEAD)
        if len(head) < _HEAD:
            return None
        length = head[:_LENGTH]
        if head[_LENGTH:] != _digest(_CHECK, self._link, length):
            raise self._damage("an entry does not follow the one before")
        size = int.from_bytes(length)
        rest = self._file.read(size + _LINK)
        if len(rest) < size + _LINK:
            return None
        entry = rest[:size]
        link = _digest(_LINK, self._link, length, entry)
        if link != rest[size:]:
            raise self._damage("an entry is not what was written")
        self._link = link
        return entry

    def _read_marker(self) -> bytes | None:
        try:
            return self._marker.read_bytes()
        except FileNotFoundError:
            return None

    def _damage(self, how: str) -> DataError:
        return DataError(
            f"the journal {self._path} is damaged: {how}. Do not open this round again, and put no older copy in its "
            "place: it may have been handed on. Start the collection anew"
        )

    # --- writing -----------------------------------------------------------------------------------------------

    def _check_place(self) -> None:
        """Insist that the open file is the one at its path; at another one, another shuffler may be at work."""
        try:
            same = os.path.samestat(os.stat(self._path), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            same = False
        if not same:
            raise self._damage("it was deleted, moved or replaced while a shuffler used it")

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._file.flush()
        sync(self._file.fileno())

    def _closed_marker(self) -> bytes:
        return _CLOSED_TITLE + self._link

    def _write_marker(self) -> None:
        """Put the second file in place, whole or not at all; refuse if there is one that says something else."""
        fresh = self._marker.with_name(f"{self._marker.name}.{token_hex(8)}")
        try:
            with fresh.open("xb") as file:
                file.write(self._closed_marker())
                file.flush()
                sync(file.fileno())
            os.link(fresh, self._marker)
        except FileExistsError:
            if self._read_marker() != self._closed_marker():
                raise self._damage(f"it does not end as {self._marker.name} says") from None
        finally:
            fresh.unlink(missing_ok=True)
        _keep_folder(self._marker.parent)


def _digest(size: int, *parts: bytes) -> bytes:
    """Return a digest of parts whose lengths are known."""
    whole = sha256()
    for part in parts:
        whole.update(part)
    return whole.digest()[:size]


def _find_locks() -> Any:
    """Return the module that locks files; refuse to write a journal where two shufflers could share it."""
    try:
        return import_module("fcntl")
    except ImportError:
        raise ArgumentError(
            "a journal needs file locks of a POSIX system, and this one has none: run the shuffler on Linux or macOS"
        ) from None


def _lock(file: BinaryIO, locks: Any) -> None:
    """Insist on being the only shuffler of a journal; two could hand on sets of messages that differ."""
    try:
        locks.flock(file, locks.LOCK_EX | locks.LOCK_NB)
    except OSError:
        raise ArgumentError(f"{file.name} is in use by another shuffler") from None


def _keep_folder(folder: Path) -> None:
    """See to it that a new file is still there after a crash."""
    handle = os.open(folder, os.O_RDONLY)
    sync(handle)
    os.close(handle)
