"""Tables whose rows belong to people or to groups: one vector per person, and the rows of each group."""

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
from dpmean.rows.tables.combinations import SeveralColumns, places_of_combinations
from dpmean.rows.tables.contributions import groups_of_each
from dpmean.rows.tables.keys import ABSENT, Keys
from dpmean.rows.tables.persons import means_of_persons

Strict = Callable[[tuple[str, ...] | None, int], NDArray[np.bool_]]
"""From the names and the number of columns: in which of them every value must be finite."""


class Table(Protocol):
    """Rows that can be read one after another, beside what tells them apart."""

    @property
    def n(self) -> int:
        """How many rows there are."""
        ...

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the coordinates are called, if they have names."""
        ...

    @property
    def width(self) -> int:
        """How many coordinates there are; a DataError if nothing says so."""
        ...

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all rows, in order; a block may be overwritten by the next."""
        ...

    def keys(self, name: str) -> Keys:
        """Return a column that tells rows apart."""
        ...

    def only(self, rows: NDArray[np.bool_]) -> Table | None:
        """Return the table of some rows, whatever is in others; None if a row cannot be read without the others."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class ArrayTable:
    """The rows of an array."""

    array: NDArray[Any]
    names: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.array)

    @property
    def width(self) -> int:
        """How many coordinates there are."""
        return int(self.array.shape[1])

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all rows."""
        yield self.array

    def keys(self, name: str) -> Keys:
        """Refuse: an array has no columns by name."""
        raise ArgumentError(f"there is no column {name!r}: X is an array; pass one key per row, as an array")

    def only(self, rows: NDArray[np.bool_]) -> None:
        """Return nothing: rows are chosen by their positions, and the array is not copied."""


Key = str | ArrayLike
"""What tells rows apart: the name of a column, or one key per row."""
By = Key | SeveralColumns
"""What tells groups apart."""


def open_table(X: Any, selection: Selection, *keys: By | None, read: Callable[[Any], Any]) -> Table:
    """Open an input as a table; an array is read by ``read``. Columns that are keys are no coordinates."""
    refuse_names(X)
    selection = replace(selection, keys=tuple(dict.fromkeys(name for key in keys for name in names_of(key))))
    engine = find_engine(X, selection, keys=True).load()
    return ArrayTable(read(X)) if engine is None else engine.open_table(X, selection)


def names_of(by: By | None) -> tuple[str, ...]:
    """Return the columns that tell rows apart; none if that is told beside the rows."""
    if isinstance(by, SeveralColumns):
        return by.names
    return (by,) if isinstance(by, str) else ()


def keys_of(table: Table, key: Key, name: str) -> Keys:
    """Return what tells the rows of a table apart."""
    return table.keys(key) if isinstance(key, str) else Keys.of_array(name, key, table.n)


def people(table: Table, unit: Key, strict: Strict) -> InMemory:
    """Return one vector for each person: the mean of that person's rows."""
    keys = keys_of(table, unit, "privacy_unit")
    keys.insist()
    array = _averages(table, keys.codes, len(keys.values), strict)
    return InMemory(array, table.names, unit=keys.name)


def groups(
    table: Table, by: By, labels: Sequence[Any], unit: Key | None, strict: Strict, salt: str, contributions: int = 1
) -> tuple[str | tuple[str, ...], list[InMemory]]:
    """Return what groups are told apart by, and the rows of each listed one; rows of others are left out.

    With a unit, one vector for each person and group: a person counts in so many of the listed groups at most.
    """
    name_of_groups, places = _places(table, by, labels)
    persons = None if unit is None else keys_of(table, unit, "privacy_unit")
    listed = places != ABSENT
    part = table.only(listed)
    if part is not None:  # what is in other rows does not matter, not even how long their vectors are
        table, places = part, places[listed]
        persons = None if persons is None else Keys(persons.name, persons.codes[listed], persons.values)
    if persons is None:
        array, name = _all(table), None
    else:
        persons.insist(places != ABSENT)
        name = persons.name
        who, where = groups_of_each(persons, places, labels, salt, contributions)
        pairs = _pair_of_each_row(persons.codes, places, who, where, len(labels))
        array = _averages(table, pairs, len(who), strict)
        places = where
    return name_of_groups, [
        InMemory(array, table.names, np.flatnonzero(places == place), name) for place in range(len(labels))
    ]


def width_of_listed(table: Table, by: By, labels: Sequence[Any]) -> int:
    """Return how many coordinates there are: as declared, or as the rows of listed groups have."""
    part = table.only(_places(table, by, labels)[1] != ABSENT)
    return (table if part is None else part).width


def _places(table: Table, by: By, labels: Sequence[Any]) -> tuple[str | tuple[str, ...], Ints]:
    """Return what groups are told apart by, and for every row the place of its label in the list, or ABSENT."""
    if isinstance(by, SeveralColumns):
        return by.names, places_of_combinations([table.keys(name) for name in by.names], labels)
    keys = keys_of(table, by, "group")
    return keys.name, keys.among(labels)


def _pair_of_each_row(persons: Ints, places: Ints, who: Ints, where: Ints, size: int) -> Ints:
    """Return for every row which pair of a person and one of ``size`` groups it is part of; ABSENT if of none."""
    pairs, own = np.append(who * size + where, -1), persons * size + places
    found = np.searchsorted(pairs[:-1], own)
    return np.where((places != ABSENT) & (pairs[found] == own), found, ABSENT)


def _averages(table: Table, persons: Ints, count: int, strict: Strict) -> NDArray[np.float64]:
    blocks = table.blocks()
    first = next(blocks, None)
    if first is None:
        return np.empty((count, table.width))
    d = first.shape[1]

    def each() -> Iterator[NDArray[Any]]:
        yield first
        yield from blocks

    return means_of_persons(each(), persons, count, d, strict(table.names, d))


def _all(table: Table) -> NDArray[Any]:
    blocks = [block.copy() if not isinstance(table, ArrayTable) else block for block in table.blocks()]
    if not blocks:
        return np.empty((0, table.width))
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
