"""Trials of refined with and without a shape on the same rows; errors are in the units of each kind of rows."""

from __future__ import annotations

import itertools
import math
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.stats import trim_mean

import dpmean
from bench.accuracy import NEIGHBOURS, SETTINGS
from bench.problem import Floats
from dpmean import baselines
from dpmean.experiments.data import draw
from dpmean.experiments.mnist import MissingDataError
from dpmean.experiments.tables import bounds_of, columns_of, spread_of

NOT_WORSE = 1.03
"""No interval may lie entirely above this ratio."""
REFINED, ROUND, PLAN, WITHOUT = "refined", "round", "PLAN", "without the ninth"


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of rows, a budget, and a requirement."""

    name: str
    data: str
    n: int
    d: int
    rho: float
    bound: float | None
    """The norm bound in multiples of sqrt(d); None for a table, which has ranges."""
    options: tuple[tuple[str, float], ...] = ()
    asked: float | None = None
    asked_of: str = "ratio"
    limit: float | None = None
    runs: int | None = None
    plan: bool = False
    neighbours: str = NEIGHBOURS

    @property
    def label(self) -> str:
        """The name of the setting in tables."""
        extra = "".join(f", {name} {value:g}" for name, value in self.options)
        bound = "" if self.bound is None else f", R={self.bound:g} sqrt(d)"
        runs = "" if self.runs is None else f", {self.runs} runs"
        neighbours = "" if self.neighbours == NEIGHBOURS else f", {self.neighbours}"
        return f"{self.data}{extra}, n={self.n}, d={self.d}, rho={self.rho:g}{bound}{neighbours}{runs}"

    @property
    def beside_a_ninth(self) -> bool:
        """Whether the first eight columns are compared with themselves without the ninth."""
        return self.asked_of == "others"

    def trials(self, part: float) -> int:
        """Return the number of paired trials: fewer in many dimensions, where errors vary less."""
        return max(4, round(part * (self.runs or max(48, 4000 / self.d))))


@final
@dataclass(frozen=True, slots=True)
class Summary:
    """The errors of one method; for a table, those of the worst column of each trial."""

    typical: float
    """The trimmed mean."""
    columns: list[float]
    """The trimmed mean of each column of a table."""
    astray: float
    """The largest error of all trials divided by the trimmed mean; for a table, the largest over its columns."""
    low: float
    high: float
    median: float
    mean: float
    most: float
    """The 99 % quantile of the errors."""
    largest: float


@final
@dataclass(frozen=True, slots=True)
class Line:
    """The results of a setting."""

    setting: Setting
    trials: int
    methods: dict[str, Summary]
    ratio: tuple[float, float, float] | None = None
    """The error ratio of refined to round, or with to without the ninth column, and its 95 % interval."""
    constant: float | None = None
    """The typical error of constant columns, divided by their range."""
    problem: str = ""

    def broken(self) -> list[str]:
        """Return the requirements that are not met."""
        if self.ratio is None:
            return [self.problem]
        setting, found, out = self.setting, self.methods[REFINED], []
        value = found.typical if setting.asked_of == "error" else self.ratio[0]
        if setting.asked is not None and value > setting.asked:
            out.append(f"{value:.3g} > {setting.asked:g}")
        if setting.asked is None and self.ratio[1] > NOT_WORSE:
            out.append(f"above {NOT_WORSE:g}")
        if setting.limit is not None and found.astray > setting.limit:
            out.append(f"astray: {found.astray:.1f} > {setting.limit:g}")
        return out


def read_settings(kind: str) -> Iterator[Setting]:
    """Read the settings under [[kind]], combining lists."""
    for entry in tomllib.loads(SETTINGS.read_text())[kind]:
        names = ("data", "n", "d", "rho", "bound", "options")
        choices = [value if isinstance(value := entry.get(name), list) else [value] for name in names]
        more = {name: value for name, value in entry.items() if name not in names}
        for data, n, d, rho, bound, options in itertools.product(*choices):
            yield Setting(data=data, n=n, d=d, rho=rho, bound=bound, options=tuple((options or {}).items()), **more)


def refined(rows: Floats, *, shape: str, **told: Any) -> Floats:
    """Release the mean with a shape ("auto") or without ("round")."""
    return dpmean.mean(rows, method="refined", shape=shape, allow_few_rows=True, **told).mean


def measured(job: tuple[Setting, float, int]) -> Line:
    """Run all methods on the same rows, trial by trial."""
    warnings.simplefilter("ignore", dpmean.TooFewRowsWarning)  # some settings have few rows on purpose
    setting, part, seed = job
    trials = setting.trials(part)
    errors: dict[str, list[Floats]] = {}
    try:
        for trial in range(trials):
            for method, found in _one_trial(setting, np.random.default_rng([seed, trial]), seed + trial):
                errors.setdefault(method, []).append(found)
    except MissingDataError as error:
        return Line(setting, 0, {}, problem=str(error))
    except ModuleNotFoundError as error:
        return Line(setting, 0, {}, problem=f"{error.name} is missing")
    return summary(setting, {method: np.array(values) for method, values in errors.items()})


def _one_trial(setting: Setting, generator: np.random.Generator, seed: int) -> Iterator[tuple[str, Floats]]:
    """Return the errors of each method: one number, or for tables one per column."""
    options = dict(setting.options)
    rows = draw(setting.data, generator, setting.n, setting.d, **options).rows
    told: dict[str, Any] = {"rho": setting.rho, "neighbours": setting.neighbours, "seed": seed}
    bounds = bounds_of(setting.data, **options)
    return _of_vectors(setting, rows, told) if bounds is None else _of_a_table(setting, rows, bounds, told)


def _of_vectors(setting: Setting, rows: Floats, told: dict[str, Any]) -> Iterator[tuple[str, Floats]]:
    reach, truth = (setting.bound or math.nan) * math.sqrt(rows.shape[1]), rows.mean(axis=0)

    def error(found: Floats) -> Floats:
        return np.array([float(np.linalg.norm(found - truth))])

    for method, shape in ((ROUND, "round"), (REFINED, "auto")):
        yield method, error(refined(rows, shape=shape, norm_bound=reach, **told))
    if setting.plan:
        yield PLAN, error(baselines.plan_mean(rows, rho=told["rho"], norm_bound=reach, seed=told["seed"]).mean)


def _of_a_table(
    setting: Setting, rows: Floats, bounds: tuple[Floats, Floats], told: dict[str, Any]
) -> Iterator[tuple[str, Floats]]:
    truth, units = rows.mean(axis=0), _units(setting, rows)
    yield REFINED, np.abs(refined(rows, shape="auto", bounds=bounds, **told) - truth) / units
    if setting.beside_a_ninth:
        fewer = bounds[0][:-1], bounds[1][:-1]
        found = refined(np.ascontiguousarray(rows[:, :-1]), shape="auto", bounds=fewer, **told)
        yield WITHOUT, np.abs(found - truth[:-1]) / units[:-1]
    else:
        yield ROUND, np.abs(refined(rows, shape="round", bounds=bounds, **told) - truth) / units


def _units(setting: Setting, rows: Floats) -> Floats:
    """Return the standard deviation of each column in these rows; if it is zero, in many rows; or else its range."""
    columns = columns_of(setting.data, **dict(setting.options))
    drawn = rows.std(axis=0)
    usual = np.array([spread_of(column) or column.upper - column.lower for column in columns])
    return np.where(drawn > 1e-9 * usual, drawn, usual)


def summary(setting: Setting, errors: dict[str, Floats]) -> Line:
    """Summarise the errors of paired trials; for each method there is an array with one line per trial."""
    constant = None
    trials, width = errors[REFINED].shape
    if width > 1:
        columns = columns_of(setting.data, **dict(setting.options))
        varies = np.array([spread_of(column) > 0 for column in columns])
        if not varies.all():
            constant = float(trim_mean(errors[REFINED][:, ~varies], 0.1, axis=0).max())
        errors = {method: values[:, varies[: values.shape[1]]] for method, values in errors.items()}
    compared = _compared_with_fewer if setting.beside_a_ninth else _compared
    resampled = np.random.default_rng(0).integers(0, trials, (200, trials))
    low, high = np.quantile(compared({method: values[resampled] for method, values in errors.items()}), [0.025, 0.975])
    methods = {method: _summary(values) for method, values in errors.items()}
    return Line(setting, trials, methods, (float(compared(errors)), float(low), float(high)), constant)


def _summary(values: Floats) -> Summary:
    columns, worst = trim_mean(values, 0.1, axis=0), values.max(axis=1)
    astray = float((values.max(axis=0) / np.maximum(columns, 1e-300)).max())
    low, median, high, most = (float(number) for number in np.quantile(worst, [0.1, 0.5, 0.9, 0.99]))
    return Summary(
        typical=float(trim_mean(worst, 0.1)),
        columns=[float(number) for number in columns],
        astray=astray,
        low=low,
        high=high,
        median=median,
        mean=float(worst.mean()),
        most=most,
        largest=float(worst.max()),
    )


def _compared(errors: dict[str, Floats]) -> Any:
    """Return the ratio of refined to round: trimmed means; for a table, of the worst column of each trial."""
    above, below = (trim_mean(errors[method].max(axis=-1), 0.1, axis=-1) for method in (REFINED, ROUND))
    return above / below


def _compared_with_fewer(errors: dict[str, Floats]) -> Any:
    """Return the largest ratio, over the first eight columns, of errors with to errors without the ninth column."""
    below = trim_mean(errors[WITHOUT], 0.1, axis=-2)
    above = trim_mean(errors[REFINED][..., : below.shape[-1]], 0.1, axis=-2)
    return (above / below).max(axis=-1)
