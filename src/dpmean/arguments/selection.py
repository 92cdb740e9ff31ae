"""Which columns to use, and which identify persons or groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AnySet

from dpmean.errors import ArgumentError, ArgumentTypeError, describe
from dpmean.rows.files.dialect import Dialect
from dpmean.rows.registry import Selection
from dpmean.rows.tables.keyed_table import Key


def read_selection(columns: str | Sequence[str] | None, vector_column: str | None, dialect: Dialect) -> Selection:
    """Read which columns to use. Whether they exist is checked when the input is opened."""
    if vector_column is not None and not isinstance(vector_column, str):
        raise ArgumentTypeError(f"vector_column must be the name of a column, got {describe(vector_column)}")
    if columns is not None and vector_column is not None:
        raise ArgumentError(
            "columns and vector_column exclude each other, because a row is one vector or one number per column: "
            "leave one out"
        )
    return Selection(None if columns is None else _read_names(columns), vector_column, dialect)


def read_key(key: Key, argument: str) -> Key:
    """Read the key of persons or groups: the name of a column, or one key per row."""
    several = hasattr(key, "__array__") or hasattr(key, "__arrow_c_array__") or hasattr(key, "__arrow_c_stream__")
    plain = hasattr(key, "__iter__") and not isinstance(key, bytes | Mapping | AnySet)
    if isinstance(key, str) or ((several or plain) and getattr(key, "shape", None) != ()):
        return key
    raise ArgumentTypeError(f"{argument} must be the name of a column, or hold one key per row, got {describe(key)}")


def _read_names(columns: str | Sequence[str]) -> tuple[str, ...]:
    """Read the names of columns; a string is one name."""
    if isinstance(columns, str):
        return (columns,)
    names = tuple(columns) if isinstance(columns, Iterable) else None
    if names is None or not all(isinstance(name, str) for name in names):
        odd = columns if names is None else next(name for name in names if not isinstance(name, str))
        raise ArgumentTypeError(
            f"columns must be names of columns, got an object of type {type(odd).__name__}: give a list of strings"
        )
    if not names:
        raise ArgumentError("columns is empty: name at least one column, or leave columns out to use all of them")
    if len(set(names)) < len(names):
        raise ArgumentError("columns has the same name twice: leave one out")
    return names
