"""The load from other processes during a benchmark: it slows our threads, but not numpy.mean, which uses one core."""

from __future__ import annotations

import os
import time
from pathlib import Path

_CPU = Path("/proc/stat")
_NOT_AT_WORK = (3, 4)  # idle, and waiting for a disk


class Others:
    """Measures the load from other processes since its creation."""

    def __init__(self) -> None:
        self._start = self._now()

    def cores(self) -> float | None:
        """Return how many cores others kept busy on average; None if the system does not tell."""
        everybody, ours, wall = (late - early for late, early in zip(self._now(), self._start, strict=True))
        return max(0.0, everybody - ours) / wall if _CPU.exists() else None

    @staticmethod
    def _now() -> tuple[float, float, float]:
        """Return the CPU seconds of all processes, those of this one with its children, and the wall time."""
        everybody = 0.0
        if _CPU.exists():
            fields = _CPU.read_text().splitlines()[0].split()[1:9]
            ticks = sum(int(field) for place, field in enumerate(fields) if place not in _NOT_AT_WORK)
            everybody = ticks / os.sysconf("SC_CLK_TCK")
        return everybody, sum(os.times()[:4]), time.monotonic()
