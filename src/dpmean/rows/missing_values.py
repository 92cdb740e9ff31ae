"""The error for rows with missing values: the same on every engine."""

from __future__ import annotations

from typing import NoReturn

from dpmean.errors import DataError

_MISSING = (
    "the rows contain NaN or infinity, so nothing was released: clean them, or set nan. "
    'nan="drop" leaves such rows out, where the number of rows is private (the default); '
    'nan={"crp": 10.0} replaces missing values by a public value, here 10 in column crp; '
    'nan="impute" replaces them by the middle of the bounds (zero with norm_bound), which moves the mean towards it, '
    "often far. dpmean check shows where they are in a file. An empty last line of a CSV file with one column is a "
    "missing value: remove it"
)


def refuse_missing() -> NoReturn:
    """Refuse rows with a missing value; the message names cures, but not where the value is."""
    raise DataError(_MISSING)
