"""diffprivlib in an environment of its own, because it needs an older scikit-learn than we do."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.clock import track
from bench.problem import Floats

VERSION = "0.6.6"
_HOME = Path(__file__).parent.parent / ".venv-diffprivlib"
PYTHON = _HOME / "bin" / "python"
_WORKER = Path(__file__).parent / "diffprivlib_worker.py"
_INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1")


def installed() -> bool:
    """Tell whether it can be used as it is."""
    return PYTHON.exists() and _succeeds(PYTHON, "-c", "import diffprivlib")


def install() -> bool:
    """Set the environment up, if need be; tell whether that worked."""
    if installed():
        return True
    steps = [
        (sys.executable, "-m", "venv", _HOME),
        (PYTHON, *_INSTALL, f"diffprivlib=={VERSION}", "scikit-learn<1.8"),
    ]
    return all(_succeeds(*step) for step in track(steps, "installing diffprivlib")) and installed()


def _succeeds(*command: str | Path) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


@contextmanager
def worker(epsilon: float, bound: float) -> Iterator[Callable[[Floats], tuple[Floats, float]]]:
    """Start a process that releases means on request, so that it can take turns with the others.

    Yields a function from rows to their private mean and the seconds that took over there.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npy"
        command = [str(part) for part in (PYTHON, _WORKER, file, epsilon, bound)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

            def release(rows: Floats) -> tuple[Floats, float]:
                np.save(file, rows)
                print("again", file=process.stdin, flush=True)
                answer = json.loads(process.stdout.readline() if process.stdout else "")
                return np.array(answer["mean"]), float(answer["seconds"])

            yield release  # leaving closes its input, and it ends
