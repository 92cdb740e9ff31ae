"""Strict JSON: no repeated fields, finite numbers only, and errors that quote little of the document."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn, TypeVar

import msgspec

_LONGEST = 40
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`( - at `[^`]*`)?", re.DOTALL)
_Document = TypeVar("_Document", bound=msgspec.Struct)


def parse(text: str | bytes) -> Any:
    """Read JSON; raise a ValueError that explains a fault, and quotes at most 40 characters."""
    try:
        words = text.decode() if isinstance(text, bytes | bytearray) else text  # json would guess other encodings
        return json.loads(
            words, object_pairs_hook=_read_object, parse_constant=_refuse_constant, parse_float=_read_float
        )
    except TypeError:
        raise ValueError("it is not text") from None
    except UnicodeError:
        raise ValueError("it is not text in UTF-8") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def convert(found: Any, kind: type[_Document]) -> _Document:
    """Convert parsed JSON to a record; raise a ValueError that names a field that is wrong or unknown."""
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_explain(str(error))) from None
    except (OverflowError, RecursionError):
        raise ValueError("a number is too large") from None


def shorten(text: str) -> str:
    """Return the beginning of a text, as much as an error may quote."""
    return text[:_LONGEST]


def _explain(message: str) -> str:
    """Return the message of msgspec, with the name of an unknown field shortened."""
    unknown = _UNKNOWN.fullmatch(message)
    if unknown is None:
        return message
    return f"it has an unknown field {shorten(unknown[1])!r}{unknown[2] or ''}"


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Read an object, and refuse one with a repeated field, which would be ambiguous."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the field {shorten(name)!r} occurs twice")
        found[name] = value
    return found


def _read_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{shorten(text)} is too large")
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")
