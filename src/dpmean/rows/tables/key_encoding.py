"""Keys as bytes: equal keys get equal bytes, whatever type stores them and whatever other keys there are.

The first byte is the kind of the key, and the others are its text form: ``n17`` for 17, 17.0 and Decimal("17.00"),
``t17`` for the text "17". A date is encoded as its midnight.
"""

from __future__ import annotations

import datetime
import enum
import math
import uuid
from decimal import Decimal
from functools import cache, singledispatch
from typing import Any, NoReturn

import numpy as np

from dpmean.errors import ArgumentTypeError, DataError

MISSING = b""
_NUMBER, _DECIMAL, _TEXT, _BYTES, _UUID, _MEMBER = b"n", b"d", b"t", b"b", b"u", b"m"
_TIME, _INSTANT, _CLOCK, _DURATION = b"T", b"Z", b"c", b"s"
_MOST_DIGITS = 4300
"""The largest number of digits of a number: the limit of Python's conversion to text."""
_LARGEST = 10**_MOST_DIGITS
_SECOND = 10**18
_UNITS = {"as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": _SECOND}
_UNITS |= {"m": 60 * _SECOND, "h": 3600 * _SECOND, "D": 86400 * _SECOND, "W": 7 * 86400 * _SECOND}
"""Units of time, in attoseconds, the finest that NumPy has."""
_FIRST_DAY, _CYCLE = datetime.date(1970, 1, 1).toordinal() - 1, 146097
"""Days from the year 1 to 1970, and in 400 years."""


@singledispatch
def encode(key: Any, name: str) -> bytes:
    """Return a key as bytes, or MISSING for a missing value; ``name`` names the keys in errors."""
    if type(key).__name__ == "NAType":  # of pandas
        return MISSING
    if type(key).__module__ == "pyarrow.lib" and hasattr(key, "is_valid"):
        return _encode_arrow(key, name)
    return refuse(name)


def refuse(name: str, found: str = "") -> NoReturn:
    """Refuse keys of a kind that is not supported."""
    raise ArgumentTypeError(
        f"{name} must hold numbers, text, bytes, dates, times, UUIDs or Enum members as keys"
        f"{found and f', got {found}'}: convert other keys to text"
    )


def refuse_large(kind: Any, name: str) -> NoReturn:
    """Refuse floats of ``most_exact`` or more."""
    digits = most_exact(kind).bit_length() - 1
    raise DataError(
        f"{name!r} holds floats of 2^{digits} or more, so nothing was released: different integers of this size become "
        "the same float. Read the data again with this column as text or as integers, for example with pandas' "
        'read_csv(..., dtype={"id": "Int64"}); converting the floats does not restore lost digits'
    )


@cache
def most_exact(kind: Any) -> int:
    """Return the limit below which all integers are exact in a type of floats."""
    return 1 << min(np.finfo(kind).nmant + 1, 53)


@encode.register
def _(key: None, name: str) -> bytes:  # noqa: ARG001  one signature for all
    return MISSING


@encode.register
def _(key: str, name: str) -> bytes:  # noqa: ARG001
    return _TEXT + key.encode("utf-8", "surrogatepass")


@encode.register
def _(key: bytes, name: str) -> bytes:  # noqa: ARG001
    return _BYTES + key


@encode.register(int)
@encode.register(np.integer)
@encode.register(np.bool_)
def _(key: Any, name: str) -> bytes:
    number = int(key)
    if abs(number) >= _LARGEST:
        refuse(name)
    return _NUMBER + b"%d" % number


@encode.register(float)
@encode.register(np.floating)
def _(key: Any, name: str) -> bytes:
    number = float(key)
    if not math.isfinite(number):
        return MISSING if math.isnan(number) else _NUMBER + str(number).encode()
    if number != key:  # the key has more digits than a float
        refuse(name)
    kind: Any = type(key) if isinstance(key, np.floating) else float
    if abs(number) >= most_exact(kind):
        refuse_large(kind, name)
    return _NUMBER + (b"%d" % int(number) if number.is_integer() else _plain(Decimal(repr(number))))


@encode.register
def _(key: Decimal, name: str) -> bytes:
    if not key.is_finite():
        return MISSING if key.is_nan() else _NUMBER + str(float(key)).encode()
    if key and len(key.as_tuple().digits) + abs(key.adjusted()) > _MOST_DIGITS:
        refuse(name)
    near = float(key)
    if key == key.to_integral_value():
        return _NUMBER + _plain(key)
    return _NUMBER + _plain(Decimal(repr(near))) if key == Decimal(near) else _DECIMAL + _plain(key)


@encode.register
def _(key: uuid.UUID, name: str) -> bytes:  # noqa: ARG001
    return _UUID + str(key).encode()


@encode.register
def _(key: enum.Enum, name: str) -> bytes:
    if key.name is None:  # flags that no member stands for
        refuse(name)
    return _MEMBER + f"{type(key).__module__}.{type(key).__qualname__}.{key.name}".encode()


@encode.register
def _(key: datetime.date, name: str) -> bytes:  # noqa: ARG001
    return _moment((key.toordinal() - _FIRST_DAY - 1) * _UNITS["D"])


@encode.register
def _(key: datetime.datetime, name: str) -> bytes:
    offset = None if key != key else key.utcoffset()
    if hasattr(key, "to_datetime64"):  # a pandas Timestamp, in UTC, or NaT
        return encode(key.to_datetime64(), name) if offset is None else _moment(_since(key.to_datetime64()), _INSTANT)
    days = key.toordinal() - _FIRST_DAY - 1
    local = days * _UNITS["D"] + _of_day(key)
    return _moment(local) if offset is None else _moment(local - _length(offset), _INSTANT)


@encode.register
def _(key: datetime.time, name: str) -> bytes:  # noqa: ARG001
    offset = key.utcoffset()
    return _CLOCK + (_clock(_of_day(key)) if offset is None else _clock(_of_day(key) - _length(offset)) + b"Z")


@encode.register
def _(key: datetime.timedelta, name: str) -> bytes:
    return encode(key.to_timedelta64(), name) if hasattr(key, "to_timedelta64") else _span(_length(key))


@encode.register
def _(key: np.datetime64, name: str) -> bytes:
    if np.isnat(key):
        return MISSING
    if np.datetime_data(key)[0] == "generic":
        refuse(name)
    return _moment(_since(key))


@encode.register
def _(key: np.timedelta64, name: str) -> bytes:
    if np.isnat(key):
        return MISSING
    unit, count = np.datetime_data(key)
    value = int(key.astype(np.int64)) * count
    if unit == "generic":
        refuse(name)
    return (
        _span(value * _UNITS[unit]) if unit in _UNITS else _DURATION + f"{value * (12 if unit == 'Y' else 1)}M".encode()
    )


def _encode_arrow(key: Any, name: str) -> bytes:
    """Return an Arrow scalar as bytes; not every scalar can be converted to a Python object."""
    import pyarrow.types as kinds

    kind = key.type
    if not key.is_valid:
        return MISSING
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return _TEXT + bytes(key.as_buffer())
    if kinds.is_timestamp(kind):
        return _moment(key.value * _UNITS[kind.unit], _TIME if kind.tz is None else _INSTANT)
    if kinds.is_date(kind):
        return _moment(key.value * _UNITS["D" if kinds.is_date32(kind) else "ms"])
    if kinds.is_time(kind):
        return _CLOCK + _clock(key.value * _UNITS[kind.unit])
    if kinds.is_duration(kind):
        return _span(key.value * _UNITS[kind.unit])
    found = key.as_py()
    return refuse(name) if type(found) in (dict, list, tuple) else encode(found, name)


def _plain(number: Decimal) -> bytes:
    """Return a number in decimal digits, without an exponent or trailing zeros."""
    text = format(number, "f") if number else "0"
    return (text.rstrip("0").rstrip(".") if "." in text else text).encode()


def _of_day(key: datetime.datetime | datetime.time) -> int:
    return ((key.hour * 60 + key.minute) * 60 + key.second) * _SECOND + key.microsecond * _UNITS["us"]


def _length(key: datetime.timedelta) -> int:
    return (key.days * 86400 + key.seconds) * _SECOND + key.microseconds * _UNITS["us"]


def _since(key: np.datetime64) -> int:
    """Return the attoseconds since 1970, in unbounded integers: NumPy's own conversion of years may overflow."""
    unit, count = np.datetime_data(key)
    value = int(key.astype(np.int64)) * count
    if unit in _UNITS:
        return value * _UNITS[unit]
    years, months = divmod(value * (12 if unit == "Y" else 1), 12)
    cycles, year = divmod(years + 1969, 400)
    days = cycles * _CYCLE + datetime.date(year + 1, months + 1, 1).toordinal() - 1 - _FIRST_DAY
    return days * _UNITS["D"]


def _moment(since: int, kind: bytes = _TIME) -> bytes:
    """Return a point in time as text; any year is possible."""
    days, rest = divmod(since, _UNITS["D"])
    cycles, day = divmod(days + _FIRST_DAY, _CYCLE)
    date = datetime.date.fromordinal(day + 1)
    text = f"{date.year + 400 * cycles:04d}-{date.month:02d}-{date.day:02d}".encode()
    return kind + text + (b"T" + _clock(rest) if rest else b"") + (b"Z" if kind == _INSTANT else b"")


def _clock(rest: int) -> bytes:
    seconds, part = divmod(rest, _SECOND)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return (text + (f".{part:018d}".rstrip("0") if part else "")).encode()


def _span(length: int) -> bytes:
    seconds, part = divmod(abs(length), _SECOND)
    text = f"{'-' if length < 0 else ''}{seconds}" + (f".{part:018d}".rstrip("0") if part else "")
    return _DURATION + text.encode() + b"s"
