"""Parquet and Arrow files, looked at batch by batch; their columns say what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.queries.queries import Ints
from dpmean.rows.dtype_names import in_words, is_list, is_number
from dpmean.rows.files.arrow import read_numbers
from dpmean.rows.files.reader import guarded
from dpmean.rows.inspection.findings import Asked, Column, Findings

_BATCH_ROWS = 16_384


def inspect_tables(paths: Sequence[Path], asked: Asked, progress: Callable[[int], None]) -> Findings:
    """Look at files of one kind; ``progress`` is told how many rows were seen."""
    found: Findings | None = None
    for path in paths:
        schema, batches = _opened(path)
        for name in asked.declared:
            if name not in schema.names:
                raise ArgumentError(f"there is no column {name!r}: there are {', '.join(schema.names[:20])}")
        found = found or _begin(schema, asked)
        for name in found.columns:
            if name not in schema.names:
                found.fault(f"the column {name!r} is not in every file", np.array([found.rows + 1]))
        for batch in batches:
            rows = np.arange(found.rows + 1, found.rows + batch.num_rows + 1)
            for name, column in found.columns.items():
                if name in schema.names:
                    _look(column, batch.column(name), rows)
            _look_at_keys(found, asked, batch, rows)
            found.rows += batch.num_rows
            progress(batch.num_rows)
    return found or Findings.of((), asked)


def _begin(schema: Any, asked: Asked) -> Findings:
    """Write down what the columns hold, as the first file says."""
    found = Findings.of(schema.names, asked)
    found.place = "row"
    for name, column in found.columns.items():
        kind = schema.field(name).type
        if not is_number(kind):
            column.kind = "vectors" if is_list(kind) else in_words(kind)
    return found


def _look(column: Column, array: Any, rows: Ints) -> None:
    import pyarrow.types as kinds

    if column.kind is not None:
        column.missing.add(rows[array.is_null().to_numpy(zero_copy_only=False)])
        return
    values = read_numbers(array).astype(np.float64)
    column.add_numbers(values, np.isnan(values), rows)
    decimal = kinds.is_decimal(array.type) and array.type.scale > 0
    column.whole = column.whole and not (decimal or kinds.is_floating(array.type))


def _look_at_keys(found: Findings, asked: Asked, batch: Any, rows: Ints) -> None:
    """Count the rows of each person and of each label; persons in groups that are asked for, if groups are listed."""
    import pyarrow as pa
    import pyarrow.compute as compute

    listed = np.ones(batch.num_rows, dtype=np.bool_)
    for name in dict.fromkeys(one for one in (asked.by, asked.unit) if one is not None):
        column, keys = found.keys[name], _as_text(batch.column(name))
        if keys is None:
            found.fault(f"the column {name!r} cannot tell rows apart: it must hold text, integers or dates", rows[:1])
            continue
        missing = keys.is_null().to_numpy(zero_copy_only=False)
        column.missing.add(rows[missing & listed])
        counts = keys.filter(pa.array(listed & ~missing)).value_counts()
        column.add(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
        if name == asked.by and asked.groups is not None:
            labels = pa.array(asked.groups, pa.large_string())
            listed = compute.is_in(keys, value_set=labels).to_numpy(zero_copy_only=False)
            found.listed += int(listed.sum())


def _as_text(keys: Any) -> Any:
    """Return keys as text; None if they cannot be keys."""
    import pyarrow as pa

    try:
        return keys.cast(pa.large_string())
    except pa.ArrowException:
        return None


def _opened(path: Path) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a file, and its rows."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if path.suffix.lower() in (".parquet", ".pq"):
        file = guarded(parquet.ParquetFile, path)
        return file.schema_arrow, _guarded_batches(file.iter_batches(batch_size=_BATCH_ROWS))
    reader = guarded(pa.ipc.open_file, pa.OSFile(str(path)))
    return reader.schema, (guarded(reader.get_batch, number) for number in range(reader.num_record_batches))


def _guarded_batches(batches: Iterator[Any]) -> Iterator[Any]:
    while (batch := guarded(next, batches, None)) is not None:
        yield batch
