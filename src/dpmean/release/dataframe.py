"""A table as a data frame of whichever library the caller has."""

from __future__ import annotations

import importlib
from typing import Any

from dpmean.errors import ArgumentError


def frame_of(table: dict[str, Any], library: str) -> Any:
    """Return columns as a data frame of some library."""
    if library not in ("pandas", "polars", "pyarrow"):
        raise ArgumentError(f'library must be "pandas", "polars" or "pyarrow", got {library!r}')
    try:
        found = importlib.import_module(library)
    except ModuleNotFoundError:
        raise ArgumentError(f"{library} is not installed: pip install {library}, or name another library") from None
    return found.table(table) if library == "pyarrow" else found.DataFrame(table)
