"""Warnings that name the user's line: the one that called this package, however far in the warning arises."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_INSIDE = ("dpmean", "sklearn", "joblib", "importlib")
"""Packages whose frames are passed over: scikit-learn calls our estimators for the user, and joblib does for it."""
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
    """Return the first frame on the way out that is the user's; the outermost one if none is."""
    frame = innermost
    while _is_inside(frame) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _is_inside(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__") or "")
    if name == _COMMAND or name.startswith(f"{_COMMAND}."):
        return False
    return name.partition(".")[0] in _INSIDE
