"""What is known about the rows in advance: bounds on their values, and the resolution of the grid."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.estimators.clipped import FAILURE
from dpmean.numerics.grid import Grid, finest_step, format_power, power_of_two_at_most
from dpmean.privacy.budgets import positive
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Floats
from dpmean.rows.column_names import name_column

Bounds = tuple[ArrayLike, ArrayLike] | Mapping[str, tuple[float, float]]
"""Lower and upper bounds, or bounds of each column by name."""
_LARGEST = 2.0**500
_STEPS_PER_BOUND = 2.0**28  # the grid of the general setting: finer than any noise, about 30 queries


@final
@dataclass(frozen=True, slots=True)
class Bound:
    """Either a bound on the norm of rows, or bounds on their columns."""

    norm_bound: float | None
    bounds: Bounds | None

    @property
    def width(self) -> int | None:
        """The number of columns, if each of them has a bound, in order."""
        if self.bounds is None or isinstance(self.bounds, Mapping):
            return None
        return next((len(side) for side in _read_sides(self.bounds) if side.ndim), None)

    def domain(self, d: int, names: tuple[str, ...] | None, *, impute: bool = False) -> Domain:
        """Return the domain of rows with d columns."""
        if self.bounds is None:
            return Domain.within_norm(d, float(positive(self.norm_bound, "norm_bound")), impute=impute)
        sides = _by_name(self.bounds, names) if isinstance(self.bounds, Mapping) else self.bounds
        return _box(d, sides, impute=impute, names=names)


def read_bound(norm_bound: float | None, bounds: Bounds | None) -> Bound:
    """Read the bound on the rows; bounds on columns are checked as soon as the columns are known."""
    if norm_bound is None and bounds is None:
        raise ArgumentError(
            "exactly one of norm_bound and bounds is needed, because a bound on the values must be known in advance: "
            "give bounds=(0, 130) or norm_bound=600.0, for example; it may be loose"
        )
    if norm_bound is not None and bounds is not None:
        raise ArgumentError("exactly one of norm_bound and bounds is needed, got both: leave one out")
    if norm_bound is not None and not 1 / _LARGEST <= float(positive(norm_bound, "norm_bound")) <= _LARGEST:
        raise ArgumentError(f"norm_bound must lie between 2^-500 and 2^500, got {norm_bound}: use another unit")
    if bounds is not None:
        _check_bounds(bounds)
    return Bound(norm_bound, bounds)


def _check_bounds(bounds: Bounds) -> None:
    """Refuse bounds that are wrong for any columns."""
    if not isinstance(bounds, Mapping):
        _read_sides(bounds)
        return
    if not bounds or not all(isinstance(name, str) for name in bounds):
        raise ArgumentError(
            f'bounds must have the names of columns as keys, got {bounds!r}: give {{"age": (0, 130), ...}}'
        )
    for name, pair in bounds.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentError(
                f'bounds of column {name!r} must be (lower, upper), got {pair!r}: give {{"age": (0, 130), ...}}'
            )
        _check_order(_read_side(pair[0], "lower"), _read_side(pair[1], "upper"), (name,))


def _by_name(bounds: Mapping[str, tuple[float, float]], names: tuple[str, ...] | None) -> tuple[ArrayLike, ArrayLike]:
    """Return the bounds in the order of the columns."""
    if names is None:
        raise ArgumentError("bounds={...} needs columns with names, and these have none: give (lower, upper)")
    for name in names:
        if name not in bounds:
            raise ArgumentError(f"bounds has no entry for column {name!r}: add one, or leave the column out of columns")
    sides = [bounds[name] for name in names]
    if not all(isinstance(side, tuple | list) and len(side) == 2 for side in sides):
        raise ArgumentError('bounds of every column must be (lower, upper): give {"age": (0, 130), ...}')
    return [side[0] for side in sides], [side[1] for side in sides]


def _box(d: int, bounds: tuple[ArrayLike, ArrayLike], *, impute: bool, names: tuple[str, ...] | None) -> Domain:
    if d == 2 and isinstance(bounds, list) and all(isinstance(side, list | tuple) for side in bounds):
        raise ArgumentError(
            f"bounds={bounds!r} is ambiguous for two columns: it may be (lower, upper), or one pair per column. Give a "
            "tuple (lower, upper); if you have one pair per column, that is tuple(zip(*pairs))"
        )
    sides = []
    for name, side in zip(("lower", "upper"), _read_sides(bounds), strict=True):
        if side.shape not in ((), (d,)):
            raise ArgumentError(
                f"bounds: {name} must be one number or one per column (d={d}), got an array of shape {side.shape}"
            )
        sides.append(np.broadcast_to(side, (d,)).copy())
    low, high = sides
    _check_order(low, high, names)
    return Domain.within_box(low, high, impute=impute)


def _read_sides(bounds: tuple[ArrayLike, ArrayLike]) -> tuple[Floats, Floats]:
    """Read lower and upper bounds, each one number or several, before the number of columns is known."""
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise ArgumentError(
            f"bounds must be (lower, upper), each one number or one per column, got {bounds!r}: "
            "if you have one pair per column, give bounds=tuple(zip(*pairs))"
        ) from None
    low, high = _read_side(lower, "lower"), _read_side(upper, "upper")
    if low.ndim == high.ndim == 1 and len(low) != len(high):
        raise ArgumentError(
            f"bounds must have as many lower as upper bounds, got {len(low)} and {len(high)}: give one of each per "
            "column"
        )
    if not isinstance(bounds, list):  # which may hold one pair per column instead
        _check_order(low, high, None)
    return low, high


def _read_side(side: ArrayLike, name: str) -> Floats:
    wrong = f"bounds: {name} must be one number or one per column, got {side!r}"
    try:
        given = np.asarray(side)
    except ValueError:
        raise ArgumentError(wrong) from None
    if given.dtype.kind not in "fiu":
        raise ArgumentTypeError(wrong)
    if given.ndim > 1:
        raise ArgumentError(wrong)
    values: Floats = given.astype(np.float64)
    if not np.all(np.abs(values) <= _LARGEST):  # catches NaN too
        raise ArgumentError(
            f"bounds: {name} must be finite and between -2^500 and 2^500, got {side!r}: give finite bounds, which may "
            "be loose"
        )
    return values


def _check_order(low: Floats, high: Floats, names: tuple[str, ...] | None) -> None:
    """Refuse a column whose lower bound is not below its upper bound."""
    narrow = np.flatnonzero(np.atleast_1d(high / 2 - low / 2 < 1 / _LARGEST))
    if len(narrow):
        j = narrow[0]
        least, most = np.atleast_1d(low)[j], np.atleast_1d(high)[j]
        cure = "swap them" if least > most else "move them apart, or leave out the column"
        where = "" if names is None and low.ndim == high.ndim == 0 else f" in column {name_column(names, j)}"
        raise ArgumentError(f"bounds must have lower < upper in every column, got ({least:g}, {most:g}){where}: {cure}")


def columns_with_bounds(
    X: Any, columns: Sequence[str] | None, vector_column: str | None, bounds: Bounds | None
) -> Sequence[str] | None:
    """Return the columns of a table to use: by default those with bounds."""
    if columns is not None or vector_column is not None or not isinstance(bounds, Mapping):
        return columns
    file = isinstance(X, str | os.PathLike) and not str(X).endswith(".npy")
    tabular = any(hasattr(type(X), name) for name in ("columns", "column_names"))  # slow to read of lazy frames
    return list(bounds) if file or tabular else None


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """The domain and the grid for any number of rows, which may become known later, with noise."""

    domain: Domain
    sigmas: tuple[float, float] | None
    """In the statistical setting, the bounds on standard deviations; the domain then bounds the mean."""
    step: float | None

    def at(self, n: int) -> tuple[Domain, Grid]:
        """Return the domain and the grid of n rows."""
        domain, finest = self.domain, self.domain.reach / _STEPS_PER_BOUND
        if self.sigmas is not None:
            low, high = self.sigmas
            reach = domain.reach + 2 * high * math.sqrt(domain.d + math.log(4 * n / FAILURE))
            if reach > _LARGEST:
                raise ArgumentError(f"sigma_max={high:g} is too large: lower it, or use another unit")
            domain = replace(domain, reach=reach, ball=reach)
            finest = max(low / math.sqrt(n), finest_step(reach, domain.d))
        return domain, Grid(power_of_two_at_most(finest) if self.step is None else self.step, domain.reach, domain.d)


def read_sigmas(sigma_min: float | None, sigma_max: float | None, bounds: Bounds | None) -> tuple[float, float] | None:
    """Read the bounds on standard deviations of the statistical setting; return None in the general setting."""
    if sigma_min is None and sigma_max is None:
        return None
    if sigma_min is None or sigma_max is None:
        raise ArgumentError(
            "sigma_min and sigma_max (the statistical setting) need each other: give both, or leave out both"
        )
    if bounds is not None:
        raise ArgumentError(
            "sigma_min and sigma_max need norm_bound (here a bound on the mean), got bounds: give norm_bound=600.0, "
            "for example"
        )
    low, high = float(positive(sigma_min, "sigma_min")), float(positive(sigma_max, "sigma_max"))
    if low > high:
        raise ArgumentError(f"sigma_min must not exceed sigma_max, got {sigma_min} and {sigma_max}: swap them")
    return low, high


def read_step(step: float | None) -> float | None:
    """Read the step of the grid, a power of two, if one is given."""
    if step is None:
        return None
    wanted = positive(step, "step")
    value = float(wanted)
    rounded = isinstance(step, Rational | Decimal) and Fraction(value) != wanted
    if math.frexp(value)[0] != 0.5 or rounded:
        raise ArgumentError(
            f"step must be a power of two, got {step}: give {format_power(power_of_two_at_most(value))}, for example"
        )
    return value
