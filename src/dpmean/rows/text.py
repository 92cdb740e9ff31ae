"""Numbers in text: CSV files, whose lines are counted once and then parsed some thousand at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, DataError
from dpmean.rows.arrow import Columns
from dpmean.rows.keys import Keys
from dpmean.rows.parted import BLOCK_ROWS, stamp
from dpmean.types import Ints

_CHUNK_BYTES = 4 << 20
_RETURN = 13
_NO_NAME = re.compile(r"^[\W\d]*\d|[;|]")
"""A name that begins with a digit, whatever signs are before it, may be a value: it must not be shown as a name."""
_FIRST_LINE = "the first line of {} must name all columns, in words, or hold nothing but numbers"


@final
@dataclass(frozen=True, slots=True, eq=False)
class TextReader:
    """The lines of one file."""

    path: Path
    header: tuple[str, ...] | None
    """What the first line calls all columns, if it does."""
    fields: tuple[str, ...]
    told: bool
    """Whether these are names for certain, as the next line holds a number; otherwise no error may repeat them."""
    columns: Columns
    delimiter: str
    shape: tuple[int, int]
    parts: list[range]
    offsets: Ints
    """Where in the file each part begins, and the last one ends."""

    @staticmethod
    def open(path: Path, columns: Sequence[str] | None, apart: Sequence[str] = ()) -> TextReader:
        """Read the first line and count the others; columns set ``apart`` are no coordinates."""
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        with open(path, "rb") as file:
            head, second = file.readline(_CHUNK_BYTES), file.readline(_CHUNK_BYTES)
        fields = [field.strip().strip('"') for field in _words(head, path).split(delimiter)]
        if len(fields) == 1 and fields[0].count(";") > 0:
            raise DataError(f"{path.name} seems to have semicolons between its columns: use commas, or tabs (.tsv)")
        named = not all(_is_value(field) for field in fields)
        if named and any(_NO_NAME.search(field) for field in fields):  # a row of a file without names, perhaps
            raise DataError(_FIRST_LINE.format(path.name))
        names = tuple(fields) if named else tuple(f"column {j}" for j in range(len(fields)))
        if len(set(names)) < len(names):
            raise DataError(f"two columns of {path.name} have the same name: rename one")
        count, offsets = _lines(path, len(head) if named else 0, empty=len(fields) == 1)
        if not count:
            raise DataError(f"{path.name} has no rows")
        if columns is None and apart:
            columns = [name for name in names if name not in apart]
        told = not named or _is_named_by(second.decode("utf-8", "replace").split(delimiter), fields)
        chosen = _choose(names, columns, names if told else ())
        parts = [range(start, min(start + BLOCK_ROWS, count)) for start in range(0, count, BLOCK_ROWS)]
        return TextReader(
            path, names if named else None, names, told, chosen, delimiter, (count, len(chosen.names)), parts, offsets
        )

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the coordinates are called."""
        return None if self.header is None else self.columns.names

    def keys(self, name: str) -> Keys:
        """Return a column that tells rows apart: as text."""
        import pyarrow as pa

        if name not in self.fields:
            raise _unknown(name, self.fields if self.told else ())
        found = [self._read(self._text(part), {name: pa.string()}).column(name) for part in range(len(self.parts))]
        return Keys.of_column(
            name, pa.chunked_array([chunk for column in found for chunk in column.chunks], pa.string())
        )

    def blocks(self, part: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of a part."""
        yield self._parse(self._text(part))

    def pick(self, part: int, places: Ints) -> NDArray[Any]:
        """Return the rows of a part at some places; other lines are not parsed."""
        lines = self._text(part).removesuffix(b"\n").split(b"\n")
        if not self._alone:
            lines = [line for line in lines if line.strip(b"\r")]
        return self._parse(b"".join(lines[place] + b"\n" for place in places if place < len(lines)))

    def fingerprint(self) -> object:
        """Return what tells whether the file has changed."""
        return stamp(self.path)

    @property
    def _alone(self) -> bool:
        """Whether there is one column, so that an empty line is a missing value."""
        return len(self.fields) == 1

    def _text(self, part: int) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(int(self.offsets[part]))
            return file.read(int(self.offsets[part + 1] - self.offsets[part]))

    def _parse(self, text: bytes) -> NDArray[Any]:
        import pyarrow as pa

        table = self._read(text, dict.fromkeys(self.columns.names, pa.float64()))
        blocks = [self.columns.block(batch) for batch in table.to_batches()]
        return np.concatenate(blocks) if blocks else np.empty((0, self.shape[1]))

    def _read(self, text: bytes, wanted: dict[str, Any]) -> Any:
        """Read some columns, as the given types; of text, only what is empty is missing."""
        import pyarrow as pa
        from pyarrow import csv

        empty = {"strings_can_be_null": True, "null_values": [""]} if pa.string() in wanted.values() else {}
        try:
            return csv.read_csv(
                pa.BufferReader(text),
                csv.ReadOptions(use_threads=False, block_size=max(len(text), 1) + 1, column_names=list(self.fields)),
                csv.ParseOptions(delimiter=self.delimiter, ignore_empty_lines=not self._alone),
                csv.ConvertOptions(column_types=wanted, include_columns=list(wanted), **empty),
            )
        except (pa.ArrowException, ValueError):
            pass  # what it says quotes values
        raise DataError(
            f"{self.path.name} holds something that is no number, or lines of different lengths, so nothing was "
            "released: name the columns that hold numbers, columns=[...], or mend the file"
        )


def _is_named_by(second: list[str], first: list[str]) -> bool:
    """Whether the first line names the columns for certain: the next one is as long, and holds a number."""
    return len(second) == len(first) and any(_is_number(field) for field in second)


def _unknown(name: str, told: tuple[str, ...]) -> ArgumentError:
    others = f"there are {', '.join(told[:20])}" if told else "look at the first line of the file"
    return ArgumentError(f"there is no column {name!r}: {others}")


def _choose(names: tuple[str, ...], columns: Sequence[str] | None, told: tuple[str, ...]) -> Columns:
    if isinstance(columns, str):
        raise ArgumentError(f"columns must be several names, got {columns!r}: give a list")
    chosen = names if columns is None else tuple(columns)
    for name in chosen:
        if name not in names:
            raise _unknown(name, told)
    if len(set(chosen)) < len(chosen):
        raise ArgumentError("columns must differ: a name is given twice")
    return Columns(chosen, False, len(chosen))


def _words(head: bytes, path: Path) -> str:
    """Return the first line as text."""
    try:
        words = head.decode("utf-8-sig")
    except UnicodeDecodeError:
        words = "\0"
    if not words.replace("\t", "").rstrip("\r\n").isprintable():
        raise DataError(_FIRST_LINE.format(path.name))
    return words


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _is_value(field: str) -> bool:
    """Whether something is a number, or what is written in place of one that is missing."""
    from pyarrow import csv

    return _is_number(field) or field in csv.ConvertOptions().null_values


def _lines(path: Path, start: int, *, empty: bool) -> tuple[int, Ints]:
    """Count the lines, with or without empty ones, and find where every so many begin; then where the last one ends."""
    count, offsets, begin, before = 0, [start], start, 0
    with open(path, "rb") as file:
        stop = max(start, _end(file))
        file.seek(start)
        at = start
        while chunk := file.read(min(_CHUNK_BYTES, stop - at)):
            text = np.frombuffer(chunk, dtype=np.uint8)
            ends = np.flatnonzero(text == ord("\n"))
            begins = np.concatenate(([begin - at], ends[:-1] + 1)) if len(ends) else ends
            last = np.where(ends > 0, text[ends - 1], before)
            full = (ends - begins > 1) | ((ends - begins == 1) & (last != _RETURN))
            begins = begins[full | empty]
            first = -count % BLOCK_ROWS
            offsets += (begins[first::BLOCK_ROWS] + at).tolist()
            count += len(begins)
            begin = at + int(ends[-1]) + 1 if len(ends) else begin
            at, before = at + len(chunk), int(text[-1])
        if at - begin > 0:  # a last line without an end
            if count % BLOCK_ROWS == 0:
                offsets.append(begin)
            count += 1
    return count, np.array([*offsets[1:], at], dtype=np.int64)


def _end(file: BinaryIO) -> int:
    """Return where the last line ends; one empty line after it is no row, whatever the columns."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 3, 0))
    tail = b"\n" * (size < 3) + file.read(3)
    return size - next((len(line) for line in (b"\r\n", b"\n", b"\r") if tail.endswith(b"\n" + line)), 0)
