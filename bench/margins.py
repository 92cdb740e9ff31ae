"""Margins of error compared with errors: their coverage and their size, for many kinds of rows.

Every setting has several sets of rows, with many releases of each. The true quantile is that of the errors of one set.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import math
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from rich.progress import track

import dpmean
from bench.problem import Floats
from dpmean.enums import Verdict

CONFIDENCE = 0.95
ASKED = 0.94
"""The coverage must not be significantly below this."""
FOLDER = Path("docs") / "results"

Draw = Callable[[np.random.Generator, int, int], Floats]


def _of_ones(share: float) -> Draw:
    return lambda generator, n, d: (generator.random((n, d)) < share).astype(float)


def _log_normal(sigma: float) -> Draw:
    return lambda generator, n, d: generator.lognormal(0.0, sigma, (n, d))


def _poisson(mean: float) -> Draw:
    return lambda generator, n, d: generator.poisson(mean, (n, d)).astype(float)


def _mostly_zero(generator: np.random.Generator, n: int, d: int) -> Floats:
    return np.where(generator.random((n, d)) < 0.8, 0.0, generator.gamma(2.0, size=(n, d)))


def _mixed(generator: np.random.Generator, n: int, d: int) -> Floats:
    return np.hstack([KINDS[MIXTURE[j % len(MIXTURE)]](generator, n, 1) for j in range(d)])


MIXTURE = ("normal", "exponential", "30 % ones", "log-normal 0.5", "uniform", "Poisson 3", "Laplace", "gamma")
KINDS: dict[str, Draw] = {
    "normal": lambda generator, n, d: generator.standard_normal((n, d)),
    "Laplace": lambda generator, n, d: generator.laplace(size=(n, d)),
    "uniform": lambda generator, n, d: generator.uniform(-2, 2, (n, d)),
    "gamma": lambda generator, n, d: generator.gamma(2.0, size=(n, d)),
    "exponential": lambda generator, n, d: generator.exponential(size=(n, d)),
    "log-normal 0.5": _log_normal(0.5),
    "log-normal 1": _log_normal(1.0),
    "2 % ones": _of_ones(0.02),
    "10 % ones": _of_ones(0.1),
    "30 % ones": _of_ones(0.3),
    "50 % ones": _of_ones(0.5),
    "Poisson 0.5": _poisson(0.5),
    "Poisson 3": _poisson(3.0),
    "mostly zero": _mostly_zero,
    "mixed": _mixed,
}
DRAWN = ("normal", "exponential", "log-normal 1", "10 % ones")
"""The kinds in the plot."""


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """The kind and number of rows, and the budget; the bound on the norm is 50 sqrt(d)."""

    kind: str
    n: int
    d: int
    rho: float
    neighbours: str

    @property
    def enough(self) -> bool:
        """Whether ``dpmean.plan`` calls the rows enough."""
        told = dpmean.plan(self.n, self.d, rho=self.rho, neighbours=self.neighbours)
        return told.verdict is Verdict.FINE

    @property
    def label(self) -> str:
        """The name of the setting in tables."""
        return f"{self.kind}, n={self.n}, d={self.d}, rho={self.rho:g}, {self.neighbours}"


@final
@dataclass(frozen=True, slots=True)
class Margins:
    """Margins compared with errors, of single columns or of the l2 norm.

    Attributes:
        held: the coverage of the margin
        median: the median margin divided by the true quantile of the error
        high: the 95 % quantile of margins divided by the same

    """

    held: float
    median: float
    high: float


@final
@dataclass(frozen=True, slots=True)
class Line:
    """The results of a setting, without runs if it was refused. Error and margin are typical values for a column."""

    setting: Setting
    enough: bool
    runs: int
    columns: Margins
    length: Margins
    error: float
    margin: float


def measured(job: tuple[Setting, int, int, int]) -> Line:
    """Make all releases of a setting."""
    setting, sets, runs, seed = job
    warnings.simplefilter("ignore", dpmean.TooFewRowsWarning)
    columns, lengths = [], []
    for number in range(sets):
        generator = np.random.default_rng([seed, number, setting.n, setting.d])
        rows = KINDS[setting.kind](generator, setting.n, setting.d)
        found = list(_released(setting, rows, range(1000 * number, 1000 * number + runs)))
        if not found:
            nothing = Margins(math.nan, math.nan, math.nan)
            return Line(setting, setting.enough, 0, nothing, nothing, math.nan, math.nan)
        columns.append([np.array([each[k] for each in found]) for k in (0, 1)])
        lengths.append([np.array([[each[k]] for each in found]) for k in (2, 3)])
    quantiles = [np.quantile(errors, CONFIDENCE, axis=0) for errors, _ in columns]
    return Line(
        setting,
        setting.enough,
        sets * runs,
        _compared(columns),
        _compared(lengths),
        float(np.mean(quantiles)),
        float(np.mean([np.median(margins, axis=0) for _, margins in columns])),
    )


def _released(setting: Setting, rows: Floats, seeds: Iterable[int]) -> Iterable[tuple[Floats, Floats, float, float]]:
    truth, bound = rows.mean(axis=0), 50.0 * math.sqrt(setting.d)
    for seed in seeds:
        try:
            release = dpmean.mean(rows, rho=setting.rho, neighbours=setting.neighbours, norm_bound=bound, seed=seed)
        except dpmean.TooFewRowsError:
            return
        error = np.abs(release.mean - truth)
        yield error, release.column_bounds(CONFIDENCE), math.hypot(*error), release.error_bound(CONFIDENCE)


def _compared(of_sets: Sequence[Sequence[Floats]]) -> Margins:
    held, median, high = [], [], []
    for errors, margins in of_sets:
        ratios = margins / np.maximum(np.quantile(errors, CONFIDENCE, axis=0), 1e-12)
        held.append(np.mean(errors <= margins))
        median.append(np.median(ratios, axis=0).mean())
        high.append(np.quantile(ratios, CONFIDENCE, axis=0).mean())
    return Margins(float(np.mean(held)), float(np.mean(median)), float(np.mean(high)))


def table(lines: Sequence[Line]) -> list[str]:
    """Return a table of kinds: the coverage of margins, and their size with many rows."""
    out = [
        "| kind | settings | held, columns | least | held, l2 | least | margin / error, columns | 95 % | l2 | 95 % |",
        "|---" * 10 + "|",
    ]
    for kind in dict.fromkeys(line.setting.kind for line in lines):
        these = [line for line in lines if line.setting.kind == kind and line.enough and line.runs]
        plenty = [line for line in these if line.setting.n * math.sqrt(line.setting.rho) >= 450]
        if not plenty:
            continue
        held = [[line.columns.held for line in these], [line.length.held for line in these]]
        wide = np.mean([[*_ratios(line.columns), *_ratios(line.length)] for line in plenty], axis=0)
        shares = " | ".join(f"{np.mean(share):.1%} | {np.min(share):.1%}" for share in held)
        out.append(f"| {kind} | {len(these)} | {shares} | {' | '.join(f'{ratio:.2f}' for ratio in wide)} |")
    return [*out, ""]


def _ratios(margins: Margins) -> tuple[float, float]:
    return margins.median, margins.high


def verdicts(lines: Sequence[Line]) -> list[str]:
    """Return a summary of the coverage, with the settings where it is too low."""
    known = [line for line in lines if line.runs and line.enough]
    out = []
    for name in ("columns", "length"):
        held = {line.setting: float(getattr(line, name).held) for line in known}
        missed = [line.setting for line in known if _below(held[line.setting], line.runs)]
        named = "; ".join(f"{setting.label} ({held[setting]:.0%})" for setting in missed)
        out.append(
            f"- {name}: held in {np.mean(list(held.values())):.1%} of all; below {ASKED:.0%} by more than "
            f"chance (p < 1e-6) on {len(missed)} of {len(known)}{': ' * bool(missed)}{named}"
        )
    return [*out, ""]


def _below(share: float, runs: int) -> bool:
    """Whether a coverage is below 94 % with p < 1e-6."""
    held = round(share * runs)
    return sum(math.comb(runs, k) * ASKED**k * (1 - ASKED) ** (runs - k) for k in range(held + 1)) < 1e-6


def picture(lines: Sequence[Line], path: Path) -> None:
    """Plot errors and margins over the number of rows, for a few kinds, with the coverage of the margins."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    budget, neighbours = 0.5, "add-or-remove-one"
    numbers = sorted({line.setting.d for line in lines})
    d = 4 if 4 in numbers else numbers[0]
    grid: Any
    figure, grid = plt.subplots(1, len(DRAWN), figsize=(11, 3.4), sharey=True, layout="constrained")
    for axes, kind in zip(grid, DRAWN, strict=True):
        wanted = [line for line in lines if line.runs and line.setting.kind == kind and line.setting.d == d]
        wanted = [line for line in wanted if (line.setting.rho, line.setting.neighbours) == (budget, neighbours)]
        wanted.sort(key=lambda line: line.setting.n)
        n = [line.setting.n for line in wanted]
        axes.plot(n, [line.margin for line in wanted], color="#00204d", marker="o", label="stated margin, median")
        axes.plot(n, [line.error for line in wanted], color="#d67f4e", marker="D", ls="--", label="true 95 % quantile")
        for line in wanted:
            place = (line.setting.n, line.margin)
            axes.annotate(f"{line.columns.held:.0%}", place, (0, 7), textcoords="offset points", ha="center", size=8)
        axes.set(xscale="log", yscale="log", title=kind, xlabel="rows n")
        axes.grid(visible=True, alpha=0.3)
        axes.margins(x=0.12, y=0.15)
    grid[0].set_ylabel("error of a column, in its unit")
    grid[0].legend(frameon=False, fontsize=8)
    figure.suptitle(f"95 % margins of error and errors; labels show the coverage of the margins. d = {d}, rho = 0.5")
    figure.savefig(path, dpi=160)


def main() -> None:
    """Measure on all cores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS), help="separated by commas")
    parser.add_argument("--n", default="300,640,3000,20000")
    parser.add_argument("--d", default="1,4,16")
    parser.add_argument("--rho", default="0.5")
    parser.add_argument("--neighbours", default="add-or-remove-one,replace-one")
    parser.add_argument("--sets", type=int, default=5, help="sets of rows per setting")
    parser.add_argument("--runs", type=int, default=40, help="releases per set")
    parser.add_argument("--seed", type=int, default=2021, help="the seed of the rows")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--json", type=Path, help="write all lines to this file")
    parser.add_argument("--write", action="store_true", help="write docs/results/margins.md and its plot")
    told = parser.parse_args()
    os.environ["DPMEAN_THREADS"] = "1"
    numbers = [[int(n) for n in told.n.split(",")], [int(d) for d in told.d.split(",")]]
    budgets, neighbours = [float(rho) for rho in told.rho.split(",")], told.neighbours.split(",")
    settings = [Setting(*each) for each in itertools.product(told.kinds.split(","), *numbers, budgets, neighbours)]
    jobs = [(setting, told.sets, told.runs, told.seed) for setting in settings]
    with multiprocessing.get_context("spawn").Pool(told.processes) as pool:
        lines = list(track(pool.imap(measured, jobs), "settings", total=len(jobs)))
    if told.json:
        told.json.write_text(json.dumps([asdict(line) for line in lines]))
    today = f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}"
    run = f"{today}, dpmean {dpmean.__version__}, {told.sets} sets of rows, {told.runs} releases of each"
    report = [*table(lines), *verdicts(lines)]
    print("\n".join(report))
    if told.write:
        FOLDER.mkdir(parents=True, exist_ok=True)
        picture(lines, FOLDER / "margins.png")
        intro = (
            "How often the margins of `release.column_bounds()` (per column) and `release.error_bound()` (l2) hold at "
            f"95 %, and their size over the true 95 % quantile of the error. n = {told.n}; d = {told.d}; rho = "
            f"{told.rho}; {told.neighbours}; bound 50 sqrt(d). *Held*: over all settings with rows enough, and the "
            "least of them; *margin / error*: where n sqrt(rho) is at least 450 as well, at the median and for the "
            "95 % quantile of margins."
        )
        head = ["# Margins of error", "", f"`make margins`, {run}.", "", intro, ""]
        image = "![Stated margins and true errors over the number of rows, for four kinds of rows](margins.png)"
        (FOLDER / "margins.md").write_text("\n".join([*head, image, "", *report]))


if __name__ == "__main__":
    main()
