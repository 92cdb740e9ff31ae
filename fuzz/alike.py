"""Comparison of the rows that reach the mechanisms: whether two neighbours differ in one record only."""

from __future__ import annotations

from collections import Counter

import numpy as np

from fuzz.lines import is_alone
from fuzz.records import Change
from fuzz.seen import Seen, Vector
from fuzz.setting import Setting

Entry = tuple[int, Vector]
"""The index of a group in the list, and a vector in it."""


def contributions(setting: Setting) -> int:
    """Return the largest number of groups in which a person counts."""
    return int(setting.pick("contributions", 1, 2, 3)) if setting.by_person and setting.by_group else 1


def difference(before: Seen, after: Seen, change: Change, setting: Setting) -> str:
    """Return a description of changes in other records; empty if there are none."""
    if before.secret != after.secret:
        return "a secret order is drawn for only one of them"
    if len(before.releases) != len(after.releases):
        return "the groups differ"
    if setting.by_person:
        return _persons(before, after, change, setting)
    if setting.by_group:
        return _groups(before, after, change)
    ways = [change.what]
    if change.what == "change" and _may_vanish(change, setting):
        ways.append("remove")
    if change.what == "add" and _may_vanish(change, setting):
        ways.append("none")
    return "" if any(_rows(before, after, way, change.place) for way in ways) else "other rows changed or moved"


def _may_vanish(change: Change, setting: Setting) -> bool:
    """Whether a line may not be a record: an empty line with several columns, or a first line that may hold names."""
    line = None if change.new is None else change.new.line
    empty = line is not None and not line.strip(b"\r") and not is_alone(setting)
    return empty or (setting.pick("nameless", False) and change.place == 0)


def _rows(before: Seen, after: Seen, what: str, place: int) -> bool:
    """Compare rows by position."""
    old, new = list(before.releases[0]), list(after.releases[0])
    if what in ("change", "remove"):
        del old[place : place + 1]
    if what in ("change", "add"):
        del new[place : place + 1]
    return old == new and len(after.releases[0]) - len(before.releases[0]) == {"add": 1, "remove": -1}.get(what, 0)


def _number(vector: Vector) -> float:
    return float(np.frombuffer(vector[:8])[0])


def _groups(before: Seen, after: Seen, change: Change) -> str:
    """Compare the rows of every group, in order: the record leaves and joins at most one group."""
    more = 0
    for old, new in zip(before.releases, after.releases, strict=True):
        kept = old if change.what == "add" else [row for row in old if _number(row) != change.place]
        if new == kept:
            continue
        more += 1
        at = next((place for place, (a, b) in enumerate(zip(kept, new, strict=False)) if a != b), len(kept))
        if new[:at] + new[at + 1 :] != kept:
            return "other rows of a group changed"
    return "more than one row was added to groups" if more > (change.what != "remove") else ""


def _is_elsewhere(gone: Counter[Entry], come: Counter[Entry], owner: float | None, new: object) -> bool:
    """Whether an unchanged vector of another person moved to another group; the record's numbers would change it."""
    others = {row for _, row in gone if _number(row) != owner and _number(row) != new}
    return any(row in others for _, row in come)


def _persons(before: Seen, after: Seen, change: Change, setting: Setting) -> str:
    """Compare the vectors of persons: only those to whom the record belongs, before or after, may differ."""
    base = setting.base.records
    owner = None if change.what == "add" else float(base[change.place].values[0])
    old = Counter((group, row) for group, rows in enumerate(before.releases) for row in rows)
    new = Counter((group, row) for group, rows in enumerate(after.releases) for row in rows)
    gone, come = old - new, new - old
    others = sum(count for (_, row), count in gone.items() if _number(row) != owner)
    joins = change.what != "remove" and not change.same_key
    if others > joins:
        return "persons to whom the record does not belong changed, or their groups"
    if change.new is not None and change.new.line is None and _is_elsewhere(gone, come, owner, change.new.values[0]):
        return "a person to whom the record does not belong changed groups"
    moves = contributions(setting) > 1  # the record may move from one group of its person to another
    if come.total() > 1 + (change.what == "change" and (joins or moves)):
        return "persons to whom the record does not belong were added"
    if before.secret or any(len(a) != len(b) for a, b in zip(before.releases, after.releases, strict=True)):
        return ""
    moved = sum(a != b for a, b in zip(before.releases[0], after.releases[0], strict=True))
    return "the public order of persons changed" if moved > gone.total() else ""
