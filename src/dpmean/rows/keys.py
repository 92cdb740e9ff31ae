"""What tells rows apart: the people they belong to, and the groups, as small whole numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.words import KINDS, in_words
from dpmean.types import Ints

ABSENT = -1


class Values(Protocol):
    """Different keys, numbered from zero."""

    def __len__(self) -> int: ...

    def places(self, listed: Sequence[Any], name: str) -> Ints:
        """Return for every key its place in a list of keys; ABSENT if it is not there."""
        ...

    def written(self, code: int) -> bytes:
        """Return one key as bytes: the same key, the same bytes, whatever other keys there are."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """One key per row: ``codes`` number the ``values``; what is missing has code ABSENT."""

    name: str
    codes: Ints
    values: Values

    @staticmethod
    def of_column(name: str, column: Any) -> Keys:
        """Read a column of an Arrow table."""
        import pyarrow as pa
        import pyarrow.compute as compute

        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_nested(kind):
            raise ArgumentTypeError(
                f"column {name!r} must hold numbers, text or dates to tell rows apart, got {in_words(kind)}"
            )
        plain = column.cast(pa.string() if pa.types.is_null(kind) else kind)
        if pa.types.is_floating(kind):
            plain = compute.add(plain.cast(pa.float64()), 0.0)  # minus zero is zero
            plain = compute.if_else(compute.is_nan(plain), None, plain)
        found = plain.combine_chunks().dictionary_encode()
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        codes = found.indices.fill_null(ABSENT).to_numpy(zero_copy_only=False).astype(np.int64)
        return Keys(name, codes, _ArrowValues(found.dictionary))

    @staticmethod
    def of_array(name: str, given: Any, n: int) -> Keys:
        """Read one key per row from an array or a sequence."""
        array = np.asarray(given) if hasattr(given, "dtype") else _objects(name, given)
        if array.shape != (n,):
            raise ArgumentError(f"{name} must hold as many keys as X has rows, in one dimension: give one key per row")
        if array.dtype.kind == "O":
            return _of_objects(name, array)
        values, codes = np.unique(array, return_inverse=True)
        missing = np.flatnonzero(values != values)
        codes = np.where(np.isin(codes, missing), ABSENT, codes.reshape(-1))
        return Keys(name, codes.astype(np.int64), _ArrayValues(values))

    def insist(self, where: Any = slice(None)) -> None:
        """Insist that no key is missing, of some rows or of all."""
        if np.any(self.codes[where] == ABSENT):
            raise DataError(
                f"{self.name!r} is missing in some rows, so nothing was released: everybody's rows must be known to be "
                "theirs; fill it in, or leave these rows out"
            )

    def among(self, listed: Sequence[Any]) -> Ints:
        """Return for every row its place in a public list of keys; ABSENT if it is not in the list."""
        table: Ints = np.append(self.values.places(listed, self.name), ABSENT)
        return table[self.codes]


def _objects(name: str, given: Any) -> Any:
    """Return a sequence as an array of what it holds: NumPy would make text of numbers beside text."""
    try:
        keys = list(given)
    except TypeError:
        raise ArgumentTypeError(f"{name} must name a column, or hold one key per row, got {given!r}") from None
    array = np.empty(len(keys), dtype=object)
    for place, key in enumerate(keys):
        array[place] = key
    return array


def _of_objects(name: str, array: Any) -> Keys:
    """Give objects numbers in the order in which they come; text and numbers may be mixed."""
    seen: dict[Any, int] = {}
    fault = False
    try:
        codes = [ABSENT if _is_missing(key) else seen.setdefault(key, len(seen)) for key in array]
    except (TypeError, ValueError):
        fault = True
    if fault:
        raise ArgumentTypeError(f"{name} must hold numbers, text or dates to tell rows apart")
    return Keys(name, np.array(codes, dtype=np.int64), _ObjectValues(list(seen)))


def _is_missing(key: Any) -> bool:
    """Whether a key is None, not a number, or what pandas calls NA, which is not even unequal to itself."""
    return key is None or type(key).__name__ == "NAType" or bool(key != key)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _ArrowValues:
    """Keys from a table; none of them becomes an object of Python, which not every one could."""

    dictionary: Any

    def __len__(self) -> int:
        return len(self.dictionary)

    def places(self, listed: Sequence[Any], name: str) -> Ints:
        import pyarrow as pa
        import pyarrow.compute as compute

        kind, found = self.dictionary.type, []
        words = f"column {name!r}, which holds {in_words(kind)}"
        for key in listed:
            try:
                found.append(pa.scalar(key).cast(kind))
                continue
            except (pa.ArrowException, ValueError, TypeError):
                pass  # what it says may measure the longest of all keys
            raise ArgumentError(f"groups: {key!r} cannot be in {words}")
        if len({str(key) for key in found}) < len(found):
            raise ArgumentError(f"groups: two labels are the same in {words}")
        wanted = pa.array([key.as_py() for key in found], kind)
        places = compute.index_in(self.dictionary, value_set=wanted)
        array: Ints = places.fill_null(ABSENT).to_numpy(zero_copy_only=False).astype(np.int64)
        return array

    def written(self, code: int) -> bytes:
        import pyarrow as pa

        kind, key = self.dictionary.type, self.dictionary.slice(code, 1)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):  # other keys decide which of them
            return _written(key[0].as_py())
        if pa.types.is_decimal(kind):  # and how many digits there are
            whole, _, part = format(key[0].as_py(), "f").partition(".")
            return f"{whole}.{part.rstrip('0')}".encode()
        if pa.types.is_temporal(kind):
            key = key.view(pa.int64() if kind.bit_width == 64 else pa.int32())
        elif not pa.types.is_primitive(kind):
            key = key.cast(pa.large_binary())
        return f"{kind}/".encode() + (key[0].as_py() if pa.types.is_large_binary(key.type) else str(key[0]).encode())


@final
@dataclass(frozen=True, slots=True, eq=False)
class _ArrayValues:
    """Keys from an array of NumPy."""

    values: Any

    def __len__(self) -> int:
        return len(self.values)

    def places(self, listed: Sequence[Any], name: str) -> Ints:
        kind, known = self.values.dtype, None
        words = f"{name!r}, which holds {KINDS.get(kind.kind, 'something else')}"
        try:
            wanted = np.array(list(listed), dtype=kind).tolist() if kind.kind in "mM" else list(listed)
            wanted = [str(key) for key in wanted] if kind.kind == "U" else wanted
            known = {key: place for place, key in enumerate(wanted)}
        except (TypeError, ValueError, OverflowError):
            pass
        if known is None:
            raise ArgumentError(f"groups: labels cannot be in {words}")
        if len(known) < len(listed):
            raise ArgumentError(f"groups: two labels are the same in {words}")
        return np.array([known.get(value, ABSENT) for value in self.values.tolist()], dtype=np.int64)

    def written(self, code: int) -> bytes:
        return _written(self.values[code : code + 1].tolist()[0])


@final
@dataclass(frozen=True, slots=True, eq=False)
class _ObjectValues:
    """Keys that are objects of Python."""

    values: list[Any]

    def __len__(self) -> int:
        return len(self.values)

    def places(self, listed: Sequence[Any], name: str) -> Ints:  # noqa: ARG002  one signature for all
        known = {key: place for place, key in enumerate(listed)}
        return np.array([known.get(value, ABSENT) for value in self.values], dtype=np.int64)

    def written(self, code: int) -> bytes:
        return _written(self.values[code])


def _written(value: Any) -> bytes:
    """Return an object of Python as bytes, and the same for 1, 1.0 and True, which are one key."""
    plain = float(value) if isinstance(value, bool | int) and abs(value) < 2**53 else value
    return repr(plain).encode("utf-8", "surrogatepass")


def one_group_each(people: Keys, groups: Ints, labels: Sequence[Any], salt: str) -> Ints:
    """Return for every person the one listed group in which they count; ABSENT if they have rows in none.

    Of the groups they have rows in, a public hash of their key chooses: it depends on their own rows alone.
    """
    chosen = np.full(len(people.values), ABSENT, dtype=np.int64)
    listed = groups != ABSENT
    persons, places = np.unique(np.stack([people.codes[listed], groups[listed]]), axis=1)
    first = np.concatenate(([True], persons[1:] != persons[:-1])) if len(persons) else np.empty(0, dtype=np.bool_)
    chosen[persons[first]] = places[first]
    several = np.unique(persons[~first])
    starts, stops = np.searchsorted(persons, several), np.searchsorted(persons, several, side="right")
    for person, start, stop in zip(several.tolist(), starts.tolist(), stops.tolist(), strict=True):
        key = people.values.written(person)
        chosen[person] = min(places[start:stop].tolist(), key=lambda place: _hash(salt, key, repr(labels[place])))
    return chosen


def _hash(salt: str, key: bytes, label: str) -> bytes:
    words = (salt.encode(), key, label.encode("utf-8", "surrogatepass"))
    return hashlib.blake2b(b"".join(len(word).to_bytes(8) + word for word in words), digest_size=16).digest()
