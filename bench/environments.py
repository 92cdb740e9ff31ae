"""Separate environments for libraries that conflict with ours, and worker processes in them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from bench.clock import track

_ROOT = Path(__file__).parent.parent
_INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1")
_VERSION = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"

Ask = Callable[[Mapping[str, Any]], dict[str, Any]]
"""A function that sends a job, as one line of JSON, and returns the answer."""


@final
@dataclass(frozen=True, slots=True)
class Environment:
    """A Python environment in a folder of the repository that git ignores."""

    name: str
    packages: tuple[str, ...]
    module: str
    """The module that is imported to check the environment."""

    @property
    def python(self) -> Path:
        """Return its interpreter."""
        return _ROOT / f".venv-{self.name}" / "bin" / "python"

    def installed(self) -> bool:
        """Return whether the environment is ready."""
        return self.python.exists() and _succeeds(str(self.python), "-c", f"import {self.module}")

    def install(self) -> bool:
        """Set up the environment if needed; return whether it is ready then."""
        if self.installed():
            return True
        home = str(self.python.parent.parent)
        steps = [(sys.executable, "-m", "venv", home), (str(self.python), *_INSTALL, *self.packages)]
        return all(_succeeds(*step) for step in track(steps, f"installing {self.name}")) and self.installed()

    def version(self, package: str) -> str:
        """Return the version of a package in it."""
        command = [str(self.python), "-c", _VERSION, package]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    @contextmanager
    def worker(self, script: Path, *arguments: str) -> Iterator[Ask]:
        """Start a process that answers jobs: a line of JSON each way."""
        # Isolated: modules of this folder and of PYTHONPATH must not replace those that the library needs.
        command = [str(self.python), "-I", str(script), *arguments]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:

            def ask(job: Mapping[str, Any]) -> dict[str, Any]:
                print(json.dumps(job), file=process.stdin, flush=True)
                answer: dict[str, Any] = json.loads(process.stdout.readline() if process.stdout else "")
                return answer

            yield ask  # leaving closes its input, and it ends


def _succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False
