"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from dpmean.account import Ledger
from dpmean.books.pages import Account, digits


def table(title: str, heads: Sequence[str], *, right: Sequence[str] = (), caption: str = "") -> Table:
    """Return an empty table in the style of the house."""
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption=caption or None,
        caption_justify="left",
        caption_style="",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        header_style="dim",
    )
    for head in heads:
        made.add_column(head, justify="right" if head in right else "left", overflow="fold")
    return made


def ledger_table(ledger: Ledger) -> Table:
    """Return what was spent when, and what is left."""
    account = Account(ledger.budget, ledger.entries)
    spent, left = digits(account.spent, up=True), digits(account.left, up=False)
    made = table(
        f"{ledger.dataset}: {account.budget}",
        ("when (UTC)", "what", account.unit),
        right=(account.unit,),
        caption=f"spent {account.unit} = {spent}, left {account.unit} = {left}",
    )
    for entry, price in zip(account.entries, account.prices, strict=True):
        made.add_row(entry.when[:16].replace("T", " "), str(entry), price)
    return made
