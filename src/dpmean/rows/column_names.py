"""Names of columns, and which of them an error message may show."""

from __future__ import annotations

from typing import final


@final
class UncertainNames(tuple[str, ...]):
    """Names from a first line that may be a data row: no error message may show them."""

    __slots__ = ()


def list_names(names: tuple[str, ...]) -> str:
    """Return text that lists some of the names, or says where to find them."""
    if isinstance(names, UncertainNames):
        return "look at the first line of the file"
    return f"the columns are {', '.join(names[:20])}"


def name_column(names: tuple[str, ...] | None, j: int) -> str:
    """Return the name of a column for an error message."""
    return str(j) if names is None or isinstance(names, UncertainNames) else repr(names[j])
