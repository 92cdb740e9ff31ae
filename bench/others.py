"""How much of the machine others used meanwhile: they take cores from us, but not from numpy.mean, which needs one."""

from __future__ import annotations

import os
import time
from pathlib import Path

_CPU = Path("/proc/stat")
_NOT_AT_WORK = (3, 4)  # idle, and waiting for a disk


class Others:
    """Counts from when it is made."""

    def __init__(self) -> None:
        self._start = self._now()

    def cores(self) -> float | None:
        """Return how many cores others kept busy on average; None where the system does not say."""
        everybody, ours, wall = (late - early for late, early in zip(self._now(), self._start, strict=True))
        return max(0.0, everybody - ours) / wall if _CPU.exists() else None

    @staticmethod
    def _now() -> tuple[float, float, float]:
        """Return the seconds that all processes and ours (with its children) have worked, and the clock's."""
        everybody = 0.0
        if _CPU.exists():
            fields = _CPU.read_text().splitlines()[0].split()[1:9]
            ticks = sum(int(field) for place, field in enumerate(fields) if place not in _NOT_AT_WORK)
            everybody = ticks / os.sysconf("SC_CLK_TCK")
        return everybody, sum(os.times()[:4]), time.monotonic()
