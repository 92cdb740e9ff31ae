"""Tables of Arrow, in Parquet and Arrow files: which columns are the coordinates, and a batch as an array of rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.keys import Keys
from dpmean.rows.parted import BLOCK_ROWS, stamp
from dpmean.rows.threads import threads_to_use
from dpmean.types import Ints

_BATCH_ELEMENTS = 1 << 24  # decoded at a time, by all threads together: fewer cost more work, more cost more memory
_MOST_BATCH_ROWS = 1 << 17
_BUFFER_BYTES = 1 << 18  # read from a column at a time
_LAYOUT_BYTES = 1 << 20  # columns are put side by side in pieces that a cache holds until they are worked on
RAGGED = "the vectors in the rows differ in length or are missing, so nothing was released: pad them, or leave them out"


@final
@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that make up a row: one vector, or one number each."""

    names: tuple[str, ...]
    is_vector: bool
    width: int | None
    """How many coordinates a row has, if the table says so."""

    @staticmethod
    def choose(schema: Any, columns: Sequence[str] | None, vector_column: str | None) -> Columns:
        """Choose columns of an Arrow schema by name, or all of them."""
        import pyarrow.types as kinds

        if columns is not None and vector_column is not None:
            raise ArgumentError(
                "give columns or vector_column, not both: a row is one vector, or one number per column"
            )
        if isinstance(columns, str):
            raise ArgumentError(f"columns must be several names, got {columns!r}: for one vector, give vector_column")
        names = tuple(schema.names if columns is None else columns) if vector_column is None else (vector_column,)
        for name in names:
            if name not in schema.names:
                raise ArgumentError(f"there is no column {name!r}: there are {', '.join(schema.names[:20])}")
        if len(set(names)) < len(names):
            raise ArgumentError("columns must differ: a name is given twice")
        fields = [schema.field(name).type for name in names]
        lists = [kind for kind in fields if _is_list(kind)]
        if len(lists) == 1 and len(fields) == 1:
            kind = lists[0]
            _number(names[0], kind.value_type)
            return Columns(names, True, kind.list_size if kinds.is_fixed_size_list(kind) else None)
        if not names:
            raise DataError("the table has no columns")
        for name, kind in zip(names, fields, strict=True):
            _number(name, kind)
        return Columns(names, False, len(names))

    def block(self, batch: Any) -> NDArray[Any]:
        """Return the rows of a record batch as an array; what is missing becomes NaN."""
        if not self.is_vector:
            arrays = self._arrays(batch)
            return _side_by_side(arrays, np.empty((len(arrays), batch.num_rows), dtype=np.result_type(*arrays)))
        column = batch.column(batch.schema.get_field_index(self.names[0]))
        count = len(column)
        if column.null_count:
            raise DataError(RAGGED)
        flat = _numbers(column.flatten())
        width = len(flat) // count if count else self.width or 0
        if self.width is None and count:
            lengths = np.diff(column.offsets.to_numpy())
            if np.any(lengths != width):
                raise DataError(RAGGED)
        if len(flat) != width * count:
            raise DataError(RAGGED)
        return flat.reshape(count, width)

    def blocks(self, batch: Any) -> Iterator[NDArray[Any]]:
        """Yield the rows of a record batch; from columns, some at a time, each block overwritten by the next."""
        if self.is_vector:
            yield self.block(batch)
            return
        arrays = self._arrays(batch)
        kind = np.result_type(*arrays)
        size = max(64, _LAYOUT_BYTES // (len(arrays) * kind.itemsize))
        buffer = np.empty((len(arrays), min(size, batch.num_rows)), dtype=kind)
        for start in range(0, batch.num_rows, size):
            pieces = [array[start : start + size] for array in arrays]
            yield _side_by_side(pieces, buffer[:, : len(pieces[0])])

    def pick(self, batch: Any, places: Ints) -> NDArray[Any]:
        """Return the rows of a record batch at some places."""
        if self.is_vector:
            return self.block(batch.take(places))
        arrays = [array[places] for array in self._arrays(batch)]
        return _side_by_side(arrays, np.empty((len(arrays), len(places)), dtype=np.result_type(*arrays)))

    def _arrays(self, batch: Any) -> list[NDArray[Any]]:
        return [_numbers(batch.column(batch.schema.get_field_index(name))) for name in self.names]


def _side_by_side(arrays: Sequence[NDArray[Any]], block: NDArray[Any]) -> NDArray[Any]:
    """Write columns into the lines of a block, and return it with a row in each line."""
    for line, array in zip(block, arrays, strict=True):
        line[:] = array
    return block.T


def _is_list(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_fixed_size_list(kind) or kinds.is_list(kind) or kinds.is_large_list(kind))


def _number(name: str, kind: Any) -> None:
    import pyarrow.types as kinds

    if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
        raise ArgumentTypeError(
            f"column {name!r} must hold real numbers, got {kind}: name the columns to use, columns=[...], or the one "
            "that holds vectors, vector_column=..."
        )


def _numbers(array: Any) -> NDArray[Any]:
    """Return an Arrow array of numbers; copies nothing if nothing is missing."""
    import pyarrow as pa

    if array.null_count and not pa.types.is_floating(array.type):
        array = array.cast(pa.float64(), safe=False)
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class TableReader:
    """Parquet or Arrow files with the same columns, one after another."""

    files: tuple[_File, ...]
    columns: Columns
    shape: tuple[int, int]
    parts: list[range]
    places: list[tuple[int, int]]
    """Of each part: which file, and which row group or batch of it."""

    @staticmethod
    def open(
        paths: Sequence[Path], columns: Sequence[str] | None, vector_column: str | None, apart: Sequence[str] = ()
    ) -> TableReader:
        """Read the ends of all files, where they say what is in them; columns set ``apart`` are no coordinates."""
        files = tuple(_File(path) for path in paths)
        first = files[0].schema
        if columns is None and vector_column is None and apart:
            columns = [name for name in first.names if name not in apart]
        chosen = Columns.choose(first, columns, vector_column)
        for file in files[1:]:
            schema = file.schema
            for name in chosen.names:
                if name not in schema.names or schema.field(name).type != first.field(name).type:
                    raise DataError(f"column {name!r} of {file.path.name} is not that of {files[0].path.name}")
        places = [(number, group) for number, file in enumerate(files) for group in range(file.groups)]
        counts = [files[number].count(group) for number, group in places]
        places = [place for place, count in zip(places, counts, strict=True) if count]
        stops = list(accumulate(count for count in counts if count))
        if not stops:
            raise DataError("the files have no rows")
        parts = [range(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]
        width = chosen.width
        if width is None:
            width = chosen.block(next(files[places[0][0]].batches(places[0][1], chosen))).shape[1]
        if not width:
            raise DataError("the vectors in the files have no coordinates")
        return TableReader(files, chosen, (stops[-1], width), parts, places)

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the coordinates are called."""
        return None if self.columns.is_vector else self.columns.names

    def keys(self, name: str) -> Keys:
        """Return a column that tells rows apart."""
        import pyarrow as pa

        for file in self.files:
            if name not in file.schema.names:
                raise ArgumentError(f"there is no column {name!r}: there are {', '.join(file.schema.names[:20])}")
        columns = [guarded(file.column, name) for file in self.files]
        if len({str(column.type) for column in columns}) > 1:
            raise DataError(f"column {name!r} has several types in the files: write them with one")
        return Keys.of_column(name, pa.chunked_array([chunk for column in columns for chunk in column.chunks]))

    def blocks(self, part: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of a part."""
        number, group = self.places[part]
        for batch in self.files[number].batches(group, self.columns):
            for block in self.columns.blocks(batch):
                if len(block) and block.shape[1] != self.shape[1]:
                    raise DataError(RAGGED)
                yield block
            del batch  # before the next one is decoded

    def pick(self, part: int, places: Ints) -> NDArray[Any]:
        """Return the rows of a part at some places; others are decoded, but not laid out."""
        number, group = self.places[part]
        found, start = [], 0
        for batch in self.files[number].batches(group, self.columns):
            first, last = np.searchsorted(places, [start, start + batch.num_rows])
            if last > first:
                found.append(self.columns.pick(batch, places[first:last] - start))
            start += batch.num_rows
            del batch
        return np.concatenate(found) if found else np.empty((0, self.shape[1]))

    def fingerprint(self) -> object:
        """Return what tells whether a file has changed: what the file system says, and how the file ends."""
        return tuple((stamp(file.path), _ending(file.path)) for file in self.files)


def _ending(path: Path) -> bytes:
    """Return the last bytes of a file: of a Parquet or Arrow file, the end of its footer."""
    with open(path, "rb") as file:
        file.seek(-min(path.stat().st_size, 4096), 2)
        return file.read()


@final
@dataclass(slots=True, eq=False)
class _File:
    """One file; every thread opens it for itself."""

    path: Path
    opened: threading.local = field(default_factory=threading.local)

    @property
    def is_parquet(self) -> bool:
        return self.path.suffix.lower() not in (".arrow", ".feather", ".ipc")

    def _open(self) -> Any:
        if not hasattr(self.opened, "file"):
            self.opened.file = guarded(_open_parquet if self.is_parquet else _open_arrow, self.path)
        return self.opened.file

    @property
    def schema(self) -> Any:
        return self._open().schema_arrow if self.is_parquet else self._open().schema

    @property
    def groups(self) -> int:
        return int(self._open().num_row_groups if self.is_parquet else self._open().num_record_batches)

    def count(self, group: int) -> int:
        if self.is_parquet:
            return int(self._open().metadata.row_group(group).num_rows)
        return int(self._open().get_batch(group).num_rows)

    def column(self, name: str) -> Any:
        """Return one column, whole, without a dictionary of its own."""
        import pyarrow as pa

        if self.is_parquet:
            found = self._open().read(columns=[name]).column(0)
        else:
            found = pa.Table.from_batches([self._open().get_batch(group) for group in range(self.groups)]).column(name)
        return found.cast(found.type.value_type) if pa.types.is_dictionary(found.type) else found

    def batches(self, group: int, columns: Columns) -> Iterator[Any]:
        """Yield the rows of one row group or record batch, some at a time."""
        if self.is_parquet:
            share = _BATCH_ELEMENTS // (threads_to_use() * (columns.width or 64))
            most = 4 * BLOCK_ROWS if columns.is_vector else _MOST_BATCH_ROWS  # vectors lie as rows do: a cache full
            rows = max(BLOCK_ROWS // 4, min(share, most))
            line = {"batch_size": rows, "row_groups": [group], "columns": list(columns.names)}
            found = iter(guarded(self._open().iter_batches, use_threads=False, **line))
            while (batch := guarded(next, found, None)) is not None:
                yield batch
                del batch
        else:
            whole = guarded(self._open().get_batch, group).select(list(columns.names))
            for start in range(0, whole.num_rows, BLOCK_ROWS):
                yield whole.slice(start, BLOCK_ROWS)


def _open_parquet(path: Path) -> Any:
    import pyarrow.parquet as parquet

    return parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def _open_arrow(path: Path) -> Any:
    import pyarrow as pa

    return pa.ipc.open_file(pa.OSFile(str(path)))


def guarded(work: Any, *arguments: Any, **named: Any) -> Any:
    """Read from a file; what a library says of it may quote a row, so it is not passed on."""
    try:
        return work(*arguments, **named)
    except ModuleNotFoundError:
        raise  # it names a library, and no row
    except Exception as error:
        kind = type(error).__name__
    raise DataError(f"the files cannot be read ({kind}), so nothing was released: check that they are whole")
