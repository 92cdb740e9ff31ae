"""The effect of a shape: ``python -m bench.shape [--part .2] [--held] [--only NAME] [--plot DIR]``.

Refined is compared with itself without a shape, setting by setting, and with PLAN where columns differ by a power. The
settings and their requirements are in bench/settings.toml. The page is printed, and written to docs/results/shape.md if
at least half of the trials are run.
"""

from __future__ import annotations

import argparse
import datetime
import math
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console
from rich.progress import track

import dpmean
from bench.accuracy import FROZEN
from bench.shape_trials import PLAN, REFINED, ROUND, Line, Setting, measured, read_settings

REPORT = Path("docs") / "results" / "shape.md"
INTRODUCTION = """\
# Columns of different scale

Refined finds a scale for each column, and its noise follows these scales. This page compares it with itself without
scales (`shape="round"`): trimmed means (0.1) of errors to the mean of the rows over paired trials, and their ratio with
a 95 % interval from resampled trials. For vectors the error is the l2 norm. For a table it is the error of the worst
column in the trial, in the column's own standard deviations; constant columns are left out. "Largest" is the largest
error of all trials divided by the trimmed mean; for a table, that of the column where it is largest. Unless another
requirement is given, the interval must not lie entirely above 1.03. Neighbours replace one row unless stated otherwise.
""".splitlines()
PICTURES = """\
![The error of each column of a table, before and after](shape-table.png)

![Errors on PLAN's benchmark](shape-plan.png)

""".splitlines()
FAMILIES = {
    "shape": "Settings with and without columns of different scale",
    "shape_held": "Held-out settings: no constant was tuned on them",
    "tuning": "The settings of make accuracy",
    "held": "The held-out settings of make accuracy",
}


def section(family: str, lines: Sequence[Line]) -> list[str]:
    """Return the tables of one family."""
    plain = [line for line in lines if not line.setting.beside_a_ninth]
    beside = [line for line in lines if line.setting.beside_a_ninth]
    out = [f"## {FAMILIES[family]}", ""]
    out += _ratios(plain) if plain else []
    out += _ninth(beside) if beside else []
    many = [line for line in lines if line.setting.limit is not None and line.methods]
    return out + (_many(many) if many else [])


def _ratios(lines: Sequence[Line]) -> list[str]:
    with_plan = any(PLAN in line.methods for line in lines)
    names = ["setting", "trials", "round", "refined", "ratio", *(["PLAN"] if with_plan else []), "largest", "required"]
    out = _head([*names, "met"])
    for line in lines:
        if line.ratio is None:
            out.append(f"| {line.setting.label} | {line.problem}{' |' * (len(names))}")
            continue
        found = line.methods[REFINED]
        cells = [line.setting.label, str(line.trials), _short(line.methods[ROUND].typical), _short(found.typical)]
        cells.append(_interval(line))
        if with_plan:
            cells.append(_short(line.methods[PLAN].typical) if PLAN in line.methods else "")
        if line.constant is not None:
            cells[3] += f" (constant: {line.constant:.1g} of its range)"
        out.append(f"| {' | '.join([*cells, f'{found.astray:.2f}', _asked(line), _kept(line)])} |")
    ratios = [line.ratio[0] for line in lines if line.ratio]
    kept = sum(not line.broken() for line in lines if line.ratio)
    if ratios:
        mean = math.exp(np.log(ratios).mean())
        out += [
            "",
            f"Geometric mean of the ratios {mean:.3f}, largest {max(ratios):.3f}; {kept} of {len(ratios)} met.",
        ]
    return [*out, ""]


def _ninth(lines: Sequence[Line]) -> list[str]:
    out = ["Errors of the first eight columns divided by those without the ninth; the largest ratio of a column:", ""]
    out += _head(["setting", "trials", "ratio", "worst column", "largest", "required", "met"])
    for line in lines:
        found = line.methods[REFINED]
        cells = [line.setting.label, str(line.trials), _interval(line), _short(found.typical), f"{found.astray:.2f}"]
        out.append(f"| {' | '.join([*cells, _asked(line), _kept(line)])} |")
    return [*out, ""]


def _many(lines: Sequence[Line]) -> list[str]:
    out = ["Errors of refined over many runs:", ""]
    out += _head(["setting", "median", "mean", "99 % below", "worst", "largest", "limit", "largest of round"])
    for line in lines:
        found, other = line.methods[REFINED], line.methods.get(ROUND)
        numbers = " | ".join(_short(value) for value in (found.median, found.mean, found.most, found.largest))
        beside = f"{found.astray:.2f} | {line.setting.limit:g} | {'' if other is None else f'{other.astray:.2f}'}"
        out.append(f"| {line.setting.label} | {numbers} | {beside} |")
    return [*out, ""]


def _head(names: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]


def _short(value: float) -> str:
    return f"{value:.3g}"


def _interval(line: Line) -> str:
    if line.ratio is None:
        return ""
    return ("{:.3f} ({:.2f}-{:.2f})" if line.ratio[0] >= 0.1 else "{:.2g} ({:.2g}-{:.2g})").format(*line.ratio)


def _asked(line: Line) -> str:
    setting = line.setting
    return "" if setting.asked is None else f"{setting.asked_of} {setting.asked:g}"


def _kept(line: Line) -> str:
    return "; ".join(["no", *broken]) if (broken := line.broken()) else "yes"


def measure(families: Sequence[str], arguments: argparse.Namespace) -> dict[str, list[Line]]:
    """Measure the settings of some families, on all cores or a given number."""
    found = {}
    for family in families:
        seed = int(FROZEN, 16) if family.endswith("held") else arguments.seed
        settings = [one for one in read_settings(family) if arguments.only in f"{one.name}, {one.label}"]
        if arguments.neighbours:
            settings = [replace(one, neighbours=arguments.neighbours) for one in settings]
        jobs = [(setting, arguments.part, seed) for setting in settings]
        lines = list(track(_results(jobs, arguments.jobs), family, total=len(jobs), console=Console(stderr=True)))
        found.update({family: lines} if lines else {})
    return found


def _results(jobs: Sequence[tuple[Setting, float, int]], processes: int | None) -> Iterator[Line]:
    if processes == 1 or not jobs:
        yield from map(measured, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(measured, jobs)


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="the part of the trials to run, such as 0.1")
    parser.add_argument("--held", action="store_true", help="also run the held-out settings")
    parser.add_argument("--accuracy", action="store_true", help="also run the settings of make accuracy")
    parser.add_argument(
        "--only", default="", metavar="NAME", help="run only settings with this text in their name or label"
    )
    parser.add_argument("--neighbours", help="the relation to use for all settings")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to a file")
    parser.add_argument("--read", type=Path, metavar="FILE", help="measure nothing, and read results that --json wrote")
    parser.add_argument("--plot", type=Path, metavar="DIR", help="draw tables and PLAN's benchmark as PNG")
    parser.add_argument("--jobs", type=int, help="the number of processes (default: all cores)")
    parser.add_argument("--seed", type=int, default=2021, help="the seed of data and noise")
    return parser.parse_args(words)


def page(found: dict[str, list[Line]], arguments: argparse.Namespace) -> list[str]:
    """Return the lines of the page, with the command that made it."""
    flags = "".join(f" --{name}" for name in ("held", "accuracy") if getattr(arguments, name))
    flags += f" --neighbours {arguments.neighbours}" if arguments.neighbours else ""
    command = f"`python -m bench.shape{flags} --part {arguments.part:g} --seed {arguments.seed}`"
    today = f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}"
    made = f"{command}, {today}, dpmean {dpmean.__version__}; held settings: seed {int(FROZEN, 16)}."
    tables = [line for family, lines in found.items() for line in section(family, lines)]
    return [*INTRODUCTION, "", made, "", *PICTURES, *tables]


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or read results; print, plot and write them."""
    arguments = _arguments(words)
    os.environ["DPMEAN_THREADS"] = "1"
    if arguments.read:
        found = msgspec.json.decode(arguments.read.read_bytes(), type=dict[str, list[Line]])
    else:
        more = ["shape_held"] * arguments.held + ["tuning", "held"] * arguments.accuracy
        found = measure(["shape", *more], arguments)
    report = "\n".join(page(found, arguments)).rstrip() + "\n"
    Console(width=200).print(report, markup=False, highlight=False, soft_wrap=True)
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    if arguments.plot:
        from bench.shape_plots import write

        for path in write([line for lines in found.values() for line in lines], arguments.plot):
            print(path, file=sys.stderr)
    if arguments.part >= 0.5 and not (arguments.only or arguments.read or arguments.neighbours):
        REPORT.write_text(report)


if __name__ == "__main__":
    main()
