"""What is said while loops are compiled for the first time, where somebody waits: on a terminal, or in a notebook."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import Any, final

from numba.core.event import Listener, register

PATIENCE = 1.0
"""Seconds of compiling that need no word."""
_ONCE = (
    "dpmean: compiling for the first time (some seconds, half a minute on a slow machine); later calls start at once\n"
)
_EACH_TIME = (
    "dpmean: compiling, which takes some seconds in each new process, since no folder can keep the result: set "
    "NUMBA_CACHE_DIR to one that can be written\n"
)


@final
class CompileNotice(Listener):
    """Listens to the compiler, and says once that it is at work, when our loops have taken longer than ``patience``.

    The compiler tells of nothing that it finds in its cache. What it compiles for others is none of our business.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.kept = True
        """Whether what is compiled is there for the next process."""
        self._patience = patience
        self._depth, self._began = 0, 0.0
        self._said = False
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Begin to wait, where this is not within another loop that is being compiled."""
        if not _is_ours(event):
            return
        self._depth += 1
        if self._depth == 1 and not self._said:
            self._began = time.monotonic()
            self._timer = threading.Timer(max(self._patience, 0.0), self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """Wait no more, and remember for how long it was."""
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
    """Return whether somebody sees the error output as it is written: not so in files, pipes and workers."""
    stream, processes = sys.stderr, sys.modules.get("multiprocessing.process")
    if stream is None or (processes is not None and processes.parent_process() is not None):
        return False
    with contextlib.suppress(OSError, ValueError):
        return stream.isatty() or type(stream).__module__.startswith("ipykernel.")
    return False


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("dpmean.")


notice = CompileNotice()
"""Of this process."""
register("numba:compile", notice)  # type: ignore[no-untyped-call]
