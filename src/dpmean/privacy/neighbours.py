"""Neighbours: the pairs of datasets that a guarantee is about."""

from __future__ import annotations

from enum import StrEnum


class Neighbours(StrEnum):
    """The neighbour relation: the pairs of datasets that the guarantee makes hard to distinguish."""

    REPLACE_ONE = "replace-one"
    """One row is replaced by any other; the number of rows is public. The default in the local and shuffle models."""
    ADD_OR_REMOVE_ONE = "add-or-remove-one"
    """One row is added or removed; the number of rows is private. The default in the central model."""

    @property
    def contributions(self) -> int:
        """The number of rows in which neighbours differ: two if a row is replaced, otherwise one."""
        return 2 if self is Neighbours.REPLACE_ONE else 1
