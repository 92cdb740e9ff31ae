"""The memory that a mean needs in addition to its rows, measured in a new process."""

from __future__ import annotations

import os
import subprocess
import sys

from bench.clock import track
from bench.problem import METHODS, WIDE_COLUMNS, Sizes
from bench.report import Line

# Return freed memory to the system at once. Otherwise glibc may keep the memory that the first call freed, and the
# second call would seem to need none.
_GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}


def extra(sizes: Sizes) -> list[Line]:
    """Measure the growth of the process in a second call."""
    lines = []
    for method in track(METHODS, f"memory of {sizes.wide_rows} x {WIDE_COLUMNS}"):
        command = [sys.executable, "-m", "bench.peak", method, str(sizes.wide_rows), str(WIDE_COLUMNS)]
        answer = subprocess.run(command, env=os.environ | _GIVE_BACK, check=True, capture_output=True, text=True)
        growth = float(answer.stdout)
        size = 8 * sizes.wide_rows * WIDE_COLUMNS
        known = growth >= 0
        lines.append(
            Line(
                job=f"extra memory at {sizes.wide_rows:,} x {WIDE_COLUMNS}, of X",
                method=method,
                measured=100 * growth / size if known else None,
                unit="%",
                required=25,
                beside=f"{growth / 2**20:.3g} MiB of {size / 2**20:.0f} MiB" if known else "",
            )
        )
    return lines
