"""Plots: the panels of a figure side by side; methods differ in marker, line and shade, also in greyscale."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

from dpmean.experiments.figures import Figure
from dpmean.experiments.references import REFERENCES
from dpmean.experiments.results import Table

AXES = {
    "d": "dimension d",
    "rho": "privacy budget rho",
    "epsilon": "privacy budget epsilon",
    "bound": "bound R, in multiples of sqrt(d)",
    "width": "standard deviation of the rows",
    "u": "size of the universe u",
    "skew": "skew",
}
MEASURES = {
    "l2": "l2 error",
    "rows": "l2 error to the mean of the rows",
    "mahalanobis": "Mahalanobis error",
    "diameter": "error x n / w(D)",
    "rank": "rank error",
    "messages": "messages per user",
}
# Colour, line, marker and width: our methods are the darkest and thickest.
_STYLES: dict[str, tuple[str, str, str, float]] = {
    "Refined": ("#00204d", "-", "o", 2.4),
    "Shifted-CM": ("#2b6ca3", "-", "s", 1.8),
    "CM": ("#7fb2d6", "-", "v", 1.4),
    "non-private": ("#888888", ":", "", 1.8),
    "Gaussian mechanism": ("#c9a227", "--", "X", 1.4),
    "median clipping": ("#6a8f3c", "-.", "h", 1.4),
    "adaptive clipping": ("#a8c66c", "-.", "8", 1.4),
    "PLAN": ("#1b7f5c", "--", "*", 1.6),
    "PrivQuant": ("#00204d", "-", "o", 2.4),
    "Local": ("#00204d", "-", "o", 2.4),
    "Shuffle": ("#1b7f5c", "-", "D", 2.4),
    "Shuffle, 3 rounds": ("#7fbf9f", "--", "P", 1.6),
    "Local, pure": ("#8c2f2f", "-.", "^", 1.8),
    "Local, 3 rounds": ("#2b6ca3", "-", "s", 1.8),
    "KnownVar": ("#8c2f2f", "--", "^", 1.4),
    "UnkVar": ("#d67f4e", "-.", "D", 1.4),
    "n - sqrt(2d/rho)": ("#2b6ca3", "-", "s", 1.8),
}
_COINPRESS = ["#5c1a1b", "#8c2f2f", "#b5533c", "#d67f4e", "#eaac6f"]
_LINES = ["--", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
_MARKERS = ["^", "D", "P", "<", ">"]


def style(method: str, others: Sequence[str]) -> dict[str, Any]:
    """Return the style of a method; methods without their own style share a scale from dark to light."""
    if method in _STYLES:
        colour, line, marker, width = _STYLES[method]
        return {"color": colour, "linestyle": line, "marker": marker, "linewidth": width}
    place = [other for other in others if other not in _STYLES].index(method) % len(_COINPRESS)
    return {"color": _COINPRESS[place], "linestyle": _LINES[place], "marker": _MARKERS[place], "linewidth": 1.3}


def draw(figure: Figure, table: Table, *, stacked: bool = False) -> Any:
    """Draw a figure and return it for matplotlib; its panels are side by side, or ``stacked`` for narrow screens."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    panels = [panel for panel in figure.panels if any(place[0] == panel for place in table.places)]
    down, across = (len(panels), 1) if stacked else (1, len(panels))
    picture, all_axes = plt.subplots(
        down,
        across,
        figsize=(0.6 + 3.7 * across, 1.4 + 3.2 * down),
        sharey=figure.measure != "rank",
        squeeze=False,
        layout="constrained",
    )
    for axes, panel in zip(all_axes.flat, panels, strict=True):
        for method in figure.methods:
            _line(axes, figure, table, panel, method)
        for number, name in enumerate(figure.references):
            cells = [cell for cell in figure.cells() if cell.panel == panel]
            line = (":", "--")[number % 2]
            values = [REFERENCES[name](cell) for cell in cells]
            axes.plot([cell.x for cell in cells], values, color="#444444", linestyle=line, label=name, linewidth=1.2)
        axes.set_title(f"{figure.panel} = {panel:g}", fontsize=11)
        axes.set_xlabel(AXES.get(figure.axis, figure.axis))
        axes.set_yscale("linear" if figure.measure == "rank" else "log")
        if min(figure.places) > 0:
            axes.set_xscale("log", base=2 if figure.axis in ("d", "u") else 10)
        places = sorted({x for other, x in table.places if other == panel})
        axes.set_xticks(places, [_tick(x) for x in places], fontsize=9)
        axes.minorticks_off()
        axes.grid(visible=True, color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    for axes in all_axes[:, 0]:
        axes.set_ylabel(MEASURES[figure.measure])
    handles, labels = all_axes[0, 0].get_legend_handles_labels()
    columns = min(2 * across, len(labels))
    picture.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    picture.suptitle(fill(f"Figure {figure.name}. {figure.caption}", 46 * across), fontsize=11)
    return picture


def _line(axes: Any, figure: Figure, table: Table, panel: float, method: str) -> None:
    found = [(x, table.summary(panel, x, method)) for x in figure.places]
    known = [(x, *summary) for x, summary in found if summary is not None]
    if not known:
        return
    xs, middles, lows, highs = zip(*known, strict=True)
    look = style(method, figure.methods)
    axes.plot(xs, middles, label=method, markersize=6, markeredgewidth=1, **look)
    axes.fill_between(xs, lows, highs, color=look["color"], alpha=0.13, linewidth=0)
    refused = [(x, y) for x, y in zip(xs, middles, strict=True) if (panel, x, method) in table.notes]
    if refused:
        marks = zip(*refused, strict=True)
        axes.plot(*marks, linestyle="", marker=look["marker"], markersize=6, markeredgecolor=look["color"], color="w")


def _tick(value: float) -> str:
    whole = int(value)
    if whole == value and whole >= 4096 and whole & (whole - 1) == 0:
        return f"$2^{{{whole.bit_length() - 1}}}$"
    return f"{value:g}"
