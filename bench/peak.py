"""Print by how many bytes a mean makes this process grow after a first one, or -1 if the system does not tell."""

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
    """Return the largest growth of memory in a few calls, after a first call that warms up."""
    rows = draw_rows(n, d)
    private_mean(rows, method)
    largest = 0
    for _ in range(_REPEATS):
        try:
            _CLEAR.write_text("5")  # reset the peak: Linux counts from here on
            before = _status("VmRSS")
        except OSError:
            return -1
        private_mean(rows, method)
        largest = max(largest, _status("VmHWM") - before)
    return largest


if __name__ == "__main__":
    print(growth(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
