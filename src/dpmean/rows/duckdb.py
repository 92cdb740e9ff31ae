"""Relations of DuckDB: streamed in batches of Arrow; every pass must see the same rows in the same order.

A relation is a query that runs anew for every pass, and DuckDB promises an order for some queries only. So each pass
computes a fingerprint of all rows and their positions, and one that differs ends the call.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.queries.queries import Floats, Ints
from dpmean.rows.block_query import Kernel, copy_as_floats
from dpmean.rows.duckdb_types import read_coordinate, read_key
from dpmean.rows.engine import CHANGED, Streamed
from dpmean.rows.files.arrow import RAGGED, Columns, find_width
from dpmean.rows.fingerprint import fingerprint
from dpmean.rows.registry import Selection
from dpmean.rows.tables.dataframes import FrameTable
from dpmean.rows.threads import each, threads_to_use

_Held = TypeVar("_Held")
_BATCH_ROWS = 1 << 16
MOVED = (
    "the rows changed or came in another order while they were read, so nothing was released: store the result of the "
    'query in a table, with X.create("name"), and give that table; nobody may write to it meanwhile, and '
    "preserve_insertion_order must be true, as it is by default"
)
"""What is said when passes over a relation do not agree."""


def open_source(X: Any, selection: Selection) -> Streamed:
    """Choose columns of a relation, and count its rows."""
    query, columns = _choose(X, selection)
    n = int(_run(lambda: query.relation().aggregate("count(*)").fetchall())[0][0])
    width = find_width(columns, _first_vectors(query))
    engine = RelationEngine(query, replace(columns, width=width), (n, width))
    return Streamed(engine, None if columns.is_vector else columns.names)


def open_table(X: Any, selection: Selection) -> FrameTable:
    """Read coordinates and keys in one pass, so that every row has its own key whatever the order is."""
    query, columns = _choose(X, selection)
    return FrameTable(_run(query.table), columns)


@final
@dataclass(frozen=True, slots=True)
class _Query:
    """Some columns of a relation."""

    source: Any
    names: tuple[str, ...]
    casts: tuple[str, ...]
    """Of every column of the relation, how it is read, where {} stands for its value."""

    def relation(self) -> Any:
        """Return a new relation, which has not run: columns by their position, as names differ in capitals at times."""
        found = self.source.columns
        if len(found) != len(self.casts):
            raise DataError(CHANGED)
        places = [found.index(name) for name in self.names]
        quoted = [name.replace('"', '""') for name in self.names]
        chosen = [f'{self.casts[at].format(f"#{at + 1}")} AS "{name}"' for at, name in zip(places, quoted, strict=True)]
        return self.source.project(", ".join(chosen))

    def table(self) -> Any:
        """Return all rows as a table of Arrow."""
        return _as_table(self.relation())

    def schema(self) -> Any:
        """Return the types of the columns in Arrow; no row is read."""
        return _as_table(self.relation().limit(0)).schema

    def reader(self) -> Any:
        """Return a reader of batches of Arrow, which DuckDB makes as they are read."""
        relation = self.relation()
        old = not hasattr(type(relation), "to_arrow_reader")
        return relation.fetch_arrow_reader(_BATCH_ROWS) if old else relation.to_arrow_reader(_BATCH_ROWS)


def _as_table(relation: Any) -> Any:
    old = not hasattr(type(relation), "to_arrow_table")
    return relation.fetch_arrow_table() if old else relation.to_arrow_table()


def _choose(X: Any, selection: Selection) -> tuple[_Query, Columns]:
    """Find the columns to read, coordinates and keys, and which of them are coordinates."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ArgumentError("DuckDB relations need pyarrow: pip install 'dpmean[duckdb]'")
    if type(X).__name__ == "DuckDBPyConnection":
        raise ArgumentTypeError('X is a DuckDB connection: give a relation, connection.sql("SELECT ..."), say')
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
            raise ArgumentError(f"there is no column {name!r}: there are {', '.join(names[:20])}")
    coordinates: Sequence[str] | None = selection.columns
    if coordinates is None and selection.vector_column is None and selection.keys:
        coordinates = [name for name in names if name not in selection.keys]
    columns = Columns.choose(schema, coordinates, selection.vector_column, selection.width)
    return _Query(X, tuple(dict.fromkeys((*columns.names, *selection.keys))), casts), columns


def _first_vectors(query: _Query) -> Iterator[Any]:
    """Yield the first vector that is not missing, if there is one."""
    yield from _run(lambda: _as_table(query.relation().filter("#1 IS NOT NULL").limit(1))).column(0).chunks


@final
@dataclass(slots=True, eq=False)
class RelationEngine:
    """Reads a relation anew for every question, on all cores, in constant memory."""

    query: _Query
    columns: Columns
    shape: tuple[int, int]
    threads: int = field(default_factory=threads_to_use)
    mark: int | None = None
    """The fingerprint of all rows and their positions, once they were read."""

    def add_up(self, kernel: Kernel) -> tuple[Ints, int]:
        """Read all rows once."""
        found = self._read(kernel.zeros, lambda total, rows, _: kernel.add(rows, total))
        return sum(found, start=kernel.zeros()), self.shape[0]

    def gather(self, positions: Ints) -> NDArray[Any]:
        """Return the rows at some positions."""

        def pick(found: dict[int, Floats], rows: Floats, start: int) -> None:
            first, last = np.searchsorted(positions, [start, start + len(rows)])
            if last > first:
                found[start] = rows[positions[first:last] - start]

        parts: dict[int, Floats] = {}
        for found in self._read(dict[int, Floats], pick):
            parts |= found
        return np.concatenate([parts[start] for start in sorted(parts)])

    def _read(self, make: Callable[[], _Held], use: Callable[[_Held, Floats, int], None]) -> list[_Held]:
        """Let every thread use blocks of rows, and return what each made of them; a pass that differs is refused."""
        batches = _Batches(_run(self.query.reader))

        def work(_: int) -> tuple[_Held, int]:
            held, mark = make(), 0
            try:
                for start, batch in batches:
                    for rows in self._blocks(batch):
                        mark += int(fingerprint(rows.view(np.uint64), start))
                        use(held, rows, start)
                        start += len(rows)
            except BaseException:
                batches.stop()
                raise
            return held, mark

        try:
            found = each(work, list(range(self.threads)), self.threads)
        finally:
            batches.stop()
        if batches.start != self.shape[0]:
            raise DataError(CHANGED)
        mark = sum(mark for _, mark in found) % 2**64
        self.mark = mark if self.mark is None else self.mark
        if mark != self.mark:
            raise DataError(MOVED)
        return [held for held, _ in found]

    def _blocks(self, batch: Any) -> Iterator[Floats]:
        """Yield the rows of a batch as float64, so that a batch with a missing value gives the others the same bits."""
        for block in self.columns.blocks(batch):
            if len(block) and block.shape[1] != self.shape[1]:
                raise DataError(RAGGED)
            rows = np.empty(block.shape)
            copy_as_floats(block, rows)
            yield rows


@final
@dataclass(slots=True, eq=False)
class _Batches:
    """The batches of a reader, for several threads; each comes with the position of its first row."""

    reader: Any
    start: int = 0
    ended: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> tuple[int, Any]:
        with self.lock:
            batch = None if self.ended else _run(lambda: next(self.reader, None))
            if batch is None:
                self.ended = True
                raise StopIteration
            start, self.start = self.start, self.start + batch.num_rows
            return start, batch

    def stop(self) -> None:
        """Read no more, and let the connection go: no other query can run on it while this one is open."""
        with self.lock:
            self.ended = True
            self.reader.close()


def _run(work: Callable[[], Any]) -> Any:
    """Let DuckDB work; what it says of an error may quote a row, so it is not passed on."""
    try:
        return work()
    except DataError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise DataError(
        f"DuckDB could not run the query ({kind}), so nothing was released: run it by itself to see why; no other "
        "result may be open on its connection"
    )
