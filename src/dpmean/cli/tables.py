"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from rich import box
from rich.table import Table
from rich.text import Text

from dpmean.cli.show import printable
from dpmean.ledger.account import Account
from dpmean.ledger.summary import add_up


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


def ledger_table(account: Account) -> Table:
    """Return the entries of a ledger with their dates and costs."""
    made = table(("when (UTC)", "what", account.unit), right=(account.unit,))
    for entry, price in zip(account.entries, account.prices, strict=True):
        made.add_row(entry.when[:16].replace("T", " "), str(entry), price)
    made.add_section()
    for words, amount in add_up(account):
        made.add_row("", words, amount)
    return made
