"""Records as text: one line each, any byte of which may be changed."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from fuzz.forms import Form
from fuzz.records import Change, Record
from fuzz.setting import PATHS, Made, Setting, table

_BYTES = (b'"', b'"', b"\r", b",", b"\t", b"\0", b"\xff", b" ", b"'", b"\\", b";", b"#", b"\xef\xbb\xbf", b"\x1a")
_BYTES += (
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


def _text(setting: Setting, records: tuple[Record, ...], delimiter: str, *, broken: bool) -> Made:
    """Write a file with a line for each record; only a file that is read so may have line breaks in its fields."""
    columns, named = table(setting, records, vectors=False)
    end = setting.pick("end", "\n", "\n", "\r\n").encode()
    always = setting.pick("quotes", False, False, True)
    lines = [delimiter.join(_field(name, delimiter, always=always, broken=False) for name in columns).encode()]
    for place, record in enumerate(records):
        cells = [_field(column[place], delimiter, always=always, broken=broken) for column in columns.values()]
        line = delimiter.join(cells).encode("utf-8", "surrogatepass")
        lines.append(line if record.line is None or broken else record.line)
    if not named and setting.pick("nameless", True, False):
        lines = lines[1:]
    path = setting.folder / ("rows.csv" if delimiter == "," else "rows.tsv")
    path.write_bytes(end.join(lines) + (end if setting.pick("ended", True, True, False) else b""))
    return path, {**named, **({"newlines": "quoted"} if broken else {})}


def _field(value: Any, delimiter: str, *, always: bool, broken: bool) -> str:
    words = "" if value is None else str(value)
    if not broken:
        words = words.replace("\n", " ").replace("\r", " ")
    if always or any(mark in words for mark in ('"', delimiter, "\n", "\r")):
        return '"' + words.replace('"', '""') + '"'
    return words


def csv(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Write commas between fields."""
    return _text(setting, records, ",", broken=False)


def tsv(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Write tabs between fields."""
    return _text(setting, records, "\t", broken=False)


def quoted(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Write fields with line breaks in quotes, as conforming writers do."""
    return _text(setting, records, ",", broken=True)


def mangled(draw: random.Random, change: Change, setting: Setting, delimiter: str) -> Change:
    """Change bytes of the line, too."""
    if change.new is None or draw.random() < 0.25:
        return change
    columns, _ = table(setting, (change.new,), vectors=False)
    line = bytearray(
        delimiter.join(_field(one[0], delimiter, always=False, broken=False) for one in columns.values()).encode()
    )
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
        else:  # as many lines come as the quote may swallow
            head, mark, tail = line.rpartition(delimiter.encode())
            line = line + (b"\r" + line) * draw.randrange(4) + b"\r" + head + mark + b'"' + tail
    while b"\n" in line:
        line[line.index(b"\n")] = draw.choice(b'" \r')
    return Change(change.what, change.place, replace(change.new, line=bytes(line)))


TEXTS: dict[str, tuple[Form, tuple[str, ...]]] = {
    "csv": (csv, PATHS),
    "tsv": (tsv, PATHS),
    "csv quoted": (quoted, PATHS),
}
"""Forms of text, and the paths that they may go."""
