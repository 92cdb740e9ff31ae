"""diffprivlib in its own environment, because it needs an older scikit-learn."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.environments import Environment
from bench.problem import Floats

VERSION = "0.6.6"
ENVIRONMENT = Environment("diffprivlib", (f"diffprivlib=={VERSION}", "scikit-learn<1.8"), "diffprivlib")
PYTHON = ENVIRONMENT.python
WORKER = Path(__file__).parent / "diffprivlib_worker.py"
installed, install = ENVIRONMENT.installed, ENVIRONMENT.install


@contextmanager
def worker(epsilon: float, bound: float) -> Iterator[Callable[[Floats], tuple[Floats, float]]]:
    """Start a process that releases means on request, so that methods can be timed in turns.

    Yields a function from rows to their private mean and the seconds that the other process took.
    """
    with tempfile.TemporaryDirectory() as folder, ENVIRONMENT.worker(WORKER) as ask:
        file = Path(folder) / "rows.npy"

        def release(rows: Floats) -> tuple[Floats, float]:
            np.save(file, rows)
            answer = ask({"file": str(file), "epsilon": epsilon, "lower": -bound, "upper": bound})
            return np.array(answer["mean"]), float(answer["seconds"])

        yield release
