"""Budgets and shares of users, as the documents of the shuffle model write them."""

from __future__ import annotations

from fractions import Fraction

from dpmean.errors import ArgumentError
from dpmean.privacy.budgets import ApproxDp


def read_share(text: str) -> Fraction:
    """Read a share of users."""
    try:
        if len(text) <= 40 and not set(text) - set("0123456789/"):
            share = Fraction(text)
            if share < 1:
                return share
    except (ValueError, ZeroDivisionError):
        pass
    raise ArgumentError(f'a share of users is written "1/10", got {text!r}')


def write_budget(budget: ApproxDp) -> str:
    """Write a budget for a collection."""
    return f"epsilon {budget.epsilon} delta {budget.delta}"


def read_budget(text: str) -> ApproxDp:
    """Read the budget of a collection."""
    words = text.split(" ")
    try:
        short = len(text) <= 400 and not set("".join(words[1::2])) - set("0123456789/")  # 1e9000000 would take long
        if len(words) == 4 and words[::2] == ["epsilon", "delta"] and short:
            return ApproxDp(Fraction(words[1]), Fraction(words[3]))
    except (ValueError, ZeroDivisionError):
        pass
    raise ArgumentError(f'a budget is written "epsilon 1 delta 1/1000000", got {text!r}')
