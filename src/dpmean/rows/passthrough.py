"""Sources that the caller has opened already: they are used unchanged."""

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
    """Return the rows of an array as a table; other sources cannot be read in order."""
    if not isinstance(X, InMemory):
        raise ArgumentTypeError(
            f"an opened source cannot be divided by person or group, got {type(X).__name__}: average each "
            'person\'s rows beforehand, with neighbours="add-or-remove-one" (the default)'
        )
    return ArrayTable(X.array, X.names)
