"""Inspection of a CSV file, record by record: records that cannot be read are noted, and the others are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import Newlines
from dpmean.errors import ArgumentError, DataError
from dpmean.queries.queries import Floats, Ints
from dpmean.rows.files.csv import find_parts, split_pieces
from dpmean.rows.files.csv_header import Header, read_header
from dpmean.rows.files.csv_records import RAGGED, STRAY, UNCLOSED, Bytes, Fields, Marks, read_fields
from dpmean.rows.files.dialect import Dialect
from dpmean.rows.files.text import Text
from dpmean.rows.inspection.cells import name_kinds, read_cells
from dpmean.rows.inspection.findings import TEXT, Asked, Column, Findings, Places
from dpmean.rows.inspection.keys import inspect_keys

_CHUNK_BYTES = 1 << 20
_BLOCK_ROWS = 4096
_SURELY_TEXT = 20_000
"""After this many texts and no number, a column is a text column, and its other cells are not read."""
_FAULTS = {
    RAGGED: "more or fewer fields than the first line",
    UNCLOSED: "a quoted field that does not end on its line (if fields may hold line breaks: --newlines quoted)",
    STRAY: "a quote in the middle of a field",
}
_UNBALANCED = "a quote that is never closed, or one in the middle of a field"
_NOT_TEXT = "column {!r} has text that is not {} (give --encoding)"


def inspect_text(path: Path, dialect: Dialect, asked: Asked, progress: Callable[[int], None]) -> Findings:
    """Inspect a CSV file; ``progress`` is called with the number of bytes read."""
    header = read_header(Text.open(path, dialect.encoding), dialect, asked.declared, _CHUNK_BYTES)
    for name in asked.declared:
        if name not in header.names:
            raise ArgumentError(f"there is no column {name!r}: the columns are {', '.join(header.names[:20])}")
    found = Findings.of(header.names, asked)
    found.read_as, found.assumed, found.named = header.read_as, header.assumed, header.named
    walk = _Walk(header, asked, found)
    if header.marks.quoted and not _balances(header):
        found.fault(_UNBALANCED, np.empty(0, dtype=np.int64))
        walk.marks = replace(header.marks, newlines=Newlines.RECORDS)  # this mode shows where
    for held, records, lines in walk.records(progress):
        if walk.width == 1:
            found.empty_end = _empty_end(found.empty_end, held, records, lines)
        for start in range(0, len(records), _BLOCK_ROWS):
            end = start + _BLOCK_ROWS
            for good, where, fields in walk.readable(held, records[start:end], lines[start:end]):
                walk.look(held, good, where, fields)
    return found


def _balances(header: Header) -> bool:
    """Whether every quote in the file is closed."""
    try:
        find_parts(header, blank=len(header.names) == 1)
    except DataError:
        return False
    return True


def _empty_end(before: Places, held: Bytes, records: Ints, lines: Ints) -> Places:
    """Return the empty lines at the end of a file after these records, given those before them."""
    lengths = records[:, 1] - records[:, 0]
    others = np.flatnonzero((lengths > 1) | ((lengths == 1) & (held[records[:, 1] - 1] != ord("\r"))))
    found = Places() if len(others) else before
    found.add(lines[others[-1] + 1 :] if len(others) else lines)
    return found


class _Walk:
    """One pass through the file."""

    def __init__(self, header: Header, asked: Asked, found: Findings) -> None:
        self.header, self.asked, self.found = header, asked, found
        self.marks: Marks = header.marks
        self.width = len(header.names)

    def records(self, progress: Callable[[int], None]) -> Iterator[tuple[Bytes, Ints, Ints]]:
        """Yield text, the records in it, and the lines on which they begin."""
        text, line = self.header.text, 1 + self.header.named

        def pieces() -> Iterator[bytes]:
            for piece in text.between(self.header.size, None, _CHUNK_BYTES):
                progress(len(piece))
                yield text.as_utf8(piece)

        for held, records, rest in split_pieces(pieces(), self.marks, blank=self.width == 1):
            ends = np.flatnonzero(held[:rest] == ord("\n"))
            yield held, records, line + np.searchsorted(ends, records[:, 0])
            line += len(ends)

    def readable(self, held: Bytes, records: Ints, lines: Ints) -> Iterator[tuple[Ints, Ints, Fields]]:
        """Yield the records that can be split into columns, and note the others."""
        if not len(records):
            return
        fields = read_fields(held, records, self.marks, np.ones(self.width, dtype=np.bool_), trim=True)
        if isinstance(fields, Fields):
            yield records, lines, fields
        elif len(records) == 1:
            self.found.rows += 1
            self.found.fault(_FAULTS[fields], lines)
        else:
            half = len(records) // 2
            yield from self.readable(held, records[:half], lines[:half])
            yield from self.readable(held, records[half:], lines[half:])

    def look(self, held: Bytes, records: Ints, lines: Ints, fields: Fields) -> None:
        """Inspect records, column by column."""
        import pyarrow as pa

        self.found.rows += len(records)
        whole, values = fields.as_arrow(), dict[str, Floats]()
        for j, column in enumerate(self.found.columns.values()):
            cells = whole.take(pa.array(np.arange(j, len(fields), self.width)))
            numbers = self._inspect_cells(column, cells, fields.odd[j :: self.width], lines)
            if numbers is not None and column.name not in self.asked.keys:
                values[column.name] = numbers
        keys = {name: self._keys(name, held, records, lines) for name in self.asked.keys}
        inspect_keys(self.found, self.asked, keys, values, lines)

    def _inspect_cells(self, column: Column, cells: object, odd: NDArray[np.bool_], lines: Ints) -> Floats | None:
        """Inspect cells of a column, and return its numbers, if it holds any."""
        if not column.numbers and column.others.get(TEXT, Places()).count > _SURELY_TEXT:
            column.others[TEXT].count += len(lines)
            return None
        values, missing, others = read_cells(cells, odd, self.marks.decimal)
        column.add_numbers(values, missing, lines)
        for kind, places in name_kinds(cells, others, self.marks.decimal):
            column.others.setdefault(kind, Places()).add(lines[places])
        return values if column.numbers else None

    def _keys(self, name: str, held: Bytes, records: Ints, lines: Ints) -> Any:
        """Return the keys of one column as text; empty ones and invalid text are missing."""
        import pyarrow as pa

        wanted = np.zeros(self.width, dtype=np.bool_)
        wanted[self.header.names.index(name)] = True
        fields = read_fields(held, records, self.marks, wanted, trim=False)
        if not isinstance(fields, Fields):  # it was readable before
            return pa.nulls(len(records), pa.large_string())
        empty = np.diff(fields.stops) == 0
        buffers = fields.as_arrow(empty).buffers()
        keys = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(fields), buffers, null_count=int(empty.sum()))
        readable = [None if key is None or not _is_utf8(key) else key for key in keys.to_pylist()]
        broken = np.array([key is None for key in readable], dtype=np.bool_) & ~empty
        if broken.any():
            self.found.keys[name].unreadable.add(lines[broken])
            self.found.fault(_NOT_TEXT.format(name, self.header.text.encoding), lines[broken])
        return pa.array(readable, pa.large_binary()).cast(pa.large_string())


def _is_utf8(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True
