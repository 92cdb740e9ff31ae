"""Whether noise follows the scales of the columns, and what these are if the caller knows them."""

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
"""A word, or the scale of each column, in order or by name."""
GivenScales: TypeAlias = OrderedScales | Mapping[str, float]
"""The same, where scales by name are not in order yet, as the columns are not known."""
_TYPED = 64
"""Lists of up to so many entries may be repeated in errors: longer ones may be rows, given by mistake."""
_WRONG = 'shape must be "auto", "round" or the scale of each column, such as [18.0, 25000.0], got '
_BY_NAME = 'give {"age": 18.0, ...}, with a scale for every column by its name'


def read_shape(shape: ShapeArgument) -> GivenScales:
    """Read whether noise is to follow scales; whether there is one for each column is checked when these are known."""
    if isinstance(shape, str):
        for member in Shaping:
            if shape == member:
                return member
        raise ArgumentError(f"{_WRONG}{describe(shape)}")
    if not isinstance(shape, Mapping) and hasattr(shape, "keys") and hasattr(shape, "to_numpy"):
        return _read_series(shape)
    if isinstance(shape, Mapping):
        if not shape:
            raise ArgumentError(f"shape={{}} holds no scale: {_BY_NAME}")
        for name in shape:
            if not isinstance(name, str):
                raise ArgumentError(f"shape: names of columns must be text, got {describe(name)}: {_BY_NAME}")
        return dict(zip(shape, _read_scales(list(shape.values()), tuple(shape)), strict=True))
    return _read_scales(shape, None)


@final
class Labelled(dict[str, float]):
    """Scales by the labels of a series: errors do not repeat these, as it may hold rows by mistake."""


def _read_series(series: Any) -> GivenScales:
    """Read a series of pandas by its labels, or in its order if these only count its entries."""
    labels, values = list(series.keys()), series.to_numpy()
    if all(type(label) is int for label in labels) and labels == list(range(len(labels))):
        return _read_scales(values, None)
    if not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
        raise ArgumentError("shape: a series needs the names of columns as its labels, each of them once")
    return Labelled(zip(labels, _read_scales(values, None), strict=True))


def scales_of(shape: GivenScales, names: tuple[str, ...] | None, d: int) -> OrderedScales:
    """Return the scales in the order of the columns."""
    if isinstance(shape, Shaping):
        return shape
    if isinstance(shape, Mapping):
        if names is None:
            raise ArgumentError("shape={...} is for columns that have names, which these do not: give a list")
        for name in shape:
            if name not in names:
                of_series = isinstance(shape, Labelled)
                wrong = "the series has a label that is no column" if of_series else f"there is no column {name!r}"
                raise ArgumentError(f"shape: {wrong}: {list_names(names)}")
        for j, name in enumerate(names):
            if name not in shape:
                raise ArgumentError(f"shape has no scale for column {name_column(names, j)}: add one")
        return tuple(shape[name] for name in names)
    if len(shape) != d:
        few = "fewer" if len(shape) < d else "more"
        raise ArgumentError(f"shape has {few} scales than there are columns, {d}: give one for each")
    return shape


def scales_in_any_order(shape: GivenScales, d: int) -> OrderedScales:
    """Return the scales of columns whose names and order do not matter."""
    return scales_of(tuple(shape.values()) if isinstance(shape, Mapping) else shape, None, d)


def check_scales(scales: OrderedScales, domain: Domain, names: tuple[str, ...] | None) -> None:
    """Refuse given scales that contradict the bounds, or that rows within these bounds cannot be seen in."""
    if isinstance(scales, Shaping):
        return
    if not takes_shape(domain):
        which = "norm_bound" if domain.lower is None else "bounds"
        raise ArgumentError(f"shape=[...] needs {which} between 2^-400 and 2^400: change units, or leave shape out")
    if domain.lower is None or domain.upper is None:
        return
    halves = domain.upper / 2 - domain.lower / 2
    for j, (scale, half) in enumerate(zip(scales, halves.tolist(), strict=True)):
        if scale > half:
            raise ArgumentError(
                f"shape: {scale:g} for column {name_column(names, j)} is more than half its range, {half:g}, which no "
                "standard deviation is: lower it, or widen the bounds"
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
        got = first if _is_typed(shape, names) else ""
        cure = "give a small positive one to a column that hardly varies"
        raise ArgumentError(f"scales in shape must be positive and between 2^-400 and 2^400{got}: {cure}")
    if float(values.min()) < FINEST * float(values.max()):
        got = f", got {values.min():g} and {values.max():g}" if _is_typed(shape, names) else ""
        raise ArgumentError(f"scales in shape must not be more than 2^60 apart{got}: change units")
    return tuple(values.tolist())


def _is_typed(shape: object, names: tuple[str, ...] | None) -> bool:
    """Whether values may be repeated: arrays and long lists may hold rows, by mistake."""
    return names is not None or (isinstance(shape, list | tuple) and len(shape) <= _TYPED)


def _wrong_entry(shape: object, names: tuple[str, ...] | None) -> str:
    """Say which entry is no number, if there is one and it can be told."""
    for j, entry in enumerate(shape if isinstance(shape, list | tuple) and _is_typed(shape, names) else ()):
        if type(entry) is bool or not isinstance(entry, int | float | np.integer | np.floating):
            got = "text" if isinstance(entry, str) else describe(entry)
            return f"shape: the scale of column {name_column(names, j)} must be a number, got {got}"
    return ""
