"""Whether the noise follows the scales of the columns, and these scales if the caller gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import Shaping
from dpmean.errors import ArgumentError, ArgumentTypeError, describe, plural
from dpmean.estimators.refined.shape import EXTREME, FINEST, OrderedScales, takes_shape
from dpmean.queries.domain import Domain
from dpmean.rows.column_names import list_names, name_column

ShapeArgument: TypeAlias = str | Sequence[float] | NDArray[np.float64] | Mapping[str, float]
"""A choice, or the scale of each column, in order or by name."""
GivenScales: TypeAlias = OrderedScales | Mapping[str, float]
"""The same after reading. Scales by name are in no order until the columns are known."""
_LONGEST_LIST = 64
"""Errors repeat lists of up to this length. A longer one may hold rows, given by mistake."""
_WRONG = 'shape must be "auto", "round" or the scale of each column, such as [18.0, 25000.0], got '
_BY_NAME = 'give {"age": 18.0, ...}, with a scale for every column by its name'


def read_shape(shape: ShapeArgument) -> GivenScales:
    """Read whether the noise follows scales. That each column has one is checked when the columns are known."""
    if isinstance(shape, str):
        for member in Shaping:
            if shape == member:
                return member
        raise ArgumentError(f"{_WRONG}{describe(shape)}")
    if not isinstance(shape, Mapping) and hasattr(shape, "keys") and hasattr(shape, "to_numpy"):
        return _read_series(shape)
    if isinstance(shape, Mapping):
        if not shape:
            raise ArgumentError(f"shape={{}} has no scales: {_BY_NAME}")
        for name in shape:
            if not isinstance(name, str):
                raise ArgumentError(f"shape: keys must be names of columns, got {describe(name)}: {_BY_NAME}")
        return dict(zip(shape, _read_scales(list(shape.values()), tuple(shape)), strict=True))
    return _read_scales(shape, None)


@final
class SeriesScales(dict[str, float]):
    """Scales by the labels of a series. Errors do not repeat the labels, as it may hold rows by mistake."""


def _read_series(series: Any) -> GivenScales:
    """Read a pandas series by its labels, or in its order if the labels are 0, 1, 2, ..."""
    labels, values = list(series.keys()), series.to_numpy()
    if all(type(label) is int for label in labels) and labels == list(range(len(labels))):
        return _read_scales(values, None)
    if not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
        raise ArgumentError(
            "shape: the labels of a series must be the names of the columns, each once: give a dictionary or a list"
        )
    return SeriesScales(zip(labels, _read_scales(values, None), strict=True))


def order_scales(shape: GivenScales, names: tuple[str, ...] | None, d: int) -> OrderedScales:
    """Return the scales in the order of the columns."""
    if isinstance(shape, Shaping):
        return shape
    if isinstance(shape, Mapping):
        if names is None:
            raise ArgumentError("shape={...} needs columns with names, and these have none: give a list of scales")
        for name in shape:
            if name not in names:
                of_series = isinstance(shape, SeriesScales)
                wrong = "a label of the series is no column" if of_series else f"there is no column {name!r}"
                raise ArgumentError(f"shape: {wrong}: {list_names(names)}")
        for j, name in enumerate(names):
            if name not in shape:
                raise ArgumentError(f"shape has no scale for column {name_column(names, j)}: add one")
        return tuple(shape[name] for name in names)
    if len(shape) != d:
        few = "fewer" if len(shape) < d else "more"
        raise ArgumentError(f"shape has {few} scales than there are columns ({d}): give one scale for each column")
    return shape


def list_scales(shape: GivenScales, d: int) -> OrderedScales:
    """Return the scales in any order, for a plan."""
    return order_scales(tuple(shape.values()) if isinstance(shape, Mapping) else shape, None, d)


def check_scales(scales: OrderedScales, domain: Domain, names: tuple[str, ...] | None) -> None:
    """Refuse scales that contradict the bounds, or that are too small or too large for them."""
    if isinstance(scales, Shaping):
        return
    if not takes_shape(domain):
        which = "norm_bound" if domain.lower is None else "bounds"
        raise ArgumentError(f"shape=[...] needs {which} between 2^-400 and 2^400: use another unit, or leave shape out")
    if domain.lower is None or domain.upper is None:
        return
    halves = domain.upper / 2 - domain.lower / 2
    for j, (scale, half) in enumerate(zip(scales, halves.tolist(), strict=True)):
        if scale > half:
            raise ArgumentError(
                f"shape: {scale:g} for column {name_column(names, j)} is more than half the width of its bounds, "
                f"{half:g}, which no standard deviation exceeds: lower it, or widen the bounds"
            )


def _read_scales(shape: Sequence[float] | NDArray[np.float64], names: tuple[str, ...] | None) -> tuple[float, ...]:
    try:
        given = np.asarray(shape)
    except ValueError:
        raise ArgumentError(f"{_WRONG}{describe(shape)}") from None
    if given.dtype.kind not in "fiu":
        raise ArgumentTypeError(_wrong_entry(shape, names) or f"{_WRONG}{describe(shape)}")
    if given.ndim != 1 or not len(given) or np.ma.isMaskedArray(shape):
        dimensions = plural(given.ndim, "dimension")
        raise ArgumentError(f"{_WRONG}{'no scale' if given.size == 0 else f'{describe(shape)} with {dimensions}'}")
    values = given.astype(np.float64)
    bad = np.flatnonzero(~((values >= 1 / EXTREME) & (values <= EXTREME)))  # NaN too
    if len(bad):
        first = f", got {values[bad[0]]:g} for column {name_column(names, int(bad[0]))}"
        got = first if _may_repeat(shape, names) else ""
        cure = "give a small positive scale to a column that hardly varies"
        raise ArgumentError(f"scales in shape must be positive and between 2^-400 and 2^400{got}: {cure}")
    if float(values.min()) < FINEST * float(values.max()):
        got = f", got {values.min():g} and {values.max():g}" if _may_repeat(shape, names) else ""
        raise ArgumentError(f"the largest scale in shape must be at most 2^60 times the smallest{got}: use other units")
    return tuple(values.tolist())


def _may_repeat(shape: object, names: tuple[str, ...] | None) -> bool:
    """Return whether errors may repeat values: arrays and long lists may hold rows, by mistake."""
    return names is not None or (isinstance(shape, list | tuple) and len(shape) <= _LONGEST_LIST)


def _wrong_entry(shape: object, names: tuple[str, ...] | None) -> str:
    """Return an error about the first entry that is not a number, if errors may repeat values."""
    for j, entry in enumerate(shape if isinstance(shape, list | tuple) and _may_repeat(shape, names) else ()):
        if type(entry) is bool or not isinstance(entry, int | float | np.integer | np.floating):
            got = "text" if isinstance(entry, str) else describe(entry)
            return f"shape: the scale of column {name_column(names, j)} must be a number, got {got}"
    return ""
