"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from dpmean.cli.show import printable
from dpmean.errors import display_label
from dpmean.ledger.account import Account
from dpmean.ledger.summary import add_up
from dpmean.privacy.neighbours import Neighbours
from dpmean.release.grouped import GroupedRelease
from dpmean.release.release import Release
from dpmean.release.statistics import STATISTICS, Statistic, Values
from dpmean.release.text import NOT_KNOWN_VALUE


@final
class _Shown(Table):
    """A table of text that may be anybody's."""

    def add_row(self, *cells: Any, **more: Any) -> None:
        """Add a line, without what would move or recolor a terminal."""
        super().add_row(*(Text(printable(cell)) for cell in cells), **more)


def table(heads: Sequence[str], *, right: Sequence[str] = ()) -> Table:
    """Return an empty table in the style of all tables here."""
    made = _Shown(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim", show_edge=False)
    for head in heads:
        made.add_column(Text(printable(head)), justify="right" if head in right else "left", overflow="fold")
    return made


_MOST = 40
"""So many lines at most."""


def release_table(release: Release) -> Table:
    """Return the statistics of every column."""
    known = [(statistic, statistic.reliable(release)) for statistic in STATISTICS if statistic.shown]
    shown = [(statistic, numbers) for statistic, numbers in known if numbers is not None]
    heads = [statistic.words for statistic, _ in shown]
    made = table(("column", *heads), right=heads)
    lines = list(zip(_names(release), *(_cells(statistic, numbers) for statistic, numbers in shown), strict=True))
    if len(lines) > _MOST:
        lines = [*lines[:10], ("...", f"{len(lines) - 10} more: --out")]
    for line in lines:
        made.add_row(*line)
    return made


def grouped_table(grouped: GroupedRelease) -> Table:
    """Return the means of groups, column by column, or why there are none."""
    number = "rows" if all(found.unit is None for found in grouped.released.values()) else "persons"
    released = grouped.released.values()
    offered = [one for one in STATISTICS if one.of_groups and one.shown]
    shown = [one for one in offered if any(one.reliable(release) is not None for release in released)]
    heads = [statistic.words for statistic in shown]
    made = table((display_label(grouped.by), number, "column", *heads), right=(number, *heads))
    count = 0
    for label, found in grouped.items():
        if count > _MOST:
            made.add_row("...", "", "more: --out")
            break
        if isinstance(found, Release):
            about = "about " * (found.neighbours == Neighbours.ADD_OR_REMOVE_ONE)
            cells = [_cells(statistic, statistic.reliable(found)) or [""] * found.d for statistic in shown]
            for i, line in enumerate(list(zip(_names(found), *cells, strict=True))[:_MOST]):
                first = (display_label(label), f"{about}{found.n}") if i == 0 else ("", "")
                made.add_row(*first, *line)
                count += 1
        else:
            made.add_row(display_label(label), "", f"no mean: {found.reason}")
            count += 1
    return made


def _names(release: Release) -> tuple[str, ...]:
    return release.columns or tuple(str(j) for j in range(release.d))


def _cells(statistic: Statistic, numbers: Values) -> list[str]:
    """Return numbers as people read them; none where they are not known."""
    if numbers is None:
        return []
    return [NOT_KNOWN_VALUE if np.isnan(number) else f"{number:.{statistic.digits}g}" for number in numbers]


def ledger_table(account: Account) -> Table:
    """Return what was spent when."""
    made = table(("when (UTC)", "what", account.unit), right=(account.unit,))
    for entry, price in zip(account.entries, account.prices, strict=True):
        made.add_row(entry.when[:16].replace("T", " "), str(entry), price)
    made.add_section()
    for words, amount in add_up(account):
        made.add_row("", words, amount)
    return made
