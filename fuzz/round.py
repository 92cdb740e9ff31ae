"""One process of fuzzing: everything is instrumented as it is loaded."""

from __future__ import annotations

import importlib
import sys
import tempfile
import warnings
from pathlib import Path

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


def fuzz(name: str, runs: int, seed: int, corpus: Path) -> None:
    """Fuzz in this process, until it ends or something is found."""
    import atheris

    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=["dpmean"], exclude=list(COMPILED)):
        for room in ROOMS:
            importlib.import_module(f"dpmean.{room}")
        target = importlib.import_module(f"fuzz.{name}")
    with tempfile.TemporaryDirectory() as folder:
        one = target.prepare(Path(folder))
        for number, start in enumerate(target.seeds()):
            (corpus / f"seed-{number}").write_bytes(start)
        options = ["-max_len=4096", "-len_control=0", f"-seed={seed}", f"-runs={runs}", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], str(corpus), *options, "-rss_limit_mb=6000", "-timeout=60"], one)
        atheris.Fuzz()
