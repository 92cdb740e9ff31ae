"""Rows on a Spark cluster: executors add up data frames through ``mapInArrow``, and the driver adds noise once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial as bound
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.queries.queries import Ints
from dpmean.rows.block_query import Kernel
from dpmean.rows.clusters.worker import Partial, describe_fault, merge, partial
from dpmean.rows.engine import CHANGED, Streamed
from dpmean.rows.files.arrow import Columns
from dpmean.rows.registry import Selection

_SMALL = 1 << 22  # bytes of partial totals that the driver collects; more are added up on the cluster
_ID, _ROW = "dpmean_position", "dpmean_row"
_ID_SHIFT = 33  # Spark numbers rows by partition and position in it: partition * 2^33 + position
_NUMBERS = {"byte", "short", "integer", "long", "float", "double", "decimal", "boolean"}


def open_source(frame: Any, selection: Selection) -> Streamed:
    """Read the columns of a data frame, and count the rows of its partitions."""
    from pyspark.sql import functions

    columns, vector_column = selection.columns, selection.vector_column
    _check_frame(frame)
    names = [vector_column] if vector_column is not None else list(frame.columns if columns is None else columns)
    if len(set(names)) < len(names):
        raise ArgumentError("columns must differ: a name is given twice")
    for name in names:
        if name not in frame.columns:
            raise ArgumentError(f"there is no column {name!r}: the columns are {', '.join(frame.columns[:20])}")
    if columns is not None and len(names) == 1 and _holds_vectors(frame, names[0]):
        vector_column = names[0]
    chosen = frame.select(*[_column(frame, name, is_vector=vector_column is not None) for name in names])
    counted = _run_job(chosen.groupBy(functions.spark_partition_id().alias("part")).count().collect)
    sizes = {int(row["part"]): int(row["count"]) for row in counted}
    if not sizes and vector_column is not None:
        raise DataError("the data frame has no rows, so the number of columns is unknown: give at least one row")
    if vector_column is None:
        engine = SparkEngine(chosen, Columns((_ROW,), True, None), sizes, len(names), _pack_columns(chosen))
        return Streamed(engine, tuple(names))
    first = _run_job(chosen.select(functions.size(chosen.columns[0]).alias("width")).first)
    width = int(first["width"] or 0)
    if width < 1:  # for a missing vector, Spark returns null or -1
        raise DataError(f"column {vector_column!r} must hold vectors of real numbers, so nothing was released")
    return Streamed(SparkEngine(chosen, Columns((vector_column,), True, width), sizes, width))


def _check_frame(X: Any) -> None:
    """Refuse objects other than Spark data frames, by their type: a Spark column seems to have every attribute."""
    kind = type(X)
    if kind.__name__ in ("Column", "Series"):
        raise ArgumentTypeError('X is one column: give the data frame, and name the column, such as columns=["a"]')
    if kind.__module__.startswith("pyspark.pandas"):
        raise ArgumentTypeError("X is a pandas-on-Spark frame: pass X.to_spark()")
    if kind.__name__ != "DataFrame":
        raise ArgumentTypeError(f"X must be a Spark data frame, got {kind.__name__}")


def _pack_columns(frame: Any) -> Any:
    """Return columns of numbers as one column of vectors, which Spark transfers faster than many columns."""
    from pyspark.sql import functions

    return functions.array(*[frame[name].cast("double") for name in frame.columns]).alias(_ROW)


def _holds_vectors(frame: Any, name: str) -> bool:
    """Whether a column holds arrays, or the vectors of Spark's own library."""
    kind = frame.schema[name].dataType
    return bool(kind.typeName() == "array" or type(kind).__name__ == "VectorUDT")


def _column(frame: Any, name: str, *, is_vector: bool) -> Any:
    """Return a column of numbers, or of arrays of numbers."""
    kind = frame.schema[name].dataType
    word = kind.typeName()
    if is_vector and word == "array" and kind.elementType.typeName() in _NUMBERS:
        return frame[name]
    if is_vector and type(kind).__name__ == "VectorUDT":
        from pyspark.ml.functions import vector_to_array

        return vector_to_array(frame[name]).alias(name)
    if not is_vector and word in _NUMBERS:
        return frame[name]
    wanted = "arrays of real numbers" if is_vector else "real numbers"
    raise ArgumentTypeError(
        f"column {name!r} must hold {wanted}, got {word}: name the columns to use with columns=[...], or the one that "
        "holds vectors with vector_column=..."
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparkEngine:
    """The partitions of a data frame; the position of a row counts through all partitions in order."""

    frame: Any
    columns: Columns
    sizes: dict[int, int]
    width: int
    together: Any = None
    """The columns as one column of vectors, if there are several."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return sum(self.sizes.values()), self.width

    def add_up(self, kernel: Kernel) -> tuple[Ints, int]:
        """Read all rows once, on the executors."""
        if 8 * int(np.prod(kernel.shape)) * len(self.sizes) > _SMALL:
            return self._add_up_on_cluster(kernel)
        schema = "part int, seen long, fault string, total binary"
        found = _run_job(self._rows(self.frame).mapInArrow(bound(_totals, kernel, self.columns), schema).collect)
        parts = [(int(row["part"]), _unpack(row, kernel)) for row in found]
        total = merge(part for _, part in parts)
        if not total.fault:
            self._check(Counter({number: part.seen for number, part in parts if part.seen}))
        return total.answer()

    def _add_up_on_cluster(self, kernel: Kernel) -> tuple[Ints, int]:
        """Add up large totals on the cluster, entry by entry; negative slots hold the row counts of partitions."""
        schema = "slot long, value long, fault string"
        entries = self._rows(self.frame).mapInArrow(bound(_entries, kernel, self.columns), schema)
        found = _run_job(entries.groupBy("slot").agg({"value": "sum", "fault": "max"}).collect)
        total, seen = kernel.zeros(), Counter[int]()
        flat = total.reshape(-1)
        for row in found:
            slot, value = int(row["slot"]), int(row["sum(value)"])
            if row["max(fault)"]:
                raise DataError(row["max(fault)"])
            if slot < 0:
                seen[-1 - slot] = value
            else:
                flat[slot] = value
        self._check(seen)
        return total, sum(seen.values())

    def gather(self, positions: Ints) -> NDArray[Any]:
        """Return the rows at the given positions; Spark filters them before it passes rows to Python."""
        from pyspark.sql import functions

        numbers, starts = sorted(self.sizes), np.cumsum([0, *(self.sizes[number] for number in sorted(self.sizes))])
        which = np.searchsorted(starts, positions, side="right") - 1
        ids = (np.array(numbers, dtype=np.int64)[which] << _ID_SHIFT) + (positions - starts[which])
        session = self.frame.sparkSession
        wanted = session.createDataFrame([(int(number),) for number in ids], f"{_ID} long")
        numbered = self.frame.withColumn(_ID, functions.monotonically_increasing_id())
        schema = "fault string, kind string, ids binary, rows binary"
        chosen = self._rows(numbered.join(functions.broadcast(wanted), _ID), _ID)
        found = _run_job(chosen.mapInArrow(bound(_pack_rows, self.columns), schema).collect)
        if fault := max((row["fault"] for row in found), default=""):
            raise DataError(fault)
        pieces = [row for row in found if row["rows"]]
        if not pieces:
            raise DataError(CHANGED)
        places = np.concatenate([np.frombuffer(bytes(row["ids"]), dtype=np.int64) for row in pieces])
        values = np.concatenate([np.frombuffer(bytes(row["rows"]), dtype=row["kind"]) for row in pieces])
        order = np.argsort(places)
        if not np.array_equal(places[order], ids) or len(values) != len(ids) * self.width:
            raise DataError(CHANGED)
        return values.reshape(-1, self.width)[order]

    def _rows(self, frame: Any, *more: str) -> Any:
        """Return a data frame with the vectors and the named columns."""
        return frame if self.together is None else frame.select(self.together, *more)

    def _check(self, seen: Counter[int]) -> None:
        if seen != Counter(self.sizes):
            raise DataError(CHANGED)


def _unpack(row: Any, kernel: Kernel) -> Partial:
    if row["fault"]:
        return Partial(None, 0, row["fault"])
    return Partial(np.frombuffer(bytes(row["total"]), dtype=np.int64).reshape(kernel.shape), int(row["seen"]))


def _run_job(job: Callable[[], Any]) -> Any:
    """Run a job, and hide the error messages of Spark, which may quote a row."""
    try:
        return job()
    except Exception as error:
        kind = type(error).__name__
    raise DataError(
        f"the Spark job failed ({kind}), so nothing was released: see Spark's own logs, and check that the workers can "
        "import dpmean (PYSPARK_PYTHON)"
    )


# --- on an executor ------------------------------------------------------------------------------------------


def _find_partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _batch(**columns: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(columns)


def _totals(kernel: Kernel, columns: Columns, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the total of a partition as one row."""
    import pyarrow as pa

    found = partial(kernel, (columns.block(batch) for batch in batches))
    total = b"" if found.total is None else found.total.tobytes()
    here, seen = pa.array([_find_partition()], pa.int32()), pa.array([found.seen], pa.int64())
    yield _batch(part=here, seen=seen, fault=[found.fault], total=pa.array([total], pa.binary()))


def _entries(kernel: Kernel, columns: Columns, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the total of a partition, one row for each non-zero entry."""
    import pyarrow as pa

    found = partial(kernel, (columns.block(batch) for batch in batches))
    flat = np.zeros(0, dtype=np.int64) if found.total is None else found.total.reshape(-1)
    slots = np.flatnonzero(flat)
    slot = pa.array(np.append(slots, -1 - _find_partition()), pa.int64())
    value = pa.array(np.append(flat[slots], found.seen), pa.int64())
    yield _batch(slot=slot, value=value, fault=[*[""] * len(slots), found.fault])


def _pack_rows(columns: Columns, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield rows as bytes, with the ids that Spark gave them."""
    import pyarrow as pa

    for batch in batches:
        fault, kind, ids, rows = "", "<f8", b"", b""
        try:
            block = np.ascontiguousarray(columns.block(batch))
            kind, rows = block.dtype.str, block.tobytes()
            ids = batch.column(batch.schema.get_field_index(_ID)).to_numpy().astype(np.int64).tobytes()
        except Exception as error:
            fault = describe_fault(error)
        bytes_of = {name: pa.array([value], pa.binary()) for name, value in (("ids", ids), ("rows", rows))}
        yield _batch(fault=[fault], kind=[kind], **bytes_of)
