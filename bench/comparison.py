"""Errors compared with other libraries, on the same rows at the same budget; ``--write`` updates the documentation.

Libraries that conflict with this environment have their own: ``--install`` sets them up. Missing libraries are left
out, and marked in the tables.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import platform
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import numpy as np

import dpmean
from bench import comparison_rows, diffprivlib_mean, opendp_mean
from bench.clock import track
from bench.comparison_peers import (
    ADD_OR_REMOVE_ONE,
    DELTA,
    GOOGLE,
    REPLACE_ONE,
    TUMULT,
    Peer,
    Question,
    RefusedError,
    tumult_formula,
)
from bench.comparison_peers import peers as all_peers
from bench.comparison_peers import tumult as real_tumult
from bench.comparison_rows import Bound, Kind

PAGE = Path("docs") / "guide" / "comparison.md"
BEGIN, END = "<!-- written by python -m bench.comparison -->", "<!-- until here -->"
EPSILONS = (1.0, 5.0)
RELATIONS = {
    REPLACE_ONE: "one row is replaced by another, and n is public",
    ADD_OR_REMOVE_ONE: "one row is there or not, and n is private",
}
_LARGE = 1_000_000
_FEW_COLUMNS = 8
_AS_GOOD = 2.0
"""Differences of fewer standard errors are ties."""
_MORE = 50
"""The number of draws from a formula, for each run of its library."""
_MOST = 10.0
"""Larger errors are not distinguished: they are useless."""


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """The errors of a library on a setting, for each way of calling it."""

    errors: dict[str, list[float]] = field(default_factory=dict)
    problem: str = ""

    @property
    def best(self) -> tuple[float, float] | None:
        """The mean error of the best way, and its standard error; None if there is no answer."""
        known = [np.array(values) for values in self.errors.values() if values]
        if not known:
            return None
        values = min(known, key=lambda one: float(one.mean()))
        return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


@final
@dataclass(frozen=True, slots=True)
class Line:
    """A setting, and the results of all libraries."""

    kind: Kind
    bound: Bound
    runs: int
    cells: dict[str, Cell]


def runs_of(kind: Kind, runs: int) -> int:
    """Return the number of runs for a kind of rows: more with few columns, where errors vary, fewer with large data."""
    if kind.n * kind.d > _LARGE:
        return max(2, runs // 4)
    return 3 * runs if kind.d <= _FEW_COLUMNS else runs


def measured(kind: Kind, bound: Bound, epsilon: float, everybody: Sequence[Peer], runs: int) -> Line:
    """Call all libraries for the mean of the same rows, run by run."""
    runs = runs_of(kind, runs)
    cells = {peer.name: Cell({way: [] for way in peer.ways}, peer.missing) for peer in everybody}
    for run in range(runs):
        rows = kind.draw(np.random.default_rng([run, kind.n, kind.d]))
        question = Question(rows, bound, epsilon, seed=run)
        for peer in everybody:
            for way, release in peer.ways.items():
                with contextlib.suppress(RefusedError):
                    cells[peer.name].errors[way].append(kind.error(release(question), rows))
    # A way of calling a library that gives no answer in some runs is left out.
    kept = {
        name: Cell({way: found for way, found in cell.errors.items() if len(found) == runs}, cell.problem)
        for name, cell in cells.items()
    }
    return Line(kind, bound, runs, kept)


def smallest(line: Line) -> set[str]:
    """Return who has the smallest error, and whose error hardly differs from it."""
    known = {name: cell.best for name, cell in line.cells.items() if cell.best is not None}
    least, its_error = min(known.values(), default=(np.inf, 0.0))
    return {name for name, (error, own) in known.items() if error - least <= _AS_GOOD * np.hypot(own, its_error)}


def wins(lines: Sequence[Line]) -> str:
    """Return how often dpmean is among those with the smallest error, for each bound."""
    said = []
    for bound in ("loose", "tight"):
        asked = [line for line in lines if line.bound.name == bound]
        best = sum("dpmean" in smallest(line) for line in asked)
        silent = sum(line.cells["dpmean"].best is None for line in asked)
        said.append(f"{best} of {len(asked)} lines with {bound} bounds ({silent} without an answer)")
    return f"dpmean is among the smallest in {' and '.join(said)}."


def table(lines: Sequence[Line]) -> list[str]:
    """Return the lines of one table; the smallest errors are bold."""
    names = list(lines[0].cells)
    out = [f"| rows | bound | {' | '.join(names)} | sampling |", "|---" * (len(names) + 3) + "|"]
    for line in lines:
        best, cells = smallest(line), []
        for name, cell in line.cells.items():
            if cell.best is None:
                cells.append("missing" if cell.problem else "no answer")
            else:
                shown = _short(cell.best[0])
                cells.append(f"**{shown}**" if name in best else shown)
        sampling = _short(1 / np.sqrt(line.kind.n))
        out.append(f"| {line.kind.label} | {line.bound.name} | {' | '.join(cells)} | {sampling} |")
    return [*out, ""]


def _short(value: float) -> str:
    return f"{value:.2g}" if value < _MOST else f"> {_MOST:g}"


def uncertainties(lines: Sequence[Line]) -> list[float]:
    """Return the relative standard errors of all entries."""
    found = [cell.best for line in lines for cell in line.cells.values()]
    return [error / mean for mean, error in filter(None, found) if 0 < mean < _MOST]


def check_tumult(runs: int, *, install: bool) -> list[str]:
    """Run Tumult Analytics itself on one column, and compare with its formula; needs Java, half a minute per run."""
    kind, epsilon = comparison_rows.one_column(2000), EPSILONS[0]
    with real_tumult(install=install) as ways:
        if not ways:
            return ["Tumult Analytics is not installed here: its numbers are computed by its formula alone.", ""]
        said = []
        for bound in kind.bounds:
            given = bound.name == "tight"
            ask = ways["bounds given" if given else "bounds found"]
            errors, computed = [], []
            for run in track(range(runs * _MORE), f"Tumult Analytics, {bound.name} bounds"):
                question = Question(kind.draw(np.random.default_rng([run, kind.n, kind.d])), bound, epsilon, seed=run)
                computed.append(kind.error(tumult_formula(given, question), question.rows))
                if run < runs:
                    errors.append(kind.error(ask(question), question.rows))
            said.append(
                f"with {bound.name} bounds, {'given' if given else 'which it is to find'}, "
                f"{_with_error(errors)} (by the formula {_with_error(computed)})"
            )
    return [
        f"Tumult Analytics itself, on Spark, {runs} runs on {kind.label} at epsilon = {epsilon:g}: {'; '.join(said)}.",
        "",
    ]


def _with_error(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2g} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.1g}"


def versions() -> str:
    """Return the versions of the libraries, and which are missing."""
    environments = {
        "diffprivlib": (diffprivlib_mean.ENVIRONMENT, "diffprivlib"),
        "PipelineDP": (GOOGLE, "pipeline-dp"),
        "PyDP": (GOOGLE, "python-dp"),
        "Tumult Analytics": (TUMULT, "tmlt.analytics"),
    }
    found = [f"dpmean {dpmean.__version__}", f"OpenDP {opendp_mean.version()}"]
    for name, (environment, package) in environments.items():
        found.append(f"{name} {environment.version(package) if environment.installed() else 'is missing'}")
    return ", ".join(found)


def report(measurements: Mapping[tuple[str, float], Sequence[Line]], runs: int) -> list[str]:
    """Return the text and the tables of the page."""
    today = f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}"
    command = f"`python -m bench.comparison --write --runs {runs}`"
    found = [share for lines in measurements.values() for share in uncertainties(lines)]
    small, large = (runs_of(kind, runs) for kind in (comparison_rows.normal(1, 1), comparison_rows.normal(_LARGE, 10)))
    out = [
        f"{command}, {today}, Python {platform.python_version()}: {versions()}.",
        "",
        f"Means of {runs} runs; of {small} with {_FEW_COLUMNS} columns or fewer, of {large} with more than a million "
        f"numbers. The standard error of an entry is {100 * np.median(found):.0f} % of it (median of all entries), "
        f"at most {100 * max(found):.0f} %. Bold: the smallest error, and those that differ from it by less than "
        f"two standard errors. {wins([line for lines in measurements.values() for line in lines])}",
        "",
    ]
    for (relation, epsilon), lines in measurements.items():
        rho = float(dpmean.zcdp_that_implies(dpmean.ApproxDp(epsilon, DELTA)).rho)
        out += [f"### Epsilon = {epsilon:g} (rho = {rho:.3g}): {RELATIONS[relation]}", "", *table(lines)]
    return out


def write(lines: Sequence[str], page: Path) -> None:
    """Write lines between the marks of a page."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text("\n".join([f"{before}{BEGIN}", "", *lines, END]) + after)


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print; write the page if requested."""
    parser = argparse.ArgumentParser(prog="python -m bench.comparison", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="runs per setting; at least 20 are needed to write")
    parser.add_argument("--write", action="store_true", help=f"write the tables to {PAGE}")
    parser.add_argument("--install", action="store_true", help="set up environments for libraries that need their own")
    parser.add_argument("--only", default="", metavar="NAME", help="only rows with this text in their name")
    parser.add_argument("--tumult-runs", type=int, default=12, help="runs of Tumult Analytics itself; 0 for none")
    arguments = parser.parse_args(words)
    os.environ["DPMEAN_THREADS"] = "1"
    warnings.simplefilter("ignore", dpmean.TooFewRowsWarning)
    kinds = [kind for kind in comparison_rows.KINDS if arguments.only in kind.label]
    measurements = {}
    with all_peers(install=arguments.install) as everybody:
        for relation, asked in everybody.items():
            for epsilon in EPSILONS:
                settings = [(kind, bound) for kind in kinds for bound in kind.bounds]
                measurements[relation, epsilon] = [
                    measured(kind, bound, epsilon, asked, arguments.runs)
                    for kind, bound in track(settings, f"{relation}, epsilon = {epsilon:g}")
                ]
    lines = report(measurements, arguments.runs)
    if arguments.tumult_runs:
        lines += check_tumult(arguments.tumult_runs, install=arguments.install)
    print("\n".join(lines))
    if arguments.write and arguments.runs >= 20 and not arguments.only:
        write(lines, PAGE)


if __name__ == "__main__":
    main()
