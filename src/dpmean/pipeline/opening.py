"""Open the rows that a request is about."""

from __future__ import annotations

from functools import partial
from typing import Any

from dpmean.arguments.bounds import columns_bounded
from dpmean.arguments.request import Request
from dpmean.arguments.rows import read_array, read_rows
from dpmean.rows.engine import Source
from dpmean.rows.tables.table import Key, Table, open_table, people


def open_rows(X: Any, request: Request) -> Source:
    """Return the rows of ``X``, or one vector for each person."""
    chosen = request.selection
    if chosen.privacy_unit is not None:
        return people(open_keyed(X, request), chosen.privacy_unit, request.finite)
    columns = columns_bounded(X, chosen.columns, chosen.vector_column, request.bound.bounds)
    return read_rows(X, columns, chosen.vector_column, fewest=request.fewest, newlines=chosen.newlines)


def open_keyed(X: Any, request: Request, *keys: Key) -> Table:
    """Return a table whose rows have keys: those given, and whose row it is."""
    chosen = request.selection
    columns = columns_bounded(X, chosen.columns, chosen.vector_column, request.bound.bounds)
    read = partial(read_array, fewest=request.fewest)
    return open_table(X, columns, chosen.vector_column, *keys, chosen.privacy_unit, read=read, newlines=chosen.newlines)
