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
from dpmean.errors import ArgumentError
from dpmean.rows.tables.keyed_table import Key
from dpmean.rows.tables.keys import written_labels


@final
@dataclass(frozen=True, slots=True)
class Groups:
    """Which groups to release a mean of, and in how many of them a person counts."""

    by: Key
    labels: tuple[Any, ...]
    sizes: Sizes
    contributions: int = 1
    """In so many groups a person counts at most: no more than there are."""


def read_groups(by: Key, groups: Sequence[Any], sizes: str = "private", contributions: int = 1) -> Groups:
    """Read which groups are asked for; ``dpmean.mean_by`` explains the arguments."""
    most, labels = read_integer(contributions, "contributions"), _read_labels(groups)
    return Groups(read_key(by, "by"), labels, read_name(Sizes, sizes, "sizes"), min(most, len(labels)))


def _read_labels(groups: Sequence[Any]) -> tuple[Any, ...]:
    if isinstance(groups, str | bytes | Mapping) or not hasattr(groups, "__iter__"):
        raise ArgumentError(f"groups must be several labels, got {groups!r}: give a list")
    labels = [key.item() if isinstance(key, np.number | np.bool_ | np.str_) else key for key in groups]
    if not labels:
        raise ArgumentError("groups is empty: list the labels of the groups, all that may occur")
    written_labels(labels)
    for label in labels:
        if isinstance(label, float) and not math.isfinite(label):
            raise ArgumentError(f"groups: {label!r} is not a finite number: leave it out")
        if isinstance(label, str) and label.encode("utf-8", "replace").decode() != label:
            raise ArgumentError(f"groups: {label!r} is not text that can be written as UTF-8: leave it out")
    return tuple(labels)
