"""Run one target: nothing but our own errors may come out of it, and no message may hold a value of a row."""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import warnings
from pathlib import Path

TARGETS = ("door", "readers", "decoders", "command")
COMPILED = (
    "dpmean.coins",
    "dpmean.compiled",
    "dpmean.estimators.plan",
    "dpmean.noise.fast",
    "dpmean.rows.kernels",
    "dpmean.rows.persons",
    "dpmean.trust.shuffle.secure_sum",
    "dpmean.trust.shuffle.crowd",
)
"""Loops that are compiled cannot be instrumented."""
ROOMS = ("cli", "by_group", "rows.files", "rows.frames", "rows.tables", "trust.client", "trust.shuffle.shuffler")
"""What is loaded when it is first used, and brings all else with it."""


def main() -> None:
    """Read the arguments, and fuzz."""
    import atheris

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help="a folder that keeps what was interesting")
    arguments = parser.parse_args()

    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=["dpmean"], exclude=list(COMPILED)):
        for room in ROOMS:
            importlib.import_module(f"dpmean.{room}")
        target = importlib.import_module(f"fuzz.{arguments.target}")
    with tempfile.TemporaryDirectory() as folder:
        corpus = arguments.corpus or Path(folder) / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        one = target.prepare(Path(folder))
        for number, seed in enumerate(target.seeds()):
            (corpus / f"seed-{number}").write_bytes(seed)
        options = ["-max_len=4096", f"-seed={arguments.seed}", f"-runs={arguments.runs}", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], str(corpus), *options, "-rss_limit_mb=6000", "-timeout=60"], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
