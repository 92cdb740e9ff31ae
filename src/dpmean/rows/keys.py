"""What tells rows apart: the people they belong to, and the groups, as small whole numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.types import Ints

ABSENT = -1


@final
@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """One key per row: ``codes`` number the ``values``; what is missing has code ABSENT."""

    name: str
    codes: Ints
    values: list[Any]
    kind: Any = None
    """The Arrow type of the values, if they come from a table."""

    @staticmethod
    def of_column(name: str, column: Any) -> Keys:
        """Read a column of an Arrow table."""
        import pyarrow as pa

        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_nested(kind) or pa.types.is_null(kind):
            raise ArgumentTypeError(f"column {name!r} must hold numbers, text or dates to tell rows apart, got {kind}")
        found = column.cast(kind).combine_chunks().dictionary_encode()
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        codes = found.indices.fill_null(ABSENT).to_numpy(zero_copy_only=False).astype(np.int64)
        values = found.dictionary.to_pylist()
        missing = [code for code, value in enumerate(values) if value is None or value != value]
        if missing:
            codes[np.isin(codes, missing)] = ABSENT
        return Keys(name, codes, values, kind)

    @staticmethod
    def of_array(name: str, given: Any, n: int) -> Keys:
        """Read one key per row from an array or a sequence."""
        array = np.asarray(given)
        if array.shape != (n,):
            raise ArgumentError(f"{name} must hold one key per row, {n} of them, got shape {array.shape}")
        if array.dtype.kind == "O":
            return _of_objects(name, array)
        values, codes = np.unique(array, return_inverse=True)
        missing = np.flatnonzero(values != values)
        codes = np.where(np.isin(codes, missing), ABSENT, codes.reshape(-1))
        return Keys(name, codes.astype(np.int64), values.tolist())

    def complete(self) -> Keys:
        """Insist that no key is missing."""
        if len(self.codes) and self.codes.min() == ABSENT:
            raise DataError(
                f"{self.name!r} is missing in some rows, so nothing was released: everybody's rows must be known to be "
                "theirs; fill it in, or leave these rows out"
            )
        return self

    def among(self, listed: Sequence[Any]) -> Ints:
        """Return for every row its place in a public list of keys; ABSENT if it is not in the list."""
        places = {value: place for place, value in enumerate(self._alike(listed))}
        table = np.array([*(places.get(value, ABSENT) for value in self.values), ABSENT], dtype=np.int64)
        return table[self.codes]

    def _alike(self, listed: Sequence[Any]) -> list[Any]:
        """Return listed keys in the type that the column has, so that "7" finds 7."""
        if self.kind is None:
            return list(listed)
        import pyarrow as pa

        found = []
        for key in listed:
            try:
                found.append(pa.scalar(key).cast(self.kind).as_py())
            except (pa.ArrowException, ValueError, TypeError):
                raise ArgumentError(
                    f"groups: {key!r} cannot be in column {self.name!r}, which holds {self.kind}"
                ) from None
        return found


def _of_objects(name: str, array: Any) -> Keys:
    """Give objects numbers in the order in which they come; text and numbers may be mixed."""
    seen: dict[Any, int] = {}
    try:
        codes = [ABSENT if key is None or key != key else seen.setdefault(key, len(seen)) for key in array.tolist()]
    except TypeError:
        raise ArgumentTypeError(f"{name} must hold numbers or text to tell rows apart") from None
    return Keys(name, np.array(codes, dtype=np.int64), list(seen))


def one_group_each(people: Keys, groups: Ints, labels: Sequence[Any], salt: str) -> Ints:
    """Return for every person the one listed group in which he counts; ABSENT if he has rows in none.

    Of the groups he has rows in, a public hash of his key chooses: it depends on his own rows alone.
    """
    chosen = np.full(len(people.values), ABSENT, dtype=np.int64)
    listed = groups != ABSENT
    pairs = np.unique(np.stack([people.codes[listed], groups[listed]]), axis=1)
    persons, places = pairs
    first = np.concatenate(([True], persons[1:] != persons[:-1])) if len(persons) else np.empty(0, dtype=np.bool_)
    chosen[persons[first]] = places[first]
    several = np.unique(persons[~first])
    starts, stops = np.searchsorted(persons, several), np.searchsorted(persons, several, side="right")
    for person, start, stop in zip(several.tolist(), starts.tolist(), stops.tolist(), strict=True):
        key = repr(people.values[person])
        chosen[person] = min(places[start:stop].tolist(), key=lambda place: _hash(salt, key, repr(labels[place])))
    return chosen


def _hash(*words: str) -> bytes:
    return hashlib.blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()
