"""Plots of the effect of a shape: the error of each column without and with it, and PLAN's benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.shape_trials import PLAN, REFINED, ROUND, Line
from dpmean.experiments.plot import style
from dpmean.experiments.tables import columns_of

_BEFORE = {"color": "#d67f4e", "marker": "D", "linestyle": "--", "linewidth": 1.4}
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
_LABELS = {ROUND: 'refined, shape="round"', REFINED: "refined", PLAN: "PLAN"}


def write(lines: Sequence[Line], folder: Path) -> list[Path]:
    """Plot the figures that have measurements; return the files."""
    import matplotlib as mpl

    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    known = [line for line in lines if line.methods]
    tables = [line for line in known if line.setting.data == "table of eight" and ROUND in line.methods]
    usual = [line for line in tables if (line.setting.n, line.setting.rho) == (5000, 0.5)]
    benchmark = [line for line in known if line.setting.name == "PLAN's benchmark"]
    pictures: dict[str, Any] = {}
    if tables:
        pictures["shape-table"] = columns_picture((usual or tables)[0])
    if len(benchmark) > 1:
        pictures["shape-plan"] = plan_picture(benchmark)
    for name, picture in pictures.items():
        picture.savefig(folder / f"{name}.png", dpi=160)
    return [folder / f"{name}.png" for name in pictures]


def columns_picture(line: Line) -> Any:
    """Draw the error of each column of a table, without and with a shape, in its own standard deviations."""
    from matplotlib import pyplot as plt

    setting = line.setting
    columns = columns_of(setting.data, **dict(setting.options))
    before, after = line.methods[ROUND].columns, line.methods[REFINED].columns
    picture, axes = plt.subplots(figsize=(7.6, 0.42 * len(columns) + 1.7), layout="constrained")
    places = range(len(columns))
    axes.hlines(places, after, before, color="#cccccc", linewidth=2, zorder=1)
    for method, values in ((ROUND, before), (REFINED, after)):
        look = _look(method)
        axes.plot(values, places, linestyle="", color=look["color"], marker=look["marker"], label=_LABELS[method])
    axes.axvline(setting.n**-0.5, color="#888888", linestyle=":", label="sampling error of a mean")
    names = [f"{column.name}, {column.lower:,.0f} to {column.upper:,.0f}" for column in columns]
    axes.set_yticks(places, names, fontsize=9)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("error, in standard deviations of the column")
    axes.set_title(f"A table with loose ranges: n = {setting.n}, rho = {setting.rho:g}", fontsize=11)
    _finish(picture, axes)
    return picture


def plan_picture(lines: Sequence[Line]) -> Any:
    """Draw errors against alpha, with bands that contain 80 % of the trials."""
    from matplotlib import pyplot as plt

    found = sorted((dict(line.setting.options)["alpha"], line) for line in lines)
    picture, axes = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
    for method in (ROUND, REFINED, PLAN):
        look = _look(method)
        here = [(alpha, line.methods[method]) for alpha, line in found if method in line.methods]
        alphas = [alpha for alpha, _ in here]
        axes.plot(alphas, [one.typical for _, one in here], label=_LABELS[method], markersize=6, **look)
        axes.fill_between(
            alphas,
            [one.low for _, one in here],
            [one.high for _, one in here],
            color=look["color"],
            alpha=0.13,
            linewidth=0,
        )
    setting = lines[0].setting
    axes.set_yscale("log")
    shown = axes.get_ylim()
    axes.set_yticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axes.set_ylim(shown)
    axes.minorticks_off()
    alphas = [alpha for alpha, _ in found]
    axes.set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
    axes.set_xlabel("alpha: column j of d has variance (d/j)^alpha")
    axes.set_ylabel("l2 error")
    axes.set_title(f"PLAN's benchmark: n = {setting.n}, d = {setting.d}, rho = {setting.rho:g}", fontsize=11)
    _finish(picture, axes)
    return picture


def _look(method: str) -> dict[str, Any]:
    return dict(_BEFORE) if method == ROUND else style({REFINED: "Refined"}.get(method, method), [])


def _finish(picture: Any, axes: Any) -> None:
    axes.grid(visible=True, axis="both", color="#e3e3e3", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    picture.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
