"""Text of the author of a page: readable names and units of columns, a description of the data, and a contact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from dpmean.errors import ArgumentError, ArgumentTypeError, describe, display_label, plural

ColumnWords = Mapping[str, str] | Mapping[int, str] | Sequence[str]
"""Words for columns: by their names, by their numbers where they have none, or one for each."""
GroupWords = Mapping[Any, str]
"""Words for groups: by their labels, or by a value in these."""


@final
@dataclass(frozen=True, slots=True)
class Author:
    """The text of the author of a page, which is not part of the release.

    Attributes:
        title: the title of the page.
        date: a date, in any form, if there is one.
        labels: readable names of columns, by the place of the column.
        units: their units.
        groups: readable names of groups, by their labels.
        about: what the data are, and what the release is for.
        contact: whom to ask.

    """

    title: str = ""
    date: str | None = None
    labels: Mapping[int, str] = field(default_factory=dict)
    units: Mapping[int, str] = field(default_factory=dict)
    groups: Mapping[Any, str] = field(default_factory=dict)
    about: str = ""
    contact: str = ""

    def group(self, label: Any) -> str:
        """Return the name of a group."""
        return self.groups.get(label, display_label(label))


def read_author(
    names: Sequence[str] | None,
    d: int | None,
    *,
    groups: Sequence[Any] | None = None,
    title: str | None = None,
    date: str | None = None,
    labels: ColumnWords | None = None,
    units: ColumnWords | None = None,
    group_labels: GroupWords | None = None,
    about: str | None = None,
    contact: str | None = None,
) -> Author:
    """Read the words of an author about columns of these names, or d columns without; d is None if nobody knows.

    ``groups`` are the labels of the groups, if there are any.
    """
    for name, value in (("title", title), ("date", date)):
        if value is not None and not isinstance(value, str):
            raise ArgumentTypeError(f"{name} must be text, got {describe(value)}")
    known = None if names is None else tuple(names)
    if isinstance(labels, Mapping) and (mistaken := _first_group(labels, known, groups)):
        raise ArgumentError(f"labels is for columns, and {mistaken} is a group: name groups in group_labels")
    found = Author(
        title or "",
        date,
        _by_place(labels, "labels", known, d),
        _by_place(units, "units", known, d),
        _by_group(group_labels, groups),
        _text(about, "about"),
        _text(contact, "contact"),
    )
    shown = [found.labels.get(j, name) for j, name in enumerate(known or ())] or list(found.labels.values())
    twice = next((name for name in found.labels.values() if shown.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(f"labels: two columns would be called {twice!r}: give each a label of its own")
    return found


def _by_place(words: ColumnWords | None, argument: str, names: tuple[str, ...] | None, d: int | None) -> dict[int, str]:
    if words is None:
        return {}
    if isinstance(words, Mapping):
        pairs = list(words.items())
    elif isinstance(words, Sequence) and not isinstance(words, str | bytes):
        if d is not None and len(words) != d:
            raise ArgumentError(f"{argument} must be {plural(d, 'text')}, one for each column, got {len(words)}")
        pairs = list(enumerate(words) if names is None or d is None else zip(names, words, strict=True))
    else:
        example = '{"age": "Age at admission"}' if argument == "labels" else '{"age": "years"}'
        raise ArgumentTypeError(f"{argument} must be a dictionary, such as {example}, got {describe(words)}")
    for _, text in pairs:
        _text(text, argument, needed=True)
    if d is None:  # all groups were refused, and nobody knows the columns
        return {}
    return {_place(key, argument, names, d): text for key, text in pairs}


def _by_group(words: GroupWords | None, groups: Sequence[Any] | None) -> dict[Any, str]:
    """Return the names of all groups, by their labels; a label of several values is named value by value."""
    if words is None:
        return {}
    if groups is None:
        raise ArgumentError("group_labels is for releases of groups, and this is a release of one mean: leave it out")
    if not isinstance(words, Mapping):
        raise ArgumentTypeError(f'group_labels must be a dictionary, such as {{"m": "Men"}}, got {describe(words)}')
    for text in words.values():
        _text(text, "group_labels", needed=True)
    values = list(dict.fromkeys(value for label in groups for value in _values(label)))
    for key in words:
        if key not in groups and key not in values:
            listed = f"{', '.join(map(str, values[:20]))}{', ...' * (len(values) > 20)}"
            raise ArgumentError(f"group_labels: there is no group {key!r}: the groups are {listed}")
    found = {
        label: words[label] if label in words else ", ".join(str(words.get(value, value)) for value in _values(label))
        for label in groups
    }
    twice = next((name for name, count in Counter(found.values()).items() if count > 1), None)
    if twice is not None:
        raise ArgumentError(f"group_labels: two groups would be called {twice!r}: give each a name of its own")
    return found


def _first_group(labels: Mapping[Any, Any], names: tuple[str, ...] | None, groups: Sequence[Any] | None) -> str:
    """Return the first key that is no column, but a group, or one value of its label."""
    called = {*(groups or ()), *(value for label in groups or () for value in _values(label))}
    return next((repr(key) for key in labels if names is not None and key not in names and key in called), "")


def _values(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _place(key: object, argument: str, names: tuple[str, ...] | None, d: int) -> int:
    """Return which column is meant, by its name; by its number if columns have none."""
    if names is None:
        if type(key) is int and 0 <= key < d:
            return key
        raise ArgumentError(
            f"{argument}: there is no column {describe(key)}: the columns have no names, so count them, from 0 to "
            f"{d - 1}"
        )
    if isinstance(key, str) and key in names:
        return names.index(key)
    more = ", ..." * (len(names) > 20)
    raise ArgumentError(
        f"{argument}: there is no column {describe(key)}: the columns are {', '.join(names[:20])}{more}"
    )


def _text(value: object, argument: str, *, needed: bool = False) -> str:
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{argument} must be text, got {describe(value)}")
    if not value.strip():
        raise ArgumentError(f"{argument} is empty: write something, or leave it out")
    return value
