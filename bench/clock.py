"""Timing of competitors in turns, so that load on the machine affects all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress

_T = TypeVar("_T")


def seconds(job: Callable[[], object]) -> float:
    """Return the seconds that one run of a job takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def best_of(rounds: int, what: str, jobs: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the shortest time of each job; every round runs all of them in turn."""
    best = dict.fromkeys(jobs, math.inf)
    turns = [name for _ in range(rounds) for name in jobs]
    for name in track(turns, what):
        best[name] = min(best[name], seconds(jobs[name]))
    return best


def track(items: Iterable[_T], what: str) -> Iterator[_T]:
    """Show progress on standard error, between items only: a ticking display would affect the times."""
    items = list(items)
    console = Console(stderr=True)
    with Progress(console=console, auto_refresh=False, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=len(items))
        for item in items:
            progress.refresh()
            yield item
            progress.advance(task)
