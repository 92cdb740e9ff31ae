"""What to do with missing values: refuse them, leave out their rows, or replace them with a public value."""

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
"""A choice for all columns, or a choice or a public value for some columns, by name or by number."""
_LARGEST = 2.0**500


@final
@dataclass(frozen=True, slots=True)
class MissingValues:
    """What to do with values that are missing or infinite."""

    others: Missing
    """What to do in columns that are not listed."""
    named: tuple[tuple[str | int, Missing | float], ...] = ()
    """What to do in some columns, by name or by number."""

    @property
    def drops(self) -> bool:
        """Whether rows may be left out, so that the number of rows depends on their values."""
        return Missing.DROP in (self.others, *dict(self.named).values())

    def check_sizes(self, sizes: Sizes | None, *, private_size: bool) -> None:
        """Refuse to leave out rows if the number of rows, or the sizes of groups, are public."""
        if self.drops and sizes is Sizes.PUBLIC:
            raise ArgumentError(
                'nan="drop" makes the number of rows in a group depend on their values, and sizes="public" publishes '
                'it: give sizes="private", or nan="impute"'
            )
        if self.drops and sizes is None and not private_size:
            raise ArgumentError(
                'nan="drop" makes the number of rows depend on their values, and neighbours="replace-one" publishes '
                'it: give neighbours="add-or-remove-one", or nan="impute"'
            )

    def in_columns(self, names: tuple[str, ...] | None, d: int) -> list[Missing | float]:
        """Return what to do in each column, in order."""
        named = dict(self.named)
        for column in named:
            if names is None and isinstance(column, str):
                raise ArgumentError(
                    f"nan={{{column!r}: ...}} needs columns with names, and these have none: give "
                    '"raise", "impute" or "drop", or the numbers of columns from 0, as in {0: "impute"}'
                )
            if names is not None and column not in names:
                raise ArgumentError(f"nan: there is no column {column!r}: {list_names(names)}")
            if names is None and isinstance(column, int) and not 0 <= column < d:
                raise ArgumentError(f"nan: there is no column {column}: give a number from 0 to {d - 1}")
        keys: list[str | int] = list(range(d)) if names is None else list(names)
        return [named.get(key, self.others) for key in keys]

    def finite(self, names: tuple[str, ...] | None, d: int) -> NDArray[np.bool_]:
        """Return the columns in which every value must be finite."""
        return np.array([choice is Missing.RAISE for choice in self.in_columns(names, d)], dtype=np.bool_)

    def through(self, domain: Domain, names: tuple[str, ...] | None) -> Domain:
        """Return the domain of the same rows with these choices about missing values."""
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
                    missing[j], made_up = _check_value(domain, j, choice, names), True
        strict = strict if made_up else []  # otherwise the loops refuse them in all columns
        return replace(domain, missing=missing, impute=made_up, strict=tuple(strict), dropped=tuple(dropped))


def read_missing(nan: NanArgument, model: TrustModel) -> MissingValues:
    """Read what to do with missing values. The columns are checked when they are known."""
    if isinstance(nan, Mapping):
        if model.devices:
            raise ArgumentError(f"in the {model.name} model every device has to answer: leave nan={{...}} out")
        named = {_read_column(key): _read_choice(key, what) for key, what in nan.items()}
        return MissingValues(Missing.RAISE, tuple(named.items()))
    choice = read_name(Missing, nan, "nan", 'or one choice or public value for each column: {"crp": 10.0}')
    if model.devices and choice is Missing.DROP:
        raise ArgumentError(f'in the {model.name} model every device has to answer: give nan="impute", not nan="drop"')
    return MissingValues(choice)


def _read_column(key: object) -> str | int:
    if isinstance(key, str):
        return key
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return int(key)
    raise ArgumentTypeError(
        f'nan: keys must be names or numbers of columns, got {describe(key)}: give {{"crp": 10.0}}, for example'
    )


def _read_choice(key: object, choice: Any) -> Missing | float:
    if isinstance(choice, int | float | np.integer | np.floating) and not isinstance(choice, bool):
        try:
            value = float(choice)
        except OverflowError:
            value = math.inf
        if not abs(value) <= _LARGEST:  # NaN too
            raise ArgumentError(
                f"nan: the value for column {key!r} must be finite and between -2^500 and 2^500, got "
                f"{describe(choice)}: give a public value within the bounds"
            )
        return value
    return read_name(Missing, choice, f"nan of column {key!r}", "or a public value, such as 10.0")


def _check_value(domain: Domain, j: int, value: float, names: tuple[str, ...] | None) -> float:
    """Return a public value; refuse one outside the bounds."""
    low, high = (-domain.limit, domain.limit)
    if domain.lower is not None and domain.upper is not None:
        low, high = float(domain.lower[j]), float(domain.upper[j])
    if not low <= value <= high:
        which = "norm_bound" if domain.lower is None else "bounds"
        raise ArgumentError(
            f"nan: {value:g} for column {name_column(names, j)} is outside {which}, ({low:g}, {high:g}): give a public "
            "value between these"
        )
    return value
