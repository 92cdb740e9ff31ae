"""Errors divided by those of an oracle, setting by setting: printed as tables and written to docs/accuracy.md."""

from __future__ import annotations

import argparse
import datetime
import itertools
import math
import multiprocessing
import os
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from rich.console import Console
from rich.progress import track

import dpmean
from bench.problem import Floats
from dpmean import baselines
from dpmean.experiments.data import draw
from dpmean.experiments.methods import oracle
from dpmean.experiments.mnist import MissingDataError

SETTINGS = Path(__file__).with_name("settings.toml")
REPORT = Path("docs") / "accuracy.md"
METHODS: dict[str, dict[str, Any]] = {
    "refined": {"method": "refined"},
    "round": {"method": "refined", "shape": "round"},
    "shifted": {"method": "shifted"},
    "clipped": {"method": "clipped"},
}
NEIGHBOURS = "replace-one"
"""The relation for all methods: the oracle and COINPRESS assume it."""
COINPRESS_STEPS = (1, 2, 3, 4, 10)
FROZEN = "e871ebe"
"""The commit that froze the constants of refined: it is the seed of the held-out settings."""
WITHIN = 0.15
PROMISES = "what `dpmean.plan` promised is within 15 % of what refined reached"
INTRODUCTION = """\
# Accuracy
How large the error of each method is, on many kinds of rows, in multiples of the error of an oracle. The oracle is not
private: it clips around the true mean at the (n - sqrt(2 d / rho))-th distance, and adds the noise that this radius
takes. A method with a ratio of 1 is as accurate as the oracle.

- *Refined* is the default method. *Round* is the same without scales of columns (`shape="round"`). *Shifted* and
  *clipped* are the paper's. *COINPRESS* has the best t of 1, 2, 3, 4 and 10, chosen afterwards.
- For all methods, neighbours replace one row (`neighbours="replace-one"`). A method was also run where it has too few
  rows.
- No constant was tuned on the held settings. Their seed is the commit that froze the constants.
""".splitlines()
COLUMNS = """\
How to read the tables: each cell has the ratio of trimmed means (0.1) over max(24, 4000/d) paired trials, its 95 %
interval from resampled trials, and the ratio of the worst trial. *N1* is the noise of the oracle, in multiples of its
radius. *Promised/reached* is the error that `dpmean.plan` forecasts for this kind of rows, divided by the error that
refined reached (root mean squares, in spreads); `python -m bench.forecast` measures only this column, here with half of
the trials (`--part 0.5`). The held setting with a million rows has a tenth of the trials.
""".splitlines()


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of rows, a budget and a bound."""

    group: str
    data: str
    n: int
    d: int
    rho: float
    bound: float
    options: tuple[tuple[str, float], ...]
    limit: float = math.inf

    @property
    def label(self) -> str:
        """The name of the setting in tables."""
        extra = "".join(f", {name} {value:g}" for name, value in self.options)
        return f"{self.data}{extra}, n={self.n}, d={self.d}, rho={self.rho:g}, R={self.bound:g} sqrt(d)"

    @property
    def rows(self) -> str:
        """The name of this kind of rows in ``dpmean.plan``."""
        kinds = tomllib.loads(SETTINGS.read_text())["rows"]
        names = [self.data, *(f"{self.data}, {name} {value:g}" for name, value in self.options)]
        return str(next(kinds[name] for name in reversed(names) if name in kinds))

    @property
    def promised(self) -> float:
        """The error that ``dpmean.plan`` forecasts, in spreads."""
        return dpmean.plan(self.n, self.d, rho=self.rho, rows=self.rows, neighbours=NEIGHBOURS).error

    @property
    def relative_noise(self) -> float:
        """N1: the oracle's noise in multiples of its radius."""
        return math.sqrt(2 * self.d / self.rho) / self.n

    def trials(self, part: float) -> int:
        """Return the number of paired trials: fewer in many dimensions, where errors vary less."""
        return max(4, round(part * max(24, 4000 / self.d)))


@final
@dataclass(frozen=True, slots=True)
class Line:
    """The results of a setting: for each method, the ratio of trimmed means, its interval, and the worst trial."""

    setting: Setting
    ratios: dict[str, tuple[float, float, float, float]]
    problem: str = ""
    promise: float = math.nan
    """The error that was forecast, divided by the error that was reached."""


def read_settings(kind: str) -> Iterator[Setting]:
    """Read the settings under [[kind]], combining lists."""
    for entry in tomllib.loads(SETTINGS.read_text())[kind]:
        names = ("data", "n", "d", "rho", "bound", "options")
        choices = [_listed(entry.get(name, {})) for name in names]
        for data, n, d, rho, bound, options in itertools.product(*choices):
            limit = entry.get("limit", math.inf)
            yield Setting(entry["name"], data, n, d, rho, bound, tuple(options.items()), limit)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def trim_mean(values: Any, share: float, axis: int = 0) -> Any:
    """Return the mean without this share of the largest and of the smallest values."""
    ordered = np.sort(np.moveaxis(np.asarray(values, dtype=np.float64), axis, 0), axis=0)
    left_out = int(share * len(ordered))
    return ordered[left_out : len(ordered) - left_out].mean(axis=0)


def measured(job: tuple[Setting, float, int]) -> Line:
    """Run all methods on the same rows, trial by trial."""
    warnings.simplefilter("ignore", dpmean.TooFewRowsWarning)  # some settings have few rows on purpose
    setting, part, seed = job
    errors: dict[str, list[float]] = {}
    try:
        for trial in range(setting.trials(part)):
            for method, error in _one_trial(setting, np.random.default_rng([seed, trial]), seed + trial):
                errors.setdefault(method, []).append(error)
    except MissingDataError as error:
        return Line(setting, {}, str(error))
    arrays = {method: np.array(values) for method, values in errors.items()}
    reached = root_mean_square(arrays["refined"] / arrays.pop("spread"))
    return Line(setting, _ratios(arrays), promise=setting.promised / reached)


def root_mean_square(values: Floats) -> float:
    """Return the root of the mean square."""
    return math.sqrt(float(np.mean(values**2)))


def spread(rows: Floats) -> float:
    """Return the root mean square of the distances of rows from their mean."""
    return math.sqrt(float(rows.var(axis=0).sum()))


def repeated(job: tuple[Setting, float, int]) -> tuple[Setting, Floats]:
    """Run the refined estimator many times; return its errors in multiples of the oracle's."""
    setting, part, seed = job
    errors, yardstick = [], []
    for trial in range(max(20, round(500 * part))):
        generator = np.random.default_rng([seed, trial, 500])
        rows = draw(setting.data, generator, setting.n, setting.d, **dict(setting.options)).rows
        reach = setting.bound * math.sqrt(setting.d)
        release = dpmean.mean(rows, rho=setting.rho, norm_bound=reach, neighbours=NEIGHBOURS, seed=seed + trial)
        errors.append(np.linalg.norm(release.mean - rows.mean(axis=0)))
        yardstick.append(np.linalg.norm(oracle(rows, setting.rho, generator) - rows.mean(axis=0)))
    return setting, np.array(errors) / trim_mean(yardstick, 0.1)


def _one_trial(setting: Setting, generator: np.random.Generator, seed: int) -> Iterator[tuple[str, float]]:
    rows = draw(setting.data, generator, setting.n, setting.d, **dict(setting.options)).rows
    truth, reach, rho = rows.mean(axis=0), setting.bound * math.sqrt(rows.shape[1]), setting.rho

    def error(found: Floats) -> float:
        return float(np.linalg.norm(found - truth))

    shared: dict[str, Any] = {"rho": rho, "norm_bound": reach, "seed": seed}
    yield "spread", spread(rows)
    yield "oracle", error(oracle(rows, rho, generator))
    for name, told in METHODS.items():
        release = dpmean.mean(rows, allow_few_rows=True, neighbours=NEIGHBOURS, **told, **shared)
        yield name, error(release.mean)
    for steps in COINPRESS_STEPS:
        release = baselines.coinpress_mean(rows, rounds=steps, **shared)
        yield f"COINPRESS {steps}", error(release.mean)


def _ratios(errors: dict[str, Floats]) -> dict[str, tuple[float, float, float, float]]:
    """Divide trimmed means by the oracle's, with intervals from resampled trials; use COINPRESS with its best t."""
    yardstick = errors.pop("oracle")
    best = min((name for name in errors if name.startswith("COINPRESS")), key=lambda name: trim_mean(errors[name], 0.1))
    chosen = {method: errors[method] for method in METHODS} | {"COINPRESS, best t": errors[best]}
    resampled = np.random.default_rng(0).integers(0, len(yardstick), (200, len(yardstick)))
    below = trim_mean(yardstick[resampled], 0.1, axis=1)
    ratios = {}
    for method, values in chosen.items():
        low, high = np.quantile(trim_mean(values[resampled], 0.1, axis=1) / below, [0.025, 0.975])
        middle = float(trim_mean(yardstick, 0.1))
        ratios[method] = (trim_mean(values, 0.1) / middle, float(low), float(high), values.max() / middle)
    return ratios


def table(kind: str, lines: list[Line]) -> list[str]:
    """Return the lines of one table, which a page shows when it is asked to."""
    names = [*METHODS, "COINPRESS, best t"]
    out = [
        f"<details><summary>All {len(lines)} {kind} settings</summary>",
        "",
        f"| setting | N1 | {' | '.join(names)} | promised/reached |",
        "|---" * (3 + len(names)) + "|",
    ]
    for line in lines:
        cells = [
            "{:.3f} ({:.2f}-{:.2f}), worst {:.2f}".format(*line.ratios[name]) if line.ratios else line.problem
            for name in names
        ]
        out.append(
            f"| {line.setting.label} | {line.setting.relative_noise:.3f} | {' | '.join(cells)} | {line.promise:.2f} |"
        )
    values = {name: [line.ratios[name][0] for line in lines if line.ratios] for name in names}
    means = [f"{math.exp(np.log(values[name]).mean()):.3f}, worst {max(values[name]):.2f}" for name in names]
    return [*out, f"| **geometric mean** | | {' | '.join(means)} | |", "", "</details>", ""]


def summary(kinds: Mapping[str, Sequence[Line]]) -> list[str]:
    """Return a table of all settings: geometric means of ratios, and the largest."""
    names = [*METHODS, "COINPRESS, best t"]
    out = [f"| geometric mean (largest) | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    together = [line for lines in kinds.values() for line in lines]
    for kind, lines in [*kinds.items(), ("", together)]:
        known = [line for line in lines if line.ratios]
        values = [[line.ratios[name][0] for line in known] for name in names]
        cells = [f"{math.exp(np.log(ratios).mean()):.2f} ({max(ratios):.2f})" for ratios in values]
        out.append(f"| {len(known)} {kind} settings | {' | '.join(cells)} |".replace("  ", " "))
    return [*out, ""]


def verdicts(lines: list[Line]) -> list[str]:
    """Return a summary of the refined estimator, in a few lines."""
    known = [line for line in lines if line.ratios]
    usual = [line for line in known if line.setting.relative_noise <= 0.06 and line.setting.d > 4]
    few = [line for line in known if line.setting.d <= 4]
    out = [
        _summary("d > 4 and N1 <= 0.06", usual, "0.95, largest 1.25"),
        _summary("d <= 4", few, "1.05, largest 1.4"),
    ]
    for other in ("round", "shifted", "COINPRESS, best t"):
        worse = [line for line in known if line.ratios["refined"][0] > 1.03 * line.ratios[other][0]]
        named = "; ".join(
            f"{line.setting.label} ({line.ratios['refined'][0]:.2f}, {line.ratios[other][0]:.2f})" for line in worse
        )
        where = f"in {len(worse)} of {len(known)} settings" + (f": {named}" if named else "")
        out.append(f"- refined is above {other} by more than 3 % {where}")
    return [*out, summarise_forecasts([line.promise for line in known]), ""]


def summarise_forecasts(promises: list[float]) -> str:
    """Return how often the forecast is within 15 % of the measured error."""
    kept = sum(abs(promise - 1) <= WITHIN for promise in promises)
    return f"- {PROMISES} in {kept} of {len(promises)}"


def _summary(what: str, lines: list[Line], target: str) -> str:
    if not lines:
        return f"- {what}: no settings"
    ratios = [line.ratios["refined"][0] for line in lines]
    reached = f"geometric mean {math.exp(np.log(ratios).mean()):.3f}, largest {max(ratios):.3f}"
    return f"- refined in {len(lines)} settings with {what}: {reached} (target: {target})"


def runs_table(found: list[tuple[Setting, Floats]]) -> list[str]:
    """Return the table of many runs."""
    out = ["## Many runs of refined", "", "| setting | runs | mean | 99 % below | largest | limit |", "|---" * 6 + "|"]
    for setting, ratios in found:
        numbers = (ratios.mean(), np.quantile(ratios, 0.99), ratios.max())
        cells = " | ".join(f"{number:.2f}" for number in numbers)
        out.append(f"| {setting.label} | {len(ratios)} | {cells} | {setting.limit:g} |")
    return [*out, ""]


def main() -> None:
    """Measure everything on all cores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="the part of the trials to run, such as 0.1")
    parser.add_argument("--seed", type=int, default=2021, help="the seed of data and noise")
    arguments = parser.parse_args()
    os.environ["DPMEAN_THREADS"] = "1"
    today = f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}"
    run = f"`make accuracy`, {today}, dpmean {dpmean.__version__}, part {arguments.part:g} of the trials"
    report = [*INTRODUCTION, "", f"{run}, seed {arguments.seed}; held settings: seed {int(FROZEN, 16)}.", ""]
    with multiprocessing.get_context("spawn").Pool() as pool:
        kinds = {}
        for kind in ("tuning", "held"):
            seed = int(FROZEN, 16) if kind == "held" else arguments.seed
            jobs = [(setting, arguments.part, seed) for setting in read_settings(kind)]
            kinds[kind] = list(track(pool.imap(measured, jobs), f"{kind} settings", total=len(jobs)))
        report += [*summary(kinds), *COLUMNS, ""]
        for kind, lines in kinds.items():
            report += [f"## {kind.capitalize()} settings", "", *verdicts(lines), *table(kind, lines)]
        jobs = [(setting, arguments.part, arguments.seed) for setting in read_settings("runs")]
        found = list(track(pool.imap(repeated, jobs), "many runs", total=len(jobs)))
        report += runs_table(found)
    Console(width=200).print("\n".join(report), markup=False)
    if arguments.part >= 0.5:
        REPORT.write_text("\n".join(report))


if __name__ == "__main__":
    main()
