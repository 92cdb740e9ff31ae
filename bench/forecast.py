"""The forecasts of dpmean.plan compared with measured errors, setting by setting, and the constants of the forecast.

``python -m bench.forecast`` runs only the default estimator, on the rows of ``make accuracy``, and prints both.
``--write`` fits the constants to the tuning settings and writes them, and ``--docs`` writes the last column of the
tables in docs/accuracy.md.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import re
import warnings
from bisect import bisect_left
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

import dpmean
from bench.accuracy import (
    FROZEN,
    NEIGHBOURS,
    PROMISES,
    REPORT,
    WITHIN,
    Setting,
    read_settings,
    root_mean_square,
    spread,
    summarise_forecasts,
)
from dpmean.enums import RowKind
from dpmean.experiments.data import draw
from dpmean.experiments.mnist import MissingDataError
from dpmean.pipeline import forecast_constants
from dpmean.pipeline.forecast_constants import COLUMNS, REACHED
from dpmean.pipeline.row_kinds import KINDS

KINDS_OF_SETTINGS = ("tuning", "forecast", "held")
Class = tuple[str, int]
"""The kind of tail, and the index of the number of columns in ``COLUMNS``."""


def reached(job: tuple[Setting, float, int]) -> float:
    """Return the error that the default estimator reaches, in spreads; NaN if the data are missing."""
    warnings.simplefilter("ignore", dpmean.TooFewRowsWarning)
    setting, part, seed = job
    errors = []
    for trial in range(setting.trials(part)):
        generator = np.random.default_rng([seed, trial])
        try:
            rows = draw(setting.data, generator, setting.n, setting.d, **dict(setting.options)).rows
        except MissingDataError:
            return math.nan
        reach = setting.bound * math.sqrt(rows.shape[1])
        release = dpmean.mean(
            rows, rho=setting.rho, norm_bound=reach, allow_few_rows=True, neighbours=NEIGHBOURS, seed=seed + trial
        )
        errors.append(float(np.linalg.norm(release.mean - rows.mean(axis=0))) / spread(rows))
    return root_mean_square(np.array(errors))


def class_of(setting: Setting) -> Class:
    """Return the class of the constant for a setting."""
    return KINDS[RowKind(setting.rows)].ends, bisect_left(COLUMNS, setting.d)


def fit_constants(promises: dict[Setting, float]) -> dict[Class, float]:
    """Return the constants with most forecasts within 15 %; among equally good ones, those with the least deviation."""
    groups: dict[Class, list[float]] = {}
    for setting, promise in promises.items():
        ends, place = class_of(setting)
        groups.setdefault((ends, place), []).append(math.log(REACHED[ends][place] / promise))
    found = {}
    for group, logs in groups.items():
        grid, values = np.linspace(min(logs), max(logs), 201)[:, np.newaxis], np.array(logs)
        kept = (np.abs(np.exp(grid - values) - 1) <= WITHIN).sum(axis=1)
        off = (np.minimum(np.abs(grid - values), 2 * WITHIN) ** 2).sum(axis=1)
        found[group] = math.exp(float(grid[np.lexsort((off, -kept))[0], 0]))
    return found


def write(constants: dict[Class, float]) -> None:
    """Write the constants into their module; constants without a setting stay unchanged."""
    lines = []
    for ends, old in REACHED.items():
        new = [f"{constants.get((ends, place), value):.2f}" for place, value in enumerate(old)]
        lines.append(f'        "{ends}": ({", ".join(new)}),\n')
    module = Path(forecast_constants.__file__)
    text = module.read_text()
    start = text.index("    {\n", text.index("REACHED")) + 6
    module.write_text(text[:start] + "".join(lines) + text[text.index("    }\n", start) :])


def update_report(report: str, promises: dict[str, float], kept: dict[str, str]) -> str:
    """Return the report with the measured last column of its tables, and the line below each."""
    title, kind = "promised/reached", ""
    lines: list[str] = []
    for line in report.splitlines():
        head = re.match(r"## (\w+) settings", line)
        kind = head[1].lower() if head else kind
        cells = line.split(" | ")
        told = line
        if line.startswith("| setting | N1 |") and title not in line:
            told = f"{line} {title} |"
        elif lines and title in lines[-1] and set(line) == {"|", "-"} and line.count("|") < lines[-1].count("|"):
            told = f"{line}---|"
        elif line.startswith("| **geometric mean**") and not line.endswith("| |"):
            told = f"{line} |"
        elif cells[0].removeprefix("| ") in promises and kind in kept:
            known = re.sub(r" [\d.]+ \|$", "", line) if re.search(r"\| [\d.]+ \|$", line) else line
            told = f"{known} {promises[cells[0].removeprefix('| ')]:.2f} |"
        elif PROMISES in line:
            continue
        lines.append(told)
        if line.startswith("- refined is above COINPRESS") and kind in kept:
            lines.append(kept[kind])
    return "\n".join(lines)


def main() -> None:
    """Measure on all cores, or some, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=float, default=1.0, help="the part of the trials to run, such as 0.1")
    parser.add_argument("--seed", type=int, default=2021, help="the seed of data and noise")
    parser.add_argument("--processes", type=int, default=None, help="the number of processes (default: one per core)")
    parser.add_argument("--write", action="store_true", help="fit the constants and write them")
    parser.add_argument("--docs", action="store_true", help="write the results into docs/accuracy.md")
    arguments = parser.parse_args()
    os.environ["DPMEAN_THREADS"] = "1"
    console = Console(width=150)
    settings = [(kind, setting) for kind in KINDS_OF_SETTINGS for setting in read_settings(kind)]
    jobs = [(one, arguments.part, int(FROZEN, 16) if kind == "held" else arguments.seed) for kind, one in settings]
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        errors = list(track(pool.imap(reached, jobs), "settings", total=len(jobs)))
    known = {pair: error for pair, error in zip(settings, errors, strict=True) if math.isfinite(error)}
    promises = {pair: pair[1].promised / error for pair, error in known.items()}
    if arguments.write:
        constants = fit_constants({setting: promise for (kind, setting), promise in promises.items() if kind != "held"})
        write(constants)
        for (kind, setting), promise in promises.items():
            ends, place = class_of(setting)
            change = round(constants.get((ends, place), REACHED[ends][place]), 2) / REACHED[ends][place]
            promises[kind, setting] = promise * change
    kept = {
        kind: summarise_forecasts([promise for (other, _), promise in promises.items() if other == kind])
        for kind in KINDS_OF_SETTINGS
    }
    for (_, setting), promise in promises.items():
        mark = "" if abs(promise - 1) <= WITHIN else "  *"
        console.print(f"{setting.label}, {setting.rows}: {promise:.2f}{mark}", markup=False, highlight=False)
    for kind in KINDS_OF_SETTINGS:
        console.print(f"{kind}: {kept[kind].removeprefix('- ')}", highlight=False)
    both = summarise_forecasts([promise for (kind, _), promise in promises.items() if kind != "forecast"])
    console.print(f"tuning and held: {both.removeprefix('- ')}", highlight=False)
    if arguments.docs:
        labels = {setting.label: promise for (kind, setting), promise in promises.items() if kind != "forecast"}
        REPORT.write_text(update_report(REPORT.read_text(), labels, kept))


if __name__ == "__main__":
    main()
