"""CSV files: their records are located once, then read some thousands at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, DataError, FormatWarning
from dpmean.queries.queries import Ints
from dpmean.rows.column_names import list_names
from dpmean.rows.files.arrow import Columns
from dpmean.rows.files.csv_header import Header, read_header
from dpmean.rows.files.csv_records import RAGGED, STRAY, UNCLOSED, Bytes, Fields, Marks, Scan, find_records, read_fields
from dpmean.rows.files.dialect import USUAL, Dialect, name_separator
from dpmean.rows.files.reader import BLOCK_ROWS, stamp
from dpmean.rows.files.text import Text, name_encoding
from dpmean.rows.tables.keys import Keys
from dpmean.warning import warn_user

_CHUNK_BYTES = 4 << 20
_ONE_PART = 1 << 62
_NOT_A_NUMBER = (
    "{} holds a non-numeric value in a column that is used, so nothing was released: select columns that hold numbers "
    'with columns=[...], or correct the file. Decimal commas need decimal="," in Python, or --decimal , in the '
    "command. Thousands separators must be removed. dpmean check shows the lines"
)
_NOT_DECODED = (
    "{} holds text that is not {}, so nothing was released: give the encoding of the file, such as "
    'encoding="latin-1", or save it as UTF-8'
)
_FAULTS = {
    RAGGED: "{} has lines with more or fewer fields than its first line, so nothing was released: put quotes around "
    "fields that contain the delimiter, and remove delimiters at the ends of lines, or give sep= (--sep) if columns "
    "are not separated by {}; dpmean check shows where",
    UNCLOSED: "{} has a quoted field that does not end on its line, so nothing was released: if quoted fields may "
    'contain line breaks, give newlines="quoted" (--newlines quoted); otherwise close the quote, or remove it',
    STRAY: "{} has a quote in the middle of a field, so nothing was released: put quotes around whole fields, and "
    "double quotes within them",
}
_UNBALANCED = (
    "{} has a quote that is never closed, or one in the middle of a field, so nothing was released: put quotes around "
    "whole fields, and double quotes within them; if no field contains a line break, leave newlines out"
)
_ASSUMED = "{} is read with {}, judging by its first line only: give {} to confirm it"


@final
@dataclass(frozen=True, slots=True, eq=False)
class TextReader:
    """The records of one file."""

    text: Text
    marks: Marks
    header: tuple[str, ...] | None
    """The names of all columns, if the first line has names."""
    fields: tuple[str, ...]
    """The names or numbers of all columns; names are uncertain unless the second line holds a number."""
    columns: Columns
    shape: tuple[int, int]
    parts: list[range]
    """The positions of the rows in each part; a file that can only be read from its beginning is one part."""
    offsets: Ints
    """The offset in the text at which each part begins, then that at which the last part ends."""

    @staticmethod
    def open(
        path: Path, columns: Sequence[str] | None, apart: Sequence[str] = (), dialect: Dialect = USUAL
    ) -> TextReader:
        """Read the first line and locate the records; columns listed in ``apart`` are keys, not coordinates."""
        declared = (*(columns or ()), *apart)
        header = read_header(Text.open(path, dialect.encoding), dialect, declared, _CHUNK_BYTES)
        names = header.names
        if columns is None:
            columns = type(names)(name for name in names if name not in apart)
        chosen = _choose(names, columns)
        count, offsets = find_parts(header, blank=len(names) == 1)
        step = max(count, 1) if header.text.in_order else BLOCK_ROWS
        parts = [range(start, min(start + step, count)) for start in range(0, count, step)]
        if header.assumed:
            _warn_of_assumptions(header)
        shape = count, len(chosen.names)
        named = names if header.named else None
        return TextReader(header.text, header.marks, named, names, chosen, shape, parts, offsets)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the coordinates."""
        return None if self.header is None else self.columns.names

    def keys(self, name: str) -> Keys:
        """Return the keys in a column, as text; only empty fields are missing."""
        import pyarrow as pa

        if name not in self.fields:
            raise _refuse_name(name, self.fields)
        labels = [found.cast(pa.string()) for part in range(len(self.parts)) for found in self._labels(name, part)]
        return Keys.of_column(name, pa.chunked_array(labels, pa.string()))

    def blocks(self, part: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of a part."""
        for text, records in self._records(part):
            for start in range(0, len(records), BLOCK_ROWS):
                yield self._numbers(text, records[start : start + BLOCK_ROWS])

    def pick(self, part: int, places: Ints) -> NDArray[Any]:
        """Return the rows of a part at the given places; other records are not read."""
        found, start = [np.empty((0, len(self.columns.names)))], 0
        for text, records in self._records(part):
            first, last = np.searchsorted(places, [start, start + len(records)])
            if last > first:
                found.append(self._numbers(text, records[places[first:last] - start]))
            start += len(records)
        return np.concatenate(found)

    def select(self, rows: NDArray[np.bool_]) -> None:
        """Return None: every record must be readable, so a record cannot be skipped."""

    def fingerprint(self) -> object:
        """Return a value that changes when the file changes."""
        return stamp(self.text.path)

    def _records(self, part: int) -> Iterator[tuple[Bytes, Ints]]:
        """Yield text of a part and the records in it; in a file with one column, an empty line is a missing value."""
        return read_records(self.text, self.marks, self.offsets[part : part + 2].tolist(), blank=len(self.fields) == 1)

    def _numbers(self, text: Bytes, records: Ints) -> NDArray[Any]:
        """Read records as rows, each value independently."""
        import pyarrow as pa

        order = np.array([self.fields.index(name) for name in self.columns.names])
        found = self._read(text, records, order, trim=True)
        with suppress(pa.ArrowException, ValueError):  # its message quotes values
            rows = found.as_numbers(self.marks.decimal).reshape(len(records), len(order))
            return rows[:, np.argsort(np.argsort(order))] if np.any(np.diff(order) < 0) else rows
        raise DataError(_NOT_A_NUMBER.format(self.text.path.name))

    def _labels(self, name: str, part: int) -> Iterator[Any]:
        """Read one field of every record of a part as text."""
        import pyarrow as pa

        for text, records in self._records(part):
            found = self._read(text, records, np.array([self.fields.index(name)]), trim=False)
            labels = found.as_arrow(np.diff(found.stops) == 0)
            try:
                labels.validate(full=True)
            except pa.ArrowException:
                labels = None
            if labels is None:
                raise DataError(_NOT_DECODED.format(self.text.path.name, name_encoding(self.text.encoding)))
            yield labels

    def _read(self, text: Bytes, records: Ints, columns: Ints, *, trim: bool) -> Fields:
        wanted = np.zeros(len(self.fields), dtype=np.bool_)
        wanted[columns] = True
        found = read_fields(text, records, self.marks, wanted, trim=trim)
        if isinstance(found, Fields):
            return found
        unbalanced = found == UNCLOSED and self.marks.quoted
        words = self.text.path.name, name_separator(self.marks.delimiter)
        raise DataError((_UNBALANCED if unbalanced else _FAULTS[found]).format(*words))


def read_records(text: Text, marks: Marks, between: Sequence[int], *, blank: bool) -> Iterator[tuple[Bytes, Ints]]:
    """Yield text between two offsets in UTF-8, and the records in it: all at once, or in pieces as they are read."""
    start, stop = between
    if not text.in_order:
        whole = np.frombuffer(text.as_utf8(text.span(start, stop)), dtype=np.uint8)
        yield whole, find_records(whole, marks, blank=blank)
        return
    pieces = (text.as_utf8(piece) for piece in text.between(start, stop, _CHUNK_BYTES))
    yield from ((held, found) for held, found, _ in split_pieces(pieces, marks, blank=blank))


def split_pieces(pieces: Iterator[bytes], marks: Marks, *, blank: bool) -> Iterator[tuple[Bytes, Ints, int]]:
    """Yield pieces of text, the records in them, and the offset of the unfinished rest, which is repeated."""
    rest: list[bytes] = []
    for piece in pieces:
        rest.append(piece)
        if b"\n" not in piece:
            continue
        held = np.frombuffer(b"".join(rest), dtype=np.uint8)
        scan = Scan(marks, 0, blank=blank)
        found = scan.feed(held, 1)
        yield held, found, scan.rest.start
        rest = [held[scan.rest.start :].tobytes()]
    last = np.frombuffer(b"".join(rest), dtype=np.uint8)
    yield last, find_records(last, marks, blank=blank), len(last)


def _warn_of_assumptions(header: Header) -> None:
    """Warn about what was assumed of a file, and say how to confirm it."""
    words, cures = " and ".join(header.assumed), " and ".join(header.assumed.values())
    warn_user(_ASSUMED.format(header.text.path.name, words, cures), FormatWarning)


def _refuse_name(name: str, names: tuple[str, ...]) -> ArgumentError:
    return ArgumentError(f"there is no column {name!r}: {list_names(names)}")


def _choose(names: tuple[str, ...], columns: Sequence[str]) -> Columns:
    chosen = columns if isinstance(columns, tuple) else tuple(columns)
    for name in chosen:
        if name not in names:
            raise _refuse_name(name, names)
    if len(set(chosen)) < len(chosen):
        raise ArgumentError("columns must differ: a name is given twice")
    return Columns(chosen, False, len(chosen))


def find_parts(header: Header, *, blank: bool) -> tuple[int, Ints]:
    """Count the records, with or without blank ones, and return the offsets of the parts, then the end of the last."""
    text, start = header.text, header.size
    scan, offsets, at = Scan(header.marks, start, blank=blank), [start], start
    every = _ONE_PART if text.in_order else BLOCK_ROWS
    for piece in text.between(start, None, _CHUNK_BYTES):
        offsets += scan.feed(np.frombuffer(piece, dtype=np.uint8), every)[:, 0].tolist()
        at += len(piece)
    if scan.in_quotes:
        raise DataError(_UNBALANCED.format(text.path.name))
    if scan.last and scan.count % every == 0:
        offsets.append(scan.last.start)
    return scan.count + bool(scan.last), np.array([*offsets[1:], at], dtype=np.int64)
