"""Data frames in memory, of any library that narwhals supports: pandas, polars, pyarrow and more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.files.arrow import Columns, find_width
from dpmean.rows.opening import InMemory
from dpmean.rows.registry import Selection
from dpmean.rows.tables.keys import UNTYPED, Keys
from dpmean.rows.tables.scalars import read_objects


def open_source(frame: Any, selection: Selection) -> InMemory:
    """Read a frame as rows in memory."""
    table = open_table(frame, selection)
    return InMemory(table.array(), table.names)


def open_table(frame: Any, selection: Selection) -> FrameTable:
    """Read a frame as a table."""
    return FrameTable.open(frame, selection.columns, selection.vector_column, selection.keys, selection.width)


@final
@dataclass(frozen=True, slots=True, eq=False)
class FrameTable:
    """A data frame as an Arrow table: its coordinates can be read as one array, its keys by name."""

    table: Any
    columns: Columns
    objects: Mapping[str, list[Any]] = field(default_factory=dict)
    """Columns of keys of mixed types, as lists of objects: an Arrow column would convert all keys to one type."""
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For some columns of keys: the public names of the keys 0, 1, 2, ..."""

    @staticmethod
    def open(
        frame: Any,
        columns: Sequence[str] | None,
        vector_column: str | None,
        apart: Sequence[str] = (),
        width: int | None = None,
    ) -> FrameTable:
        """Read a frame; columns listed in ``apart`` are keys, not coordinates."""
        wanted = columns if vector_column is None else [*(columns or ()), vector_column]
        table, objects = _as_arrow(frame, wanted, apart)
        if vector_column is not None:
            table = _declare_vectors(table, vector_column)
        return FrameTable(table, Columns.choose(table.schema, columns, vector_column, width, apart), objects=objects)

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the coordinates."""
        return None if self.columns.is_vector else self.columns.names

    @property
    def width(self) -> int:
        """The number of coordinates: as declared by the table, or the length of its vectors."""
        return find_width(self.columns, self.table.column(self.columns.names[0]).chunks)

    def select(self, rows: NDArray[np.bool_]) -> FrameTable:
        """Return the table of some rows; its number of coordinates is found from these rows only."""
        import pyarrow as pa

        objects = {name: list(compress(keys, rows)) for name, keys in self.objects.items()}
        return replace(self, table=self.table.filter(pa.array(rows)), objects=objects)

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all rows, some at a time."""
        columns = replace(self.columns, width=self.width)
        for batch in self.table.select(list(columns.names)).to_batches():
            if batch.num_rows:
                yield columns.block(batch)

    def array(self) -> NDArray[Any]:
        """Return all rows as one array."""
        blocks = list(self.blocks())
        if not blocks:
            return np.empty((0, self.width))
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def keys(self, name: str) -> Keys:
        """Return the keys in a column, one per row."""
        if name in self.objects:
            return Keys.of_array(name, self.objects[name], self.n)
        return replace(Keys.of_column(name, self.table.column(name)), classes=self.classes.get(name, ()))


def _as_arrow(frame: Any, wanted: Sequence[str] | None, apart: Sequence[str]) -> tuple[Any, dict[str, list[Any]]]:
    """Return all or some columns of a frame as an Arrow table, and separately the keys that have no Arrow type."""
    import narwhals.stable.v1 as narwhals
    import pyarrow as pa

    if type(frame).__name__ == "LazyFrame":
        frame = _collect(frame, wanted, apart)
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    pandas = type(frame).__module__.partition(".")[0] == "pandas"
    known = narwhals.from_native(_name_columns(frame) if pandas else frame, eager_only=True)
    _check_names((*(wanted or ()), *apart), known.columns)
    objects = {name: known[name].to_list() for name in apart if _is_untyped(known[name].to_native())}
    names = known.columns if wanted is None else dict.fromkeys([*wanted, *apart])
    chosen = known.select(*(name for name in names if name not in objects or name in (wanted or ())))
    coordinates = wanted or [name for name in chosen.columns if name not in apart]

    def read(some: Any) -> Any:
        """Return columns as an Arrow table, or None if Arrow fails; its error message may quote a value."""
        try:
            if not pandas:
                return some.to_arrow()
            used = [name for name in coordinates if name in some.columns]
            return pa.Table.from_pandas(_convert_objects(some.to_native(), used), preserve_index=False)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return None

    if (table := read(chosen)) is not None:
        return table, objects
    mixed = [repr(name) for name in chosen.columns if read(chosen.select(name)) is None] or [*map(repr, chosen.columns)]
    which = f"{', '.join(mixed[:20])} of the frame hold" if len(mixed) > 1 else f"{mixed[0]} of the frame holds"
    raise ArgumentTypeError(
        f"X must hold real numbers, and column{'s' * (len(mixed) > 1)} {which} values of several kinds: select other "
        "columns with columns=[...], or convert them to numbers, for example with frame[columns].astype(float)"
    )


def _check_names(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names that are not names of columns."""
    for name in names:
        if name not in known:
            raise ArgumentError(f"there is no column {name!r}: the columns are {', '.join(map(str, known[:20]))}")


def _collect(frame: Any, wanted: Sequence[str] | None, apart: Sequence[str]) -> Any:
    """Run the query of a polars lazy frame for the columns that are used: only once, as results may differ."""
    if type(frame).__module__.partition(".")[0] != "polars":
        raise ArgumentTypeError("X is a lazy frame, which is supported for polars only: pass X.collect()")
    names = _run(lambda: frame.collect_schema().names())
    _check_names((*(wanted or ()), *apart), names)
    chosen = frame if wanted is None else frame.select(list(dict.fromkeys([*wanted, *apart])))
    return _run(lambda: chosen.collect(**({"engine": "streaming"} if _streams() else {})))


def _streams() -> bool:
    """Whether this version of polars has the streaming engine, for queries larger than memory."""
    import polars

    return tuple(map(int, polars.__version__.split(".")[:2])) >= (1, 25)


def _run(work: Callable[[], Any]) -> Any:
    """Run polars code, and hide its error messages, which may quote a row."""
    from polars.exceptions import PanicException

    try:
        return work()
    except (Exception, PanicException) as error:  # a panic is not an Exception
        kind = type(error).__name__
    raise DataError(
        f"polars could not run the query ({kind}), so nothing was released: run it alone, with X.collect(), to see why"
    )


def _declare_vectors(table: Any, name: str) -> Any:
    """Declare an all-missing column as vectors: the type must not depend on whether a single row has a vector."""
    import pyarrow as pa

    place = table.schema.get_field_index(name)
    if not pa.types.is_null(table.schema.field(place).type):
        return table
    return table.set_column(place, name, pa.nulls(table.num_rows, pa.list_(pa.float64())))


def _convert_objects(frame: Any, names: Sequence[str]) -> Any:
    """Return a pandas frame in which each number in some columns of objects was converted independently.

    Arrow would look for one type that fits all objects of a column, so that one object could change the others.
    """
    found = frame.copy(deep=False)
    for name in names:
        numbers = read_objects(frame[name].tolist()) if frame[name].dtype == object else None
        if numbers is not None:
            found[name] = numbers
    return found


def _is_untyped(column: Any) -> bool:
    """Whether the values of a column may have several types; for categories, whether they do."""
    kind = getattr(column, "dtype", None)
    categories: Any = getattr(kind, "categories", None)
    if str(getattr(categories, "dtype", "")) in UNTYPED:
        return {type(category) for category in categories} != {str}
    return str(kind) in UNTYPED


def _name_columns(frame: Any) -> Any:
    """Return a pandas frame whose column names are text."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise DataError("two columns of the frame have the same name: rename one")
    return frame if names == list(frame.columns) else frame.set_axis(names, axis="columns")
