"""A file that several processes may change. It always has the content before or after a change, never a mixture."""

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
"""The pause between two attempts in seconds, and the number of attempts."""


@final
class AtomicFile:
    """One file that is changed atomically.

    To change it, a process takes a lock, reads the file, writes the new content to a file beside it, waits until it is
    on the disk, and replaces the old file in one step. If a process dies on the way, the old content remains, and
    possibly a file that ends in ``.tmp``, which the next process removes. The lock is a separate file that ends in
    ``.lock`` and is never deleted: otherwise two processes could hold two locks.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        try:
            self._path = Path(self.name).expanduser().resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise LedgerError(f"{self.name!r} cannot be the name of a file: {error}") from None
        self.place = str(self._path)
        """The absolute path of the file."""

    def read(self) -> bytes | None:
        """Return the content of the file, or None if there is none; this needs no lock."""
        try:
            return _retry(self._path.read_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._give_up("read", error)

    def change(self, edit: Callable[[bytes | None], bytes | None]) -> None:
        """Pass the content to ``edit`` under the lock, and replace it with the result, unless that is None.

        When this returns, the new content is on the disk.
        """
        with self._alone():
            content = edit(self.read())
            try:
                if content is None:
                    self._sync()  # an earlier process may have died before it did this
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
            except OSError as error:  # some network file systems have no locks, or require write permission
                self._give_up("lock", error)
            try:
                yield
            finally:
                _unlock(handle)  # closing is not enough if a forked process has it open
        finally:
            os.close(handle)

    def _check_names(self) -> None:
        """Refuse a file with a second hard link, which would keep the old content."""
        if self._path.exists() and self._path.stat().st_nlink > 1:
            raise LedgerError(
                f"cannot write {self.name}: the file has a second hard link, which would keep the old budget: remove "
                "the link, or use a symbolic link"
            )

    def _replace(self, content: bytes) -> None:
        fresh = self._path.with_name(f"{self._path.name}.tmp")
        fresh.unlink(missing_ok=True)  # left by a process that died; we hold the lock
        with self._folder() as folder:  # opened first: nothing should fail after the replacement
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
        """Wait until the content of the file is on the disk."""
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
            with contextlib.suppress(PermissionError):  # only privileged users may change the owner
                os.chown(fresh, old.st_uid, old.st_gid)
        fresh.chmod(stat.S_IMODE(old.st_mode))

    @contextlib.contextmanager
    def _folder(self) -> Iterator[int | None]:
        """Open the folder, except on Windows."""
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
            raise LedgerError(f"cannot {verb} {self.name}: the folder {folder} does not exist: create it") from None
        if self._path.is_dir():
            raise LedgerError(f"cannot {verb} {self.name}: it is a folder: give the name of a file in it") from None
        reason = (error.strerror or str(error)).lower()
        needed = "may read the file" if verb == "read" else f"may read and write the folder {folder}"
        cure = f": make sure that this user {needed}" if isinstance(error, PermissionError) else ""
        if verb == "lock":
            cure = f": use a file system with locks, and make sure that this user may write {self._path.name}.lock"
        raise LedgerError(f"cannot {verb} {self.name}: {reason}{cure}") from None


def _sync_folder(handle: int | None) -> None:
    if handle is None:
        return
    try:
        sync(handle)
    except OSError as error:
        if error.errno not in (
            errno.EINVAL,
            errno.ENOTSUP,
        ):  # some network file systems do not support this for folders
            raise


def _open_lock(lock: Path) -> int:
    """Open the lock file; the lock file of another user may be read-only."""
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    except PermissionError:
        if not lock.exists():
            raise
        return os.open(lock, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))


if sys.platform == "win32":

    def sync(handle: int) -> None:
        """Wait until the content of a file is on the disk."""
        os.fsync(handle)

    def _retry(step: Callable[[], _Result]) -> _Result:
        """Repeat a step that Windows refuses while another process has the file open."""
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
                if error.errno not in (errno.EACCES, errno.EDEADLK):  # another process has the lock
                    raise
                time.sleep(_PAUSE)

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:

    def sync(handle: int) -> None:
        """Wait until the content of a file is on the disk; on macOS, fsync leaves it in the cache of the drive."""
        full = getattr(fcntl, "F_FULLFSYNC", None)
        if full is not None:
            with contextlib.suppress(OSError):  # network file systems do not support it
                fcntl.fcntl(handle, full)
                return
        os.fsync(handle)

    def _retry(step: Callable[[], _Result]) -> _Result:
        return step()

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
