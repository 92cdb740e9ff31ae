"""Releases: what may be published."""

from typing import Any

from dpmean import moved


def __getattr__(name: str) -> Any:
    """Hand on what stood here in version 0.1.0."""
    return moved.forward(__name__, name)
