"""Numbers without a declared type: each object is converted independently of the others."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from dpmean.queries.queries import Floats

_NUMBERS = (bool, int, float, Decimal, np.bool_, np.integer, np.floating)
_VECTORS = (list, tuple, np.ndarray)


def read_objects(values: Sequence[Any]) -> list[Any] | Floats | None:
    """Read Python objects as numbers or as vectors of numbers; None if they are neither, and all of one type.

    Mixed types raise a TypeError, as a library would otherwise look for one common type.
    """
    if any(isinstance(value, _VECTORS) for value in values):
        return [None if is_missing(value) else read_vector(value) for value in values]
    if any(_is_number(value) for value in values):
        return np.array([_number(value) for value in values])
    if len({type(value) for value in values if not is_missing(value)}) > 1:
        raise TypeError("values of several kinds")
    return None


def read_vector(value: Any) -> Floats:
    """Return one vector of numbers; raise a TypeError if the value is not a vector."""
    if not isinstance(value, _VECTORS):
        raise TypeError("not a vector")
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "fiub":
        with np.errstate(over="ignore"):
            return value.astype(np.float64)
    return np.array([_number(one) for one in value], dtype=np.float64)


def _number(value: Any) -> float:
    if is_missing(value):
        return np.nan
    if _is_number(value):
        return float(value)
    raise TypeError("not a number")


def _is_number(value: Any) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, np.timedelta64)


def is_missing(value: Any) -> bool:
    """Whether an object stands for a missing value."""
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (type(value) is float and value != value)
