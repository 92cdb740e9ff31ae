"""General names for the types of arrays and columns, for error messages: an exact type may reveal a single row."""

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
"""General names for the types of NumPy arrays: an exact type would reveal the length of the longest text."""


def describe_type(kind: Any) -> str:
    """Return a general name for the type of a column: its exact type may reveal a single row."""
    import pyarrow.types as kinds

    while kinds.is_dictionary(kind):
        kind = kind.value_type
    for is_kind, words in (
        (is_list, "lists"),
        (kinds.is_nested, "records"),
        (kinds.is_boolean, "truth values"),
        (is_number, "numbers"),
        (kinds.is_duration, "durations"),
        (kinds.is_interval, "durations"),
        (kinds.is_temporal, "dates"),
        (_is_text, "text"),
    ):
        if is_kind(kind):
            return words
    return "something else"


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is a list type, which holds vectors."""
    import pyarrow.types as kinds

    return bool(kinds.is_fixed_size_list(kind) or kinds.is_list(kind) or kinds.is_large_list(kind))


def is_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers, binary or decimal; the null type of an all-missing column counts as one."""
    import pyarrow.types as kinds

    tests = (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean, kinds.is_null)
    return any(is_kind(kind) for is_kind in tests)


def _is_text(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))
