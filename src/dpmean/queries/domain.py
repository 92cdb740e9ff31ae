"""From the user's units to working units and back: what a bound means, and what happens to rows outside it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.queries.queries import Floats

_LARGEST = 2.0**500
_FARTHEST = 1000
"""Without a box, values end at 2^1000 scales: in working units they stay finite, and so does their distance."""
_OUTWARD = 1 + 2.0**-40
"""More than what the few rounded operations behind a reach can lose."""
_SURE = 1 - 2.0**-10
"""A row so much shorter than the bound is within it, whatever rounding loses, and truncation of up to 2^18 columns."""
_TOGETHER = 256  # numbers: narrow rows are mapped several at a time, so that loops can use wide registers


@final
@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """How a row of the user becomes a row of norm at most ``reach`` in working units.

    With a bound on the norm, a row that is longer than ``ball`` is shortened to it, in the user's units; then each
    value x becomes (x - middle) / scale, column by column. At first nothing is moved or scaled.
    With bounds on columns, each value is clamped to its side of the box, moved and scaled; then a row that is longer
    than ``reach`` is shortened to it. At first the middle is that of the bounds, and the scale their half-width.
    ``reshape`` puts any other public middle and scale in their place; what the bounds mean stays the same.

    The map is public and looks at one row only, so it is no part of the price of a query: mechanisms clip integers,
    whatever the floats before them were (docs/privacy_guarantee.md, section 1).
    """

    d: int
    reach: float
    """A public bound on the norm of every row, in working units."""
    middle: Floats
    """What zero in working units stands for."""
    scale: Floats
    """How long one working unit is in each column."""
    missing: Floats
    """What a value that is not finite stands for, in the user's units, if it is imputed."""
    lower: Floats | None = None
    upper: Floats | None = None
    ball: float | None = None
    """How long a row may be in the user's units, with a bound on the norm. None: there is a box."""
    impute: bool = False
    """Whether what is not finite becomes ``missing``: the public centre."""
    strict: tuple[int, ...] = ()
    """Columns in which it is an error all the same."""
    dropped: tuple[int, ...] = ()
    """Columns in which it leaves the row out, as if there were no such row."""
    sure: float = field(init=False, repr=False)
    """A length in working units up to which no row is shortened, for certain; zero if there may be none."""
    lines: Floats = field(init=False, repr=False)
    """What loops need, a line each: what a missing value becomes before rows are shortened, and unless rows are used
    as they are, lower, upper, middle and scale. Narrow rows are repeated, to some 256 columns.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "sure", self._find_sure())
        object.__setattr__(self, "lines", self._prepare())

    @staticmethod
    def within_norm(d: int, norm_bound: float, *, impute: bool) -> Domain:
        """Domain rows by a bound on their norm."""
        zeros, ones = np.zeros(d), np.ones(d)
        return Domain(d, norm_bound, middle=zeros, scale=ones, missing=zeros, ball=norm_bound, impute=impute)

    @staticmethod
    def within_box(lower: Floats, upper: Floats, *, impute: bool) -> Domain:
        """Domain rows by bounds on each coordinate."""
        d, middle, scale = len(lower), lower / 2 + upper / 2, upper / 2 - lower / 2
        return Domain(d, math.sqrt(d), middle, scale, missing=middle, lower=lower, upper=upper, impute=impute)

    @property
    def is_mapped(self) -> bool:
        """Whether rows in working units are other numbers than those of the user."""
        return self.lower is not None or bool(np.any(self.middle != 0.0) or np.any(self.scale != 1.0))

    @property
    def maps_last(self) -> bool:
        """Whether rows are shortened in the user's units, and then mapped."""
        return self.ball is not None and len(self.lines) > 1

    @property
    def limit(self) -> float:
        """How long a row may be where it is shortened: in the user's units within a ball, in working units in a box."""
        return self.reach if self.ball is None else self.ball

    @property
    def box(self) -> tuple[Floats, Floats]:
        """Between what the values of each column are clamped."""
        if self.lower is not None and self.upper is not None:
            return self.lower, self.upper
        with np.errstate(over="ignore"):
            end = np.minimum(np.ldexp(self.scale, _FARTHEST), np.finfo(np.float64).max)
        return -end, end

    @property
    def fill(self) -> Floats:
        """What a missing value becomes in working units: what its stand-in in the user's units would become."""
        filled: Floats = (np.clip(self.missing, *self.box) - self.middle) / self.scale
        return filled

    def reshape(self, middle: Floats, scale: Floats) -> Domain:
        """Return a domain of the same rows in which each column has a middle and a scale of its own.

        The new reach bounds every row that is within this domain.

        Args:
            middle: What zero in working units is to stand for, column by column.
            scale: How long one working unit is to be, column by column.

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
        """Return rows in working units, never shortened; what is not finite stays as it is. Loops do the same."""
        if not self.is_mapped:
            return rows
        with np.errstate(invalid="ignore"):
            mapped = (np.clip(rows, *self.box) - self.middle) / self.scale
        return np.where(np.isfinite(rows), mapped, rows)

    def enter(self, rows: Floats) -> Floats:
        """Return rows in working units and within the bound, with missing values imputed; loops round differently."""
        rows = self.working(rows) if self.ball is None else rows
        rows = np.where(np.isfinite(rows), rows, self._stand_in) / self.limit
        largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)
        lengths = largest * np.linalg.norm(rows / largest, axis=1, keepdims=True)  # squares of large rows overflow
        rows *= self.limit / np.maximum(lengths, 1.0)
        return rows if self.ball is None else self.working(rows)

    def to_user(self, point: Floats) -> Floats:
        """Put a point back into the user's units."""
        return self.middle + self.scale * point

    def lengths_to_user(self, lengths: Floats | float) -> Floats:
        """Put lengths along each column, such as standard deviations, back into the user's units."""
        return self.scale * lengths

    @property
    def _stand_in(self) -> Floats:
        """What a missing value becomes before rows are shortened."""
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
