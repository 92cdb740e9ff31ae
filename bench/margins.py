"""Margins of error beside errors: how often they hold and how wide they are, over many kinds of rows.

Every setting has several sets of rows, and many releases of each; the true quantile is that of the errors of a set.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import os
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

import numpy as np
from rich.console import Console
from rich.progress import track

import dpmean
from bench.problem import Floats

CONFIDENCE = 0.95


def kind_rows(kind: str, generator: np.random.Generator, n: int, d: int) -> Floats:
    """Draw rows of a kind: independent columns, of about unit spread."""
    name, _, number = kind.partition(" ")
    size = (n, d)
    if name == "normal":
        return generator.standard_normal(size)
    if name == "laplace":
        return generator.laplace(size=size)
    if name == "uniform":
        return generator.uniform(-2, 2, size)
    if name == "gamma":
        return generator.gamma(2.0, size=size)
    if name == "exponential":
        return generator.exponential(size=size)
    if name == "log-normal":
        return generator.lognormal(0.0, float(number), size)
    if name == "ones":
        return (generator.random(size) < float(number)).astype(float)
    if name == "poisson":
        return generator.poisson(float(number), size).astype(float)
    if name == "zeros":
        return np.where(generator.random(size) < float(number), 0.0, generator.gamma(2.0, size=size))
    if name == "mixed":
        cycle = ("normal", "exponential", "ones 0.3", "log-normal 0.5", "uniform", "poisson 2", "laplace", "gamma")
        return np.hstack([kind_rows(cycle[j % len(cycle)], generator, n, 1) for j in range(d)])
    if name == "unequal":  # columns of different scale
        return kind_rows("mixed", generator, n, d) * np.geomspace(1.0, 30.0, d)
    raise ValueError(kind)


KINDS = (
    "normal",
    "laplace",
    "uniform",
    "gamma",
    "exponential",
    "log-normal 0.5",
    "log-normal 1",
    "ones 0.02",
    "ones 0.1",
    "ones 0.5",
    "poisson 0.5",
    "poisson 3",
    "zeros 0.8",
    "mixed",
    "unequal",
)


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """Kind and number of rows, the budget and the bound."""

    kind: str
    n: int
    d: int
    rho: float
    neighbours: str
    bound: str

    @property
    def label(self) -> str:
        """What it is called."""
        neighbours = "add" if self.neighbours.startswith("add") else "replace"
        return f"{self.kind:14} n={self.n:<6} d={self.d:<3} rho={self.rho:<5g} {neighbours:8}{self.bound}"


@final
@dataclass(frozen=True, slots=True)
class Found:
    """What was measured, of single columns and of the length of the error."""

    setting: Setting
    verdict: str
    runs: int
    refused: int
    column_coverage: float
    column_coverage_least: float
    length_coverage: float
    length_coverage_least: float
    column_median: float
    column_high: float
    length_median: float
    length_high: float
    error: float
    """Root of the mean square error, in spreads."""


def bounds_of(setting: Setting, rows: Floats) -> dict[str, object]:
    """Return the bound as arguments."""
    name, _, number = setting.bound.partition(" ")
    if name == "norm":
        scale = 30.0 if setting.kind == "unequal" else 1.0
        return {"norm_bound": float(number or 50) * scale * math.sqrt(setting.d)}
    reach = np.full(setting.d, float(number or 50))
    if setting.kind == "unequal":
        reach = reach * np.geomspace(1.0, 30.0, setting.d)
    if name == "box":
        return {"lower": -reach, "upper": reach}
    if name == "positive":
        return {"lower": 0 * reach, "upper": reach}
    raise ValueError(setting.bound)


def measured(job: tuple[Setting, int, int, int]) -> Found:
    """Make all releases of a setting."""
    setting, sets, runs, seed = job
    warnings.simplefilter("ignore")
    errors, margins, lengths, bounds, refused = [], [], [], [], 0
    spread = 1.0
    for number in range(sets):
        generator = np.random.default_rng([seed, number, setting.n, setting.d])
        rows = kind_rows(setting.kind, generator, setting.n, setting.d)
        told = bounds_of(setting, rows)
        if "norm_bound" in told:
            rows = rows * np.minimum(1, told["norm_bound"] / np.maximum(np.linalg.norm(rows, axis=1), 1e-9))[:, None]
        truth = rows.mean(axis=0)
        spread = math.hypot(*rows.std(axis=0))
        of_set: list[list] = [[], [], [], []]
        for run in range(runs):
            try:
                release = dpmean.mean(
                    rows, rho=setting.rho, neighbours=setting.neighbours, seed=1000 * number + run, **told
                )
            except dpmean.TooFewRowsError:
                refused += 1
                continue
            off = np.abs(release.mean - truth)
            of_set[0].append(off)
            of_set[1].append(release.column_bounds(CONFIDENCE))
            if release.scales is None and "lower" not in told:
                of_set[2].append(math.hypot(*off))
                of_set[3].append(release.error_bound(CONFIDENCE))
            else:  # the length that the release speaks of is in multiples of the scales
                weights = lengths_of(release)
                of_set[2].append(math.hypot(*(off / weights)))
                of_set[3].append(release.error_bound(CONFIDENCE))
        if of_set[0]:
            for every, these in zip((errors, margins, lengths, bounds), of_set, strict=True):
                every.append(np.array(these))
    need = dpmean.plan(setting.n, setting.d, rho=setting.rho, neighbours=setting.neighbours)
    verdict = need.verdict.name.lower()
    if not errors:
        return Found(setting, verdict, 0, refused, *[math.nan] * 9)
    covered = [error <= margin for error, margin in zip(errors, margins, strict=True)]
    held = [length <= bound for length, bound in zip(lengths, bounds, strict=True)]
    column_ratios = [m / np.maximum(np.quantile(e, CONFIDENCE, axis=0), 1e-12) for e, m in zip(errors, margins)]
    length_ratios = [b / np.quantile(e, CONFIDENCE) for e, b in zip(lengths, bounds)]
    total = np.concatenate([np.hypot.reduce(error, axis=1) for error in errors])
    return Found(
        setting,
        verdict,
        len(total),
        refused,
        float(np.mean([each.mean() for each in covered])),
        float(np.min([each.mean(axis=0).min() for each in covered])),
        float(np.mean([each.mean() for each in held])),
        float(np.min([each.mean() for each in held])),
        float(np.mean([np.median(each) for each in column_ratios])),
        float(np.mean([np.quantile(each, 0.95) for each in column_ratios])),
        float(np.mean([np.median(each) for each in length_ratios])),
        float(np.mean([np.quantile(each, 0.95) for each in length_ratios])),
        float(np.sqrt(np.mean(total**2)) / spread),
    )


def lengths_of(release: dpmean.Release) -> Floats:
    """Return the length, in the user's unit, of one unit of the error that a release speaks of, column by column."""
    given = release.settings.bound
    if release.scales is not None:
        return (
            np.array(release.scales.units) / release.scales.weights if release.scales.per_column else np.ones(release.d)
        )
    if release.settings.radius_unit and hasattr(given, "upper"):
        return np.array(given.upper) / 2 - np.array(given.lower) / 2
    return np.ones(release.d)


def main() -> None:
    """Measure on all cores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--n", default="300,640,3000")
    parser.add_argument("--d", default="1,4,16")
    parser.add_argument("--rho", default="0.5")
    parser.add_argument("--neighbours", default="add-or-remove-one")
    parser.add_argument("--bound", default="norm 50")
    parser.add_argument("--sets", type=int, default=5)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=2021)
    parser.add_argument("--procs", type=int, default=None)
    parser.add_argument("--out")
    parser.add_argument("--bad", action="store_true", help="print settings alone that miss something")
    told = parser.parse_args()
    os.environ["DPMEAN_THREADS"] = "1"
    axes = (
        told.kinds.split(","),
        *[
            [kind(x) for x in str(v).split(",")]
            for kind, v in ((int, told.n), (int, told.d), (float, told.rho), (str, told.neighbours), (str, told.bound))
        ],
    )
    settings = [Setting(*each) for each in itertools.product(*axes)]
    settings.sort(key=lambda s: -s.n * s.d)
    jobs = [(setting, told.sets, told.runs, told.seed) for setting in settings]
    with multiprocessing.get_context("fork").Pool(told.procs) as pool:
        found = list(pool.imap_unordered(measured, jobs, chunksize=1))
    order = {setting: k for k, setting in enumerate(Setting(*each) for each in itertools.product(*axes))}
    found.sort(key=lambda each: order[each.setting])
    if told.out:
        Path(told.out).write_text(json.dumps([asdict(each) for each in found]))
    show(found, told.bad)


def show(found, only_bad=False):
    print(f"{'':62}{'columns: held least  median  high':36} {'length: held least  median high':34} error")
    for f in found:
        if not f.runs:
            if not only_bad:
                print(f"{f.setting.label:60} refused")
            continue
        sure = f.setting.n * math.sqrt(f.setting.rho) >= 450 and f.verdict == "fine"
        skew = any(f.setting.kind.startswith(x) for x in ("gamma", "exponential"))
        free = any(f.setting.kind.startswith(x) for x in ("log-normal 1", "zeros"))
        flags = "C" if f.column_coverage < 0.94 else "c" if f.column_coverage_least < 0.88 else " "
        flags += "L" if f.length_coverage < 0.94 else "l" if f.length_coverage_least < 0.88 else " "
        lim = (2.0, 4.5 if skew else 3.0)
        wide = [f.column_median > lim[0], f.column_high > lim[1], f.length_median > lim[0], f.length_high > lim[1]]
        if sure and not free:
            flags += "".join("mhMH"[k] if w else " " for k, w in enumerate(wide))
        else:
            flags += "    "
        if only_bad and not flags.strip():
            continue
        print(
            f"{f.setting.label:56}{f.verdict[:6]:7} {f.column_coverage:.3f} {f.column_coverage_least:.2f} {f.column_median:6.2f} {f.column_high:6.2f}    "
            f"{f.length_coverage:.3f} {f.length_coverage_least:.2f} {f.length_median:6.2f} {f.length_high:6.2f}  {f.error:.4f} {'r' + str(f.refused) if f.refused else ''} {flags}"
        )


if __name__ == "__main__":
    main()
