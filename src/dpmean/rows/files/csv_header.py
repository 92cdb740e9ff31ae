"""The first line of a CSV file: the names of its columns, and the dialect of the file.

Only this line and the names that the caller gives decide how records are read; a record never does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from dpmean.errors import DataError
from dpmean.rows.column_names import UncertainNames
from dpmean.rows.files.csv_records import MISSING, Fields, Marks, read_fields
from dpmean.rows.files.dialect import SEPARATORS, Dialect, name_separator
from dpmean.rows.files.text import LONGEST_LINE, Text, name_encoding

_NO_NAME = re.compile(r"^[\W\d]*\d|[;|]")
"""A name that begins with a digit, after any signs, may be a value: it must not be shown as a name."""
_NUMBERED = re.compile(r"column \d+")
"""The names of columns in a file without a header: there the first line is a record, which must decide nothing."""
_FIRST_LINE = (
    "the first line of {} must name all columns, or hold numbers only: rename columns that begin with a digit or "
    "contain ; or | or a line break, because such a name might be data"
)
_SEMICOLONS = (
    'the first line of {} seems to have semicolons between its columns: give sep=";", and decimal="," if numbers have '
    "decimal commas"
)
_SEVERAL = 'the first line of {} may have {} between its columns: give the separator, such as sep="{}"'
_TABS = 'the first line of {} seems to have tabs between its columns: give sep="\\t", or the names of columns'
_NOT_DECODED = (
    'the first line of {} is not {}: give the encoding of the file, such as encoding="latin-1", or save it as UTF-8'
)
_ZEROS = 'the first line of {} is not UTF-8, but seems to be UTF-16: give encoding="utf-16-le", or "utf-16-be"'
_NO_END = 'the first line of {} does not end, although the file begins like UTF-16: give encoding="utf-16"'
_TOO_LONG = "the first line of {} does not end within 64 MB: save the file as CSV, with line feeds (\\n) as line ends"
_PACKED = {
    b"\x1f\x8b": "a gzip archive: let its name end in .csv.gz",
    b"\x28\xb5\x2f\xfd": "a zstd archive: let its name end in .csv.zst",
    b"PK\x03\x04": "a workbook or a zip archive: save it as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "a workbook: save it as CSV",
}
"""The first bytes of some formats that are not text, with a description and the cure."""
_NO_TEXT = "the first line of {} is not text, and the file seems to be {}"
_HINT = re.compile(r'"?sep=([^\w\s]|\t)"?')
"""A line that spreadsheets write before the names."""
_HINTED = 'the first line of {} declares the separator, and names no columns: remove it, and give sep="{}"'
_EMPTY = "the first line of {} is empty, and names no columns: remove it, or refer to no columns by name"
_OLD_LINE_ENDS = "the first line of {} contains a carriage return: save the file with line feeds (\\n) as line ends"
_TWICE = "two columns of {} have the same name: rename one"
_USUAL_CODE_PAGE = "cp1252"


@final
@dataclass(frozen=True, slots=True)
class Header:
    """The content of a first line."""

    text: Text
    marks: Marks
    names: tuple[str, ...]
    """The names or numbers of all columns; names are uncertain unless the second line holds a number."""
    named: bool
    """Whether the first line names columns; otherwise it is a record."""
    size: int
    """The number of bytes before the first record."""
    assumed: dict[str, str]
    """What was assumed about the file from this line alone, with the argument that confirms it."""

    @property
    def read_as(self) -> str:
        """A description of the dialect that is used."""
        decimals = ", decimal commas" if self.marks.decimal == "," else ""
        return f"{name_separator(self.marks.delimiter)} between columns{decimals}, {name_encoding(self.text.encoding)}"


def read_header(text: Text, dialect: Dialect, declared: Sequence[str], size: int) -> Header:
    """Read the first line, given the names that the caller declares; read about ``size`` bytes."""
    first, second = text.first_lines(size)
    if len(first) > LONGEST_LINE and not first.endswith(b"\n"):
        raise DataError(_TOO_LONG.format(text.path.name))
    for sign, words in _PACKED.items():
        if first.startswith(sign):
            raise DataError(_NO_TEXT.format(text.path.name, words))
    text, line, by_name = _decode(text, first, dialect, [name for name in declared if not _NUMBERED.fullmatch(name)])
    if text.is_wide and dialect.encoding is None and not first.endswith(b"\n"):
        raise DataError(_NO_END.format(text.path.name))
    if "\0" in line:
        raise DataError(_ZEROS.format(text.path.name))
    if "\r" in line.rstrip("\r\n"):
        raise DataError(_OLD_LINE_ENDS.format(text.path.name))
    if hint := _HINT.fullmatch(line.rstrip("\r\n")):
        raise DataError(_HINTED.format(text.path.name, hint[1].replace("\t", "\\t")))
    if not line.strip() and any(not _NUMBERED.fullmatch(name) for name in declared):
        raise DataError(_EMPTY.format(text.path.name))
    usual = _usual_marks(text, dialect)
    marks = usual if dialect.sep is not None else _choose(line, usual, declared, text.path.name)
    fields = split_line(line, marks)
    if fields is None or not line.replace("\t", "").rstrip("\r\n").isprintable():
        raise DataError(_FIRST_LINE.format(text.path.name))
    named = not all(is_value(field, marks) for field in fields)
    if len(fields) == 1 and fields[0].count(";") > 0:
        raise DataError(_SEMICOLONS.format(text.path.name))
    if named and any(_NO_NAME.search(field) for field in fields):  # perhaps a row of a file without a header
        raise DataError(_FIRST_LINE.format(text.path.name))
    names = tuple(fields) if named else tuple(f"column {j}" for j in range(len(fields)))
    if named and not _is_named_by(text.as_utf8(second).decode("utf-8", "replace"), len(fields), marks):
        names = UncertainNames(fields)
    if len(set(names)) < len(names):
        raise DataError(_TWICE.format(text.path.name))
    assumed = {}
    if dialect.sep is None and marks.delimiter != _plain_separator(text):
        sep = marks.delimiter.replace("\t", "\\t")
        assumed[f"{name_separator(marks.delimiter)} between columns"] = f'sep="{sep}"'
    if by_name:
        assumed[name_encoding(text.encoding)] = f'encoding="{text.encoding}"'
    return Header(text, marks, names, named, len(first) * named, assumed)


def split_line(line: str, marks: Marks) -> list[str] | None:
    """Return the fields of the first line, without blanks around them; None if it cannot be split."""
    plain = line.removesuffix("\n")
    raw = np.frombuffer(plain.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    width = "".join(plain.split(marks.quote)[::2]).count(marks.delimiter) + 1  # delimiters outside of quotes, plus one
    found = read_fields(raw, np.array([[0, len(raw)]]), marks, np.ones(width, dtype=np.bool_), trim=True)
    if not isinstance(found, Fields):
        return None
    return [str(field).strip().strip(marks.quote) for field in found.as_arrow().to_pylist()]


def is_value(field: str, marks: Marks) -> bool:
    """Whether a field is a number, or stands for a missing number."""
    return _is_number(field, marks) or field in MISSING


def _is_number(field: str, marks: Marks) -> bool:
    """Whether a field is a number."""
    if marks.decimal == ",":
        field = field.translate({ord(","): ".", ord("."): ","})
    try:
        float(field)
    except ValueError:
        return False
    return True


def _is_named_by(second: str, width: int, marks: Marks) -> bool:
    """Whether the first line certainly names the columns: the second has as many fields, and one is a number."""
    fields = second.split(marks.delimiter)
    return len(fields) == width and any(_is_number(field, marks) for field in fields)


def _usual_marks(text: Text, dialect: Dialect) -> Marks:
    """Return the dialect that the file name suggests, with the caller's arguments applied."""
    usual = _plain_separator(text)
    if dialect.decimal == usual:
        usual = ";"
    return Marks(dialect.sep or usual, dialect.decimal, dialect.quotechar, dialect.newlines)


def _plain_separator(text: Text) -> str:
    """Return the separator that the file name suggests."""
    tabs = any(suffix.lower() in (".tsv", ".tab") for suffix in text.path.suffixes[-2:])
    return "\t" if tabs else ","


def _decode(text: Text, first: bytes, dialect: Dialect, declared: list[str]) -> tuple[Text, str, bool]:
    """Return the file with its encoding, its first line, and whether the encoding was found by declared names."""
    try:
        return text, first.decode("utf-8" if text.is_wide else text.encoding), False
    except UnicodeDecodeError:
        if b"\0" in first:
            raise DataError(_ZEROS.format(text.path.name)) from None
    if dialect.encoding is None and not text.marked and any(not name.isascii() for name in declared):
        line = first.decode(_USUAL_CODE_PAGE, "replace")
        for sep in SEPARATORS if dialect.sep is None else dialect.sep:
            names = split_line(line, replace(_usual_marks(text, dialect), delimiter=sep)) or []
            if set(declared) <= set(names):
                return replace(text, encoding=_USUAL_CODE_PAGE), line, True
    raise DataError(_NOT_DECODED.format(text.path.name, name_encoding(text.encoding)))


def _choose(line: str, usual: Marks, declared: Sequence[str], name: str) -> Marks:
    """Return the separator between names: the one that yields all declared names, or the only one that fits."""
    ways = [
        usual,
        *(replace(usual, delimiter=sep) for sep in SEPARATORS if sep not in (usual.delimiter, usual.decimal)),
    ]
    found = {way.delimiter: fields for way in ways if (fields := split_line(line, way)) is not None}
    fields = found.pop(usual.delimiter, [])
    if all(is_value(field, usual) for field in fields) or any(_NUMBERED.fullmatch(one) for one in declared):
        return usual  # the first line may be a record, which must decide nothing
    if declared and set(declared) <= set(fields):
        return usual
    fits = [sep for sep, names in found.items() if declared and set(declared) <= set(names)]
    if not fits and len(fields) < 2:
        fits = [sep for sep, names in found.items() if len(names) > 1 and _are_names(names, usual)]
        if fits == ["\t"]:  # a tab before or after a value may be just a blank
            raise DataError(_TABS.format(name))
    if len(fits) > 1:
        words = " or ".join(name_separator(sep) for sep in fits)
        raise DataError(_SEVERAL.format(name, words, fits[0].replace("\t", "\\t")))
    return replace(usual, delimiter=fits[0]) if fits else usual


def _are_names(fields: Sequence[str], marks: Marks) -> bool:
    named = not all(is_value(field, marks) for field in fields)
    return named and not any(_NO_NAME.search(field) for field in fields)
