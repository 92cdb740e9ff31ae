"""Numbers in text: CSV files, whose records are found once and then read some thousand at a time."""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import Newlines
from dpmean.errors import ArgumentError, DataError
from dpmean.queries.queries import Ints
from dpmean.rows.column_names import UncertainNames, list_names
from dpmean.rows.files.arrow import Columns
from dpmean.rows.files.csv_records import (
    RAGGED,
    STRAY,
    UNCLOSED,
    Bytes,
    Dialect,
    Fields,
    Scan,
    find_records,
    is_number,
    is_value,
    read_fields,
)
from dpmean.rows.files.reader import BLOCK_ROWS, stamp
from dpmean.rows.tables.keys import Keys

_CHUNK_BYTES = 4 << 20
_NO_NAME = re.compile(r"^[\W\d]*\d|[;|]")
"""A name that begins with a digit, whatever signs are before it, may be a value: it must not be shown as a name."""
_FIRST_LINE = (
    "the first line of {} must name all columns, or hold numbers only: a name must not begin with a digit, nor contain "
    "; or | or a line break, since it might be data; rename the column"
)
_NOT_UTF_8 = "the first line of {} is not UTF-8: save the file as UTF-8"
_OLD_LINE_ENDS = "the first line of {} contains a carriage return: save the file with line feeds (\\n) at line ends"
_NOT_A_NUMBER = (
    "{} holds a non-numeric value in a column that is used, so nothing was released: name the columns that hold "
    "numbers, columns=[...], or correct the file (a decimal comma or a thousands separator is not read as a number)"
)
_FAULTS = {
    RAGGED: "{} has lines with more or fewer fields than its first line, so nothing was released: put quotes around "
    "fields that contain the delimiter, and remove delimiters at the ends of lines",
    UNCLOSED: "{} has a quoted field that does not end on its line, so nothing was released: if quoted fields may "
    'contain line breaks, give newlines="quoted" (--newlines quoted); otherwise close the quote, or remove it',
    STRAY: "{} has a quote in the middle of a field, so nothing was released: put quotes around whole fields, and "
    "double those within",
}
_UNBALANCED = (
    "{} has a quote that is never closed, or one in the middle of a field, so nothing was released: put quotes around "
    "whole fields, and double those within; if no field contains a line break, leave newlines out"
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class TextReader:
    """The records of one file."""

    path: Path
    dialect: Dialect
    header: tuple[str, ...] | None
    """What the first line calls all columns, if it does."""
    fields: tuple[str, ...]
    """Uncertain, unless the next line holds a number."""
    columns: Columns
    shape: tuple[int, int]
    parts: list[range]
    offsets: Ints
    """Where in the file each part begins, and the last one ends."""

    @staticmethod
    def open(
        path: Path, columns: Sequence[str] | None, apart: Sequence[str] = (), newlines: Newlines = Newlines.RECORDS
    ) -> TextReader:
        """Read the first line and find the records; columns set ``apart`` are no coordinates."""
        dialect = Dialect("\t" if path.suffix.lower() == ".tsv" else ",", newlines)
        with open(path, "rb") as file:
            mark = len(BOM_UTF8) * (file.read(len(BOM_UTF8)) == BOM_UTF8)
            file.seek(mark)
            head, second = file.readline(_CHUNK_BYTES), file.readline(_CHUNK_BYTES)
        fields = _first_line(head, path, dialect)
        if len(fields) == 1 and fields[0].count(";") > 0:
            raise DataError(f"{path.name} seems to have semicolons between its columns: use commas, or tabs (.tsv)")
        named = not all(is_value(field) for field in fields)
        if named and any(_NO_NAME.search(field) for field in fields):  # a row of a file without names, perhaps
            raise DataError(_FIRST_LINE.format(path.name))
        names = tuple(fields) if named else tuple(f"column {j}" for j in range(len(fields)))
        if named and not _is_named_by(second.decode("utf-8", "replace").split(dialect.delimiter), fields):
            names = UncertainNames(fields)
        if len(set(names)) < len(names):
            raise DataError(f"two columns of {path.name} have the same name: rename one")
        count, offsets = _find_parts(path, mark + len(head) * named, dialect, blank=len(fields) == 1)
        if columns is None:
            columns = type(names)(name for name in names if name not in apart)
        chosen = _choose(names, columns)
        parts = [range(start, min(start + BLOCK_ROWS, count)) for start in range(0, count, BLOCK_ROWS)]
        header = names if named else None
        return TextReader(path, dialect, header, names, chosen, (count, len(chosen.names)), parts, offsets)

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the coordinates are called."""
        return None if self.header is None else self.columns.names

    def keys(self, name: str) -> Keys:
        """Return a column that tells rows apart: as text, of which only what is empty is missing."""
        import pyarrow as pa

        if name not in self.fields:
            raise _unknown(name, self.fields)
        labels = [self._labels(name, part).cast(pa.string()) for part in range(len(self.parts))]
        return Keys.of_column(name, pa.chunked_array(labels, pa.string()))

    def blocks(self, part: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of a part."""
        text, records = self._records(part)
        yield self._numbers(text, records)

    def pick(self, part: int, places: Ints) -> NDArray[Any]:
        """Return the rows of a part at some places; other records are not read."""
        text, records = self._records(part)
        return self._numbers(text, records[places[places < len(records)]])

    def only(self, rows: NDArray[np.bool_]) -> None:
        """Return nothing: a file must be text that can be read, in all of its records."""

    def fingerprint(self) -> object:
        """Return what tells whether the file has changed."""
        return stamp(self.path)

    def _records(self, part: int) -> tuple[Bytes, Ints]:
        """Return the text of a part, and where its records are; of one column, an empty line is a missing value."""
        with open(self.path, "rb") as file:
            file.seek(int(self.offsets[part]))
            text = np.frombuffer(file.read(int(self.offsets[part + 1] - self.offsets[part])), dtype=np.uint8)
        return text, find_records(text, self.dialect, blank=len(self.fields) == 1)

    def _numbers(self, text: Bytes, records: Ints) -> NDArray[Any]:
        """Read records as rows, each value by itself."""
        import pyarrow as pa

        order = np.array([self.fields.index(name) for name in self.columns.names])
        found = self._read(text, records, order, trim=True)
        with suppress(pa.ArrowException, ValueError):  # what it says quotes values
            rows = found.as_numbers().reshape(len(records), len(order))
            return rows[:, np.argsort(np.argsort(order))] if np.any(np.diff(order) < 0) else rows
        raise DataError(_NOT_A_NUMBER.format(self.path.name))

    def _labels(self, name: str, part: int) -> Any:
        """Read one field of every record of a part as text."""
        import pyarrow as pa

        found = self._read(*self._records(part), np.array([self.fields.index(name)]), trim=False)
        labels = found.as_arrow(np.diff(found.stops) == 0)
        with suppress(pa.ArrowException):
            labels.validate(full=True)
            return labels
        raise DataError(f"{self.path.name} holds text that is not UTF-8, so nothing was released: save it as UTF-8")

    def _read(self, text: Bytes, records: Ints, columns: Ints, *, trim: bool) -> Fields:
        wanted = np.zeros(len(self.fields), dtype=np.bool_)
        wanted[columns] = True
        found = read_fields(text, records, self.dialect, wanted, trim=trim)
        if isinstance(found, Fields):
            return found
        unbalanced = found == UNCLOSED and self.dialect.quoted
        raise DataError((_UNBALANCED if unbalanced else _FAULTS[found]).format(self.path.name))


def _is_named_by(second: list[str], first: list[str]) -> bool:
    """Whether the first line names the columns for certain: the next one is as long, and holds a number."""
    return len(second) == len(first) and any(is_number(field) for field in second)


def _unknown(name: str, names: tuple[str, ...]) -> ArgumentError:
    return ArgumentError(f"there is no column {name!r}: {list_names(names)}")


def _choose(names: tuple[str, ...], columns: Sequence[str]) -> Columns:
    if isinstance(columns, str):
        raise ArgumentError(f"columns must be several names, got {columns!r}: give a list")
    chosen = columns if isinstance(columns, tuple) else tuple(columns)
    for name in chosen:
        if name not in names:
            raise _unknown(name, names)
    if len(set(chosen)) < len(chosen):
        raise ArgumentError("columns must differ: a name is given twice")
    return Columns(chosen, False, len(chosen))


def _first_line(head: bytes, path: Path, dialect: Dialect) -> list[str]:
    """Return the fields of the first line."""
    text = np.frombuffer(head.removesuffix(b"\n"), dtype=np.uint8)
    try:
        words = head.decode()
    except UnicodeDecodeError:
        words = None
    if words is None:
        raise DataError(_NOT_UTF_8.format(path.name))
    if "\r" in words.rstrip("\r\n"):
        raise DataError(_OLD_LINE_ENDS.format(path.name))
    width = "".join(words.split('"')[::2]).count(dialect.delimiter) + 1  # delimiters outside of quotes, and one
    found = read_fields(text, np.array([[0, len(text)]]), dialect, np.ones(width, dtype=np.bool_), trim=True)
    if isinstance(found, Fields) and words.replace("\t", "").rstrip("\r\n").isprintable():
        return [str(field).strip().strip('"') for field in found.as_arrow().to_pylist()]
    raise DataError(_FIRST_LINE.format(path.name))


def _find_parts(path: Path, start: int, dialect: Dialect, *, blank: bool) -> tuple[int, Ints]:
    """Count the records, with or without blank ones, and find where every so many begin; then where the last ends."""
    scan, offsets, at = Scan(dialect, start, blank=blank), [start], start
    with open(path, "rb") as file:
        stop = max(start, _end(file))
        file.seek(start)
        while chunk := file.read(min(_CHUNK_BYTES, stop - at)):
            offsets += scan.feed(np.frombuffer(chunk, dtype=np.uint8), BLOCK_ROWS)[:, 0].tolist()
            at += len(chunk)
    if scan.in_quotes:
        raise DataError(_UNBALANCED.format(path.name))
    if scan.rest and scan.count % BLOCK_ROWS == 0:
        offsets.append(scan.rest.start)
    return scan.count + bool(scan.rest), np.array([*offsets[1:], at], dtype=np.int64)


def _end(file: BinaryIO) -> int:
    """Return where the last line ends; one empty line after it is no row, whatever the columns."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 3, 0))
    tail = b"\n" * (size < 3) + file.read(3)
    return size - next((len(line) for line in (b"\r\n", b"\n", b"\r") if tail.endswith(b"\n" + line)), 0)
