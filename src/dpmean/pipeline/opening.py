"""Open the rows of a request."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from dpmean.arguments.bounds import columns_with_bounds
from dpmean.arguments.request import Request
from dpmean.arguments.rows import read_array, read_rows
from dpmean.rows.engine import Source
from dpmean.rows.registry import Selection
from dpmean.rows.tables.keyed_table import By, Table, open_table, people


def open_rows(X: Any, request: Request) -> Source:
    """Return the rows of ``X``, or one mean row for each person."""
    if request.privacy_unit is not None:
        return people(open_keyed(X, request), request.privacy_unit, request.finite)
    return read_rows(X, _select(X, request), fewest=request.fewest)


def open_keyed(X: Any, request: Request, *keys: By) -> Table:
    """Return a table with the given keys and those of persons."""
    read = partial(read_array, fewest=request.fewest)
    return open_table(X, _select(X, request), *keys, request.privacy_unit, read=read)


def _select(X: Any, request: Request) -> Selection:
    """Choose the columns: by default those with bounds. Bounds may also give the number of columns."""
    chosen = request.selection
    columns = columns_with_bounds(X, chosen.columns, chosen.vector_column, request.bound.bounds)
    return replace(chosen, columns=columns, width=request.bound.width)
