"""The threads of this process, and the number of threads to use."""

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
    """Return the value of DPMEAN_THREADS, or else the number of cores that this process may use."""
    asked = os.environ.get("DPMEAN_THREADS", "")
    if not asked:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdecimal() or int(asked) < 1:
        raise ArgumentError(f"DPMEAN_THREADS must be a positive integer, got {asked!r}")
    return int(asked)


@lru_cache(maxsize=1)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001  a forked process has no threads yet
    """Return the threads of this process; starting new ones for every query would take longer than the work."""
    return ThreadPoolExecutor(threads, thread_name_prefix="dpmean")


def run_parts(work: Callable[[_Part], _Result], parts: list[_Part], threads: int) -> list[_Result]:
    """Run the work on every part, on the given number of threads; results are in the order of the parts."""
    if threads == 1 or len(parts) == 1:
        return [work(part) for part in parts]
    return list(_pool(threads, os.getpid()).map(work, parts))


def share_parts(work: Callable[[Iterable[_Part]], _Result], parts: list[_Part], threads: int) -> list[_Result]:
    """Let every thread take parts until none is left; return one result per thread, not per part.

    If one fails, the others stop after their current part.
    """
    left = iter(parts)

    def worked(_: int) -> _Result:
        try:
            return work(left)
        except BaseException:
            list(left)
            raise

    return run_parts(worked, list(range(max(1, min(threads, len(parts))))), threads)
