"""Errors a caller may catch; every one that is about an argument is a ValueError or a TypeError."""

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class DpMeanError(Exception):
    """The parent of every error of this library."""


class ArgumentError(DpMeanError, ValueError):
    """An argument has a value that cannot be used."""


class ArgumentTypeError(DpMeanError, TypeError):
    """An argument has a type that cannot be used."""


class DataError(DpMeanError, ValueError):
    """The rows cannot be used; nothing was released."""


class TooFewRowsError(DpMeanError, ValueError):
    """There are too few rows for this budget; decided by their number alone.

    Args:
        message: What went wrong, and the cure.
        rows_needed: The number of rows, or persons, that is needed at least. If more are recommended, the message says
            how many, as ``dpmean.plan(...).rows_needed`` does.
        receipts: What was paid to know the number of rows, if it is private.

    """

    def __init__(self, message: str, rows_needed: int, receipts: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.rows_needed = rows_needed
        self.receipts = receipts


class TooFewRowsWarning(UserWarning):
    """There are enough rows for an answer, but not for a good one."""


class FormatWarning(UserWarning):
    """The first line of a file decided how the file is read, and nobody else said so."""


class LargeEpsilonWarning(UserWarning):
    """The budget has an epsilon above 10, so large that the promise alone says little."""


class OverspendError(DpMeanError, ValueError):
    """A step asked for more privacy budget than it was given."""


class LedgerError(ArgumentError):
    """The file of a ledger cannot be read, written or understood; it was left as it is."""


class EntropyError(DpMeanError, RuntimeError):
    """The operating system gave no usable randomness; nothing was released."""


def hide_sizes(work: Callable[[], _Result]) -> _Result:
    """Do some work; if memory does not suffice, say that alone: NumPy's error tells how many rows there are."""
    with contextlib.suppress(MemoryError):
        return work()
    raise MemoryError(
        "there is not enough memory for the rows, so no mean was released: use fewer columns or a smaller type, or "
        "read them from a file"
    )


def display_name(name: str | tuple[str, ...]) -> str:
    """Return the name of a column, or of several, as people read it; a blank one is a name, too, and is quoted."""
    if isinstance(name, tuple):
        *first, last = map(display_name, name)
        return f"{', '.join(first)} and {last}" if first else last
    return name if name.strip() else repr(name)


def display_label(label: object) -> str:
    """Return the label of a group as people read it; of a group by several columns it is one value for each."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def plural(count: int, one: str, several: str | None = None) -> str:
    """Return a number and what there is of it, in singular or plural."""
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def describe(given: object) -> str:
    """Return a wrong argument as an error may show it: of all but plain values the type alone, as it may hold rows."""
    plain = given is None or type(given) in (bool, int, float, str)
    return repr(given) if plain else f"an object of type {type(given).__name__}"
