"""CPU seconds of a process and all of its descendants."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def cpu_of_tree(root: int | None = None) -> float:
    """Return the CPU seconds of a process (by default this one) and its descendants, including ended ones."""
    stats = {}
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended meanwhile
            stats[int(entry.name)] = int(fields[1]), sum(int(field) for field in fields[11:15])
    wanted, ticks = {os.getpid() if root is None else root}, 0
    grown = True
    while grown:
        found = {number for number, (parent, _) in stats.items() if parent in wanted} | wanted
        grown, wanted = len(found) > len(wanted), found
    ticks = sum(stats[number][1] for number in wanted if number in stats)
    return ticks / os.sysconf("SC_CLK_TCK")
