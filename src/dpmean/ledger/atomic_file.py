"""A file that several processes may change, and that is always in the state before or after a change, never between."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TypeVar, final

from dpmean.errors import LedgerError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_Result = TypeVar("_Result")
_PAUSE, _RETRIES = 0.01, 200
"""Seconds between two attempts, and how many of them a refused step is worth."""


@final
class AtomicFile:
    """Keeps one file.

    To change it, a process takes a lock, reads the file, writes the new content beside it, makes sure that it is on the
    disk, and puts it in the old one's place in one step. A process that dies on the way leaves the old content, and at
    most a file that ends in ``.tmp``, which the next one removes. The lock is on a file of its own, which ends in
    ``.lock`` and stays: were it deleted, two processes could hold two locks.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        try:
            self._path = Path(self.name).expanduser().resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise LedgerError(f"{self.name!r} cannot be the name of a file: {error}") from None
        self.place = str(self._path)
        """Where the file is, wherever the process goes."""

    def read(self) -> bytes | None:
        """Return what the file holds, or None if there is none. Needs no lock: the file is replaced in one step."""
        try:
            return _retry(self._path.read_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._give_up("read", error)

    def change(self, edit: Callable[[bytes | None], bytes | None]) -> None:
        """Give the content to ``edit``, alone among all processes, and put what it returns in its place, unless None.

        When this returns, the new content is on the disk.
        """
        with self._alone():
            content = edit(self.read())
            try:
                if content is None:
                    self._sync()  # a process before us may have died, or failed, before it did
                else:
                    self._check_names()
                    self._replace(content)
            except OSError as error:
                self._give_up("write", error)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        lock = self._path.with_name(f"{self._path.name}.lock")
        try:
            handle = _open_lock(lock)
        except OSError as error:
            self._give_up("write", error)
        try:
            try:
                _lock(handle)
            except OSError as error:  # some network file systems have no locks, or only for who may write the file
                self._give_up("lock", error)
            try:
                yield
            finally:
                _unlock(handle)  # closing would not do, while a process that was forked meanwhile has it open
        finally:
            os.close(handle)

    def _check_names(self) -> None:
        """Refuse a file with two names: only the one that we know would lead to the new content."""
        if self._path.exists() and self._path.stat().st_nlink > 1:
            raise LedgerError(
                f"cannot write {self.name}: the file has another name besides (a hard link), which would keep the old "
                "budget: remove one, or use a symbolic link"
            )

    def _replace(self, content: bytes) -> None:
        fresh = self._path.with_name(f"{self._path.name}.tmp")
        fresh.unlink(missing_ok=True)  # what a process left that died; we hold the lock, so nobody else writes it
        with self._folder() as folder:  # opened first: once the file is in its place, nothing should fail
            self._put(fresh, content)
            _sync_folder(folder)

    def _put(self, fresh: Path, content: bytes) -> None:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                self._keep_permissions(fresh)
                file.write(content)
                file.flush()
                sync(file.fileno())
            _retry(lambda: os.replace(fresh, self._path))
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise

    def _sync(self) -> None:
        """Make sure that what the file holds is on the disk."""
        if not self._path.exists():
            return
        with self._folder() as folder:
            handle = os.open(self._path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
            try:
                sync(handle)
            finally:
                os.close(handle)
            _sync_folder(folder)

    def _keep_permissions(self, fresh: Path) -> None:
        try:
            old = self._path.stat()
        except FileNotFoundError:
            return
        if sys.platform != "win32":
            with contextlib.suppress(PermissionError):  # only some may give files away
                os.chown(fresh, old.st_uid, old.st_gid)
        fresh.chmod(stat.S_IMODE(old.st_mode))

    @contextlib.contextmanager
    def _folder(self) -> Iterator[int | None]:
        """Open the folder; there is nothing to open on Windows."""
        if sys.platform == "win32":
            yield None
            return
        handle = os.open(self._path.parent, os.O_RDONLY)
        try:
            yield handle
        finally:
            os.close(handle)

    def _give_up(self, verb: str, error: OSError) -> NoReturn:
        folder = self._path.parent
        if not folder.is_dir():
            raise LedgerError(f"cannot {verb} {self.name}: there is no folder {folder}: make it first") from None
        if self._path.is_dir():
            raise LedgerError(f"cannot {verb} {self.name}: it is a folder: name a file in it") from None
        reason = (error.strerror or str(error)).lower()
        needed = "may read the file" if verb == "read" else f"may read and write {folder}, where its lock and copies go"
        cure = f": make sure that this user {needed}" if isinstance(error, PermissionError) else ""
        if verb == "lock":
            cure = f": its file system has no locks, or this user may not write {self._path.name}.lock"
        raise LedgerError(f"cannot {verb} {self.name}: {reason}{cure}") from None


def _sync_folder(handle: int | None) -> None:
    if handle is None:
        return
    try:
        sync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems do not do this for folders
            raise


def _open_lock(lock: Path) -> int:
    """Open the file that is locked; one that another user made may be locked without the right to write it."""
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    except PermissionError:
        if not lock.exists():
            raise
        return os.open(lock, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))


if sys.platform == "win32":

    def sync(handle: int) -> None:
        """Put what a file holds on the disk."""
        os.fsync(handle)

    def _retry(step: Callable[[], _Result]) -> _Result:
        """Do a step again that Windows refuses while the file is open elsewhere: read, replaced, or scanned."""
        for _ in range(_RETRIES):
            with contextlib.suppress(PermissionError):
                return step()
            time.sleep(_PAUSE)
        return step()

    def _lock(handle: int) -> None:
        while True:
            try:
                return msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EDEADLK):  # those say that somebody else has it
                    raise
                time.sleep(_PAUSE)

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:

    def sync(handle: int) -> None:
        """Put what a file holds on the disk; on macOS the usual call leaves it in the memory of the drive."""
        full = getattr(fcntl, "F_FULLFSYNC", None)
        if full is not None:
            with contextlib.suppress(OSError):  # network file systems do not have it
                fcntl.fcntl(handle, full)
                return
        os.fsync(handle)

    def _retry(step: Callable[[], _Result]) -> _Result:
        return step()

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
