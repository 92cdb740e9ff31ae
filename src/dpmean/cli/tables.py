"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from dpmean.cli.show import printable
from dpmean.errors import display_label
from dpmean.ledger.account import Account
from dpmean.ledger.summary import add_up
from dpmean.privacy.neighbours import Neighbours
from dpmean.release.grouped import GroupedRelease
from dpmean.release.release import Release
from dpmean.release.statistics import STATISTICS, Statistic
from dpmean.release.text import NOT_KNOWN_VALUE
from dpmean.reports.numbers import between, with_error


@final
class _SafeTable(Table):
    """A table of untrusted text."""

    def add_row(self, *cells: Any, **more: Any) -> None:
        """Add a line, without terminal control characters."""
        super().add_row(*(Text(printable(cell)) for cell in cells), **more)


def table(heads: Sequence[str], *, right: Sequence[str] = ()) -> Table:
    """Return an empty table in the style of this command."""
    made = _SafeTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim", show_edge=False)
    for head in heads:
        made.add_column(Text(printable(head)), justify="right" if head in right else "left", overflow="fold")
    return made


_MOST = 40
"""The maximum number of lines."""
_UNMEASURED = 10_000
"""More characters than any table is wide."""
_BESIDE = {"upper", "population_upper", "scale", "std"}
"""Statistics that stay next to the one before them."""
_NAMES = 3
"""Names may take one part of this many of a line; longer ones are broken."""


@final
@dataclass(frozen=True, slots=True)
class NumbersTable:
    """Numbers with column heads, in one table or in several below each other, so that no number is broken.

    Attributes:
        names: The heads and cells of the columns at the left of each table.
        numbers: The heads and cells of columns of numbers; each mapping stays in one table.

    """

    names: Mapping[str, Sequence[str]]
    numbers: Sequence[Mapping[str, Sequence[str]]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw one table if it fits, with heads on one line or two; otherwise several tables."""
        everything = _join(self.numbers)
        for folded in (False, True):
            if self._width(everything, console, options, folded=folded) <= options.max_width:
                yield self._draw(everything, options, folded=folded)
                return
        block: Mapping[str, Sequence[str]] = {}
        for more in self.numbers:
            longer = _join([block, more])
            if block and self._width(longer, console, options, folded=True) > options.max_width:
                yield self._draw(block, options, folded=True)
                yield Text()
                longer = more
            block = longer
        yield self._draw(block, options, folded=True)

    def _width(
        self, numbers: Mapping[str, Sequence[str]], console: Console, options: ConsoleOptions, *, folded: bool
    ) -> int:
        drawn = self._draw(numbers, options, folded=folded)
        return Measurement.get(console, options.update(max_width=_UNMEASURED), drawn).maximum

    def _draw(self, numbers: Mapping[str, Sequence[str]], options: ConsoleOptions, *, folded: bool) -> Table:
        heads = [head.replace(" ", "\n", 1) if folded else head for head in numbers]
        made = table([*self.names, *heads], right=heads)
        for column in made.columns[: len(self.names)]:
            column.max_width = max(options.max_width // _NAMES, 8)
        for cells in zip(*self.names.values(), *numbers.values(), strict=True):
            made.add_row(*cells)
        return made


def _join(parts: Iterable[Mapping[str, Sequence[str]]]) -> Mapping[str, Sequence[str]]:
    return {head: cells for part in parts for head, cells in part.items()}


def release_table(release: Release) -> NumbersTable:
    """Return the statistics of every column."""
    shown = [one for one in STATISTICS if one.shown and one.reliable(release) is not None]
    names, more = list(_names(release)), 0
    if len(names) > _MOST:
        names, more = names[:10], len(names) - 10
    cells = _cells(release, len(names))
    if more:
        names.append(f"... and {more} more: see --out")
        cells = {name: [*column, ""] for name, column in cells.items()}
    return NumbersTable({"column": names}, _beside(shown, cells))


def grouped_table(grouped: GroupedRelease) -> NumbersTable:
    """Return the means of groups, column by column."""
    number = "rows" if grouped.unit is None else "persons"
    released = grouped.released
    known = [
        one for one in STATISTICS if one.shown and any(one.reliable(found) is not None for found in released.values())
    ]
    shown = [one for one in known if one.of_groups]
    labels: list[str] = []
    sizes: list[str] = []
    columns: list[str] = []
    cells: dict[str, list[str]] = {one.name: [] for one in shown}
    for label, found in released.items():
        if len(labels) > _MOST:
            labels.append("... more: see --out")
            sizes.append("")
            columns.append("")
            cells = {name: [*column, ""] for name, column in cells.items()}
            break
        about = "about " * (found.neighbours == Neighbours.ADD_OR_REMOVE_ONE)
        names = _names(found)[:_MOST]
        labels += [display_label(label), *[""] * (len(names) - 1)]
        sizes += [f"{about}{found.n}", *[""] * (len(names) - 1)]
        columns += names
        here = _cells(found, len(names))
        for name, column in cells.items():
            column += here.get(name, [""] * len(names))
    by = display_label(grouped.by)
    return NumbersTable({by: labels, "column": columns}, [{number: sizes}, *_beside(shown, cells)])


def refused_groups(grouped: GroupedRelease) -> list[tuple[str, str]]:
    """Return the groups without a mean and their reasons, as labels and text."""
    lines = [f"{display_label(label)}: {reason}" for label, reason in grouped.refused.items()]
    if len(lines) > _MOST:
        lines = [*lines[:10], f"... and {len(lines) - 10} more: see --out"]
    return [("" if i else "no mean", line) for i, line in enumerate(lines)]


def _beside(shown: Sequence[Statistic], cells: Mapping[str, Sequence[str]]) -> list[Mapping[str, Sequence[str]]]:
    """Return the columns of a table, in parts that stay together."""
    parts: list[dict[str, Sequence[str]]] = []
    for one in shown:
        if one.name not in _BESIDE:
            parts.append({})
        parts[-1][one.words] = cells[one.name]
    return list(parts)


def _names(release: Release) -> tuple[str, ...]:
    return release.columns or tuple(str(j) for j in range(release.d))


def _cells(release: Release, most: int) -> dict[str, list[str]]:
    """Return the statistics of the first columns as text, with as many digits as their errors support.

    The keys are the names of statistics.
    """
    known = {one: one.reliable(release) for one in STATISTICS if one.shown}
    cells = {
        one.name: [NOT_KNOWN_VALUE if np.isnan(number) else f"{number:.{one.digits}g}" for number in numbers[:most]]
        for one, numbers in known.items()
        if numbers is not None
    }
    for interval in () if release.settings.few_rows else release.intervals:
        lower, upper = interval.lower[:most].tolist(), interval.upper[:most].tolist()
        margins = [(high - low) / 2 for low, high in zip(lower, upper, strict=True)]
        ends = [between(*ends_of_one).split(" to ") for ends_of_one in zip(lower, upper, margins, strict=True)]
        of = "" if interval.of == "rows" else "population_"
        cells[f"{of}lower"], cells[f"{of}upper"] = [low for low, _ in ends], [high for _, high in ends]
        if not of:
            means = zip(release.mean[:most].tolist(), margins, strict=True)
            cells["mean"] = [with_error(mean, margin)[0] for mean, margin in means]
    return cells


def ledger_table(account: Account) -> Table:
    """Return the entries of a ledger with their dates and costs."""
    made = table(("when (UTC)", "what", account.unit), right=(account.unit,))
    for entry, price in zip(account.entries, account.prices, strict=True):
        made.add_row(entry.when[:16].replace("T", " "), str(entry), price)
    made.add_section()
    for words, amount in add_up(account):
        made.add_row("", words, amount)
    return made
