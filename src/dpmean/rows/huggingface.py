"""Hugging Face datasets: batches of their Arrow tables, in the order of their indices, without a complete copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.engine import Streamed
from dpmean.rows.files.arrow import Columns, find_width
from dpmean.rows.files.arrow_stream import StreamEngine
from dpmean.rows.registry import Selection
from dpmean.rows.tables.dataframes import FrameTable

_BATCH_ROWS, _BATCH_NUMBERS = 1 << 16, 1 << 20
_CURE = "wait until writing to the files of the dataset has finished, or read a copy"


def open_source(X: Any, selection: Selection) -> Streamed:
    """Choose the columns of a dataset; rows are read in place, from memory or from memory-mapped files."""
    data, columns = _choose(X, selection)
    width = _read(lambda: find_width(columns, (batch.column(0) for batch in _batches(data, _BATCH_ROWS))))
    rows = max(1, min(_BATCH_ROWS, _BATCH_NUMBERS // width))
    columns, shape = replace(columns, width=width), (len(data), width)
    engine = StreamEngine(lambda: _batches(data, rows), columns, shape, _read, _CURE)
    return Streamed(engine, None if columns.is_vector else columns.names)


def open_table(X: Any, selection: Selection) -> FrameTable:
    """Read coordinates and keys, all rows at once."""
    from datasets import ClassLabel

    data, columns = _choose(X, selection)
    kinds = {name: X.features[name] for name in selection.keys}
    classes = {name: tuple(kind.names) for name, kind in kinds.items() if isinstance(kind, ClassLabel)}
    return FrameTable(_read(lambda: data[:]), columns, classes=classes)


def _choose(X: Any, selection: Selection) -> tuple[Any, Columns]:
    """Return a dataset of the columns to read, coordinates and keys, as Arrow; and the columns that are coordinates."""
    from datasets import Dataset

    if isinstance(X, dict):
        raise ArgumentTypeError(f"X is several datasets, {', '.join(map(repr, X))}: give one, such as X['train']")
    if not isinstance(X, Dataset):
        raise ArgumentTypeError(
            f"X must be a Dataset, which can be read several times, got {type(X).__name__}: load it without "
            "streaming=True"
        )
    for name in selection.keys:
        if name not in X.column_names:
            raise ArgumentError(f"there is no column {name!r}: the columns are {', '.join(X.column_names[:20])}")
    columns = Columns.choose(X.data.schema, selection.columns, selection.vector_column, selection.width, selection.keys)
    names = list(dict.fromkeys((*columns.names, *selection.keys)))
    return X.with_format("arrow").select_columns(names), columns


def _batches(data: Any, rows: int) -> Iterator[Any]:
    """Yield rows, some at a time; each batch is contiguous even if indices select its rows one by one."""
    for table in data.iter(rows):
        yield from table.combine_chunks().to_batches()


def _read(work: Callable[[], Any]) -> Any:
    """Read from a dataset, and hide the error messages of its library, which may quote a row."""
    try:
        return work()
    except DataError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise DataError(f"the dataset cannot be read ({kind}), so nothing was released: check that its files are complete")
