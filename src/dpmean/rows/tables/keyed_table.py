"""Tables whose rows belong to persons or groups: they yield one vector per person, and the rows of each group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmean.errors import ArgumentError
from dpmean.queries.queries import Ints
from dpmean.rows.opening import InMemory, refuse_names
from dpmean.rows.registry import Selection, find_engine
from dpmean.rows.tables.combinations import SeveralColumns, find_combinations
from dpmean.rows.tables.contributions import choose_groups
from dpmean.rows.tables.keys import ABSENT, Keys
from dpmean.rows.tables.persons import average_by_person

Strict = Callable[[tuple[str, ...] | None, int], NDArray[np.bool_]]
"""A function of the names and the number of columns: it returns in which columns every value must be finite."""


class Table(Protocol):
    """The interface of a table: rows that can be read in order, together with their keys."""

    @property
    def n(self) -> int:
        """The number of rows."""
        ...

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the coordinates, if they have names."""
        ...

    @property
    def width(self) -> int:
        """The number of coordinates; a DataError if it is unknown."""
        ...

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all rows, in order; a block may be overwritten by the next."""
        ...

    def keys(self, name: str) -> Keys:
        """Return the keys in a column, one per row."""
        ...

    def select(self, rows: NDArray[np.bool_]) -> Table | None:
        """Return the table of some rows, ignoring all others; None if rows cannot be read independently."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class ArrayTable:
    """The rows of an array."""

    array: NDArray[Any]
    names: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.array)

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return int(self.array.shape[1])

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all rows."""
        yield self.array

    def keys(self, name: str) -> Keys:
        """Refuse: the columns of an array have no names."""
        raise ArgumentError(f"there is no column {name!r}: X is an array; pass one key per row, as an array")

    def select(self, rows: NDArray[np.bool_]) -> None:
        """Return None: rows are selected later, by their positions, without a copy of the array."""


Key = str | ArrayLike
"""The keys of rows: the name of a column, or one key per row."""
By = Key | SeveralColumns
"""The keys of groups."""


def open_table(X: Any, selection: Selection, *keys: By | None, read: Callable[[Any], Any]) -> Table:
    """Open an input as a table; an array is read by ``read``. Columns of keys are not coordinates."""
    refuse_names(X)
    selection = replace(selection, keys=tuple(dict.fromkeys(name for key in keys for name in names_of(key))))
    engine = find_engine(X, selection, keys=True).load()
    return ArrayTable(read(X)) if engine is None else engine.open_table(X, selection)


def names_of(by: By | None) -> tuple[str, ...]:
    """Return the names of the columns of keys; none if the keys are given separately."""
    if isinstance(by, SeveralColumns):
        return by.names
    return (by,) if isinstance(by, str) else ()


def keys_of(table: Table, key: Key, name: str) -> Keys:
    """Return the keys of the rows of a table."""
    return table.keys(key) if isinstance(key, str) else Keys.of_array(name, key, table.n)


def people(table: Table, unit: Key, strict: Strict) -> InMemory:
    """Return one row for each person: the mean of that person's rows."""
    keys = keys_of(table, unit, "privacy_unit")
    keys.require_all()
    array = _average(table, keys.codes, len(keys.values), strict)
    return InMemory(array, table.names, unit=keys.name)


def groups(
    table: Table, by: By, labels: Sequence[Any], unit: Key | None, strict: Strict, salt: str, contributions: int = 1
) -> tuple[str | tuple[str, ...], list[InMemory]]:
    """Return the name of the grouping column, and the rows of each listed group; rows of other groups are left out.

    With a unit, there is one row for each person in a group; a person contributes to at most ``contributions`` groups.
    """
    name_of_groups, places = _places(table, by, labels)
    persons = None if unit is None else keys_of(table, unit, "privacy_unit")
    listed = places != ABSENT
    part = table.select(listed)
    if part is not None:  # other rows are ignored, even the length of their vectors
        table, places = part, places[listed]
        persons = None if persons is None else Keys(persons.name, persons.codes[listed], persons.values)
    if persons is None:
        array, name = _all(table), None
    else:
        persons.require_all(places != ABSENT)
        name = persons.name
        who, where = choose_groups(persons, places, labels, salt, contributions)
        pairs = _find_pairs(persons.codes, places, who, where, len(labels))
        array = _average(table, pairs, len(who), strict)
        places = where
    return name_of_groups, [
        InMemory(array, table.names, np.flatnonzero(places == place), name) for place in range(len(labels))
    ]


def width_of_listed(table: Table, by: By, labels: Sequence[Any]) -> int:
    """Return the number of coordinates: as declared, or found in the rows of listed groups."""
    part = table.select(_places(table, by, labels)[1] != ABSENT)
    return (table if part is None else part).width


def _places(table: Table, by: By, labels: Sequence[Any]) -> tuple[str | tuple[str, ...], Ints]:
    """Return the name of the grouping column, and for every row the index of its label in the list, or ABSENT."""
    if isinstance(by, SeveralColumns):
        return by.names, find_combinations([table.keys(name) for name in by.names], labels)
    keys = keys_of(table, by, "group")
    return keys.name, keys.find_labels(labels)


def _find_pairs(persons: Ints, places: Ints, who: Ints, where: Ints, size: int) -> Ints:
    """Return for every row the index of its pair of a person and one of ``size`` groups; ABSENT if it has none."""
    pairs, own = np.append(who * size + where, -1), persons * size + places
    found = np.searchsorted(pairs[:-1], own)
    return np.where((places != ABSENT) & (pairs[found] == own), found, ABSENT)


def _average(table: Table, persons: Ints, count: int, strict: Strict) -> NDArray[np.float64]:
    blocks = table.blocks()
    first = next(blocks, None)
    if first is None:
        return np.empty((count, table.width))
    d = first.shape[1]

    def each() -> Iterator[NDArray[Any]]:
        yield first
        yield from blocks

    return average_by_person(each(), persons, count, d, strict(table.names, d))


def _all(table: Table) -> NDArray[Any]:
    blocks = [block.copy() if not isinstance(table, ArrayTable) else block for block in table.blocks()]
    if not blocks:
        return np.empty((0, table.width))
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
