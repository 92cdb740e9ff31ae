"""How a CSV file is written: every argument that says so, and what cannot be true of any file."""

from __future__ import annotations

import codecs
import re

from dpmean.enums import Newlines, read_name
from dpmean.errors import ArgumentError, ArgumentTypeError, describe
from dpmean.rows.files.dialect import Dialect

_WIDE = ("utf-8", "utf-16", "utf-16-le", "utf-16-be")
_NARROW = re.compile(r"iso8859-\d+|cp125\d|cp(?:437|850|852|855|858|866)|koi8-[ru]|mac-roman")
"""Encodings with one byte per character, in which the first 128 are those of ASCII: no byte joins with the next one."""
_TYPICAL = '"utf-8", "utf-16", "latin-1" or "cp1252"'
_IN_NUMBERS = "+-."


def read_dialect(sep: str | None, decimal: str, encoding: str | None, quotechar: str, newlines: str) -> Dialect:
    """Read how a CSV file is written; ``dpmean.mean`` explains the arguments."""
    found = Dialect(
        None if sep is None else _read_sep(sep),
        _read_decimal(decimal),
        None if encoding is None else _read_encoding(encoding),
        _read_quotechar(quotechar),
        read_name(Newlines, newlines, "newlines"),
    )
    if found.sep == found.decimal:
        raise ArgumentError(
            f"sep and decimal are both {sep!r}, so that nobody could tell columns from decimals: give another sep"
        )
    if found.quotechar in (found.sep, found.decimal):
        raise ArgumentError(f"quotechar is {quotechar!r}, and so is sep or decimal: give three different characters")
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
            f"sep must be one ASCII character that is in no number, letter or line break, got {sep!r}: "
            'give ",", ";", "|" or a tab, "\\t", or leave it out'
        )
    return one


def _read_decimal(decimal: object) -> str:
    one = _read_text(decimal, "decimal", 'give "." or ","')
    if one not in (".", ","):
        raise ArgumentError(f'decimal must be "." or ",", got {decimal!r}: give the mark before the decimals')
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
        raise ArgumentError(f"encoding must be one that is known, got {encoding!r}: give {_TYPICAL}") from None
    name = {"utf-8-sig": "utf-8", "ascii": "utf-8"}.get(name, name)
    if name in _WIDE or _NARROW.fullmatch(name):
        return name
    raise ArgumentError(
        f"encoding must be UTF-8, UTF-16 or one with one byte per character, got {encoding!r}, in which a character "
        "may swallow a quote or a line break of another record: convert the file to UTF-8"
    )


def _read_text(given: object, argument: str, cure: str) -> str:
    if not isinstance(given, str):
        raise ArgumentTypeError(f"{argument} must be text, got {describe(given)}: {cure}")
    return given
