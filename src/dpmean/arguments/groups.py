"""Groups: the labels that the caller lists, and whether their sizes are protected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dpmean.arguments.choices import read_integer
from dpmean.arguments.selection import read_key
from dpmean.enums import Sizes, read_name
from dpmean.errors import ArgumentError, ArgumentTypeError, describe
from dpmean.rows.tables.combinations import SeveralColumns
from dpmean.rows.tables.keyed_table import By, Key
from dpmean.rows.tables.keys import encode_labels


@final
@dataclass(frozen=True, slots=True)
class Groups:
    """The groups to release means of, and in how many of them a person counts."""

    by: By
    labels: tuple[Any, ...]
    sizes: Sizes
    contributions: int = 1
    """The maximum number of groups in which one person counts, at most the number of groups."""


def read_groups(by: Key, groups: Sequence[Any], sizes: str = "private", contributions: int = 1) -> Groups:
    """Read the groups; ``dpmean.mean_by`` explains the arguments.

    A list in ``by`` may hold names of columns, or labels of rows. It holds names of columns if the labels in ``groups``
    are tuples.
    """
    most, labels = read_integer(contributions, "contributions"), _read_labels(groups)
    several = any(isinstance(label, tuple) for label in labels)
    apart = _read_columns(by, labels) if several else read_key(by, "by")
    return Groups(apart, labels, read_name(Sizes, sizes, "sizes"), min(most, len(labels)))


def _read_columns(by: Key, labels: tuple[Any, ...]) -> SeveralColumns:
    """Read the columns whose values make up the labels."""
    if not isinstance(by, list | tuple) or not by or not all(isinstance(name, str) for name in by):
        raise ArgumentError(
            f"groups has tuples, which are for groups by several columns, got by={describe(by)}: give the columns, "
            'by=["clinic", "sex"], for example'
        )
    names = tuple(map(str, by))
    if len(set(names)) < len(names):
        raise ArgumentError("by has the same column twice: leave one out")
    for label in labels:
        if not isinstance(label, tuple) or len(label) != len(names):  # their number is private if by is a key per row
            raise ArgumentError(f"groups: {label!r} must be a tuple with one value for each column in by")
    return SeveralColumns(names)


def _read_labels(groups: Sequence[Any]) -> tuple[Any, ...]:
    if isinstance(groups, str | bytes | Mapping) or not hasattr(groups, "__iter__"):
        raise ArgumentError(f'groups must be a list of labels, got {groups!r}: give ["A", "B"], for example')
    if type(groups).__module__.partition(".")[0] == "torch":
        raise ArgumentTypeError("groups must be a list of labels, got a tensor: give groups.tolist()")
    labels = [tuple(map(_plain, key)) if isinstance(key, tuple) else _plain(key) for key in groups]
    if not labels:
        raise ArgumentError("groups is empty: list the labels of all groups that may occur")
    encode_labels(labels)
    for label in labels:
        for part in label if isinstance(label, tuple) else (label,):
            _check(part)
    return tuple(labels)


def _plain(label: Any) -> Any:
    """Return a label as a plain Python value."""
    if isinstance(label, list):
        raise ArgumentTypeError(f"groups: a label must not be a list, got {label!r}: give a tuple, {tuple(label)!r}")
    return label.item() if isinstance(label, np.number | np.bool_ | np.str_) else label


def _check(label: Any) -> None:
    if isinstance(label, float) and not math.isfinite(label):
        raise ArgumentError(f"groups: a label must not be {label!r}: leave it out")
    if isinstance(label, str) and label.encode("utf-8", "replace").decode() != label:
        raise ArgumentError(f"groups: {label!r} cannot be encoded as UTF-8: leave it out")
