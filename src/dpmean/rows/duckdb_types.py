"""SQL that converts DuckDB columns to Arrow types: different keys stay different, and numbers are rounded once."""

from __future__ import annotations

import re

from dpmean.rows.tables.key_encoding import refuse

_WIDE_INTEGER = re.compile(r"U?HUGEINT(?P<vector>\[\d*\])?")
"""128-bit integers, and vectors of them. Arrow has no such type; DuckDB sends decimals instead, and turns values of
2^127 or more into negative ones."""
_EXACT = 2**53
"""Every integer up to this one is exact in float64."""
_ZONED_TIME = ("TIME WITH TIME ZONE", "TIMETZ")
"""Types of times that DuckDB sends without their time zone: different times would become equal."""


def read_coordinate(kind: str) -> str:
    """Return the SQL that reads a coordinate or a vector from {}: each 128-bit integer becomes the nearest float64.

    DuckDB's own conversion rounds twice: it rounds the two halves, then their sum. Conversion through text rounds once,
    but takes ten times as long. So text is used beyond 2^53 only; smaller integers are exact.
    """
    wide = _WIDE_INTEGER.fullmatch(kind)
    if wide is None:
        return "{}"
    size = wide["vector"]
    if size is not None:
        return f"{{}}::VARCHAR{size}::DOUBLE{size}"
    least = 0 if kind.startswith("U") else -_EXACT
    return f"CASE WHEN {{0}} BETWEEN {least} AND {_EXACT} THEN {{0}}::DOUBLE ELSE {{0}}::VARCHAR::DOUBLE END"


def read_key(name: str, kind: str) -> str:
    """Return the SQL that reads a column of keys from {}: an integer and its text are the same key."""
    if kind in _ZONED_TIME:
        refuse(f"column {name!r}", "times with a time zone")
    return "{}::VARCHAR" if kind in ("HUGEINT", "UHUGEINT") else "{}"
