"""The domain of rows: how a bound is applied to each row, and the map between the user's units and working units."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.queries.queries import Floats

_LARGEST = 2.0**500
_FARTHEST = 1000
"""Without a box, values are clamped to 2^1000 scales, so that they and their distances stay finite in working units."""
_OUTWARD = 1 + 2.0**-40
"""A factor that covers the rounding errors of the few operations that compute a reach."""
_SURE = 1 - 2.0**-10
"""A row shorter than this part of the bound is within it despite rounding and truncation of up to 2^18 columns."""
_TOGETHER = 256  # values that are mapped at a time: several narrow rows together, so that loops are vectorised


@final
@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The map from a row of the user to a row of norm at most ``reach`` in working units.

    With a bound on the norm, a row that is longer than ``ball`` is shortened to it, in the user's units. Then each
    value x becomes (x - middle) / scale, column by column. Initially, middle is 0 and scale is 1.
    With bounds on columns, each value is clamped to the bounds of its column and mapped to (x - middle) / scale. Then a
    row that is longer than ``reach`` is shortened to it. Initially, middle and scale are the middle and half the width
    of the bounds.
    ``reshape`` replaces middle and scale by other public values; the meaning of the bounds stays the same.

    The map is public and depends on one row only, so it does not affect the cost of a query: mechanisms clip integers,
    whatever the floats before were (docs/privacy_guarantee.md, section 1).
    """

    d: int
    reach: float
    """A public bound on the norm of every row, in working units."""
    middle: Floats
    """The point that is zero in working units."""
    scale: Floats
    """The length of one working unit in each column."""
    missing: Floats
    """The value that replaces a non-finite value, in the user's units, if it is imputed."""
    lower: Floats | None = None
    upper: Floats | None = None
    ball: float | None = None
    """The bound on the norm, in the user's units. None if there are bounds on columns."""
    impute: bool = False
    """Whether non-finite values are replaced by ``missing``, the public centre."""
    strict: tuple[int, ...] = ()
    """Columns in which non-finite values are an error all the same."""
    dropped: tuple[int, ...] = ()
    """Columns in which a non-finite value drops the row."""
    sure: float = field(init=False, repr=False)
    """A length in working units up to which a row is certainly not shortened; zero if there is none."""
    lines: Floats = field(init=False, repr=False)
    """The numbers that loops need, one line each: the replacement for missing values before rows are shortened, and, if
    rows are mapped, lower, upper, middle and scale. Lines for narrow rows are repeated up to about 256 columns.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "sure", self._find_sure())
        object.__setattr__(self, "lines", self._prepare())

    @staticmethod
    def within_norm(d: int, norm_bound: float, *, impute: bool) -> Domain:
        """Return the domain for a bound on the norm of rows."""
        zeros, ones = np.zeros(d), np.ones(d)
        return Domain(d, norm_bound, middle=zeros, scale=ones, missing=zeros, ball=norm_bound, impute=impute)

    @staticmethod
    def within_box(lower: Floats, upper: Floats, *, impute: bool) -> Domain:
        """Return the domain for bounds on each column."""
        d, middle, scale = len(lower), lower / 2 + upper / 2, upper / 2 - lower / 2
        return Domain(d, math.sqrt(d), middle, scale, missing=middle, lower=lower, upper=upper, impute=impute)

    @property
    def is_mapped(self) -> bool:
        """Whether rows in working units differ from rows in the user's units."""
        return self.lower is not None or bool(np.any(self.middle != 0.0) or np.any(self.scale != 1.0))

    @property
    def maps_last(self) -> bool:
        """Whether rows are shortened in the user's units first, and then mapped."""
        return self.ball is not None and len(self.lines) > 1

    @property
    def limit(self) -> float:
        """The norm to which rows are shortened: in the user's units for a ball, in working units for a box."""
        return self.reach if self.ball is None else self.ball

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The limits to which the values of each column are clamped."""
        if self.lower is not None and self.upper is not None:
            return self.lower, self.upper
        with np.errstate(over="ignore"):
            end = np.minimum(np.ldexp(self.scale, _FARTHEST), np.finfo(np.float64).max)
        return -end, end

    @property
    def fill(self) -> Floats:
        """The replacement for a missing value in working units."""
        filled: Floats = (np.clip(self.missing, *self.box) - self.middle) / self.scale
        return filled

    def reshape(self, middle: Floats, scale: Floats) -> Domain:
        """Return a domain of the same rows in which each column has its own middle and scale.

        The new reach bounds every row that is within this domain.

        Args:
            middle: The point that will be zero in working units, column by column.
            scale: The length of one working unit, column by column.

        """
        middle, scale = (np.array(np.broadcast_to(line, (self.d,)), dtype=np.float64) for line in (middle, scale))
        if len(wrong := scale[~((scale >= 1 / _LARGEST) & (scale <= _LARGEST))]):  # NaN too
            raise ArgumentError(f"scales must lie between 2^-500 and 2^500, got {wrong[0]:g}: change units")
        if len(wrong := middle[~(np.abs(middle) <= _LARGEST)]):
            raise ArgumentError(f"the middle of a column must be at most 2^500, got {wrong[0]:g}: change units")
        if self.ball is None:
            lower, upper = self.box
            reach = math.hypot(*(np.maximum(np.abs(lower - middle), np.abs(upper - middle)) / scale))
        else:
            reach = math.hypot(*(middle / scale)) + self.ball / float(np.min(scale))
        reach = max(reach, 1 / _LARGEST) * _OUTWARD
        if not reach <= _LARGEST:
            raise ArgumentError("rows in working units may be longer than 2^500: use larger scales")
        return replace(self, reach=reach, middle=middle, scale=scale)

    def working(self, rows: Floats) -> Floats:
        """Return rows in working units, not shortened; non-finite values stay as they are. Loops compute the same."""
        if not self.is_mapped:
            return rows
        with np.errstate(invalid="ignore"):
            mapped = (np.clip(rows, *self.box) - self.middle) / self.scale
        return np.where(np.isfinite(rows), mapped, rows)

    def enter(self, rows: Floats) -> Floats:
        """Return rows in working units, within the bound and with missing values imputed; loops round differently."""
        rows = self.working(rows) if self.ball is None else rows
        rows = np.where(np.isfinite(rows), rows, self._stand_in) / self.limit
        largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)
        lengths = largest * np.linalg.norm(rows / largest, axis=1, keepdims=True)  # squares of large rows overflow
        rows *= self.limit / np.maximum(lengths, 1.0)
        return rows if self.ball is None else self.working(rows)

    def to_user(self, point: Floats) -> Floats:
        """Convert a point to the user's units."""
        return self.middle + self.scale * point

    def lengths_to_user(self, lengths: Floats | float) -> Floats:
        """Convert lengths along each column, such as standard deviations, to the user's units."""
        return self.scale * lengths

    @property
    def _stand_in(self) -> Floats:
        """The replacement for a missing value before rows are shortened."""
        return self.fill if self.ball is None else self.missing

    def _find_sure(self) -> float:
        if self.ball is None or not self.is_mapped:
            return self.limit
        length = (self.ball * _SURE - math.hypot(*self.middle)) / float(np.max(self.scale)) * _SURE
        return length if length >= 1 / _LARGEST else 0.0

    def _prepare(self) -> Floats:
        first = self._stand_in
        lines = [first, *self.box, self.middle, self.scale] if self.is_mapped else [first]
        return np.tile(np.array(lines), max(1, _TOGETHER // self.d))
