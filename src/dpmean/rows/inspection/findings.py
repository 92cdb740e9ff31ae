"""The findings of an inspection. They are exact, not differentially private: for the holder of the data only."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.queries.queries import Floats, Ints

SHOWN = 3
"""The number of places that are kept of each kind."""
MOST_KEYS = 1_000_000
"""The largest number of persons that are counted."""
_MOST_COLUMNS = 64
"""The number of columns in which persons with a value are counted, if no columns are named."""
TEXT, DATE, TRUTH = "text", "a date", "a word for yes or no"


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of the call that the holder of the data plans."""

    columns: tuple[str, ...] | None = None
    bounds: Mapping[str, tuple[float, float]] | tuple[float, float] | None = None
    unit: str | None = None
    by: str | tuple[str, ...] | None = None
    groups: tuple[Any, ...] | None = None

    @property
    def by_names(self) -> tuple[str, ...]:
        """The columns that identify groups."""
        return (self.by,) if isinstance(self.by, str) else self.by or ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that identify persons or groups."""
        return tuple(dict.fromkeys(name for name in (self.unit, *self.by_names) if name is not None))

    @property
    def named(self) -> tuple[str, ...]:
        """The coordinates, if they are named."""
        return self.columns or (tuple(self.bounds) if isinstance(self.bounds, Mapping) else ())

    @property
    def declared(self) -> tuple[str, ...]:
        """All names that are given: coordinates first, then keys."""
        return (*(self.columns or ()), *self.keys)

    def bounds_of(self, name: str) -> tuple[float, float] | None:
        """Return the bounds of a column, if there are any."""
        if isinstance(self.bounds, Mapping):
            return self.bounds.get(name)
        return self.bounds if self.columns is None or name in self.columns else None


@final
@dataclass(slots=True)
class Places:
    """How often something was found, and the first lines on which it was found."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, lines: Ints) -> None:
        """Add lines, in ascending order."""
        self.count += len(lines)
        self.lines += lines[: SHOWN - len(self.lines)].tolist() if len(self.lines) < SHOWN else []


@final
@dataclass(slots=True)
class Column:
    """The findings about one column."""

    name: str
    bounds: tuple[float, float] | None = None
    numbers: int = 0
    whole: bool = True
    kind: str | None = None
    """The declared type of its contents, if these are not numbers."""
    missing: Places = field(default_factory=Places)
    infinite: Places = field(default_factory=Places)
    below: Places = field(default_factory=Places)
    above: Places = field(default_factory=Places)
    others: dict[str, Places] = field(default_factory=dict)
    """Non-numeric contents, by their kind."""

    @property
    def is_number(self) -> bool:
        """Whether it holds at least one number, and otherwise only numbers and missing values."""
        return not self.others and self.kind is None and self.numbers > 0

    @property
    def is_mixed(self) -> bool:
        """Whether it holds both numbers and other contents."""
        return bool(self.others) and self.numbers > 0

    @property
    def words(self) -> str:
        """A description of its contents."""
        if self.kind is not None:
            return self.kind
        if self.is_mixed:
            return "mixed values"
        if self.others:
            kinds = list(self.others)
            return {DATE: "dates", TRUTH: "yes or no"}.get(kinds[0], "text") if len(kinds) == 1 else "text"
        return "nothing" if not self.numbers else "integers" if self.whole else "numbers"

    def add_numbers(self, values: Floats, missing: NDArray[np.bool_], lines: Ints) -> None:
        """Add values, where NaN stands for missing and non-numeric contents."""
        self.missing.add(lines[missing])
        infinite = np.isinf(values)
        known = ~np.isnan(values)
        self.infinite.add(lines[infinite])
        self.numbers += int(known.sum())
        finite = values[known & ~infinite]
        self.whole = self.whole and bool(np.all(finite == np.trunc(finite)))
        if self.bounds is not None:
            with np.errstate(invalid="ignore"):
                self.below.add(lines[values < self.bounds[0]])
                self.above.add(lines[values > self.bounds[1]])


@final
@dataclass(slots=True)
class KeyColumn:
    """The findings about a column of keys; the keys themselves are not kept."""

    name: str
    counts: dict[int, int] = field(default_factory=dict)
    """The number of rows of each key, by its hash."""
    numbers: dict[int, int] = field(default_factory=dict)
    """The number of each key, by its hash, in order of first appearance."""
    missing: Places = field(default_factory=Places)
    unreadable: Places = field(default_factory=Places)
    full: bool = False
    """Whether there are more keys than are counted."""

    def add(self, keys: Sequence[Hashable], counts: Ints) -> Ints:
        """Add rows of each key, and return the numbers of the keys: -1 for keys beyond the limit."""
        found = np.full(len(keys), -1, dtype=np.int64)
        for place, (key, count) in enumerate(zip(keys, counts.tolist(), strict=True)):
            word = hash(key)
            if word in self.counts or len(self.counts) < MOST_KEYS:
                self.counts[word] = self.counts.get(word, 0) + count
                found[place] = self.numbers.setdefault(word, len(self.numbers))
            else:
                self.full = True
        return found


@final
@dataclass(slots=True)
class GroupCounts:
    """The number of rows of each listed group, and the persons in it."""

    rows: Ints
    pairs: set[int] = field(default_factory=set)
    """Pairs of a person and a group in which the person has rows, each encoded as one integer."""

    def add_persons(self, persons: Ints, places: Ints) -> None:
        """Add rows with the numbers of their persons; negative numbers stand for no person."""
        known = persons >= 0
        self.pairs.update(np.unique(persons[known] * len(self.rows) + places[known]).tolist())

    @property
    def persons(self) -> Ints:
        """The number of persons with rows in each group."""
        pairs = np.fromiter(self.pairs, dtype=np.int64, count=len(self.pairs))
        return np.bincount(pairs % max(len(self.rows), 1), minlength=len(self.rows))

    @property
    def in_several(self) -> int:
        """The number of persons with rows in several groups."""
        pairs = np.fromiter(self.pairs, dtype=np.int64, count=len(self.pairs))
        return int(np.sum(np.unique(pairs // max(len(self.rows), 1), return_counts=True)[1] > 1))


@final
@dataclass(slots=True)
class Findings:
    """All findings about a file."""

    columns: dict[str, Column]
    keys: dict[str, KeyColumn]
    read_as: str = ""
    assumed: dict[str, str] = field(default_factory=dict)
    place: str = "line"
    """The unit of places: "line" or "row"."""
    named: bool = True
    rows: int = 0
    listed: int = 0
    """The number of rows whose label is among the listed groups."""
    unlisted: Places = field(default_factory=Places)
    """Rows with another label."""
    groups: GroupCounts = field(default_factory=lambda: GroupCounts(np.zeros(0, dtype=np.int64)))
    valued: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    """For each column: which persons have a value in it, by the numbers of the persons."""
    faults: dict[str, Places] = field(default_factory=dict)
    """Records that cannot be read, by a description of the fault."""
    empty_end: Places = field(default_factory=Places)
    """The empty lines at the end of a CSV file of one column, each of which is a row."""

    @staticmethod
    def of(names: Iterable[str], asked: Asked) -> Findings:
        """Return empty findings for the given columns."""
        columns = {name: Column(name, asked.bounds_of(name)) for name in names}
        groups = GroupCounts(np.zeros(len(asked.groups or ()), dtype=np.int64))
        return Findings(columns, {name: KeyColumn(name) for name in asked.keys}, groups=groups)

    def fault(self, words: str, lines: Ints) -> None:
        """Add lines that cannot be read, with a description of the fault."""
        self.faults.setdefault(words, Places()).add(lines)

    def add_values(self, name: str, persons: Ints, known: NDArray[np.bool_], *, named: bool) -> None:
        """Add the persons who have a value in a column; beyond the limit, only for columns that are named."""
        if name not in self.valued and not named and len(self.valued) >= _MOST_COLUMNS:
            return
        seen, needed = self.valued.get(name, np.zeros(0, dtype=np.bool_)), int(persons.max(initial=-1)) + 1
        if needed > len(seen):
            seen = np.append(seen, np.zeros(max(needed, 2 * len(seen)) - len(seen), dtype=np.bool_))
        seen[persons[known & (persons >= 0)]] = True
        self.valued[name] = seen

    def without(self, names: Sequence[str], unit: str) -> int | None:
        """Return the number of persons without a value in at least one of some columns; None if not counted."""
        count = len(self.keys[unit].numbers)
        if self.keys[unit].full or any(name not in self.valued for name in names):
            return None
        lacking = np.zeros(count, dtype=np.bool_)
        for name in names:
            seen = self.valued[name][:count]
            lacking |= ~np.append(seen, np.zeros(count - len(seen), dtype=np.bool_))
        return int(lacking.sum())
