"""Inspection of keys: the persons and groups of a block of rows, and which persons have a value in each column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpmean.errors import ArgumentError, DataError
from dpmean.queries.queries import Floats, Ints
from dpmean.rows.inspection.findings import Asked, Findings
from dpmean.rows.tables.combinations import find_combinations
from dpmean.rows.tables.keys import ABSENT, Keys


def inspect_keys(
    found: Findings, asked: Asked, columns: Mapping[str, Any], values: Mapping[str, Floats], lines: Ints
) -> None:
    """Count the rows of each person and of each label; if groups are listed, count persons in these groups only.

    ``columns`` are the Arrow columns of keys, and ``values`` the numbers in the same rows. Labels are compared in the
    same way as for a mean.
    """
    read = {name: keys for name in asked.keys if (keys := _read(found, name, columns[name], lines)) is not None}
    labels = [read[name] for name in asked.by_names if name in read]
    listed = np.ones(len(lines), dtype=np.bool_)
    for keys in labels:
        found.keys[keys.name].missing.add(lines[keys.codes == ABSENT])
        _count(found, keys, listed)
    places = np.zeros(len(lines), dtype=np.int64)
    if asked.groups is not None and len(labels) == len(asked.by_names):
        places = find_combinations(labels, asked.groups) if len(labels) > 1 else labels[0].find_labels(asked.groups)
        listed = places != ABSENT
        found.listed += int(listed.sum())
        found.unlisted.add(lines[~listed & np.all([keys.codes != ABSENT for keys in labels], axis=0)])
        found.groups.rows += np.bincount(places[listed], minlength=len(asked.groups))
    if asked.unit is None or asked.unit not in read:
        return
    persons = read[asked.unit]
    if asked.unit not in asked.by_names:
        found.keys[asked.unit].missing.add(lines[listed & (persons.codes == ABSENT)])
    numbers = _count(found, persons, listed)
    if asked.groups is not None:
        found.groups.add_persons(numbers, places)
    for name, numbers_beside in values.items():
        found.add_values(name, numbers, np.isfinite(numbers_beside), named=name in asked.named)


def _read(found: Findings, name: str, column: Any, lines: Ints) -> Keys | None:
    """Read keys; a column whose type cannot hold keys is noted as a fault."""
    import pyarrow as pa

    try:
        return Keys.of_column(name, pa.chunked_array([column]))
    except (ArgumentError, TypeError, DataError, pa.ArrowException):
        words = f"column {name!r} cannot hold keys: it must hold text, integers or dates"
        found.fault(words, lines[:1])
        return None


def _count(found: Findings, keys: Keys, listed: Any) -> Ints:
    """Count the listed rows of each key, and return the number of each row's key; ABSENT for rows not listed."""
    counts = np.bincount(keys.codes[listed & (keys.codes != ABSENT)], minlength=len(keys.values))
    there = np.flatnonzero(counts)
    of_codes = np.full(len(counts) + 1, ABSENT, dtype=np.int64)
    values = keys.values.take(there).to_pylist()
    of_codes[there] = found.keys[keys.name].add(values, counts[there])
    return np.where(listed, of_codes[keys.codes], ABSENT)
