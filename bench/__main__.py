"""Run the benchmark: ``python -m bench``, or ``python -m bench --quick`` to try it out."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path

import numpy as np
from rich.console import Console

from bench import memory, noise, one_problem, report, speed, start
from bench.others import Others
from bench.problem import FULL, QUICK
from dpmean import __version__

_RESULTS = Path(__file__).parent.parent / "results"
_JOBS = (speed.tall, speed.wide, speed.bounded, speed.private_number, memory.extra, start.fresh_process, noise.rates)


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Speed, memory and peers.")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, under half a minute; requirements do not apply"
    )
    quick = parser.parse_args().quick
    sizes = QUICK if quick else FULL

    # In a file, lines need not fit in a terminal.
    console = Console(width=None if sys.stdout.isatty() else 150)
    others = Others()
    lines = [line for job in _JOBS for line in job(sizes)]
    busy = others.cores()
    console.print(report.speed_table(lines, sizes, busy))
    records = one_problem.compare(sizes)
    console.print(one_problem.comparison_table(records, sizes))

    _RESULTS.mkdir(exist_ok=True)
    # A quick run must not replace the figures of a full one.
    file = _RESULTS / ("bench-quick.json" if quick else "bench.json")
    machine = {
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "cores_kept_busy_by_others": busy,
    }
    versions = {"dpmean": __version__, "numpy": np.__version__, "python": platform.python_version()}
    document = {
        "machine": machine,
        "versions": versions,
        "speed": report.as_json(lines, sizes),
        "peers": one_problem.as_json(records, sizes),
    }
    file.write_text(json.dumps(document, indent=2) + "\n")
    console.print(f"Written to results/{file.name}.")


if __name__ == "__main__":
    main()
