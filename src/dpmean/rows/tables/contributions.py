"""The groups to which a person contributes: a public hash of the person's key chooses, independently of others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpmean.queries.queries import Ints
from dpmean.rows.tables.keys import ABSENT, Keys, add_length, encode_labels


def choose_groups(people: Keys, groups: Ints, labels: Sequence[Any], salt: str, most: int = 1) -> tuple[Ints, Ints]:
    """Choose at most ``most`` listed groups for every person; return an array of persons, and one of their groups.

    A public hash of the person's encoded key chooses among the groups in which the person has rows, so the choice
    depends on the person's own rows only. Pairs are sorted by person, then by group.
    """
    listed = groups != ABSENT
    persons, places = np.unique(np.stack([people.codes[listed], groups[listed]]), axis=1)
    starts = np.flatnonzero(np.diff(persons, prepend=ABSENT))
    stops = np.append(starts[1:], len(persons))
    kept, written = np.ones(len(persons), dtype=np.bool_), encode_labels(labels)
    for which in np.flatnonzero(stops - starts > most).tolist():
        start, stop = int(starts[which]), int(stops[which])
        key = people.encode_key(int(persons[start]))[1:]
        hashes = [_hash(salt, key, written[place]) for place in places[start:stop].tolist()]
        last = sorted(hashes)[most - 1]
        kept[start:stop] = [one <= last for one in hashes]
    return persons[kept], places[kept]


def _hash(salt: str, key: bytes, label: bytes) -> bytes:
    words = map(add_length, (salt.encode(), key, label))
    return hashlib.blake2b(b"".join(words), digest_size=16).digest()
