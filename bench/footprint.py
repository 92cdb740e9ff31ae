"""Print the memory, in bytes, that this process needs beyond a bare interpreter for the mean of a file."""

from __future__ import annotations

import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def _status(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


if __name__ == "__main__":
    bare = _status("VmRSS")
    import dpmean

    dpmean.mean(sys.argv[1], rho=0.5, norm_bound=float(sys.argv[2]), passes=int(sys.argv[3]), neighbours="replace-one")
    print(_status("VmHWM") - bare)
