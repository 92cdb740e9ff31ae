"""Records in text: where each begins and ends, and its fields. Each record is read from its own bytes only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import Newlines
from dpmean.noise.jit import compiled
from dpmean.queries.queries import Ints

Bytes = NDArray[np.uint8]
_TAB, _NEWLINE, _RETURN, _SPACE = b"\t\n\r "
FINE, RAGGED, UNCLOSED, STRAY = range(4)
"""The result for a record: as many fields as columns; more or fewer; an unclosed quote; a misplaced quote."""
MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL"}
    | {"NaN", "n/a", "nan", "null"}
)
"""The texts that stand for a missing number."""
_COMMAS = bytes.maketrans(b",.", b".,")
"""Exchanges commas and points: decimal commas become points, and fields with a point are then not numbers."""


@final
@dataclass(frozen=True, slots=True)
class Marks:
    """The delimiter between fields, the quote around them, the decimal mark, and the rule for line breaks."""

    delimiter: str = ","
    decimal: str = "."
    quote: str = '"'
    newlines: Newlines = Newlines.RECORDS

    @property
    def quoted(self) -> bool:
        """Whether quoted fields may contain line breaks, and quotes must enclose whole fields (RFC 4180)."""
        return self.newlines is Newlines.QUOTED


@final
class Scan:
    """Finds records in text that arrives in pieces; blank lines are records only if ``blank`` is true."""

    def __init__(self, marks: Marks, start: int, *, blank: bool) -> None:
        self._marks, self._blank = marks, blank
        self._state = np.array([0, start, 0, 0], dtype=np.int64)  # records, start of this one, in quotes, last byte
        self._at = start

    @property
    def count(self) -> int:
        """The number of records that have ended so far."""
        return int(self._state[0])

    @property
    def rest(self) -> range:
        """The text after the last line break that ended a record."""
        return range(int(self._state[1]), self._at)

    @property
    def last(self) -> range:
        """The last record, if the text ends without a line break; empty if it ends with one."""
        rest = self.rest
        is_blank = len(rest) == 1 and self._state[3] == _RETURN
        return rest[:0] if is_blank and not self._blank else rest

    @property
    def in_quotes(self) -> bool:
        """Whether a quoted field is still open."""
        return bool(self._state[2])

    def feed(self, text: Bytes, every: int) -> Ints:
        """Return the begin and end of every ``every``-th record that ends in this piece."""
        room = np.empty((len(text) // every + 1, 2), dtype=np.int64)
        quote = ord(self._marks.quote) if self._marks.quoted else -1
        found = _scan(text, self._at, self._state, quote, self._blank, every, room)
        self._at += len(text)
        return room[:found]


def find_records(text: Bytes, marks: Marks, *, blank: bool) -> Ints:
    """Return the begin and end of each record of a text, without its line break."""
    scan = Scan(marks, 0, blank=blank)
    found = scan.feed(text, 1)
    return np.concatenate((found, [[scan.last.start, scan.last.stop]])) if scan.last else found


@final
@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """The selected fields of some records, as bytes, record by record."""

    packed: Bytes
    stops: Ints
    """The offset at which each field begins, then that at which the last one ends."""
    odd: NDArray[np.bool_]
    """Which fields are empty, or contain a character that numbers do not have."""

    def __len__(self) -> int:
        return len(self.stops) - 1

    def as_arrow(self, missing: NDArray[np.bool_] | None = None) -> Any:
        """Return the fields as an Arrow array of text; the given ones are null."""
        import pyarrow as pa

        bits = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
        return pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(self.stops), pa.py_buffer(self.packed), bits)

    def as_numbers(self, decimal: str) -> NDArray[np.float64]:
        """Return the fields as numbers; if one is not a number, raise an error that may quote it."""
        import pyarrow as pa
        import pyarrow.compute as compute

        missing, odd = self.odd.copy(), np.flatnonzero(self.odd)
        if len(odd):
            cells = self.as_arrow().take(pa.array(odd))
            if compute.any(compute.match_substring(cells, "(")).as_py():
                raise ValueError("only Arrow reads nan(1) as a number")
            missing[odd] = compute.is_in(cells, value_set=pa.array(sorted(MISSING), pa.large_string()))
        fields = self if decimal == "." else replace(self, packed=_swap_marks(self.packed))
        found = fields.as_arrow(missing if len(odd) else None).cast(pa.float64())
        numbers: NDArray[np.float64] = found.to_numpy(zero_copy_only=False)
        return numbers


def read_fields(text: Bytes, records: Ints, marks: Marks, wanted: NDArray[np.bool_], *, trim: bool) -> Fields | int:
    """Read the wanted fields of records, or return the fault of the first record that cannot be read.

    ``wanted`` has one entry per column. Quotes around a field are removed; with ``trim``, also blanks.
    """
    stops = np.zeros(len(records) * int(wanted.sum()) + 1, dtype=np.int64)
    room = int((records[:, 1] - records[:, 0]).sum()) if len(records) else 0
    packed, odd = np.empty(room, dtype=np.uint8), np.zeros(len(stops) - 1, dtype=np.bool_)
    signs = ord(marks.delimiter), ord(marks.quote)
    plain = np.zeros(256, dtype=np.bool_)
    plain[list(f"0123456789+-{marks.decimal}eE".encode())] = True
    fault = _pack(text, records, *signs, marks.quoted, wanted, trim, plain, packed, stops, odd)
    return Fields(packed[: stops[-1]], stops, odd) if fault == FINE else int(fault)


def _swap_marks(packed: Bytes) -> Bytes:
    """Return text with commas and points exchanged."""
    return np.frombuffer(packed.tobytes().translate(_COMMAS), dtype=np.uint8)


@compiled
def _scan(text: Bytes, at: int, state: Ints, quote: int, blank: bool, every: int, found: Ints) -> int:
    count, begin, inside, before = state[0], state[1], state[2], state[3]
    kept = 0
    for i in range(len(text)):
        byte = text[i]
        if byte == _NEWLINE and not inside:
            length = at + i - begin
            if blank or length > 1 or (length == 1 and before != _RETURN):
                if count % every == 0:
                    found[kept, 0], found[kept, 1] = begin, at + i
                    kept += 1
                count += 1
            begin = at + i + 1
        elif byte == quote:
            inside = 1 - inside
        before = np.int64(byte)
    state[0], state[1], state[2], state[3] = count, begin, inside, before
    return kept


@compiled
def _pack(
    text: Bytes,
    records: Ints,
    delimiter: int,
    quote: int,
    strict: bool,
    wanted: NDArray[np.bool_],
    trim: bool,
    plain: NDArray[np.bool_],
    packed: Bytes,
    stops: Ints,
    odd: NDArray[np.bool_],
) -> int:
    cell, fill = 0, 0
    for r in range(len(records)):
        i, stop = records[r, 0], records[r, 1]
        if stop > i and text[stop - 1] == _RETURN:
            stop -= 1
        for column in range(len(wanted)):
            start = fill
            fault, i, fill = _field(text, i, stop, delimiter, quote, strict, packed, fill)
            if fault != FINE:
                return fault
            if (i < stop) != (column + 1 < len(wanted)):
                return RAGGED
            i += 1  # the delimiter
            if wanted[column]:
                if trim:
                    fill = _trim(packed, start, fill)
                odd[cell] = fill == start
                for k in range(start, fill):
                    odd[cell] |= not plain[packed[k]]
                cell += 1
                stops[cell] = fill
            else:
                fill = start
    return FINE


@compiled
def _field(
    text: Bytes, i: int, stop: int, delimiter: int, quote: int, strict: bool, packed: Bytes, fill: int
) -> tuple[int, int, int]:
    """Copy the field that begins at i; return the position of its delimiter, or the end of its record."""
    if i < stop and text[i] == quote:
        i += 1
        while True:
            if i >= stop:
                return UNCLOSED, i, fill
            if text[i] == quote:
                if i + 1 < stop and text[i + 1] == quote:
                    i += 1
                else:
                    break
            packed[fill] = text[i]
            fill += 1
            i += 1
        i += 1
        return (FINE if i == stop or text[i] == delimiter else STRAY), i, fill
    while i < stop and text[i] != delimiter:
        if strict and text[i] == quote:
            return STRAY, i, fill
        packed[fill] = text[i]
        fill += 1
        i += 1
    return FINE, i, fill


@compiled
def _trim(packed: Bytes, start: int, stop: int) -> int:
    """Remove blanks from both ends of a field; return its new end."""
    while stop > start and (packed[stop - 1] == _SPACE or packed[stop - 1] == _TAB):
        stop -= 1
    skip = 0
    while start + skip < stop and (packed[start + skip] == _SPACE or packed[start + skip] == _TAB):
        skip += 1
    if skip:
        for k in range(start, stop - skip):
            packed[k] = packed[k + skip]
    return stop - skip
