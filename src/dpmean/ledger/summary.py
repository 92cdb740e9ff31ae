"""An account in words: its entries, the total cost, and the largest next release."""

from __future__ import annotations

from dpmean.ledger.account import Account, digits
from dpmean.privacy.budgets import ApproxDp


def summarize(account: Account) -> list[str]:
    """Return the entries and the budget that is left, line by line."""
    prices = [f"{account.unit} = {price}" for price in account.prices]
    sums = [*((words, f"{account.unit} = {amount}") for words, amount in add_up(account)), ("budget", account.budget)]
    wide = max(map(len, prices), default=0)
    broad = max(len(words) for words, _ in sums)
    return [
        *(
            f"  {entry.when[:16].replace('T', ' ')}  {price:<{wide}}  {entry}"
            for entry, price in zip(account.entries, prices, strict=True)
        ),
        *(f"  {words:<{broad}}  {amount}" for words, amount in sums),
        *(f"  {words}" for words in remarks(account)),
    ]


def add_up(account: Account) -> list[tuple[str, str]]:
    """Return the total cost and the largest next release, as labels and numbers rounded to the safe side."""
    spent, left, added = digits(account.spent, up=True), digits(account.left, up=False), account.left_of_added
    found = [(f"spent{account.validity}", spent), (largest_next(account), left)]
    return found if added is None else [*found, ("... about add-or-remove-one", digits(added, up=False))]


def largest_next(account: Account) -> str:
    """Return the label of the largest next release."""
    return f"largest next release{account.pure or account.at_delta}"


def remarks(account: Account) -> list[str]:
    """Return a remark if the numbers do not add up."""
    if not isinstance(account.budget, ApproxDp) or not account.entries or account.pure:
        return []
    return [
        "epsilons do not add up: the sum of the amount spent and the largest next release may exceed the budget (rho "
        "adds up exactly)"
    ]
