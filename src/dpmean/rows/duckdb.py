"""DuckDB relations: streamed as Arrow batches.

A relation is a query that runs again in every pass, and DuckDB guarantees the order of rows for some queries only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, final

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.duckdb_types import read_coordinate, read_key
from dpmean.rows.engine import CHANGED, Streamed
from dpmean.rows.files.arrow import Columns, find_width
from dpmean.rows.files.arrow_stream import StreamEngine
from dpmean.rows.registry import Selection
from dpmean.rows.tables.dataframes import FrameTable

_BATCH_ROWS = 1 << 16
_CURE = (
    'store the result of the query in a table, with X.create("name"), and pass that table; do not write to it during '
    "the call, and keep preserve_insertion_order at true (the default)"
)
"""The cure if two passes over a relation differ."""


def open_source(X: Any, selection: Selection) -> Streamed:
    """Choose the columns of a relation, and count its rows."""
    query, columns = _choose(X, selection)
    n = int(_run(lambda: query.relation().aggregate("count(*)").fetchall())[0][0])
    width = find_width(columns, _first_vectors(query))
    engine = StreamEngine(lambda: _run(query.reader), replace(columns, width=width), (n, width), _run, _CURE)
    return Streamed(engine, None if columns.is_vector else columns.names)


def open_table(X: Any, selection: Selection) -> FrameTable:
    """Read coordinates and keys in one pass, so that each row keeps its own key in any order of rows."""
    query, columns = _choose(X, selection)
    return FrameTable(_run(query.table), columns)


@final
@dataclass(frozen=True, slots=True)
class _Query:
    """Some columns of a relation."""

    source: Any
    names: tuple[str, ...]
    casts: tuple[str, ...]
    """The SQL that reads each column of the relation; {} stands for its value."""

    def relation(self) -> Any:
        """Return a new relation, not yet run; it finds columns by position, as names may differ in case only."""
        found = self.source.columns
        if len(found) != len(self.casts):
            raise DataError(CHANGED)
        places = [found.index(name) for name in self.names]
        quoted = [name.replace('"', '""') for name in self.names]
        chosen = [f'{self.casts[at].format(f"#{at + 1}")} AS "{name}"' for at, name in zip(places, quoted, strict=True)]
        return self.source.project(", ".join(chosen))

    def table(self) -> Any:
        """Return all rows as an Arrow table."""
        return _as_table(self.relation())

    def schema(self) -> Any:
        """Return the Arrow schema of the columns, without reading a row."""
        return _as_table(self.relation().limit(0)).schema

    def reader(self) -> Any:
        """Return a reader of Arrow batches, which DuckDB produces one at a time."""
        relation = self.relation()
        old = not hasattr(type(relation), "to_arrow_reader")
        return relation.fetch_arrow_reader(_BATCH_ROWS) if old else relation.to_arrow_reader(_BATCH_ROWS)


def _as_table(relation: Any) -> Any:
    old = not hasattr(type(relation), "to_arrow_table")
    return relation.fetch_arrow_table() if old else relation.to_arrow_table()


def _choose(X: Any, selection: Selection) -> tuple[_Query, Columns]:
    """Return the query for the columns to read, coordinates and keys, and the columns that are coordinates."""
    if type(X).__name__ == "DuckDBPyConnection":
        raise ArgumentTypeError('X is a DuckDB connection: give a relation, such as connection.sql("SELECT ...")')
    if type(X).__name__ != "DuckDBPyRelation":
        raise ArgumentTypeError(f"X must be a DuckDB relation, got {type(X).__name__}")
    names, kinds = _run(lambda: (tuple(X.columns), [str(kind) for kind in X.types]))
    if len(set(names)) < len(names):
        raise DataError("two columns of the relation have the same name: rename one")
    kind_of = dict(zip(names, kinds, strict=True))
    casts = tuple(
        read_key(name, kind) if name in selection.keys else read_coordinate(kind) for name, kind in kind_of.items()
    )
    schema = _run(_Query(X, names, casts).schema)
    for name in selection.keys:
        if name not in names:
            raise ArgumentError(f"there is no column {name!r}: the columns are {', '.join(names[:20])}")
    columns = Columns.choose(schema, selection.columns, selection.vector_column, selection.width, selection.keys)
    return _Query(X, tuple(dict.fromkeys((*columns.names, *selection.keys))), casts), columns


def _first_vectors(query: _Query) -> Iterator[Any]:
    """Yield the first vector that is not missing, if there is one."""
    yield from _run(lambda: _as_table(query.relation().filter("#1 IS NOT NULL").limit(1))).column(0).chunks


def _run(work: Callable[[], Any]) -> Any:
    """Run DuckDB code, and hide its error messages, which may quote a row."""
    try:
        return work()
    except DataError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise DataError(
        f"DuckDB could not run the query ({kind}), so nothing was released: run it alone to see why; close other "
        "results that are open on its connection"
    )
