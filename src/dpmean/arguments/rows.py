"""Rows: where they are, and whether they are rows of numbers."""

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
    """Read where the rows are: files, a cluster, a GPU, or memory; of a table, which columns."""
    source = open_source(X, selection)
    if source is None:
        return InMemory(read_array(X, fewest=fewest))
    if source.shape[0] < fewest:
        raise DataError("X is empty: it needs at least one row")
    return source


def read_array(X: ArrayLike, *, fewest: int = 1) -> NDArray[Any]:
    """Read the rows as a two-dimensional array of numbers, without copying them; so many at least."""
    if isinstance(X, np.ma.MaskedArray):
        raise ArgumentTypeError('X is a masked array: pass X.filled(numpy.nan) and nan="impute" instead')
    array = None
    with contextlib.suppress(ValueError):  # what it says tells how many rows there are
        array = np.asarray(X)
    if array is None:
        raise DataError("X must be a rectangular array of numbers: its rows differ in length")
    if array.dtype.kind not in "fiub":
        kind = KINDS.get(array.dtype.kind, "something else")
        raise ArgumentTypeError(
            f"X must hold real numbers, got {kind}: leave out what is not a number, and "
            "convert the rest, with numpy.asarray(X, dtype=float) or frame[columns].astype(float), say"
        )
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise DataError(
            f"X must have shape (n, d), or (n,) for one dimension, got {array.ndim} dimensions: "
            "flatten each row with X.reshape(len(X), -1), say"
        )
    if not array.shape[1]:
        raise DataError("X is empty: it has no columns, and needs at least one")
    if len(array) < fewest:
        raise DataError(f"X is empty: got shape {array.shape}, need at least one row")
    return array


def check_columns(d: int, model: TrustModel) -> None:
    """Refuse more columns than devices can answer about."""
    if model.devices and d > MOST_COLUMNS:
        raise ArgumentError(f"the {model.name} model takes at most {MOST_COLUMNS} columns, got {d}")
