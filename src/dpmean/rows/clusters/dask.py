"""Rows on a Dask cluster, as arrays or data frames: workers add up blocks, and a tree of sums merges the totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.queries.queries import Ints
from dpmean.rows.block_query import Kernel
from dpmean.rows.clusters.worker import Partial, describe_fault, merge, partial
from dpmean.rows.dtype_names import KINDS, is_number
from dpmean.rows.engine import CHANGED, Streamed
from dpmean.rows.files.arrow import RAGGED
from dpmean.rows.registry import Selection
from dpmean.rows.tables.scalars import is_missing, read_vector

_FAN_IN = 8


def open_source(X: Any, selection: Selection) -> Streamed:
    """Read the blocks of a Dask array or data frame."""
    columns, vector_column = selection.columns, selection.vector_column
    if hasattr(X, "to_frame"):  # a series or an index
        raise ArgumentTypeError(f'X is one column: give the data frame, with columns=["{X.name}"]')
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        engine = _open_frame(X, columns, vector_column)
        names = X.columns if columns is None else columns
        return Streamed(engine, None if vector_column is not None else tuple(map(str, names)))
    if not hasattr(X, "chunks") or not hasattr(X, "dtype"):
        raise ArgumentTypeError(f"X must be a Dask array or data frame, got {type(X).__name__}")
    if columns is not None or vector_column is not None:
        raise ArgumentError("columns and vector_column are for data frames, got a Dask array: select columns first")
    if X.dtype.kind not in "fiub":
        kind = KINDS.get(X.dtype.kind, "something else")
        raise ArgumentTypeError(f"X must hold real numbers, got {kind}: convert it with X.astype(float)")
    if X.ndim not in (1, 2):
        raise DataError(f"X must have shape (n, d), or (n,) for one dimension, got {X.ndim} dimensions")
    array = X[:, None] if X.ndim == 1 else X
    array = array.rechunk({1: -1})
    blocks = list(array.to_delayed().ravel())
    sizes = array.chunks[0]
    if any(np.isnan(size) for size in sizes):
        sizes = _count_rows(blocks)
    return Streamed(DaskEngine(blocks, tuple(int(size) for size in sizes), int(array.shape[1]), None))


def _open_frame(frame: Any, columns: Sequence[str] | None, vector_column: str | None) -> DaskEngine:
    names = [vector_column] if vector_column is not None else list(frame.columns if columns is None else columns)
    if len(set(names)) < len(names):
        raise ArgumentError("columns must differ: a name is given twice")
    for name in names:
        if name not in frame.columns:
            raise ArgumentError(
                f"there is no column {name!r}: the columns are {', '.join(map(str, frame.columns[:20]))}"
            )
        if vector_column is None and not _is_number(frame.dtypes[name]):
            raise ArgumentTypeError(
                f"column {name!r} must hold real numbers, got {frame.dtypes[name]}: name the columns to use with "
                "columns=[...], or the one that holds vectors with vector_column=..."
            )
    if vector_column is not None and issubclass(getattr(frame.dtypes[vector_column], "type", object), str):
        raise ArgumentTypeError(
            f"column {vector_column!r} holds text, as Dask turned the vectors into strings: set "
            "dataframe.convert-string to False, or read Parquet"
        )
    chosen = frame if names == list(frame.columns) else frame[names]
    blocks = chosen.to_delayed()
    counted = _compute([frame[names[:1]].map_partitions(len)])[0]  # one column is read from a file
    sizes = tuple(int(size) for size in counted) if len(counted) == len(blocks) else _count_rows(blocks)
    width = len(names) if vector_column is None else _find_width(blocks, sizes, vector_column)
    return DaskEngine(blocks, sizes, width, vector_column)


@final
@dataclass(frozen=True, slots=True, eq=False)
class DaskEngine:
    """The blocks of an array or data frame, as tasks of the Dask scheduler."""

    blocks: list[Any]
    sizes: tuple[int, ...]
    width: int
    vector_column: str | None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return sum(self.sizes), self.width

    def add_up(self, kernel: Kernel) -> tuple[Ints, int]:
        """Read all rows once, on the workers, and merge their totals in a tree."""
        from dask import delayed

        line = [delayed(_block_partial)(kernel, block, self.vector_column, self.width) for block in self.blocks]
        while len(line) > 1:
            line = [delayed(merge)(line[start : start + _FAN_IN]) for start in range(0, len(line), _FAN_IN)]
        (found,) = _compute(line)
        return _as_partial(found).answer()

    def gather(self, positions: Ints) -> NDArray[Any]:
        """Return the rows at the given positions."""
        from dask import delayed

        stops = np.array(list(accumulate(self.sizes)))
        ends = np.searchsorted(positions, stops)
        starts, firsts = np.concatenate(([0], ends[:-1])), stops - np.array(self.sizes)
        tasks = [
            delayed(_pick)(block, self.vector_column, self.width, positions[start:end] - first, size)
            for block, start, end, first, size in zip(self.blocks, starts, ends, firsts, self.sizes, strict=True)
            if end > start
        ]
        found = _compute(tasks)
        for part in found:
            if isinstance(part, Partial):
                raise DataError(part.fault)
        if any(part.shape[1:] != (self.width,) for part in found):
            raise DataError(RAGGED)
        return np.concatenate(found)


def _block_partial(kernel: Kernel, block: Any, vector_column: str | None, width: int) -> Partial:
    """Return the total of a block; runs on a worker."""
    try:
        rows = _as_rows(block, vector_column, width)
    except Exception as error:
        return Partial(None, 0, describe_fault(error))
    return partial(kernel, [rows])


def _pick(block: Any, vector_column: str | None, width: int, places: Ints, size: int) -> NDArray[Any] | Partial:
    """Return some rows of a block; runs on a worker."""
    try:
        rows = _as_rows(block, vector_column, width)
        return rows[places] if len(rows) == size else Partial(None, 0, CHANGED)
    except Exception as error:
        return Partial(None, 0, describe_fault(error))


def _as_rows(block: Any, vector_column: str | None, width: int) -> NDArray[Any]:
    """Return a block, which is an array or a part of a data frame, as an array."""
    if vector_column is not None:
        return _stack_vectors(block[vector_column].tolist(), width)
    kinds = list(block.dtypes) if hasattr(block, "columns") else [block.dtype]
    if not all(map(_is_number, kinds)):
        raise DataError("X must hold real numbers, so nothing was released: a block has another type than it declares")
    plain = all(isinstance(kind, np.dtype) for kind in kinds)
    found: NDArray[Any] = np.asarray(block) if plain else block.to_numpy(dtype=np.float64, na_value=np.nan)
    return found


def _is_number(kind: Any) -> bool:
    """Whether a pandas or NumPy type holds numbers, binary or decimal."""
    arrow = getattr(kind, "pyarrow_dtype", None)
    return getattr(kind, "kind", "O") in "fiub" if arrow is None else is_number(arrow)


def _stack_vectors(given: list[Any], width: int) -> NDArray[Any]:
    """Return vectors as the rows of an array; a missing vector becomes NaN in all coordinates."""
    missing = np.full(width, np.nan)
    vectors = [missing if is_missing(one) else read_vector(one) for one in given]
    if any(len(one) != width for one in vectors):
        raise DataError(RAGGED)
    return np.stack(vectors) if vectors else np.empty((0, width))


def _count_rows(blocks: list[Any]) -> tuple[int, ...]:
    """Count the rows of every block."""
    from dask import delayed

    return tuple(int(size) for size in _compute([delayed(len)(block) for block in blocks]))


def _find_width(blocks: list[Any], sizes: tuple[int, ...], vector_column: str) -> int:
    from dask import delayed

    first = next((block for block, size in zip(blocks, sizes, strict=True) if size), None)
    if first is None:
        raise DataError("the data frame has no rows, so the number of columns is unknown: give at least one row")
    (width,) = _compute([delayed(_find_first_width)(first, vector_column)])
    if not width:
        raise DataError(f"column {vector_column!r} must hold vectors of real numbers, so nothing was released")
    return int(width)


def _find_first_width(block: Any, vector_column: str) -> int:
    """Return the length of the first vector, 0 if it is not a vector of numbers; runs on a worker."""
    try:
        first = np.asarray(block[vector_column].iloc[0])
        return len(first) if first.ndim == 1 and first.dtype.kind in "fiub" else 0
    except Exception:
        return 0


def _compute(tasks: list[Any]) -> tuple[Any, ...]:
    """Run tasks, and hide the error messages of Dask, which may quote a row."""
    import dask

    try:
        found: tuple[Any, ...] = dask.compute(*tasks)
    except Exception as error:
        kind = type(error).__name__
    else:
        return found
    raise DataError(f"the Dask cluster failed ({kind}), so nothing was released: see its own logs")


def _as_partial(found: Any) -> Partial:
    if not isinstance(found, Partial):
        raise DataError("the Dask cluster returned an object of another type than requested, so nothing was released")
    return found
