"""The threads of this process, and how many of them to use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from dpmean.errors import ArgumentError

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def threads_to_use() -> int:
    """Return the number of cores this process may use, or what DPMEAN_THREADS says."""
    asked = os.environ.get("DPMEAN_THREADS", "")
    if not asked:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdecimal() or int(asked) < 1:
        raise ArgumentError(f"DPMEAN_THREADS must be a whole number of at least 1, got {asked!r}")
    return int(asked)


@lru_cache(maxsize=1)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001  a forked process has no threads yet
    """Return the threads of this process; starting them anew for every question would cost more than the work."""
    return ThreadPoolExecutor(threads, thread_name_prefix="dpmean")


def each(work: Callable[[_Part], _Result], parts: list[_Part], threads: int) -> list[_Result]:
    """Do the work on every part, on so many threads; results come in the order of the parts."""
    if threads == 1 or len(parts) == 1:
        return [work(part) for part in parts]
    return list(_pool(threads, os.getpid()).map(work, parts))


def shared_out(work: Callable[[Iterable[_Part]], _Result], parts: list[_Part], threads: int) -> list[_Result]:
    """Let every thread work on parts as they come, until none is left: one result for each thread, not for each part.

    When one fails, the others stop after the part at hand.
    """
    left = iter(parts)

    def worked(_: int) -> _Result:
        try:
            return work(left)
        except BaseException:
            list(left)
            raise

    return each(worked, list(range(max(1, min(threads, len(parts))))), threads)
