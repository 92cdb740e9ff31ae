"""Neighbours: which two data sets are to be hard to tell apart."""

from __future__ import annotations

from enum import StrEnum


class Neighbours(StrEnum):
    """Which pairs of data sets the guarantee makes hard to tell apart."""

    REPLACE_ONE = "replace-one"
    """One row is replaced by any other; the number of rows is public. The default in the local and shuffle models."""
    ADD_OR_REMOVE_ONE = "add-or-remove-one"
    """One row more or less; the number of rows is private. The default in the central model."""

    @property
    def contributions(self) -> int:
        """By how many rows' contributions a sum over rows may differ: one goes and another comes, or only one."""
        return 2 if self is Neighbours.REPLACE_ONE else 1
