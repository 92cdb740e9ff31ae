"""Arrow batches: choose the columns that are coordinates, and convert a batch to an array of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.queries.queries import Floats, Ints
from dpmean.rows.dtype_names import describe_type, is_list, is_number

_EXACT, _EXACT_POWER = 2**53, 22
"""Integers and exponents of ten up to these are exact in float64."""
_LAYOUT_BYTES = 1 << 20  # columns are combined into rows in pieces that stay in the cache until they are processed
RAGGED = (
    "the vectors in the rows differ in length, or from the number of columns in bounds, so nothing was released: pad "
    "them, or leave them out"
)
_NO_VECTOR = (
    "no row has a vector, and the number of columns is not declared, so nothing was released: declare a fixed length "
    "(fixed-size lists, in DuckDB DOUBLE[3]), or give bounds with a number for each column"
)
"""The same error if there are no rows, so that it does not reveal whether there are rows without a vector."""


@final
@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that form a row: one column of vectors, or several columns of numbers."""

    names: tuple[str, ...]
    is_vector: bool
    width: int | None
    """The number of coordinates of a row; None: the length of the vectors in the rows that are used."""
    asked: int | None = None
    """The length that these vectors must have, if an argument gives it."""

    @staticmethod
    def choose(
        schema: Any,
        columns: Sequence[str] | None,
        vector_column: str | None,
        width: int | None = None,
        apart: Sequence[str] = (),
    ) -> Columns:
        """Choose columns of an Arrow schema by name, or all except the keys, which are listed in ``apart``.

        ``width`` is the length of vectors if the schema declares none.
        """
        import pyarrow.types as kinds

        if columns is not None and vector_column is not None:
            raise ArgumentError(
                "give columns or vector_column, not both: a row is either one vector, or one number per column"
            )
        if columns is None:
            columns = [name for name in schema.names if name not in apart]
        names = tuple(columns) if vector_column is None else (vector_column,)
        for name in names:
            if name not in schema.names:
                raise ArgumentError(f"there is no column {name!r}: the columns are {', '.join(schema.names[:20])}")
        if len(set(names)) < len(names):
            raise ArgumentError("columns must differ: a name is given twice")
        fields = [schema.field(name).type for name in names]
        lists = [kind for kind in fields if is_list(kind)]
        if len(lists) == 1 and len(fields) == 1:
            kind = lists[0]
            _number(names[0], kind.value_type)
            return Columns(names, True, kind.list_size if kinds.is_fixed_size_list(kind) else None, width)
        if not names:
            raise DataError("the table has no columns")
        if vector_column is not None and kinds.is_null(fields[0]):
            raise DataError(_NO_VECTOR)
        for name, kind in zip(names, fields, strict=True):
            _number(name, kind)
        return Columns(names, False, len(names))

    def block(self, batch: Any) -> NDArray[Any]:
        """Return the rows of a record batch as an array; missing values become NaN."""
        if not self.is_vector:
            arrays = self._arrays(batch)
            return _stack_columns(arrays, np.empty((len(arrays), batch.num_rows), dtype=np.result_type(*arrays)))
        return self._vectors(batch.column(batch.schema.get_field_index(self.names[0])))

    def blocks(self, batch: Any) -> Iterator[NDArray[Any]]:
        """Yield the rows of a record batch; rows from several columns come in blocks that share one buffer."""
        if self.is_vector:
            yield self.block(batch)
            return
        arrays = self._arrays(batch)
        kind = np.result_type(*arrays)
        size = max(64, _LAYOUT_BYTES // (len(arrays) * kind.itemsize))
        buffer = np.empty((len(arrays), min(size, batch.num_rows)), dtype=kind)
        for start in range(0, batch.num_rows, size):
            pieces = [array[start : start + size] for array in arrays]
            yield _stack_columns(pieces, buffer[:, : len(pieces[0])])

    def pick(self, batch: Any, places: Ints) -> NDArray[Any]:
        """Return the rows of a record batch at the given places."""
        if self.is_vector:
            return self.block(batch.take(places))
        arrays = [array[places] for array in self._arrays(batch)]
        return _stack_columns(arrays, np.empty((len(arrays), len(places)), dtype=np.result_type(*arrays)))

    def _vectors(self, column: Any) -> NDArray[Any]:
        """Return vectors as the rows of an array; a missing vector becomes NaN in all coordinates."""
        import pyarrow.compute as compute
        import pyarrow.types as kinds

        known = column.drop_null() if column.null_count else column
        flat, count = read_numbers(known.flatten()), len(known)
        width = self.width if self.width is not None or not count else len(flat) // count
        if width is None and len(column):
            raise DataError(_NO_VECTOR)
        fixed = kinds.is_fixed_size_list(column.type)
        if not fixed and np.any(compute.list_value_length(known).to_numpy(zero_copy_only=False) != width):
            raise DataError(RAGGED)
        rows = flat.reshape(count, width or 0)
        if count == len(column):
            return rows
        whole = np.full((len(column), rows.shape[1]), np.nan)
        whole[column.is_valid().to_numpy(zero_copy_only=False)] = rows
        return whole

    def _arrays(self, batch: Any) -> list[NDArray[Any]]:
        return [read_numbers(batch.column(batch.schema.get_field_index(name))) for name in self.names]


def find_width(columns: Columns, vectors: Iterable[Any]) -> int:
    """Return the number of coordinates: as declared or given, otherwise the length of the first non-missing vector.

    The vectors must be those of the rows that are used, and no others: if these differ in length, the call is refused,
    so it does not matter which one comes first.
    """
    import pyarrow.compute as compute

    width = columns.width
    if width is None:
        lengths = (compute.list_value_length(some).drop_null() for some in vectors)
        width = next((int(found[0].as_py()) for found in lengths if len(found)), columns.asked)
        if columns.asked not in (None, width):
            raise DataError(RAGGED)
    if width is None:
        raise DataError(_NO_VECTOR)
    if not width:
        raise DataError("the vectors in the rows have no coordinates, so nothing was released: leave empty ones out")
    return width


def _stack_columns(arrays: Sequence[NDArray[Any]], block: NDArray[Any]) -> NDArray[Any]:
    """Write columns into the lines of a block, and return its transpose, which has one row per line."""
    for line, array in zip(block, arrays, strict=True):
        line[:] = array
    return block.T


def are_compatible(kind: Any, other: Any) -> bool:
    """Whether columns of two types may be mixed; all number types may, as a missing value may change the type."""
    if not is_list(kind) or not is_list(other):
        return is_number(kind) and is_number(other)
    alike = kind.id == other.id and getattr(kind, "list_size", None) == getattr(other, "list_size", None)
    return alike and is_number(kind.value_type) and is_number(other.value_type)


def _number(name: str, kind: Any) -> None:
    if not is_number(kind):
        raise ArgumentTypeError(
            f"column {name!r} must hold real numbers, got {describe_type(kind)}: name the columns to use with "
            "columns=[...], or the one that holds vectors with vector_column=..."
        )


def read_numbers(array: Any) -> NDArray[Any]:
    """Return an Arrow array as numbers, NaN for missing values; binary numbers without any are not copied."""
    import pyarrow as pa

    if pa.types.is_decimal(array.type):
        return _read_decimals(array)
    if pa.types.is_null(array.type) or (array.null_count and not pa.types.is_floating(array.type)):
        array = array.cast(pa.float64(), safe=False)
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found


def _read_decimals(array: Any) -> Floats:
    """Return decimals as the nearest floats; Arrow's own conversion depends on the precision of the column.

    Values below 2^53 units of the last digit, and powers of ten up to 10^22, are exact floats, so one division rounds
    once. Other values are converted through text.
    """
    if not len(array):
        return np.empty(0)
    scale, size = array.type.scale, array.type.bit_width // 8
    cells = np.frombuffer(array.buffers()[1], dtype=f"<i{min(size, 8)}").reshape(-1, max(size // 8, 1))
    cells = cells[array.offset : array.offset + len(array)]
    low, valid = cells[:, 0].astype(np.int64), array.is_valid().to_numpy(zero_copy_only=False)
    short = (low >= -_EXACT) & (low <= _EXACT) & np.all(cells[:, 1:] == (low >> 63)[:, np.newaxis], axis=1)
    if not 0 <= scale <= _EXACT_POWER:
        short[:] = False
    found = np.where(valid, low / float(10 ** min(max(scale, 0), _EXACT_POWER)), np.nan)
    for place in np.flatnonzero(valid & ~short).tolist():
        found[place] = float(f"{int.from_bytes(cells[place].tobytes(), 'little', signed=True)}e{-scale}")
    return found
