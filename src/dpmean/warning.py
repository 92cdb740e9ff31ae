"""Warnings that point at the line of the user's code that called this package."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_PACKAGE = "dpmean"
_INSIDE = (_PACKAGE, "sklearn", "joblib", "importlib", "multiprocessing", "concurrent", "threading", "runpy")
"""Packages whose frames are skipped: scikit-learn and its workers call our estimators on behalf of the user."""
_STARTERS = ("multiprocessing.spawn", "multiprocessing.forkserver")
"""Modules that start a new process with ``python -c``, which is not the user's code."""
_COMMAND = "dpmean.cli"
"""The command line interface counts as a user of the library."""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that called this package.

    A fixed ``stacklevel`` would be right for one public function only, and ``skip_file_prefixes`` needs Python 3.12.
    """
    frame = _user_frame(sys._getframe(1))
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__") or "<unknown>",
        registry=names.setdefault("__warningregistry__", {}),
    )


def _user_frame(innermost: FrameType) -> FrameType:
    """Return the innermost frame of the user's code.

    A worker process may have none. Then return the outermost frame of this package, that is, the public function.
    """
    entry, inner = innermost, ""
    frame: FrameType | None = innermost
    while frame is not None:
        module = _module(frame)
        if not _is_inside(module) and not (module == "__main__" and inner in _STARTERS):
            return frame
        if module.partition(".")[0] == _PACKAGE:
            entry = frame
        inner, frame = module, frame.f_back
    return entry


def _module(frame: FrameType) -> str:
    """Return the name of the module of a frame, also if ``python -m`` started it."""
    name = str(frame.f_globals.get("__name__") or "")
    spec = frame.f_globals.get("__spec__") if name == "__main__" else None
    return name if spec is None else str(spec.name)


def _is_inside(module: str) -> bool:
    if module == _COMMAND or module.startswith(f"{_COMMAND}."):
        return False
    return module.partition(".")[0] in _INSIDE
