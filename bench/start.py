"""The time that a new process needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial

from bench.clock import best_of
from bench.problem import METHODS, Sizes
from bench.report import Line

_SMALL = "import bench.problem as p; p.private_mean(p.draw_rows(4000, 16), {method!r})"


def fresh_process(sizes: Sizes) -> list[Line]:
    """Measure the import, and a small mean in a complete process."""
    small = {method: _process(_SMALL.format(method=method)) for method in METHODS}
    for run in small.values():
        run()  # the very first process compiles the loops; the requirement is for later ones
    jobs = {"bare": _process("pass"), "import": _process("import dpmean"), **small}
    best = best_of(sizes.rounds, "new processes", jobs)
    lines = [
        Line(
            job="import dpmean, new process",
            method="any",
            measured=max(0.0, best["import"] - best["bare"]),
            unit="s",
            required=0.3,
            beside=f"bare interpreter {best['bare']:.3g} s",
        )
    ]
    return lines + [
        Line(job="mean of 4,000 x 16, whole new process", method=method, measured=best[method], unit="s", required=1.5)
        for method in METHODS
    ]


def _process(code: str) -> Callable[[], object]:
    return partial(subprocess.run, [sys.executable, "-c", code], check=True)
