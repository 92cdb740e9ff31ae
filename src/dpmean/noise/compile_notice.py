"""A notice that loops are being compiled for the first time, shown on a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import Any, final

from numba.core.event import Listener, register

PATIENCE = 1.0
"""Seconds of compilation before the notice is shown."""
_ONCE = (
    "dpmean: compiling for the first time (a few seconds, half a minute on a slow machine); later calls start at once\n"
)
_EACH_TIME = (
    "dpmean: compiling, which takes a few seconds in every new process, because no cache folder is writable: set "
    "NUMBA_CACHE_DIR to a writable folder\n"
)


@final
class CompileNotice(Listener):
    """A listener to Numba's compiler that shows one notice when our loops have taken longer than ``patience``.

    Numba reports no event for loops from its cache. Loops of other packages are ignored.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.kept = True
        """Whether compiled loops are cached for the next process."""
        self._patience = patience
        self._depth, self._began = 0, 0.0
        self._said = False
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Start the timer, unless this loop is compiled as a part of another one."""
        if not _is_ours(event):
            return
        self._depth += 1
        if self._depth == 1 and not self._said:
            self._began = time.monotonic()
            self._timer = threading.Timer(max(self._patience, 0.0), self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """Stop the timer, and remember the time that has passed."""
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._patience -= time.monotonic() - self._began

    def _say(self) -> None:
        self._said = True
        if is_watched():
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(_ONCE if self.kept else _EACH_TIME)
                sys.stderr.flush()


def is_watched() -> bool:
    """Return whether a user sees the error output as it is written: not in files, pipes and worker processes."""
    stream, processes = sys.stderr, sys.modules.get("multiprocessing.process")
    if stream is None or (processes is not None and processes.parent_process() is not None):
        return False
    with contextlib.suppress(OSError, ValueError):
        return stream.isatty() or type(stream).__module__.startswith("ipykernel.")
    return False


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("dpmean.")


notice = CompileNotice()
"""The notice of this process."""
register("numba:compile", notice)  # type: ignore[no-untyped-call]
