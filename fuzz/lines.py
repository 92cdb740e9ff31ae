"""Records as text: one line each; any byte of it may be changed."""

from __future__ import annotations

import codecs
import gzip
import random
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from fuzz.forms import Form
from fuzz.records import Change, Record
from fuzz.setting import PATHS, Made, Setting, table

_BYTES = (b'"', b'"', b"\r", b",", b"\t", b"\0", b"\xff", b" ", b"'", b"\\", b";", b"#", b"\xef\xbb\xbf", b"\x1a")
_BYTES += (
    b"|",
    b"|\t;",
    b"\x0b",
    b"\x0c",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b'""',
    b'",',
    b',"',
    b"\r\r",
    b'"\r',
    b"1",
    b"e",
    b"-",
    b"nan",
)


@dataclass(frozen=True)
class Written:
    """The dialect of a file, and what the caller declares about it."""

    seps: str = ","
    decimal: str = "."
    quote: str = '"'
    encoding: str = "utf-8"
    suffix: str = ".csv"
    told: bool = False
    broken: bool = False
    """Whether fields may contain line breaks; the file is then read with ``newlines="quoted"``."""

    def sep(self, setting: Setting) -> str:
        """Return the separator."""
        return str(setting.pick("sep", *self.seps))

    def field(self, value: Any, sep: str, *, always: bool) -> str:
        """Return a field as text."""
        words = "" if value is None else str(value)
        if isinstance(value, float):
            words = words.replace(".", self.decimal)
        if not self.broken:
            words = words.replace("\n", " ").replace("\r", " ")
        if always or any(mark in words for mark in (self.quote, sep, "\n", "\r")):
            return self.quote + words.replace(self.quote, self.quote * 2) + self.quote
        return words

    def line(self, cells: list[Any], setting: Setting, *, always: bool) -> bytes:
        """Return an unchanged record in UTF-8."""
        sep = self.sep(setting)
        return sep.join(self.field(one, sep, always=always) for one in cells).encode("utf-8", "surrogatepass")

    def encode(self, line: bytes, *, changed: bool) -> bytes:
        """Return a line in the encoding of the file; a changed one may contain any bytes, or any code units."""
        if self.encoding == "utf-8":
            return line
        if "utf-16" in self.encoding:
            text = line.decode("utf-8", "surrogateescape").replace("\x1a", "\ud800")
            return text.encode("utf-16-le", "surrogatepass")
        return line if changed else line.decode("utf-8", "replace").encode(self.encoding, "replace")


def is_alone(setting: Setting) -> bool:
    """Whether a text file has one column only, so that an empty line is a missing value."""
    return setting.path == "rows" and bool(setting.pick("one column", False, False, True))


def _table(setting: Setting, records: tuple[Record, ...]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return records as columns by name, sometimes only one, and the arguments that select columns."""
    if is_alone(setting):
        return {setting.coordinates[0]: [one.values[0] for one in records]}, {}
    return table(setting, records, vectors=False)


def _text(setting: Setting, records: tuple[Record, ...], how: Written) -> Made:
    """Write a file with a line for each record."""
    columns, named = _table(setting, records)
    always = setting.pick("quotes", False, False, True)
    lines = [how.encode(how.line(list(columns), setting, always=False), changed=False)]
    for place, record in enumerate(records):
        changed = record.line is not None and not how.broken
        line = record.line if changed else how.line([one[place] for one in columns.values()], setting, always=always)
        lines.append(how.encode(line or b"", changed=changed))
    if not named and setting.pick("nameless", True, False):
        lines = lines[1:]
    end = how.encode(setting.pick("end", "\n", "\n", "\r\n").encode(), changed=False)
    text = end.join(lines) + (end if is_alone(setting) or setting.pick("ended", True, True, False) else b"")
    path = setting.folder / f"rows{how.suffix}"
    path.write_bytes(_PACKS.get(path.suffix, bytes)(_BOMS.get(how.encoding, b"") + text))
    said: dict[str, Any] = {"newlines": "quoted"} if how.broken else {}
    if how.told:
        said |= {"sep": how.sep(setting), "encoding": how.encoding, "quotechar": how.quote}
    return path, {**named, **said, **({"decimal": how.decimal} if how.decimal != "." else {})}


_PACKS: dict[str, Any] = {".gz": gzip.compress, ".zst": lambda text: pa.compress(text, "zstd", asbytes=True)}
_BOMS = {"utf-16": codecs.BOM_UTF16_LE}
WRITTEN = {
    "csv": Written(),
    "tsv": Written("\t", suffix=".tsv"),
    "csv quoted": Written(broken=True),
    "csv told": Written(";|\t", ",", "'", "cp1252", ".csv.gz", told=True),
    "csv guessed": Written(";|\t", suffix=".txt"),
    "csv utf-16": Written(";,\t", encoding="utf-16"),
    "csv archive": Written(",;", suffix=".csv.zst"),
}
"""Dialects of text."""


def mangle_line(draw: random.Random, change: Change, setting: Setting, how: Written) -> Change:
    """Change bytes of the line as well."""
    if change.new is None or draw.random() < 0.25:
        return change
    if is_alone(setting) and draw.random() < 0.2:
        return Change(change.what, change.place, replace(change.new, line=b""))
    columns, _ = _table(setting, (change.new,))
    delimiter = how.sep(setting)
    line = bytearray(how.line([one[0] for one in columns.values()], setting, always=False))
    for _ in range(draw.randint(1, 3)):
        at = draw.randint(0, len(line))
        way = draw.randrange(7)
        if way < 3:
            line[at:at] = draw.choice(_BYTES)
        elif way == 3:
            line[at : at + draw.randint(1, 4)] = b""
        elif way == 4:
            line[at : at + 1] = bytes([draw.randrange(256)])
        elif way == 5:
            line += draw.choice((b"\r", b"\r\r", delimiter.encode())) + bytes(line)
        else:  # add as many lines as the quote may swallow
            head, mark, tail = line.rpartition(delimiter.encode())
            line = line + (b"\r" + line) * draw.randrange(4) + b"\r" + head + mark + b'"' + tail
    while b"\n" in line:
        line[line.index(b"\n")] = draw.choice(b'" \r')
    return Change(change.what, change.place, replace(change.new, line=bytes(line)))


TEXTS: dict[str, tuple[Form, tuple[str, ...]]] = {
    name: (partial(_text, how=how), PATHS) for name, how in WRITTEN.items()
}
"""Forms of text, and their paths."""
