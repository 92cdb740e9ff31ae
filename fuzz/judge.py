"""What may come out of the library, whatever goes in."""

from __future__ import annotations

from collections.abc import Callable

from dpmean.errors import DpMeanError

SECRET = 83714.59126
"""A value that only rows hold."""
_TRACES = ("83714", "8.3714", "59126")


def judged(work: Callable[[], object]) -> None:
    """Do something; our own errors are answers, all else is a finding, and so is a secret in any message."""
    try:
        work()
    except DpMeanError as error:
        link: BaseException | None = error
        while link is not None:
            told(str(link))
            link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def told(words: str) -> None:
    """Insist that a message tells nothing of a row."""
    if any(trace in words for trace in _TRACES):
        raise AssertionError("a message holds a value of a row")
