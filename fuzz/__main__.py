"""Run one target: nothing but our own errors may come out of it, and no message may hold a value of a row.

Of neighbours, inputs that differ in one record, no other record may differ by what reaches the mechanisms.
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
"""Executions of one process; the next one goes on with what was interesting. The instrumentation keeps memory."""


def main() -> None:
    """Read the arguments, and fuzz in rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help="a folder that keeps what was interesting")
    neighbours = parser.add_argument_group("neighbours", "what to run of it, if not everything")
    neighbours.add_argument("--form", help="in which rows come")
    neighbours.add_argument("--path", help="that they go: rows, persons, groups, or 'persons in groups'")
    neighbours.add_argument("--only", type=int, help="one execution, to see it again")
    arguments = parser.parse_args()
    if arguments.target == "neighbours":
        from fuzz.neighbours import campaign

        found = campaign(arguments.runs, arguments.seed, arguments.form, arguments.path, arguments.only)
        sys.exit(f"neighbours: found {found}; what they are stands above" if found else 0)
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
                sys.exit(f"{arguments.target}: found something after {done:,} executions; what it is stands above")
            sys.stderr.write(f"{arguments.target}: {done + runs:,} executions, nothing found\n")


if __name__ == "__main__":
    main()
