"""Whether noise follows the scales of the columns, and what these are if the caller knows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import Shaping, read_name
from dpmean.errors import ArgumentError, ArgumentTypeError, describe, plural
from dpmean.rows.column_names import list_names, name_column

Shape: TypeAlias = str | Sequence[float] | NDArray[np.float64] | Mapping[str, float]
"""A word, or the scale of each column, in order or by name."""
Scales: TypeAlias = Shaping | tuple[float, ...] | Mapping[str, float]
_LARGEST = 2.0**400
_WIDEST = 2.0**60


def read_shape(shape: Shape) -> Scales:
    """Read whether noise is to follow scales; whether there is one for each column is checked when these are known."""
    if isinstance(shape, str):
        return read_name(Shaping, shape, "shape", "or the scale of each column, such as [18.0, 25000.0]")
    if isinstance(shape, Mapping):
        if not shape or not all(isinstance(name, str) for name in shape):
            raise ArgumentError(f'shape: give {{"age": 18.0, ...}} for every column by its name, got {describe(shape)}')
        return dict(zip(shape, _read_scales(list(shape.values())), strict=True))
    return _read_scales(shape)


def scales_of(shape: Scales, names: tuple[str, ...] | None, d: int) -> Shaping | tuple[float, ...]:
    """Return the scales in the order of the columns."""
    if isinstance(shape, Shaping):
        return shape
    if isinstance(shape, Mapping):
        if names is None:
            raise ArgumentError("shape={...} is for columns that have names, which these do not: give a list")
        for name in shape:
            if name not in names:
                raise ArgumentError(f"shape: there is no column {name!r}: {list_names(names)}")
        for j, name in enumerate(names):
            if name not in shape:
                raise ArgumentError(f"shape has no scale for column {name_column(names, j)}: add one")
        return tuple(shape[name] for name in names)
    if len(shape) != d:
        raise ArgumentError(f"shape must hold one scale for each of {plural(d, 'column')}, got {len(shape)}")
    return shape


def _read_scales(shape: Sequence[float] | NDArray[np.float64]) -> tuple[float, ...]:
    wrong = 'shape must be "auto", "round" or the scale of each column, such as [18.0, 25000.0], got '
    try:
        given = np.asarray(shape)
    except ValueError:
        raise ArgumentError(f"{wrong}{describe(shape)}") from None
    if given.dtype.kind not in "fiu":
        raise ArgumentTypeError(f"{wrong}{describe(shape)}")
    if given.ndim != 1 or not len(given):
        raise ArgumentError(f"{wrong}an array of shape {given.shape}")
    values = given.astype(np.float64)
    bad = values[~((values >= 1 / _LARGEST) & (values <= _LARGEST))]  # NaN too
    if len(bad):
        raise ArgumentError(f"scales in shape must be positive and between 2^-400 and 2^400, got {bad[0]:g}")
    if float(values.max()) / float(values.min()) > _WIDEST:
        raise ArgumentError(
            f"scales in shape must not be more than 2^60 apart, got {values.min():g} and {values.max():g}: change units"
        )
    return tuple(values.tolist())
