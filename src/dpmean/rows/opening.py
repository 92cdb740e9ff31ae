"""Where rows come from: told from what a caller gives, without importing any library that the caller did not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, final

from numpy.typing import NDArray

from dpmean.enums import Newlines
from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Ints
from dpmean.release.grouped import GroupedRelease
from dpmean.release.release import Release
from dpmean.rows.engine import Source
from dpmean.rows.memory import MemoryRows


@final
@dataclass(frozen=True, slots=True, eq=False)
class InMemory:
    """The rows of an array, or those at some positions."""

    array: NDArray[Any]
    names: tuple[str, ...] | None = None
    positions: Ints | None = None
    unit: str | None = None
    """What everything that one person contributed is known by; each is one row here. None: a row is a row."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and how many columns there are."""
        n, d = self.array.shape
        return n if self.positions is None else len(self.positions), d

    def rows(self, domain: Domain) -> MemoryRows:
        """Return the rows as they are seen through a domain."""
        return MemoryRows(self.array, domain, self.positions)


def elsewhere(
    X: Any, columns: Sequence[str] | None, vector_column: str | None, newlines: Newlines = Newlines.RECORDS
) -> Source | None:
    """Return the source of rows that are not in an array of this process; None if they are."""
    refuse_names(X)
    refuse_newlines(X, newlines)
    home = type(X).__module__.partition(".")[0]
    if isinstance(X, str | os.PathLike):
        from dpmean.rows.files.formats import open_files

        return open_files(X if isinstance(X, str) else Path(X), columns, vector_column, newlines)
    if home == "pyspark":
        from dpmean.rows.clusters.spark import open_spark

        return open_spark(X, columns, vector_column)
    if home.startswith("dask"):
        from dpmean.rows.clusters.dask import open_dask

        return open_dask(X, columns, vector_column)
    if home == "dpmean":
        return cast(Source, X)  # opened before
    if is_frame(X):
        from dpmean.rows.tables.dataframes import FrameTable

        table = FrameTable.open(X, columns, vector_column)
        return InMemory(table.array(), table.names)
    if columns is not None or vector_column is not None:
        given = "columns" if vector_column is None else "vector_column"
        raise ArgumentError(f"{given} is for tables, got {type(X).__name__}: select columns beforehand")
    if home == "scipy":
        from dpmean.rows.sparse import SparseSource

        return SparseSource.open(X)
    if home == "torch":
        from dpmean.rows.torch.source import open_tensor

        return open_tensor(X)
    return None


def refuse_names(X: Any) -> None:
    """Refuse several names of files, as text in a list would be taken for rows; and releases, which are none."""
    if isinstance(X, Release | GroupedRelease):
        raise ArgumentTypeError(f"X is a {type(X).__name__}, which is private already: give the rows")
    if isinstance(X, list | tuple) and X and all(isinstance(one, str | os.PathLike) for one in X):
        from dpmean.rows.files.formats import is_kind

        if all(is_kind(one) for one in X):
            raise ArgumentTypeError("X is a list of files: give a folder or a pattern, such as 'data/*.parquet'")


def refuse_newlines(X: Any, newlines: Newlines) -> None:
    """Refuse to be told about line breaks where there are none."""
    if newlines is Newlines.QUOTED and not isinstance(X, str | os.PathLike):
        raise ArgumentError(f"newlines is for CSV files, got {type(X).__name__}: leave it out")


def is_frame(X: Any) -> bool:
    """Whether something is a data frame in memory, told without importing its library."""
    tabular = hasattr(X, "__arrow_c_stream__") and hasattr(X, "columns")
    return type(X).__name__ == "LazyFrame" or tabular or hasattr(X, "__dataframe__")
