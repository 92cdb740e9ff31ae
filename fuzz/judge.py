"""The rules for the output of the library: our own errors only, without values of rows."""

from __future__ import annotations

from collections.abc import Callable

from dpmean.errors import DpMeanError

SECRET = 83714.59126
"""A value that occurs in rows only."""
_TRACES = ("83714", "8.3714", "59126")


def check_errors(work: Callable[[], object]) -> None:
    """Run some work; our own errors are allowed, other exceptions are findings, and so is a secret in a message."""
    try:
        work()
    except DpMeanError as error:
        link: BaseException | None = error
        while link is not None:
            check_message(str(link))
            link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def check_message(words: str) -> None:
    """Check that a message contains no value of a row."""
    if any(trace in words for trace in _TRACES):
        raise AssertionError("a message contains a value of a row")
