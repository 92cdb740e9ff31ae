"""Run one target: it may raise our own errors only, and no message may contain a value of a row.

The target "neighbours" compares inputs that differ in one record: no other record may reach the mechanisms changed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

from fuzz.round import fuzz

TARGETS = ("arguments", "readers", "decoders", "command", "neighbours")
ROUND = 100_000
"""Executions per process. The next process continues with the corpus; a new one frees the memory of instrumentation."""


def main() -> None:
    """Read the arguments, and fuzz in rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help="a folder that keeps interesting inputs")
    neighbours = parser.add_argument_group("neighbours", "which part of this target to run (default: all)")
    neighbours.add_argument("--form", help="one form of rows, such as pandas")
    neighbours.add_argument("--path", help="one use of rows: rows, persons, groups, or 'persons in groups'")
    neighbours.add_argument("--only", type=int, help="one execution, to repeat it")
    arguments = parser.parse_args()
    if arguments.target == "neighbours":
        from fuzz.neighbours import campaign

        found = campaign(arguments.runs, arguments.seed, arguments.form, arguments.path, arguments.only)
        sys.exit(f"neighbours: {found} findings, printed above" if found else 0)
    with tempfile.TemporaryDirectory() as folder:
        corpus = arguments.corpus or Path(folder) / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        for done in range(0, arguments.runs, ROUND):
            runs = min(ROUND, arguments.runs - done)
            one = get_context("spawn").Process(
                target=fuzz, args=(arguments.target, runs, arguments.seed + done // ROUND, corpus)
            )
            one.start()
            one.join()
            if one.exitcode:
                sys.exit(f"{arguments.target}: a finding after {done:,} executions, printed above")
            sys.stderr.write(f"{arguments.target}: {done + runs:,} executions, no finding\n")


if __name__ == "__main__":
    main()
