"""What arrays and columns hold, in words: an exact type may tell of a single row."""

from __future__ import annotations

from typing import Any

KINDS = {
    "U": "text",
    "T": "text",
    "S": "bytes",
    "b": "truth values",
    "i": "numbers",
    "u": "numbers",
    "f": "numbers",
    "c": "complex numbers",
    "M": "dates",
    "m": "durations",
    "V": "records",
    "O": "objects",
}
"""What arrays of NumPy hold, and no more: an exact type tells how long the longest text is."""


def in_words(kind: Any) -> str:
    """Return what a column holds, and no more: its exact type may tell of a single row."""
    import pyarrow.types as kinds

    while kinds.is_dictionary(kind):
        kind = kind.value_type
    for tell, words in (
        (is_list, "lists"),
        (kinds.is_nested, "records"),
        (kinds.is_boolean, "truth values"),
        (is_number, "numbers"),
        (kinds.is_duration, "durations"),
        (kinds.is_interval, "durations"),
        (kinds.is_temporal, "dates"),
        (_is_text, "text"),
    ):
        if tell(kind):
            return words
    return "something else"


def is_list(kind: Any) -> bool:
    """Whether a type of Arrow is one of vectors."""
    import pyarrow.types as kinds

    return bool(kinds.is_fixed_size_list(kind) or kinds.is_list(kind) or kinds.is_large_list(kind))


def is_number(kind: Any) -> bool:
    """Whether a type is one of numbers, binary or decimal; that of a column all of which is missing is as good."""
    import pyarrow.types as kinds

    tests = (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean, kinds.is_null)
    return any(tell(kind) for tell in tests)


def _is_text(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))
