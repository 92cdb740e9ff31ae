"""Sources that somebody opened before: they are taken as they are."""

from __future__ import annotations

from typing import Any

from dpmean.errors import ArgumentTypeError
from dpmean.rows.engine import Source
from dpmean.rows.opening import InMemory
from dpmean.rows.registry import Selection
from dpmean.rows.tables.keyed_table import ArrayTable


def open_source(X: Source, selection: Selection) -> Source:  # noqa: ARG001  one signature for all engines
    """Return the source."""
    return X


def open_table(X: Any, selection: Selection) -> ArrayTable:  # noqa: ARG001
    """Return the rows of an array as a table; of other sources nobody knows how to read them in order."""
    if not isinstance(X, InMemory):
        raise ArgumentTypeError(
            f"people and groups cannot be told apart in an opened source, got {type(X).__name__}: average each "
            'person\'s rows beforehand, with neighbours="add-or-remove-one" (the default)'
        )
    return ArrayTable(X.array, X.names)
