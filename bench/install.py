"""Build the wheel and the sdist, and install each in an empty environment: ``python -m bench.install``.

``make dist`` runs it. Each environment has one of the Python versions found, only the core dependencies, and no source
folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

_ROOT = Path(__file__).parent.parent
_DIST = _ROOT / "dist"
_PYTHONS = ("python3.11", "python3.12", "python3.13")
_CORE = {
    "click",
    "dpmean",
    "llvmlite",
    "markdown-it-py",
    "mdurl",
    "msgspec",
    "narwhals",
    "numba",
    "numpy",
    "pip",
    "pyarrow",
    "pygments",
    "rich",
}
_TRY = """
import numpy as np, dpmean
X = np.random.default_rng(1).normal(5, 1, (4000, 16))
for more in ({}, {"trust": "local"}, {"trust": "shuffle", "fidelity": "totals"}, {"neighbours": "add-or-remove-one"}):
    budget = {"epsilon": 4.0, "delta": 1e-6} if "fidelity" in more else {"rho": 2.0}
    release = dpmean.mean(X, norm_bound=80.0, **budget, **more)
    assert np.linalg.norm(release.mean - 5) < 30, more
np.savetxt("rows.csv", X, delimiter=",", header=",".join(f"c{j}" for j in range(16)), comments="")
read = dpmean.mean("rows.csv", norm_bound=80.0, rho=2.0)
assert read.columns[0] == "c0" and np.linalg.norm(read.mean - 5) < 30
dpmean.report(dpmean.mean(X, rho=0.5, norm_bound=80.0), "mean.html")
assert dpmean.__version__ == VERSION
"""


def _run(*command: str, folder: Path) -> str:
    """Run a command outside of the source folder, and return its output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _build() -> list[Path]:
    shutil.rmtree(_DIST, ignore_errors=True)
    _run(sys.executable, "-m", "build", "--outdir", str(_DIST), str(_ROOT), folder=_ROOT)
    return sorted(_DIST.iterdir())


def _check_description(wheel: Path) -> None:
    """Render the long description like a package index, and check that its links work there."""
    with zipfile.ZipFile(wheel) as content, tempfile.TemporaryDirectory() as folder:
        name = next(name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        text = content.read(name).decode().partition("\n\n")[2]
        page = Path(folder) / "description.md"
        page.write_text(text, encoding="utf-8")
        shown = _run(sys.executable, "-m", "readme_renderer", str(page), folder=Path(folder))
    targets: list[str] = re.findall(r'(?:href|src)="([^"]*)"', shown)
    if wrong := [target for target in targets if not target.startswith(("http", "#"))]:
        sys.exit(f"the long description of {wheel.name} has links that go nowhere: {', '.join(wrong)}")


def _runs(python: str) -> bool:
    """Whether there is such a Python; a stand-in of a version manager may lead nowhere."""
    found = shutil.which(python)
    return found is not None and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0


def _installed(python: str, package: Path, folder: Path) -> list[str]:
    """Install a package in an empty environment and use it; return what else was installed."""
    _run(python, "-m", "venv", str(folder / "env"), folder=folder)
    there = str(folder / "env" / "bin" / "python")
    _run(there, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(package), folder=folder)
    _run(there, "-m", "pip", "check", folder=folder)
    version = package.name.split("-")[1].removesuffix(".tar.gz")
    _run(there, "-c", _TRY.replace("VERSION", repr(version)), folder=folder)
    _run(str(folder / "env" / "bin" / "dpmean"), "--help", folder=folder)
    names = _run(there, "-m", "pip", "list", "--format=freeze", folder=folder).split()
    return sorted({name.split("==")[0].lower() for name in names} - {"setuptools", "wheel"})


def main() -> None:
    """Build, install, use, and print a table."""
    table = Table("Python", "package", "size", "dependencies")
    console = Console(width=None if sys.stdout.isatty() else 150)
    built = _build()
    _check_description(next(package for package in built if package.suffix == ".whl"))
    pairs = [(package, python) for package in built for python in filter(_runs, _PYTHONS)]
    for package, python in track(pairs, "installing", console=Console(stderr=True)):
        with tempfile.TemporaryDirectory() as folder:
            names = _installed(python, package, Path(folder))
        if extra := set(names) - _CORE:
            sys.exit(f"{package.name} brings {', '.join(sorted(extra))}, which is no core dependency")
        others = ", ".join(name for name in names if name not in {"dpmean", "pip"})
        table.add_row(python, package.name, f"{package.stat().st_size / 1e3:.0f} kB", others)
    console.print(table)


if __name__ == "__main__":
    main()
