"""One process of fuzzing: all modules are instrumented as they are loaded."""

from __future__ import annotations

import importlib
import sys
import tempfile
import warnings
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src"
COMPILED = ["dpmean.noise.jit"] + [
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if "from dpmean.noise.jit import" in path.read_text()
]
"""Modules with compiled loops, which cannot be instrumented."""
LOADED = (
    "cli",
    "pipeline.grouped",
    "rows.files.formats",
    "rows.tables.dataframes",
    "rows.tables.keyed_table",
    "trust.client",
    "trust.shuffle.shuffler",
)
"""Modules that are loaded lazily; they import all others."""


def fuzz(name: str, runs: int, seed: int, corpus: Path) -> None:
    """Fuzz in this process, until the runs are done or there is a finding."""
    import atheris

    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=["dpmean"], exclude=COMPILED):
        for module in LOADED:
            importlib.import_module(f"dpmean.{module}")
        target = importlib.import_module(f"fuzz.{name}")
    with tempfile.TemporaryDirectory() as folder:
        one = target.prepare(Path(folder))
        for number, start in enumerate(target.seeds()):
            (corpus / f"seed-{number}").write_bytes(start)
        options = ["-max_len=4096", "-len_control=0", f"-seed={seed}", f"-runs={runs}", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], str(corpus), *options, "-rss_limit_mb=6000", "-timeout=60"], one)
        atheris.Fuzz()
