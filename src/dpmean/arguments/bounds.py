"""What is known of the rows in advance: how large they can be, and how fine a grid is of use."""

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
from dpmean.numerics.grid import Grid, as_power, finest_step, power_of_two_at_most
from dpmean.privacy.budgets import positive
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Floats
from dpmean.rows.column_names import name_column

Bounds = tuple[ArrayLike, ArrayLike] | Mapping[str, tuple[float, float]]
"""Lower and upper bounds, or those of each column by name."""
_LARGEST = 2.0**500
_STEPS_PER_BOUND = 2.0**28  # the grid of the general setting: finer than any noise, 30 questions or so


@final
@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on the norm of rows, or on their columns: exactly one of them."""

    norm_bound: float | None
    bounds: Bounds | None

    @property
    def width(self) -> int | None:
        """How many columns there are, if there is a bound for each of them in order."""
        if self.bounds is None or isinstance(self.bounds, Mapping):
            return None
        return next((len(side) for side in _read_sides(self.bounds) if side.ndim), None)

    def domain(self, d: int, names: tuple[str, ...] | None, *, impute: bool = False) -> Domain:
        """Return what rows of d columns can be."""
        if self.bounds is None:
            return Domain.within_norm(d, float(positive(self.norm_bound, "norm_bound")), impute=impute)
        sides = _by_name(self.bounds, names) if isinstance(self.bounds, Mapping) else self.bounds
        return _box(d, sides, impute=impute, names=names)


def read_bound(norm_bound: float | None, bounds: Bounds | None) -> Bound:
    """Read the bound on the rows; bounds on columns are checked as soon as the columns are known."""
    if norm_bound is None and bounds is None:
        raise ArgumentError(
            "exactly one of norm_bound and bounds is needed, since how large a row can be must be known in advance: "
            "give bounds=(0, 130), say, or norm_bound=600.0; it may be loose"
        )
    if norm_bound is not None and bounds is not None:
        raise ArgumentError("exactly one of norm_bound and bounds is needed, got both: leave one out")
    if norm_bound is not None and not 1 / _LARGEST <= float(positive(norm_bound, "norm_bound")) <= _LARGEST:
        raise ArgumentError(f"norm_bound must lie between 2^-500 and 2^500, got {norm_bound}: change units")
    if bounds is not None:
        _check_bounds(bounds)
    return Bound(norm_bound, bounds)


def _check_bounds(bounds: Bounds) -> None:
    """Refuse what cannot be bounds of any columns."""
    if not isinstance(bounds, Mapping):
        _read_sides(bounds)
        return
    if not bounds or not all(isinstance(name, str) for name in bounds):
        raise ArgumentError(f'bounds: give {{"age": (0, 130), ...}} for every column by its name, got {bounds!r}')
    for name, pair in bounds.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentError(f'bounds: give (lower, upper) for every column, {{"age": (0, 130)}}, got {pair!r}')
        _check_order(_read_side(pair[0], "lower"), _read_side(pair[1], "upper"), (name,))


def _by_name(bounds: Mapping[str, tuple[float, float]], names: tuple[str, ...] | None) -> tuple[ArrayLike, ArrayLike]:
    """Return the bounds of columns in the order in which these come."""
    if names is None:
        raise ArgumentError("bounds={...} is for columns that have names, which these do not: give (lower, upper)")
    for name in names:
        if name not in bounds:
            raise ArgumentError(f"bounds has no entry for column {name!r}: add one, or remove the column from columns")
    sides = [bounds[name] for name in names]
    if not all(isinstance(side, tuple | list) and len(side) == 2 for side in sides):
        raise ArgumentError('bounds: give (lower, upper) for every column, {"age": (0, 130), ...}')
    return [side[0] for side in sides], [side[1] for side in sides]


def _box(d: int, bounds: tuple[ArrayLike, ArrayLike], *, impute: bool, names: tuple[str, ...] | None) -> Domain:
    if d == 2 and isinstance(bounds, list) and all(isinstance(side, list | tuple) for side in bounds):
        raise ArgumentError(
            f"bounds={bounds!r} may be (lower, upper) or one pair per column, which for two columns cannot be told: "
            "pass a tuple of (lower, upper), that is tuple(zip(*pairs)) if you have pairs"
        )
    sides = []
    for name, side in zip(("lower", "upper"), _read_sides(bounds), strict=True):
        if side.shape not in ((), (d,)):
            raise ArgumentError(f"bounds: {name} must be one number or one per column (d={d}), got shape {side.shape}")
        sides.append(np.broadcast_to(side, (d,)).copy())
    low, high = sides
    _check_order(low, high, names)
    return Domain.within_box(low, high, impute=impute)


def _read_sides(bounds: tuple[ArrayLike, ArrayLike]) -> tuple[Floats, Floats]:
    """Read lower and upper bounds, each one number or several, before it is known how many columns there are."""
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise ArgumentError(
            f"bounds must be (lower, upper), each one number or one per column, got {bounds!r}: "
            "if you have one pair per column, pass bounds=tuple(zip(*pairs))"
        ) from None
    low, high = _read_side(lower, "lower"), _read_side(upper, "upper")
    if low.ndim == high.ndim == 1 and len(low) != len(high):
        raise ArgumentError(f"bounds must have as many lower as upper ones, got {len(low)} and {len(high)}")
    if not isinstance(bounds, list):  # which may hold one pair per column instead
        _check_order(low, high, None)
    return low, high


def _read_side(side: ArrayLike, name: str) -> Floats:
    wrong = f"bounds: {name} must be a number, or one number for each column, got {side!r}"
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
        raise ArgumentError(f"bounds: {name} must be finite numbers of at most 2^500, got {side!r}")
    return values


def _check_order(low: Floats, high: Floats, names: tuple[str, ...] | None) -> None:
    """Refuse a column whose bounds are not apart."""
    narrow = np.flatnonzero(np.atleast_1d(high / 2 - low / 2 < 1 / _LARGEST))
    if len(narrow):
        j = narrow[0]
        least, most = np.atleast_1d(low)[j], np.atleast_1d(high)[j]
        cure = "swap them" if least > most else "move them apart, or leave the column out"
        where = "" if names is None and low.ndim == high.ndim == 0 else f" in column {name_column(names, j)}"
        raise ArgumentError(f"bounds must have lower < upper in every column, got ({least:g}, {most:g}){where}: {cure}")


def columns_bounded(
    X: Any, columns: Sequence[str] | None, vector_column: str | None, bounds: Bounds | None
) -> Sequence[str] | None:
    """Return the columns of a table to use: those with bounds, if nobody said otherwise."""
    if columns is not None or vector_column is not None or not isinstance(bounds, Mapping):
        return columns
    file = isinstance(X, str | os.PathLike) and not str(X).endswith(".npy")
    tabular = any(hasattr(type(X), name) for name in ("columns", "column_names"))  # of a lazy frame, to ask costs
    return list(bounds) if file or tabular else None


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """How large rows can be and how fine the grid is, for any number of rows: that may be told with noise, later."""

    domain: Domain
    sigmas: tuple[float, float] | None
    """In the statistical setting, between what the standard deviations lie; the domain then bounds the mean."""
    step: float | None

    def at(self, n: int) -> tuple[Domain, Grid]:
        """Return the domain and the grid of n rows."""
        domain, finest = self.domain, self.domain.reach / _STEPS_PER_BOUND
        if self.sigmas is not None:
            low, high = self.sigmas
            reach = domain.reach + 2 * high * math.sqrt(domain.d + math.log(4 * n / FAILURE))
            if reach > _LARGEST:
                raise ArgumentError(f"sigma_max={high:g} is too large: change units")
            domain = replace(domain, reach=reach, ball=reach)
            finest = max(low / math.sqrt(n), finest_step(reach, domain.d))
        return domain, Grid(power_of_two_at_most(finest) if self.step is None else self.step, domain.reach, domain.d)


def read_sigmas(sigma_min: float | None, sigma_max: float | None, bounds: Bounds | None) -> tuple[float, float] | None:
    """Read between what the standard deviations lie, in the statistical setting; None in the general one."""
    if sigma_min is None and sigma_max is None:
        return None
    if sigma_min is None or sigma_max is None:
        raise ArgumentError("the statistical setting needs both sigma_min and sigma_max, or neither")
    if bounds is not None:
        raise ArgumentError("the statistical setting needs norm_bound (a bound on the mean), not bounds")
    low, high = float(positive(sigma_min, "sigma_min")), float(positive(sigma_max, "sigma_max"))
    if low > high:
        raise ArgumentError(f"sigma_min must not exceed sigma_max, got {sigma_min} and {sigma_max}")
    return low, high


def read_step(step: float | None) -> float | None:
    """Read the step of the grid, if one is given: a power of two."""
    if step is None:
        return None
    wanted = positive(step, "step")
    value = float(wanted)
    rounded = isinstance(step, Rational | Decimal) and Fraction(value) != wanted
    if math.frexp(value)[0] != 0.5 or rounded:
        raise ArgumentError(f"step must be a power of two, got {step}: {as_power(power_of_two_at_most(value))} is one")
    return value
