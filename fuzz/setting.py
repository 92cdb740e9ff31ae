"""The public part of a case, and records as columns."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.records import Base, Record

PATHS = ("rows", "persons", "groups", "persons in groups")
Made = tuple[Any, dict[str, Any]]
"""The input of the library: the rows, and further arguments."""


@dataclass
class Setting:
    """The public part of a case, which is the same for both neighbours."""

    path: str
    base: Base
    seed: str
    folder: Path
    names: tuple[str, ...] = ("id", "a", "b", "c")
    _picked: dict[str, Any] = field(default_factory=dict)

    def pick(self, what: str, *choices: Any) -> Any:
        """Return one of the choices, always the same one."""
        if what not in self._picked:
            self._picked[what] = random.Random(f"{self.seed}/{what}").choice(choices)  # noqa: S311  cases are to be reproduced
        return self._picked[what]

    @property
    def who(self) -> str:
        """The name of the column of persons; R leaves the name of the first column empty."""
        return str(self.pick("who", "who", "who", ""))

    @property
    def team(self) -> str:
        """The name of the column of groups."""
        return "team" if self.who == "" else str(self.pick("team", "team", "team", ""))

    @property
    def by_person(self) -> bool:
        """Whether the rows of each person are averaged."""
        return self.path.startswith("persons")

    @property
    def by_group(self) -> bool:
        """Whether rows belong to groups."""
        return self.path.endswith("groups")

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        return self.names[: len(self.base.records[0].values)]

    def keys(self) -> dict[str, Any]:
        """Return the arguments that name the columns of keys."""
        return {
            **({"privacy_unit": self.who} if self.by_person else {}),
            **({"by": self.team} if self.by_group else {}),
        }


def table(
    setting: Setting, records: tuple[Record, ...], *, vectors: bool
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return records as columns by name, and the arguments that select columns."""
    chosen = bool(setting.pick("chosen", True, True, False))
    found: dict[str, list[Any]] = {}
    if setting.by_person or chosen:
        found[setting.who] = [one.who for one in records]
    if vectors:
        held = setting.pick("vector", list, list, tuple, np.array, lambda row: np.array(row, dtype="f4"))
        found["v"] = [held(one.values) if one.whole is None else one.whole for one in records]
    else:
        found |= {name: [one.values[j] for one in records] for j, name in enumerate(setting.coordinates)}
    if setting.by_group or chosen:
        found[setting.team] = [one.team for one in records]
    if chosen:
        found["note"] = [one.note for one in records]
    named = {"vector_column": "v"} if vectors else {"columns": list(setting.coordinates)}
    return found, {**(named if chosen or vectors else {}), **setting.keys()}


def cells_of(column: list[Any]) -> Any:
    """Return a column for pandas; lists in it go into an object array, so that they are not taken apart."""
    if any(hasattr(one, "__len__") and not isinstance(one, str | bytes) for one in column):
        cells = np.empty(len(column), dtype=object)
        for place, one in enumerate(column):
            cells[place] = one
        return cells
    return column


def check_other_records(
    setting: Setting, records: tuple[Record, ...], given: dict[str, list[Any]], made: dict[str, list[Any]]
) -> None:
    """Check that a library did not change other records when it made a table: neighbours differ in one record."""
    others = {id(record) for record in setting.base.records}
    for name, column in given.items():
        for record, value, cell in zip(records, column, made[name], strict=True):
            same = value == cell if name in (setting.who, setting.team, "who", "team") else _is_same(value, cell)
            if id(record) in others and not same:
                raise TypeError("the library changed another record")


def _is_same(value: Any, cell: Any) -> bool:
    if isinstance(value, list | tuple | np.ndarray):
        return cell is not None and all(_is_same(*pair) for pair in zip(value, cell, strict=True))
    if isinstance(value, Decimal | str | bytes | datetime.date) or value is None or cell is None:
        return bool(value == cell)
    return bool(value == cell or float(value) == float(cell) or value != value)


def known_of(column: Any) -> list[Any]:
    """Return the values of a pandas column, with None for missing ones."""
    return list(column.astype(object).where(column.notna(), None))
