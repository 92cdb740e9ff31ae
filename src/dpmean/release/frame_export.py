"""Releases as tables: the statistics of every column, for data frames of any library, and for CSV files.

Tables of releases have the same columns, whatever was asked for and whatever happened; what is not known is NaN.
"""

from __future__ import annotations

import datetime
import importlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpmean.errors import ArgumentError
from dpmean.release.grouped import GroupedRelease, Refusal
from dpmean.release.release import Release
from dpmean.release.statistics import STATISTICS

_KNOWN = {str, int, float, bool, datetime.date, datetime.datetime}
_LARGEST = 2**63
"""Types of labels that every library has for a column, and the integers that it can hold."""
Table = dict[str, list[Any]]
"""Columns by their names, all of one length."""

if TYPE_CHECKING:
    from dpmean.release.intervals import Difference
    from dpmean.release.scales import Scales


def table_of(release: Release | GroupedRelease) -> Table:
    """Return a line per column, or per group and column; numbers that cannot be relied upon are NaN."""
    return _of_groups(release) if isinstance(release, GroupedRelease) else _of_release(release)


def frame_of(release: Release | GroupedRelease, library: str) -> Any:
    """Return the table of a release as a data frame of some library."""
    return _frame_of(table_of(release), library)


def frame_of_scales(scales: Scales, library: str) -> Any:
    """Return a line per column: its scale and the error of that, NaN where it could not be found."""
    known = [*zip(scales.known, scales.values, scales.errors, strict=True)]
    table: Table = {
        "column": _called(scales.columns, len(known)),
        "scale": [value if one else math.nan for one, value, _ in known],
        "error": [error if one else math.nan for one, _, error in known],
    }
    return _frame_of(table, library)


def table_of_difference(difference: Difference) -> Table:
    """Return a line per column: the difference of two groups, and the ends of its interval."""
    ends = {name: getattr(difference, name).tolist() for name in ("estimate", "lower", "upper")}
    return {"column": _called(difference.columns, len(difference.lower)), **ends}


def frame_of_difference(difference: Difference, library: str) -> Any:
    """Return the difference of two groups as a data frame of some library."""
    return _frame_of(table_of_difference(difference), library)


def _frame_of(table: Table, library: str) -> Any:
    """Return columns as a data frame of some library."""
    if library not in ("pandas", "polars", "pyarrow"):
        raise ArgumentError(f'library must be "pandas", "polars" or "pyarrow", got {library!r}')
    try:
        found = importlib.import_module(library)
    except ModuleNotFoundError:
        raise ArgumentError(f"{library} is not installed: pip install {library}, or name another library") from None
    return found.table(table) if library == "pyarrow" else found.DataFrame(table)


def _of_release(release: Release) -> Table:
    table: Table = {"column": _names(release)}
    for statistic in STATISTICS:
        numbers = statistic.reliable(release)
        table[statistic.name] = [math.nan] * release.d if numbers is None else numbers.tolist()
    return table


def _of_groups(grouped: GroupedRelease) -> Table:
    """Return the lines of all groups; a refused one has as many as the others, or one if none was released."""
    names = next((_names(release) for release in grouped.released.values()), [""])
    heads = ("column", *(statistic.name for statistic in STATISTICS), "n", "refused")
    by = grouped.by if isinstance(grouped.by, tuple) else (grouped.by,)
    groups = _beside(by, heads)
    table: Table = {name: [] for name in (*groups, *heads)}
    for label, found in grouped.groups.items():
        if isinstance(found, Refusal):
            nothing = {statistic.name: [math.nan] * len(names) for statistic in STATISTICS}
            lines: Table = {"column": names, **nothing, "n": [math.nan], "refused": [found.reason]}
        else:
            lines = {**_of_release(found), "n": [found.n], "refused": [""]}
        parts = zip(groups, label if isinstance(label, tuple) else (label,), strict=True)
        for name, cells in {**{group: [part] for group, part in parts}, **lines}.items():
            table[name] += cells if len(cells) == len(names) else cells * len(names)
    return {name: _as_column(cells) if name in groups else _of_one_type(cells) for name, cells in table.items()}


def _beside(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Return names of columns beside others that have theirs; no two are the same."""
    found: list[str] = []
    for name in names:
        while name in (*taken, *found):
            name = f"{name} (group)"
        found.append(name)
    return found


def _as_column(labels: list[Any]) -> list[Any]:
    """Return labels of one type that every library knows; all others become text."""
    kinds = set(map(type, labels))
    if kinds == {int, float}:
        return list(map(float, labels))
    if len(kinds) > 1 or not kinds <= _KNOWN or any(abs(label) >= _LARGEST for label in labels if type(label) is int):
        return list(map(str, labels))
    return labels


def _of_one_type(cells: list[Any]) -> list[Any]:
    """Return integers among NaN as floats: a column of a data frame has one type."""
    unknown = any(isinstance(cell, float) and math.isnan(cell) for cell in cells)
    return [float(cell) if isinstance(cell, int) else cell for cell in cells] if unknown else cells


def _names(release: Release) -> list[str]:
    return _called(release.columns, release.d)


def _called(columns: tuple[str, ...] | None, d: int) -> list[str]:
    return list(columns or (f"column {j}" for j in range(d)))
