"""The format of a CSV file: its arguments, and combinations that are impossible."""

from __future__ import annotations

import codecs
import re

from dpmean.enums import Newlines, read_name
from dpmean.errors import ArgumentError, ArgumentTypeError, describe
from dpmean.rows.files.dialect import Dialect

_WIDE = ("utf-8", "utf-16", "utf-16-le", "utf-16-be")
_NARROW = re.compile(r"iso8859-\d+|cp125\d|cp(?:437|850|852|855|858|866)|koi8-[ru]|mac-roman")
"""Encodings with one byte per character, in which the first 128 are ASCII: bytes never combine."""
_TYPICAL = '"utf-8", "utf-16", "latin-1" or "cp1252"'
_IN_NUMBERS = "+-."


def read_dialect(sep: str | None, decimal: str, encoding: str | None, quotechar: str, newlines: str) -> Dialect:
    """Read the format of a CSV file; ``dpmean.mean`` explains the arguments."""
    found = Dialect(
        None if sep is None else _read_sep(sep),
        _read_decimal(decimal),
        None if encoding is None else _read_encoding(encoding),
        _read_quotechar(quotechar),
        read_name(Newlines, newlines, "newlines"),
    )
    if found.sep == found.decimal:
        raise ArgumentError(f"sep and decimal must be different, got {sep!r} for both: give another sep or decimal")
    if found.quotechar in (found.sep, found.decimal):
        raise ArgumentError(
            f"quotechar must differ from sep and decimal, got {quotechar!r} for two of them: give three different "
            "characters"
        )
    return found


def _read_sep(sep: object) -> str:
    one = _read_text(sep, "sep", 'give ",", ";", "|" or a tab, "\\t", or leave it out')
    if (
        len(one) != 1
        or not one.isascii()
        or one.isalnum()
        or one in _IN_NUMBERS
        or not (one.isprintable() or one == "\t")
    ):
        raise ArgumentError(
            "sep must be one ASCII character other than a letter, a digit, plus, minus, a point or a line break, got "
            f'{sep!r}: give ",", ";", "|" or a tab, "\\t", or leave it out'
        )
    return one


def _read_decimal(decimal: object) -> str:
    one = _read_text(decimal, "decimal", 'give "." or ","')
    if one not in (".", ","):
        raise ArgumentError(f'decimal must be "." or ",", got {decimal!r}: give the decimal mark of the file')
    return one


def _read_quotechar(quotechar: object) -> str:
    one = _read_text(quotechar, "quotechar", "give '\"' or \"'\"")
    if one not in ('"', "'", "`"):
        raise ArgumentError(f'quotechar must be \'"\', "\'" or "`", got {quotechar!r}: leave it out for \'"\'')
    return one


def _read_encoding(encoding: object) -> str:
    given = _read_text(encoding, "encoding", f"give {_TYPICAL}")
    try:
        name = codecs.lookup(given).name
    except (LookupError, ValueError):
        raise ArgumentError(f"encoding must be one that Python knows, got {encoding!r}: give {_TYPICAL}") from None
    name = {"utf-8-sig": "utf-8", "ascii": "utf-8"}.get(name, name)
    if name in _WIDE or _NARROW.fullmatch(name):
        return name
    raise ArgumentError(
        f"encoding must be UTF-8, UTF-16 or one with one byte per character, got {encoding!r}, in which one record "
        "could change how the next one is read: convert the file to UTF-8"
    )


def _read_text(given: object, argument: str, cure: str) -> str:
    if not isinstance(given, str):
        raise ArgumentTypeError(f"{argument} must be text, got {describe(given)}: {cure}")
    return given
