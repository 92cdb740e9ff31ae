"""Warnings that name the user's line: the one that called this package, however far in the warning arises."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_PACKAGE = "dpmean"
_INSIDE = (_PACKAGE, "sklearn", "joblib", "importlib", "multiprocessing", "concurrent", "threading", "runpy")
"""Packages whose frames are passed over: scikit-learn calls our estimators for the user, and workers do for both."""
_STARTERS = ("multiprocessing.spawn", "multiprocessing.forkserver")
"""Modules that a new process calls from a line of text, which is not the user's."""
_COMMAND = "dpmean.cli"
"""The command calls the library as a user does."""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that led here.

    A fixed ``stacklevel`` would be right for one way in only, and ``skip_file_prefixes`` needs Python 3.12.
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
    """Return the first frame on the way out that is the user's.

    In a worker there may be none. Then it is the outermost frame of this package: the public name that was called.
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
    """Return the name of the module of a frame, also of one that was started by ``python -m``."""
    name = str(frame.f_globals.get("__name__") or "")
    spec = frame.f_globals.get("__spec__") if name == "__main__" else None
    return name if spec is None else str(spec.name)


def _is_inside(module: str) -> bool:
    if module == _COMMAND or module.startswith(f"{_COMMAND}."):
        return False
    return module.partition(".")[0] in _INSIDE
