"""Errors that a caller may catch. Every error about an argument is a ValueError or a TypeError."""

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class DpMeanError(Exception):
    """The base class of all errors of this library."""


class ArgumentError(DpMeanError, ValueError):
    """An argument has a value that cannot be used."""


class ArgumentTypeError(DpMeanError, TypeError):
    """An argument has a type that cannot be used."""


class DataError(DpMeanError, ValueError):
    """The rows cannot be used. Nothing was released."""


class TooFewRowsError(DpMeanError, ValueError):
    """There are too few rows for this budget. Only their number decides this, not their values.

    Args:
        message: The problem and its cure.
        rows_needed: The minimum number of rows, or persons. If more are recommended, the message says how many, and so
            does ``dpmean.plan(...).rows_needed``.
        receipts: The cost of counting the rows, if their number is private.

    """

    def __init__(self, message: str, rows_needed: int, receipts: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.rows_needed = rows_needed
        self.receipts = receipts


class TooFewRowsWarning(UserWarning):
    """There are enough rows for a mean, but its error may be large."""


class FormatWarning(UserWarning):
    """The format of a file was inferred from its first line, because the call did not specify it."""


class LargeEpsilonWarning(UserWarning):
    """The budget has an epsilon above 10, at which differential privacy by itself guarantees little."""


class OverspendError(DpMeanError, ValueError):
    """A release, or a step of it, needs more privacy budget than is left."""


class LedgerError(ArgumentError):
    """The file of a ledger cannot be read, written or understood. The file is unchanged."""


class EntropyError(DpMeanError, RuntimeError):
    """The operating system returned no usable randomness. Nothing was released."""


def hide_sizes(work: Callable[[], _Result]) -> _Result:
    """Do some work, and hide the details of a memory error: NumPy's message contains the number of rows."""
    with contextlib.suppress(MemoryError):
        return work()
    raise MemoryError(
        "there is not enough memory for the rows, and no mean was released: use fewer columns, a smaller type such as "
        "float32, or read the rows from a file"
    )


def display_name(name: str | tuple[str, ...]) -> str:
    """Return the name of a column, or of several, for people. A blank name is quoted."""
    if isinstance(name, tuple):
        *first, last = map(display_name, name)
        return f"{', '.join(first)} and {last}" if first else last
    return name if name.strip() else repr(name)


def display_label(label: object) -> str:
    """Return the label of a group for people; a group by several columns has one value for each."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def plural(count: int, one: str, several: str | None = None) -> str:
    """Return a count and its noun, in singular or plural."""
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def describe(given: object) -> str:
    """Return a wrong argument for an error message: a plain value, or else the type, as others may hold rows."""
    plain = given is None or type(given) in (bool, int, float, str)
    return repr(given) if plain else f"an object of type {type(given).__name__}"
