"""The rows: where they are, and whether they are numbers."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.dtype_names import KINDS
from dpmean.rows.engine import Source
from dpmean.rows.opening import InMemory, open_source
from dpmean.rows.registry import Selection
from dpmean.trust.local.randomizers import MOST_COLUMNS
from dpmean.trust.registry import TrustModel

_EVERYTHING = Selection()


def read_rows(
    X: Any,
    selection: Selection = _EVERYTHING,
    *,
    fewest: int = 1,
) -> Source:
    """Open the rows where they are (files, a cluster, a GPU or memory), with the selected columns."""
    source = open_source(X, selection)
    if source is None:
        return InMemory(read_array(X, fewest=fewest))
    if source.shape[0] < fewest:
        raise DataError("X is empty: give at least one row")
    return source


def read_array(X: ArrayLike, *, fewest: int = 1) -> NDArray[Any]:
    """Read the rows as a two-dimensional array of numbers, without a copy; refuse fewer rows than needed."""
    if isinstance(X, np.ma.MaskedArray):
        raise ArgumentTypeError('X must not be a masked array: give X.filled(numpy.nan) and nan="impute"')
    array = None
    with contextlib.suppress(ValueError):  # its message contains the number of rows
        array = np.asarray(X)
    if array is None:
        raise DataError(
            "X must be a rectangular array of numbers, but its rows differ in length: give rows of the same length"
        )
    if array.dtype.kind not in "fiub":
        kind = KINDS.get(array.dtype.kind, "another type")
        raise ArgumentTypeError(
            f"X must hold real numbers, got {kind}: leave out columns that are not numbers, and convert the others, "
            "for example with numpy.asarray(X, dtype=float) or frame[columns].astype(float)"
        )
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise DataError(
            f"X must have shape (n, d), or (n,) for one column, got {array.ndim} dimensions: flatten each row, for "
            "example with X.reshape(len(X), -1)"
        )
    if not array.shape[1]:
        raise DataError("X has no columns: give at least one column of numbers")
    if len(array) < fewest:
        raise DataError(f"X is empty, got shape {array.shape}: give at least one row")
    return array


def check_columns(d: int, model: TrustModel) -> None:
    """Refuse more columns than devices can handle."""
    if model.devices and d > MOST_COLUMNS:
        raise ArgumentError(f"the {model.name} model takes at most {MOST_COLUMNS} columns, got {d}: use fewer")
