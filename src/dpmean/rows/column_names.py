"""Names of columns, and which of them an error may repeat."""

from __future__ import annotations

from typing import final


@final
class UncertainNames(tuple[str, ...]):
    """Names from a first line that may be a row: no error may repeat them."""

    __slots__ = ()


def list_names(names: tuple[str, ...]) -> str:
    """Return words that list some of the names, or say where they are."""
    if isinstance(names, UncertainNames):
        return "look at the first line of the file"
    return f"there are {', '.join(names[:20])}"


def name_column(names: tuple[str, ...] | None, j: int) -> str:
    """Return what an error calls a column."""
    return str(j) if names is None or isinstance(names, UncertainNames) else repr(names[j])
