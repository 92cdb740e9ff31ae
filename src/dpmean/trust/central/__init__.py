"""The central model: a trusted curator."""

from typing import Any

from dpmean import moved


def __getattr__(name: str) -> Any:
    """Forward names of version 0.1.0 to their new place, with a warning."""
    return moved.forward(__name__, name)
