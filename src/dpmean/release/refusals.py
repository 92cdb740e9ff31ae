"""Refused groups in words: their number, the reasons, and the cure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpmean.release.grouped import Refusal

NO_ROWS = "it has no rows"
"""The reason why a group is refused that is empty, where sizes are public."""
_NAMED = 6
"""The number of groups that are named."""
_SETTING = re.compile(r" for d=\d.*? and method \w+")
"""How a reason names the columns, the budget and the method."""
_LABELS = "check {}, which must match exactly, also in upper and lower case"
_LARGER = "a larger budget, or allow_few_rows=True for a mean whose error is not known"


def cure_of(refusal: Refusal) -> str:
    """Return what to do about one refused group."""
    label = _LABELS.format("the label")
    return label if refusal.reason == NO_ROWS else f"{label}; join the group with another, or give {_LARGER}"


def in_plain_words(reason: str) -> str:
    """Return a reason, or a warning of few rows, without the settings, for readers of a page."""
    return _SETTING.sub(" for this budget", reason)


def refusals_in_words(refused: Sequence[Refusal], groups: int, one: str) -> str:
    """Return how many of some groups were refused, and why; ``one`` is a row or a person."""
    small = [refusal for refusal in refused if refusal.reason != NO_ROWS]
    parts = []
    if small:
        least, most = (pick(refusal.rows_needed for refusal in small) for pick in (min, max))
        needed = f"{least}" if least == most else f"{least} to {most}"
        at_least = f" (at least {needed} are needed)" if most > 1 else ""
        parts.append(f"{_have(len(small), len(refused))} too few {one}s{at_least}")
    if len(small) < len(refused):
        parts.append(f"{_have(len(refused) - len(small), len(refused))} no {one}s")
    which = f"{len(refused)} of {groups} groups"
    if len(refused) == groups:
        which = {1: "the only group", 2: "both groups"}.get(groups, f"all {groups} groups")
    return f"{which} {'was' if len(refused) == 1 else 'were'} refused: {', '.join(parts)}"


def cure_of_all(refused: Sequence[Refusal]) -> str:
    """Return what to do about several refused groups."""
    labels = _LABELS.format("the labels")
    if all(refusal.reason == NO_ROWS for refusal in refused):
        return labels
    return f"{labels}; join small groups, or give {_LARGER}"


def several_in_words(names: Sequence[str]) -> str:
    """Return some names, and how many more there are."""
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _have(count: int, refused: int) -> str:
    if count == refused:
        return "it has" if count == 1 else "each has"
    return f"{count} {'has' if count == 1 else 'have'}"
