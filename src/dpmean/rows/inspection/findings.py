"""What was found in a file. None of it is private: it is for the holder of the data, and never for a release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np

from dpmean.queries.queries import Floats, Ints

SHOWN = 3
"""Places that are kept of each kind."""
MOST_KEYS = 1_000_000
"""Persons that are counted one by one."""
TEXT, DATE, TRUTH = "text", "a date", "a word for yes or no"


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """What the holder of the data means to ask for."""

    columns: tuple[str, ...] | None = None
    bounds: Mapping[str, tuple[float, float]] | tuple[float, float] | None = None
    unit: str | None = None
    by: str | None = None
    groups: tuple[str, ...] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell persons or groups apart."""
        return tuple(dict.fromkeys(name for name in (self.unit, self.by) if name is not None))

    @property
    def declared(self) -> tuple[str, ...]:
        """All names that are said, of coordinates first."""
        return (*(self.columns or ()), *self.keys)

    def bounds_of(self, name: str) -> tuple[float, float] | None:
        """Return the bounds of a column, if there are any."""
        if isinstance(self.bounds, Mapping):
            return self.bounds.get(name)
        return self.bounds if self.columns is None or name in self.columns else None


@final
@dataclass(slots=True)
class Places:
    """How often something was found, and on which lines first."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, lines: Ints) -> None:
        """Add lines, in their order."""
        self.count += len(lines)
        self.lines += lines[: SHOWN - len(self.lines)].tolist() if len(self.lines) < SHOWN else []


@final
@dataclass(slots=True)
class Column:
    """What is in one column."""

    name: str
    bounds: tuple[float, float] | None = None
    numbers: int = 0
    whole: bool = True
    kind: str | None = None
    """What the file says that it holds, if it is not numbers."""
    missing: Places = field(default_factory=Places)
    infinite: Places = field(default_factory=Places)
    below: Places = field(default_factory=Places)
    above: Places = field(default_factory=Places)
    others: dict[str, Places] = field(default_factory=dict)
    """What is no number, by its kind."""

    @property
    def is_number(self) -> bool:
        """Whether all of it are numbers, or missing, and there is one."""
        return not self.others and self.kind is None and self.numbers > 0

    @property
    def is_mixed(self) -> bool:
        """Whether some of it are numbers, and some are not."""
        return bool(self.others) and self.numbers > 0

    @property
    def words(self) -> str:
        """What it holds, for people."""
        if self.kind is not None:
            return self.kind
        if self.is_mixed:
            return "numbers and others"
        if self.others:
            kinds = list(self.others)
            return {DATE: "dates", TRUTH: "yes or no"}.get(kinds[0], "text") if len(kinds) == 1 else "text"
        return "nothing" if not self.numbers else "integers" if self.whole else "numbers"

    def add_numbers(self, values: Floats, missing: np.typing.NDArray[np.bool_], lines: Ints) -> None:
        """Add values, where NaN stands for what is missing or no number."""
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
    """What is in a column that tells persons or groups apart; the keys themselves are not kept."""

    name: str
    counts: dict[int, int] = field(default_factory=dict)
    missing: Places = field(default_factory=Places)
    unreadable: Places = field(default_factory=Places)
    full: bool = False
    """Whether there were more keys than are counted."""

    def add(self, counts: Iterable[tuple[object, int]]) -> None:
        """Add so many rows of each key."""
        for key, count in counts:
            word = hash(key)
            if word in self.counts or len(self.counts) < MOST_KEYS:
                self.counts[word] = self.counts.get(word, 0) + count
            else:
                self.full = True


@final
@dataclass(slots=True)
class Findings:
    """Everything that was found."""

    columns: dict[str, Column]
    keys: dict[str, KeyColumn]
    read_as: str = ""
    assumed: dict[str, str] = field(default_factory=dict)
    place: str = "line"
    """What places count: lines, or rows."""
    named: bool = True
    rows: int = 0
    listed: int = 0
    """Rows whose label is among the groups that are asked for."""
    faults: dict[str, Places] = field(default_factory=dict)
    """What cannot be read at all, in words."""
    empty_end: Places = field(default_factory=Places)
    """The empty lines at the end of a CSV file of one column, each of which is a row."""

    @staticmethod
    def of(names: Iterable[str], asked: Asked) -> Findings:
        """Begin with nothing found."""
        columns = {name: Column(name, asked.bounds_of(name)) for name in names}
        return Findings(columns, {name: KeyColumn(name) for name in asked.keys})

    def fault(self, words: str, lines: Ints) -> None:
        """Add lines that cannot be read."""
        self.faults.setdefault(words, Places()).add(lines)
