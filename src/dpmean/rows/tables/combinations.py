"""Groups by several columns: rows are matched with a public list of combinations of keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dpmean.queries.queries import Ints
from dpmean.rows.tables.keys import ABSENT, Keys, encode_label


@final
@dataclass(frozen=True, slots=True)
class SeveralColumns:
    """Columns whose values together identify the group of a row; a label is a tuple with one value per column."""

    names: tuple[str, ...]


def find_combinations(columns: Sequence[Keys], labels: Sequence[tuple[Any, ...]]) -> Ints:
    """Return for every row the index of its combination in a public list of labels; ABSENT if it is not listed.

    The prefixes of labels are numbered column by column, so memory does not grow with the number of possible
    combinations.
    """
    listed = [[encode_label(part) for part in label] for label in labels]
    of_labels = np.zeros(len(listed), dtype=np.int64)
    of_rows = np.zeros(len(columns[0].codes), dtype=np.int64)
    for keys, parts in zip(columns, zip(*listed, strict=True), strict=True):
        known = {part: number for number, part in enumerate(dict.fromkeys(parts))}
        here = keys.find_encoded(list(known))
        beginnings, of_labels = np.unique(of_labels * len(known) + [known[part] for part in parts], return_inverse=True)
        own = of_rows * len(known) + here
        found = np.minimum(np.searchsorted(beginnings, own), len(beginnings) - 1)
        is_listed = (of_rows != ABSENT) & (here != ABSENT) & (beginnings[found] == own)
        of_rows = np.where(is_listed, found, ABSENT)
    order: Ints = np.append(np.argsort(of_labels), ABSENT)
    return order[of_rows]
