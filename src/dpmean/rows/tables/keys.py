"""Keys of rows, which identify persons or groups, as small integers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.queries.queries import Ints
from dpmean.rows.dtype_names import describe_type
from dpmean.rows.tables.key_encoding import MISSING, encode, most_exact, refuse, refuse_large

ABSENT = -1
UNTYPED = ("object", "Object", "Int128", "UInt128")
"""The names of pandas and polars types that Arrow does not have: a column may then hold values of several types."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """One key per row: ``codes`` are indices into the distinct ``values``; a missing key has code ABSENT.

    Two keys are equal if ``encode`` returns equal bytes. In a column of one type, different values are different keys,
    so ``encode`` is not needed there.
    """

    name: str
    codes: Ints
    values: Any
    """A list, a NumPy array or an Arrow array."""
    classes: tuple[str, ...] = ()
    """The public names of the keys 0, 1, 2, ..., if any; labels may be these names."""

    @staticmethod
    def of_column(name: str, column: Any) -> Keys:
        """Read a column of an Arrow table."""
        import pyarrow as pa
        import pyarrow.compute as compute

        kind, words = column.type.value_type if pa.types.is_dictionary(column.type) else column.type, f"column {name!r}"
        unique = isinstance(kind, pa.UuidType)
        if pa.types.is_nested(kind) or (isinstance(kind, pa.BaseExtensionType) and not unique):
            refuse(words, describe_type(kind))
        plain = column.cast(pa.string() if pa.types.is_null(kind) else kind)
        if pa.types.is_decimal(kind) and kind.bit_width < 128:  # Arrow's dictionary encoding needs 128 bits
            plain = plain.cast(pa.decimal128(kind.precision, kind.scale))
        if unique:
            plain = pa.chunked_array([chunk.storage for chunk in plain.chunks], kind.storage_type)
        if pa.types.is_floating(kind):
            plain = compute.add(plain.cast(pa.float64()), 0.0)  # minus zero is zero
            plain = compute.if_else(compute.is_nan(plain), None, plain)
        found = plain.combine_chunks().dictionary_encode()
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        codes = found.indices.fill_null(ABSENT).to_numpy(zero_copy_only=False).astype(np.int64)
        values = kind.wrap_array(found.dictionary) if unique else found.dictionary
        if pa.types.is_floating(kind):
            _check_floats(name, values.to_numpy(zero_copy_only=False), kind.to_pandas_dtype())
        return Keys(name, codes, values).check_kind(words)

    @staticmethod
    def of_array(name: str, given: Any, n: int) -> Keys:
        """Read one key per row from an array, a column or another sequence."""
        keys = _read(name, given)
        if keys is None or len(keys.codes) != n:
            cure, argument = "give one key per row", name
            if name == "group":
                argument = "by"
                cure += ", or the name of a column; for groups by several columns, list tuples in groups"
            raise ArgumentError(f"{argument} must hold as many keys as X has rows, in one dimension: {cure}")
        return keys

    def check_kind(self, words: str) -> Keys:
        """Check that the type of the keys is supported; in a column of one type, the first key is enough."""
        if len(self.values):
            encode(self.values[0], words)
        return self

    def require_all(self, where: Any = slice(None)) -> None:
        """Refuse missing keys, in the given rows or in all."""
        if np.any(self.codes[where] == ABSENT):
            raise DataError(
                f"{self.name!r} is missing in some rows, so nothing was released: every row needs the key of its "
                "person. Fill it in, or remove those rows beforehand, where the number of rows is private (the "
                'default, neighbours="add-or-remove-one")'
            )

    def encode_key(self, code: int) -> bytes:
        """Return a key as bytes, which depend on its own value only."""
        return encode(self.values[code], self.name)

    def find_labels(self, listed: Sequence[Any]) -> Ints:
        """Return for every row the index of its key in a public list of labels; ABSENT if it is not listed.

        A label matches keys with the same text form: 1 matches 1, 1.0 and "1". Other keys in the column do not matter.
        """
        return self.find_encoded(encode_labels(listed))

    def find_encoded(self, labels: list[bytes]) -> Ints:
        """Return the same for encoded labels, which must be unique."""
        if self.classes:
            labels = self._as_classes(labels)
        table: Ints = np.append(_places(self.values, labels, self.name), ABSENT)
        return table[self.codes]

    def _as_classes(self, labels: list[bytes]) -> list[bytes]:
        """Return labels with the names of classes replaced by their numbers."""
        known = {name.encode(): b"%d" % place for place, name in enumerate(self.classes) if not name.isdecimal()}
        found = [known.get(label, label) for label in labels]
        if any(not label.isdigit() for label in found):
            raise ArgumentError(
                f"groups: a label is not a class of column {self.name!r}: the classes are "
                f"{', '.join(self.classes[:20])}"
            )
        if len(set(found)) < len(found):
            raise ArgumentError("groups must differ: a class is listed twice, by its name and by its number")
        return found


def encode_labels(listed: Sequence[Any]) -> list[bytes]:
    """Return encoded labels, and refuse labels that are equal, which does not depend on the data."""
    found: dict[bytes, Any] = {}
    for label in listed:
        code = b"".join(map(add_length, map(encode_label, label))) if isinstance(label, tuple) else encode_label(label)
        if code in found:
            both = repr(label) if repr(label) == repr(found[code]) else f"{found[code]!r} and {label!r}"
            raise ArgumentError(f"groups must differ: a label is listed twice, as {both}")
        found[code] = label
    return list(found)


def encode_label(label: Any) -> bytes:
    """Return the text form of the keys that a label of one column matches."""
    code = encode(int(label) if isinstance(label, float) and label.is_integer() else label, "groups")
    if code == MISSING:
        raise ArgumentError(f"groups: {label!r} is a missing value, and rows without a label belong to no group")
    return code[1:]


def add_length(word: bytes) -> bytes:
    """Return a word with its length before it, so that concatenated words are unambiguous."""
    return len(word).to_bytes(8) + word


def _places(values: Any, labels: list[bytes], name: str) -> Ints:
    """Return for every key the index of the label with the same text form; ABSENT if there is none."""
    kind = str(getattr(values, "type", ""))
    if kind in ("string", "large_string") or kind.lstrip("u").startswith("int"):
        import pyarrow as pa
        import pyarrow.compute as compute

        written = values.cast(pa.large_string()).cast(pa.large_binary())
        places = compute.index_in(written, value_set=pa.array(labels, pa.large_binary()))
        array: Ints = places.fill_null(ABSENT).to_numpy(zero_copy_only=False).astype(np.int64)
        return array
    known = {label: place for place, label in enumerate(labels)}
    plain = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "iuU" else values
    found = (b"%d" % value if type(value) is int else encode(value, name)[1:] for value in plain)
    return np.array([known.get(label, ABSENT) for label in found], dtype=np.int64)


def _read(name: str, given: Any) -> Keys | None:
    """Read keys; None if they are not one-dimensional."""
    if hasattr(given, "to_arrow") and hasattr(given, "dtype"):  # polars
        given = given.to_list() if str(given.dtype) in UNTYPED else given.to_arrow()
    if hasattr(given, "__arrow_c_array__") or hasattr(given, "combine_chunks"):  # pyarrow
        import pyarrow as pa

        return Keys.of_column(name, given if isinstance(given, pa.ChunkedArray) else pa.chunked_array([given]))
    if hasattr(given, "detach"):  # PyTorch
        from dpmean.rows.torch.source import read_keys

        given = read_keys(given, name)
    if not hasattr(given, "__array__"):
        if isinstance(given, str | bytes | Mapping | Set) or not hasattr(given, "__iter__"):
            kind = type(given).__name__  # only the type: the object may hold keys
            raise ArgumentTypeError(f"{name} must name a column, or hold one key per row, got an object of type {kind}")
        return _of_objects(name, list(given))
    if hasattr(given, "tolist") and not isinstance(getattr(given, "dtype", np.dtype(object)), np.dtype):
        return _of_objects(name, given.tolist())  # pandas: NumPy would convert nullable integers to floats
    if isinstance(given, np.ma.MaskedArray):
        refuse(name, "a masked array")
    array = np.asarray(given)
    if array.ndim != 1:
        return None
    if array.dtype.kind in "OT":
        return _of_objects(name, array.tolist())
    values, codes = np.unique(array, return_inverse=True)
    missing = np.flatnonzero(values != values)
    codes = np.where(np.isin(codes, missing), ABSENT, codes.reshape(-1))
    if array.dtype.kind == "f":
        _check_floats(name, values, array.dtype)
    return Keys(name, codes.astype(np.int64), values).check_kind(name)


def _check_floats(name: str, values: Any, kind: Any) -> None:
    if np.any(np.isfinite(values) & (np.abs(values) >= most_exact(kind))):
        refuse_large(kind, name)


def _of_objects(name: str, keys: list[Any]) -> Keys:
    """Assign numbers to objects one by one: the type of one object must not change how another is read.

    Keys with the same text form are one key, so 1 and "1" are one person: a reader that turns only some numbers into
    text, as pandas does in large files, must not split a person in two.
    """
    kinds = set(map(type, keys))
    for plain in (str, int):
        if plain not in kinds:
            continue
        if kinds <= {plain, type(None)}:
            return _of_one_kind(name, keys, plain)
        if all(encode(key, name) == MISSING for key in keys if type(key) is not plain):
            return _of_one_kind(name, [key if type(key) is plain else None for key in keys], plain)
    seen: dict[bytes, int] = {}
    codes, values = [], list[Any]()
    for key in keys:
        written = encode(key, name)
        codes.append(seen.setdefault(written[1:], len(seen)) if written else ABSENT)
        if len(seen) > len(values):
            values.append(key)
    return Keys(name, np.array(codes, dtype=np.int64), values)


def _of_one_kind(name: str, keys: list[Any], plain: type) -> Keys:
    """Assign numbers to keys that are all text, or all integers; missing ones are None."""
    if plain is str:
        with contextlib.suppress(ModuleNotFoundError, UnicodeEncodeError):  # Arrow is faster, but refuses invalid text
            import pyarrow as pa

            return Keys.of_column(name, pa.chunked_array([keys], pa.large_string()))
    seen: dict[Any, int] = {}
    codes = [ABSENT if key is None else seen.setdefault(key, len(seen)) for key in keys]
    if plain is int:
        encode(min(seen), name), encode(max(seen), name)  # refuse integers with too many digits
    return Keys(name, np.array(codes, dtype=np.int64), list(seen))
