"""Columnar files, Parquet and Arrow: every thread reads its own row groups."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, DataError
from dpmean.queries.queries import Ints
from dpmean.rows.files.arrow import Columns, are_compatible, find_width
from dpmean.rows.files.reader import BLOCK_ROWS, read_safely, stamp
from dpmean.rows.tables.keys import Keys
from dpmean.rows.threads import threads_to_use

_BATCH_ELEMENTS = 1 << 24  # values decoded at a time by all threads together: fewer take more time, more take memory
_MOST_BATCH_ROWS = 1 << 17
_BUFFER_BYTES = 1 << 18  # bytes read from a column at a time


@final
@dataclass(slots=True, eq=False)
class TableReader:
    """Parquet or Arrow files with the same columns, in order; all of their rows, or some."""

    files: tuple[_File, ...]
    columns: Columns
    parts: list[range]
    places: list[tuple[int, int]]
    """For each part: the number of its file, and of its row group or batch in that file."""
    chosen: list[NDArray[np.bool_]] | None = None
    """For each part: which of its rows are read. None: all."""
    declared: Columns = field(init=False)
    """The columns before any row was read: the length of vectors may still be unknown."""

    def __post_init__(self) -> None:
        self.declared = self.columns

    @staticmethod
    def open(
        paths: Sequence[Path],
        columns: Sequence[str] | None,
        vector_column: str | None,
        apart: Sequence[str] = (),
        width: int | None = None,
    ) -> TableReader:
        """Read the metadata of all files; columns listed in ``apart`` are keys, not coordinates."""
        files = tuple(_File(path) for path in paths)
        first = files[0].schema
        chosen = Columns.choose(first, columns, vector_column, width, apart)
        for file in files[1:]:
            schema = file.schema
            for name in chosen.names:
                if name not in schema.names or not are_compatible(schema.field(name).type, first.field(name).type):
                    raise DataError(
                        f"column {name!r} is not in all files, or has different types in them: write all files with "
                        "the same columns, all of numbers or all of vectors of one type"
                    )
        places = [(number, group) for number, file in enumerate(files) for group in range(file.groups)]
        counts = [files[number].count(group) for number, group in places]
        places = [place for place, count in zip(places, counts, strict=True) if count]
        return TableReader(files, chosen, _number_rows(count for count in counts if count), places)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns; the latter as declared, or the length of the vectors in these rows."""
        return sum(map(len, self.parts)), self._measure()

    def select(self, rows: NDArray[np.bool_]) -> TableReader:
        """Return a reader of some of the rows; the number of columns is found from these rows only."""
        chosen = [rows[part.start : part.stop] for part in self.parts]
        return TableReader(
            self.files, self.declared, _number_rows(int(some.sum()) for some in chosen), self.places, chosen
        )

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the coordinates."""
        return None if self.columns.is_vector else self.columns.names

    def keys(self, name: str) -> Keys:
        """Return the keys in a column, one per row."""
        import pyarrow as pa

        for file in self.files:
            if name not in file.schema.names:
                raise ArgumentError(f"there is no column {name!r}: the columns are {', '.join(file.schema.names[:20])}")
        columns = [read_safely(file.column, name) for file in self.files]
        kinds = {str(column.type): column.type for column in columns if not pa.types.is_null(column.type)}
        if len(kinds) > 1:
            raise DataError(f"column {name!r} has several types in the files: write them with one")
        for kind in kinds.values():  # at most one; none for a file in which all values are missing
            columns = [column.cast(kind) if pa.types.is_null(column.type) else column for column in columns]
        chunks = [chunk for column in columns for chunk in column.chunks]
        keys = Keys.of_column(name, pa.chunked_array(chunks, columns[0].type))
        return keys if self.chosen is None else replace(keys, codes=keys.codes[np.concatenate(self.chosen)])

    def blocks(self, part: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of a part."""
        self._measure()
        for batch in self._batches(part):
            yield from self.columns.blocks(batch)
            del batch  # before the next one is decoded

    def pick(self, part: int, places: Ints) -> NDArray[Any]:
        """Return the rows of a part at the given places; other rows are decoded, but not converted."""
        width, found, start = self._measure(), [], 0
        for batch in self._batches(part):
            first, last = np.searchsorted(places, [start, start + batch.num_rows])
            if last > first:
                found.append(self.columns.pick(batch, places[first:last] - start))
            start += batch.num_rows
            del batch
        return np.concatenate(found) if found else np.empty((0, width))

    def _measure(self) -> int:
        """Find the number of columns, and keep it."""
        vectors = (batch.column(0) for part in range(len(self.parts)) for batch in self._batches(part))
        width = find_width(self.columns, vectors)
        self.columns = replace(self.columns, width=width)
        return width

    def _batches(self, part: int) -> Iterator[Any]:
        """Yield the rows of a part as Arrow batches."""
        import pyarrow as pa

        (number, group), start = self.places[part], 0
        for batch in self.files[number].batches(group, self.columns):
            if self.chosen is None:
                yield batch
            else:
                stop = start + batch.num_rows
                yield batch.filter(pa.array(self.chosen[part][start:stop]))
                start = stop
            del batch

    def fingerprint(self) -> object:
        """Return a value that changes when a file changes: file system metadata and the last bytes of each file."""
        return tuple((stamp(file.path), _read_footer(file.path)) for file in self.files)


def _number_rows(counts: Iterable[int]) -> list[range]:
    """Return the positions of the rows in each part, from the number of rows in each part."""
    stops = list(accumulate(counts))
    return [range(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def _read_footer(path: Path) -> bytes:
    """Return the last bytes of a file: the end of the footer of a Parquet or Arrow file."""
    with open(path, "rb") as file:
        file.seek(-min(path.stat().st_size, 4096), 2)
        return file.read()


@final
@dataclass(slots=True, eq=False)
class _File:
    """One file; every thread opens its own handle."""

    path: Path
    opened: threading.local = field(default_factory=threading.local)

    @property
    def is_parquet(self) -> bool:
        return self.path.suffix.lower() not in (".arrow", ".feather", ".ipc")

    def _open(self) -> Any:
        if not hasattr(self.opened, "file"):
            self.opened.file = read_safely(_open_parquet if self.is_parquet else _open_arrow, self.path)
        return self.opened.file

    @property
    def schema(self) -> Any:
        return read_safely(_check_names, self._open().schema_arrow if self.is_parquet else self._open().schema)

    @property
    def groups(self) -> int:
        return int(self._open().num_row_groups if self.is_parquet else self._open().num_record_batches)

    def count(self, group: int) -> int:
        if self.is_parquet:
            return int(self._open().metadata.row_group(group).num_rows)
        return int(read_safely(self._open().get_batch, group).num_rows)

    def column(self, name: str) -> Any:
        """Return one complete column, with dictionary encoding removed."""
        import pyarrow as pa

        if self.is_parquet:
            found = self._open().read(columns=[name]).column(0)
        else:
            batches = [self._open().get_batch(group) for group in range(self.groups)]
            found = pa.Table.from_batches(batches, self.schema).column(name)
            found.validate(full=True)  # offsets in a damaged file may point anywhere
        return found.cast(found.type.value_type) if pa.types.is_dictionary(found.type) else found

    def batches(self, group: int, columns: Columns) -> Iterator[Any]:
        """Yield the rows of one row group or record batch, some at a time."""
        if self.is_parquet:
            share = _BATCH_ELEMENTS // (threads_to_use() * (columns.width or 64))
            most = 4 * BLOCK_ROWS if columns.is_vector else _MOST_BATCH_ROWS  # vectors are contiguous: fit the cache
            rows = max(BLOCK_ROWS // 4, min(share, most))
            line = {"batch_size": rows, "row_groups": [group], "columns": list(columns.names)}
            found = iter(read_safely(self._open().iter_batches, use_threads=False, **line))
            while (batch := read_safely(next, found, None)) is not None:
                yield batch
                del batch
        else:
            whole = read_safely(self._open().get_batch, group).select(list(columns.names))
            for start in range(0, whole.num_rows, BLOCK_ROWS):
                yield whole.slice(start, BLOCK_ROWS)


def _check_names(schema: Any) -> Any:
    """Return a schema after its names were decoded: pyarrow raises an error if one is not valid text."""
    return schema if schema.names is not None else None


def _open_parquet(path: Path) -> Any:
    import pyarrow.parquet as parquet

    return parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def _open_arrow(path: Path) -> Any:
    import pyarrow as pa

    return pa.ipc.open_file(pa.OSFile(str(path)))
