"""Releases as data frames of whichever library the caller has: the statistics of every column."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

from dpmean.errors import ArgumentError
from dpmean.release.statistics import STATISTICS, in_files

if TYPE_CHECKING:
    from dpmean.release.grouped import GroupedRelease
    from dpmean.release.release import Release
    from dpmean.release.scales import Scales


def frame_of_release(release: Release, library: str) -> Any:
    """Return a line per column; statistics that the release does not know are left out."""
    values = {statistic.name: statistic.compute(release) for statistic in STATISTICS}
    table = {name: numbers.tolist() for name, numbers in values.items() if numbers is not None}
    return _frame_of({"column": _names(release), **table}, library)


def frame_of_groups(grouped: GroupedRelease, library: str) -> Any:
    """Return a line per group and column; what one group does not know is None."""
    statistics = in_files(grouped.released.values())
    names = ("column", *(statistic.name for statistic in statistics), "n")
    by = grouped.by if isinstance(grouped.by, tuple) else (grouped.by,)
    groups = [f"{name} (group)" if name in names else name for name in by]
    lines: dict[str, list[Any]] = {name: [] for name in (*groups, *names)}
    for label, release in grouped.released.items():
        for group, value in zip(groups, label if isinstance(label, tuple) else (label,), strict=True):
            lines[group] += [value] * release.d
        lines["column"] += _names(release)
        for statistic in statistics:
            numbers = statistic.compute(release)
            lines[statistic.name] += [None] * release.d if numbers is None else numbers.tolist()
        lines["n"] += [release.n] * release.d
    return _frame_of(lines, library)


def frame_of_scales(scales: Scales, library: str) -> Any:
    """Return a line per column: its scale and the error of that, NaN where it could not be found."""
    known = [*zip(scales.known, scales.values, scales.errors, strict=True)]
    table = {
        "column": _called(scales.columns, len(known)),
        "scale": [value if one else math.nan for one, value, _ in known],
        "error": [error if one else math.nan for one, _, error in known],
    }
    return _frame_of(table, library)


def _names(release: Release) -> list[str]:
    return _called(release.columns, release.d)


def _called(columns: tuple[str, ...] | None, d: int) -> list[str]:
    return list(columns or (f"column {j}" for j in range(d)))


def _frame_of(table: dict[str, Any], library: str) -> Any:
    """Return columns as a data frame of some library."""
    if library not in ("pandas", "polars", "pyarrow"):
        raise ArgumentError(f'library must be "pandas", "polars" or "pyarrow", got {library!r}')
    try:
        found = importlib.import_module(library)
    except ModuleNotFoundError:
        raise ArgumentError(f"{library} is not installed: pip install {library}, or name another library") from None
    return found.table(table) if library == "pyarrow" else found.DataFrame(table)
