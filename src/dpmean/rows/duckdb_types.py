"""Columns of DuckDB in SQL, as types that Arrow has: different keys stay different, and numbers are rounded once."""

from __future__ import annotations

import re

from dpmean.rows.tables.key_encoding import refuse

_WIDE_INTEGER = re.compile(r"U?HUGEINT(?P<vector>\[\d*\])?")
"""Integers of 128 bits, and vectors of them: Arrow has no type for them, and DuckDB sends decimals, of which those from
2^127 on are negative."""
_EXACT = 2**53
"""Up to here every integer is a float64."""
_ZONED_TIME = ("TIME WITH TIME ZONE", "TIMETZ")
"""Times that DuckDB sends without their time zone, so that different ones become the same."""


def read_coordinate(kind: str) -> str:
    """Return how to read a coordinate or a vector, {} in SQL: a 128-bit integer becomes the nearest float64, by itself.

    DuckDB rounds twice where it makes a float of one: each of its two halves, and their sum. Text is rounded once, but
    takes ten times as long, so it is used beyond 2^53 only: up to there nothing is rounded.
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
    """Return how to read a column of keys, {} in SQL: an integer and its text are the same key."""
    if kind in _ZONED_TIME:
        refuse(f"column {name!r}", "times with a time zone")
    return "{}::VARCHAR" if kind in ("HUGEINT", "UHUGEINT") else "{}"
