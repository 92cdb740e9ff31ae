"""Inspection of Parquet and Arrow files, batch by batch; their schema declares the types of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.queries.queries import Floats, Ints
from dpmean.rows.dtype_names import describe_type, is_list, is_number
from dpmean.rows.files.arrow import read_numbers
from dpmean.rows.files.reader import read_safely
from dpmean.rows.inspection.findings import Asked, Column, Findings
from dpmean.rows.inspection.keys import inspect_keys

_BATCH_ROWS = 16_384


def inspect_tables(paths: Sequence[Path], asked: Asked, progress: Callable[[int], None]) -> Findings:
    """Inspect files of one kind; ``progress`` is called with the number of rows read."""
    found: Findings | None = None
    for path in paths:
        schema, batches = _open(path)
        for name in asked.declared:
            if name not in schema.names:
                raise ArgumentError(f"there is no column {name!r}: the columns are {', '.join(schema.names[:20])}")
        found = found or _begin(schema, asked)
        for name in found.columns:
            if name not in schema.names:
                found.fault(f"column {name!r} is not in every file", np.array([found.rows + 1]))
        for batch in batches:
            rows = np.arange(found.rows + 1, found.rows + batch.num_rows + 1)
            values = {
                name: _inspect(column, batch.column(name), rows)
                for name, column in found.columns.items()
                if name in schema.names
            }
            numbers = {name: some for name, some in values.items() if some is not None and name not in asked.keys}
            inspect_keys(found, asked, {name: batch.column(name) for name in asked.keys}, numbers, rows)
            found.rows += batch.num_rows
            progress(batch.num_rows)
    return found or Findings.of((), asked)


def _begin(schema: Any, asked: Asked) -> Findings:
    """Record the types of the columns, as the first file declares them."""
    found = Findings.of(schema.names, asked)
    found.place = "row"
    for name, column in found.columns.items():
        kind = schema.field(name).type
        if not is_number(kind):
            column.kind = "vectors" if is_list(kind) else describe_type(kind)
    return found


def _inspect(column: Column, array: Any, rows: Ints) -> Floats | None:
    """Inspect some rows of a column, and return its numbers, if it holds any."""
    import pyarrow.types as kinds

    if column.kind is not None:
        column.missing.add(rows[array.is_null().to_numpy(zero_copy_only=False)])
        return None
    values = read_numbers(array).astype(np.float64)
    column.add_numbers(values, np.isnan(values), rows)
    decimal = kinds.is_decimal(array.type) and array.type.scale > 0
    column.whole = column.whole and not (decimal or kinds.is_floating(array.type))
    return values


def _open(path: Path) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a file, and an iterator over its batches."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if path.suffix.lower() in (".parquet", ".pq"):
        file = read_safely(parquet.ParquetFile, path)
        return file.schema_arrow, _read_batches(file.iter_batches(batch_size=_BATCH_ROWS))
    reader = read_safely(pa.ipc.open_file, pa.OSFile(str(path)))
    return reader.schema, (read_safely(reader.get_batch, number) for number in range(reader.num_record_batches))


def _read_batches(batches: Iterator[Any]) -> Iterator[Any]:
    while (batch := read_safely(next, batches, None)) is not None:
        yield batch
