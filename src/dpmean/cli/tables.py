"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from rich import box
from rich.table import Table
from rich.text import Text

from dpmean.cli.show import printable
from dpmean.ledger.account import Account, digits
from dpmean.privacy.neighbours import Neighbours
from dpmean.release.grouped import GroupedRelease
from dpmean.release.release import Release


@final
class _Shown(Table):
    """A table of text that may be anybody's."""

    def add_row(self, *cells: Any, **more: Any) -> None:
        """Add a line, without what would move or recolor a terminal."""
        super().add_row(*(Text(printable(cell)) for cell in cells), **more)


def table(heads: Sequence[str], *, right: Sequence[str] = ()) -> Table:
    """Return an empty table in the style of the house."""
    made = _Shown(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim", show_edge=False)
    for head in heads:
        made.add_column(Text(printable(head)), justify="right" if head in right else "left", overflow="fold")
    return made


_MOST = 40
"""So many lines at most."""


def release_table(release: Release) -> Table:
    """Return the mean, column by column."""
    made = table(("column", "mean", "noise (std)"), right=("mean", "noise (std)"))
    lines = _lines(release)
    if is_bounded(release):
        made.add_column("within, at 95 %", justify="right")
    if len(lines) > _MOST:
        lines = [*lines[:10], ("...", f"{len(lines) - 10} more: --out")]
    for line in lines:
        made.add_row(*line)
    return made


def grouped_table(grouped: GroupedRelease) -> Table:
    """Return the means of groups, column by column, or why there are none."""
    persons = any("privacy_unit" in found.public for found in grouped.released.values())
    number = "persons" if persons else "rows"
    made = table((grouped.by, number, "column", "mean", "within, at 95 %"), right=(number, "mean", "within, at 95 %"))
    count = 0
    for label, found in grouped.items():
        if count > _MOST:
            made.add_row("...", "", "more: --out")
            break
        if isinstance(found, Release):
            about = "about " * (found.neighbours == Neighbours.ADD_OR_REMOVE_ONE)
            for i, (column, mean, _, *within) in enumerate(_lines(found)[:_MOST]):
                first = (str(label), f"{about}{found.n}") if i == 0 else ("", "")
                made.add_row(*first, column, mean, *within)
                count += 1
        else:
            made.add_row(str(label), "", f"no mean: {found.reason}")
            count += 1
    return made


def is_bounded(release: Release) -> bool:
    """Whether errors are told: not so where there are too few rows to know them."""
    return release.found is not None and not release.public.get("few_rows")


def _lines(release: Release) -> list[tuple[str, ...]]:
    names = release.columns or tuple(str(j) for j in range(release.d))
    columns = [names, [f"{x:.6g}" for x in release.mean], [f"{x:.3g}" for x in release.noise_std]]
    if is_bounded(release):
        columns.append([f"± {x:.3g}" for x in release.column_bounds()])
    return list(zip(*columns, strict=True))


def ledger_table(account: Account) -> Table:
    """Return what was spent when."""
    made = table(("when (UTC)", "what", account.unit), right=(account.unit,))
    for entry, price in zip(account.entries, account.prices, strict=True):
        made.add_row(entry.when[:16].replace("T", " "), str(entry), price)
    made.add_section()
    made.add_row("", f"spent{account.ever}", digits(account.spent, up=True))
    made.add_row("", f"left{account.pure}", digits(account.left, up=False))
    return made
