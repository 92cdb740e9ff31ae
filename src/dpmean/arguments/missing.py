"""What to do about values that are missing: refuse them, leave rows out, or count them as a public value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import Missing, Sizes, read_name
from dpmean.errors import ArgumentError, ArgumentTypeError, describe
from dpmean.queries.domain import Domain
from dpmean.rows.column_names import list_names, name_column
from dpmean.trust.registry import TrustModel

NanArgument: TypeAlias = str | Mapping[str, str | float] | Mapping[int, str | float]
"""A word, or a word or a public value for each of some columns, by name or by number."""
_LARGEST = 2.0**500


@final
@dataclass(frozen=True, slots=True)
class MissingValues:
    """What becomes of values that are not finite."""

    others: Missing
    """What becomes of those in columns that are not named."""
    named: tuple[tuple[str | int, Missing | float], ...] = ()
    """Of some columns, by name or by number."""

    @property
    def drops(self) -> bool:
        """Whether rows may be left out, so that how many are left depends on what is in them."""
        return Missing.DROP in (self.others, *dict(self.named).values())

    def check_sizes(self, sizes: Sizes | None, *, private_size: bool) -> None:
        """Refuse to leave rows out where the number of rows, or those of groups, are public."""
        if self.drops and sizes is Sizes.PUBLIC:
            raise ArgumentError(
                'nan="drop" changes how many rows a group has, by what is in them, and sizes="public" tells that '
                'number: give sizes="private", or nan="impute"'
            )
        if self.drops and sizes is None and not private_size:
            raise ArgumentError(
                'nan="drop" changes how many rows there are, by what is in them, and neighbours="replace-one" tells '
                'that number: give neighbours="add-or-remove-one", or nan="impute"'
            )

    def in_columns(self, names: tuple[str, ...] | None, d: int) -> list[Missing | float]:
        """Return what to do in each column, in order."""
        named = dict(self.named)
        for column in named:
            if names is None and isinstance(column, str):
                raise ArgumentError(
                    f"nan={{{column!r}: ...}} is for columns that have names, which these do not: give "
                    '"raise", "impute" or "drop", or count columns from 0, as in {0: "impute"}'
                )
            if names is not None and column not in names:
                raise ArgumentError(f"nan: there is no column {column!r}: {list_names(names)}")
            if names is None and isinstance(column, int) and not 0 <= column < d:
                raise ArgumentError(f"nan: there is no column {column}: columns are counted from 0 to {d - 1}")
        keys: list[str | int] = list(range(d)) if names is None else list(names)
        return [named.get(key, self.others) for key in keys]

    def finite(self, names: tuple[str, ...] | None, d: int) -> NDArray[np.bool_]:
        """Return in which columns every value must be finite."""
        return np.array([choice is Missing.RAISE for choice in self.in_columns(names, d)], dtype=np.bool_)

    def through(self, domain: Domain, names: tuple[str, ...] | None) -> Domain:
        """Return a domain of the same rows in which missing values become what was asked for."""
        missing, made_up, dropped, strict = domain.missing.copy(), False, [], []
        for j, choice in enumerate(self.in_columns(names, domain.d)):
            match choice:
                case Missing.RAISE:
                    strict.append(j)
                case Missing.DROP:
                    dropped.append(j)
                case Missing.IMPUTE:
                    made_up = True
                case _:
                    missing[j], made_up = _within(domain, j, choice, names), True
        strict = strict if made_up else []  # loops refuse them in all columns
        return replace(domain, missing=missing, impute=made_up, strict=tuple(strict), dropped=tuple(dropped))


def read_missing(nan: NanArgument, model: TrustModel) -> MissingValues:
    """Read what to do about missing values; whether the columns are there is checked when these are known."""
    if isinstance(nan, Mapping):
        if model.devices:
            raise ArgumentError(f"in the {model.name} model a device always answers: leave nan={{...}} out")
        named = {_read_column(key): _read_choice(key, what) for key, what in nan.items()}
        return MissingValues(Missing.RAISE, tuple(named.items()))
    choice = read_name(Missing, nan, "nan", 'for one column a public value, too: {"crp": 10.0}')
    if model.devices and choice is Missing.DROP:
        raise ArgumentError(f'in the {model.name} model a device always answers: leave nan="drop" out')
    return MissingValues(choice)


def _read_column(key: object) -> str | int:
    if isinstance(key, str):
        return key
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return int(key)
    raise ArgumentTypeError(f'nan: columns go by their name, or by their number, got {describe(key)}: {{"crp": 10.0}}')


def _read_choice(key: object, choice: Any) -> Missing | float:
    if isinstance(choice, int | float | np.integer | np.floating) and not isinstance(choice, bool):
        try:
            value = float(choice)
        except OverflowError:
            value = math.inf
        if not abs(value) <= _LARGEST:  # NaN too
            raise ArgumentError(
                f"nan: the value for column {key!r} must be finite and at most 2^500, got {describe(choice)}: give a "
                "public one"
            )
        return value
    return read_name(Missing, choice, f"nan of column {key!r}", "or a public value, such as 10.0")


def _within(domain: Domain, j: int, value: float, names: tuple[str, ...] | None) -> float:
    """Refuse a public value that no row could have."""
    low, high = (-domain.limit, domain.limit)
    if domain.lower is not None and domain.upper is not None:
        low, high = float(domain.lower[j]), float(domain.upper[j])
    if not low <= value <= high:
        which = "norm_bound" if domain.lower is None else "bounds"
        raise ArgumentError(
            f"nan: {value:g} for column {name_column(names, j)} is not within {which}, ({low:g}, {high:g}): give a "
            "public value between these"
        )
    return value
