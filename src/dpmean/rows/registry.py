"""The list of engines. To add one, write its module and add an entry here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from numbers import Number
from typing import TYPE_CHECKING, Any, Protocol, cast, final

from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.rows.engine import Source
from dpmean.rows.files.dialect import USUAL, Dialect

if TYPE_CHECKING:
    from dpmean.rows.tables.keyed_table import Table


@final
@dataclass(frozen=True, slots=True)
class Selection:
    """Which columns of an input are coordinates, which are keys, and the dialect of text files."""

    columns: Sequence[str] | None = None
    vector_column: str | None = None
    dialect: Dialect = USUAL
    keys: tuple[str, ...] = ()
    """Columns that identify persons or groups, and so are not coordinates."""
    width: int | None = None
    """The number of coordinates of a vector, if an argument gives it: then it need not be read from the rows."""


class EngineModule(Protocol):
    """The interface of an engine's module; ``open_table`` is needed only if its entry has ``keys=True``."""

    def open_source(self, X: Any, selection: Selection) -> Source:
        """Open an input as a source of rows."""
        ...

    def open_table(self, X: Any, selection: Selection) -> Table:
        """Open an input as a table with keys of persons or groups."""
        ...


@final
@dataclass(frozen=True, slots=True)
class EngineEntry:
    """An engine: its name, the inputs that it reads, its module, and what it supports."""

    name: str
    words: str
    """The name of its inputs in messages."""
    recognises: Callable[[Any], bool]
    """Whether it reads an input; this imports no library that the caller has not imported."""
    _: KW_ONLY
    module: str | None = None
    """An ``EngineModule``, imported when an input is recognised. None for arrays, which are read with the arguments."""
    columns: bool = False
    """Whether its inputs are tables, whose coordinates ``columns=`` and ``vector_column=`` choose."""
    text: bool = False
    """Whether its inputs may be text files, whose dialect ``sep=``, ``newlines=`` and similar arguments describe."""
    keys: bool = False
    """Whether it supports keys of persons and groups (``privacy_unit=``, ``mean_by``)."""
    extra: str | None = None
    """The extra to install, as in ``pip install 'dpmean[extra]'``; None if none is needed."""

    def load(self) -> EngineModule | None:
        """Import the module of the engine."""
        return None if self.module is None else cast(EngineModule, import_module(self.module))


def _package(X: Any) -> str:
    """Return the package that an input comes from."""
    return str(type(X).__module__).partition(".")[0]


def comes_from(*packages: str) -> Callable[[Any], bool]:
    """Return a function that recognises objects of the given packages."""
    return lambda X: _package(X) in packages


def _is_name(X: Any) -> bool:
    return isinstance(X, str | os.PathLike)


def _is_dask(X: Any) -> bool:
    return _package(X).startswith("dask")  # dask_expr, too


def _is_dataset(X: Any) -> bool:
    return _package(X) == "datasets" and hasattr(X, "column_names")


def _is_frame(X: Any) -> bool:
    if type(X).__name__ == "LazyFrame":
        return True
    return (hasattr(X, "__arrow_c_stream__") and hasattr(X, "columns")) or hasattr(X, "__dataframe__")


def _is_array(X: Any) -> bool:
    if isinstance(X, Mapping):
        return False
    sequence = hasattr(X, "__len__") and hasattr(X, "__getitem__")
    return sequence or isinstance(X, Number) or hasattr(X, "__array__") or hasattr(X, "__array_interface__")


_ROWS = "dpmean.rows"
ENGINES: list[EngineEntry] = [
    EngineEntry(
        "files",
        "files",
        _is_name,
        module=f"{_ROWS}.files.formats",
        columns=True,
        text=True,
        keys=True,
    ),
    EngineEntry(
        "spark",
        "Spark data frames",
        comes_from("pyspark"),
        module=f"{_ROWS}.clusters.spark",
        columns=True,
        extra="spark",
    ),
    EngineEntry(
        "dask", "Dask arrays and data frames", _is_dask, module=f"{_ROWS}.clusters.dask", columns=True, extra="dask"
    ),
    EngineEntry("opened", "sources opened before", comes_from("dpmean"), module=f"{_ROWS}.passthrough", keys=True),
    EngineEntry(
        "duckdb",
        "DuckDB relations",
        comes_from("duckdb", "_duckdb"),
        module=f"{_ROWS}.duckdb",
        columns=True,
        keys=True,
        extra="duckdb",
    ),
    EngineEntry(
        "datasets",
        "Hugging Face datasets",
        _is_dataset,
        module=f"{_ROWS}.huggingface",
        columns=True,
        keys=True,
        extra="datasets",
    ),
    EngineEntry(
        "frames",
        "data frames",
        _is_frame,
        module=f"{_ROWS}.tables.dataframes",
        columns=True,
        keys=True,
    ),
    EngineEntry("sparse", "sparse matrices", comes_from("scipy"), module=f"{_ROWS}.sparse", extra="sparse"),
    EngineEntry(
        "torch", "PyTorch tensors", comes_from("torch"), module=f"{_ROWS}.torch.source", keys=True, extra="torch"
    ),
    EngineEntry("memory", "arrays", _is_array, keys=True),
]
"""All engines. The first one that recognises an input reads it."""


def find_engine(X: Any, selection: Selection, *, keys: bool = False) -> EngineEntry:
    """Return the engine that reads an input, and check that it supports the arguments.

    Args:
        X: The caller's rows.
        selection: Which columns to read.
        keys: Whether rows belong to persons or groups, so that keys must be read.

    """
    entry = next((one for one in ENGINES if one.recognises(X)), None)
    if entry is None:
        raise ArgumentTypeError(f"X must hold rows of numbers, got {_describe_input(X)}: give {_list_inputs('or')}")
    kind = type(X).__name__
    if selection.dialect.given and not entry.text:
        raise ArgumentError(f"{selection.dialect.given[0]} is for CSV files, got {kind}: leave it out")
    if keys and not entry.keys:
        raise ArgumentTypeError(
            f"persons and groups are supported for {_list_inputs('and', keys=True)}, got {_describe_input(X)}: average "
            'each person\'s rows there first, with neighbours="add-or-remove-one" (the default)'
        )
    if not entry.columns and (selection.columns is not None or selection.vector_column is not None):
        given = "columns" if selection.vector_column is None else "vector_column"
        raise ArgumentError(f"{given} is for tables, got {kind}: select columns beforehand")
    return entry


def _describe_input(X: Any) -> str:
    package = _package(X)
    return type(X).__name__ if package == "builtins" else f"{type(X).__name__} of {package}"


def _list_inputs(last: str, *, keys: bool = False) -> str:
    """Return a list of the inputs that can be read, or of those that support keys."""
    words = [entry.words for entry in ENGINES if entry.name != "opened" and (entry.keys or not keys)]
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
