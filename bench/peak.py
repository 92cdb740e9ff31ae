"""Print by how many bytes a second mean makes this process grow at most, or -1 where that cannot be seen."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.problem import draw_rows, private_mean

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_REPEATS = 3


def _status(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


def growth(method: str, n: int, d: int) -> int:
    """Return the largest growth of a few calls, after one that warms everything up."""
    rows = draw_rows(n, d)
    private_mean(rows, method)
    largest = 0
    for _ in range(_REPEATS):
        try:
            _CLEAR.write_text("5")  # the peak is forgotten: Linux counts again from here
            before = _status("VmRSS")
        except OSError:
            return -1
        private_mean(rows, method)
        largest = max(largest, _status("VmHWM") - before)
    return largest


if __name__ == "__main__":
    print(growth(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
