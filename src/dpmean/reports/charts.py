"""Drawings in SVG: tracks with a dot and an error bar, a line with a band, an image in greys.

Places along a drawing are in per cent, so that it fits any width and its letters keep their size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpmean.release.digits import plain
from dpmean.reports.markup import Html, tag
from dpmean.reports.scale import Scale

Floats = NDArray[np.float64]

_HEIGHT = 280
_FINEST = 1000
"""The number of places along a line; with more values, neighbours are drawn together."""


def track(
    value: float,
    bar: tuple[float, float],
    scale: Scale,
    label: str,
    *,
    wide: tuple[float, float] | None = None,
    ends: tuple[str, str] | None = None,
    whole: bool = True,
    ticks: int = 5,
) -> Html:
    """Draw one value and its error bar on a line of its own, with about ``ticks`` ticks; ``ends`` are written below it.

    ``wide`` is a second bar, which is drawn thinner. Between ends, the line is thick if it is the ``whole`` range.
    """
    low, high, place = (scale.at(x) for x in (*bar, value))
    thin = []
    if wide is not None:
        left, right = (scale.at(x) for x in wide)
        thin = [tag("line", x1=_percent(left), x2=_percent(right), y1=13, y2=13, class_="wider")]
        thin += [_upright(left, 9, 17, "wider"), _upright(right, 9, 17, "wider")]
    grid = [] if ends else [_upright(x, 0, 26, "grid") for x, _ in scale.labels(ticks)]
    written = [_text(0, 36, ends[0], "start"), _text(100, 36, ends[1], "end")] if ends else []
    rail = (
        tag("rect", x="0", y=10, width="100%", height=6, rx=3, class_="whole")
        if ends and whole
        else tag("line", x1="0", x2="100%", y1=13, y2=13, class_="rail")
    )
    grid += [_upright(x, 8, 18, "rail") for x in (0, 100)] if ends and not whole else []
    return tag(
        "svg",
        *grid,
        rail,
        *thin,
        tag("line", x1=_percent(low), x2=_percent(high), y1=13, y2=13, class_="error"),
        _upright(low, 9, 17, "cap"),
        _upright(high, 9, 17, "cap"),
        tag("circle", cx=_percent(place), cy=13, r=5.5, class_="dot"),
        *written,
        class_="track",
        width="100%",
        height=40 if ends else 26,
        role="img",
        aria_label=label,
    )


def axis(scale: Scale, ticks: int = 5) -> Html:
    """Draw the numbers below tracks that share a scale."""
    labels = [_text(x, 14, words, _anchor(x)) for x, words in scale.labels(ticks)]
    return tag("svg", *labels, class_="track", width="100%", height=20, aria_hidden="true")


def line(
    mean: Floats,
    bars: tuple[Floats, Floats],
    scale: Scale,
    label: str,
    *,
    table: str | None = None,
    finest: int = _FINEST,
) -> Html:
    """Draw values over their numbers, within a band of their error bars; ``table`` has what is shown on hovering.

    Of more than ``finest`` values, neighbours are drawn together.
    """
    d = len(mean)
    band, path = _merged(mean, *bars, finest) if d > finest else _drawn(mean, *bars)
    top, bottom = 18, _HEIGHT - 26
    marks = []
    for x, words in scale.labels(4):
        y = bottom - (bottom - top) * x / 100
        marks.append(tag("line", x1="0", x2="100%", y1=y, y2=y, class_="grid"))
        marks.append(tag("text", words, x="0", y=y - 4))
    numbers = [tick for tick in Scale(0, d - 1).ticks(6) if tick == int(tick)]
    below = [_text(100 * (tick + 0.5) / d, _HEIGHT - 6, f"{tick:g}", _anchor(100 * tick / d)) for tick in numbers]
    curve = tag(
        "svg",
        tag("polygon", points=_points(band, scale), class_="band"),
        tag("polyline", points=_points(path, scale), class_="curve"),
        x="0",
        y=top,
        width="100%",
        height=bottom - top,
        viewBox="0 0 1000 100",
        preserveAspectRatio="none",
    )
    return tag(
        "svg",
        *marks[::2],
        curve,
        *marks[1::2],
        *below,
        class_="line",
        width="100%",
        height=_HEIGHT,
        role="img",
        aria_label=label,
        data_table=table,
        data_cells=f"{d} 1" if table else None,
    )


def image(mean: Floats, shape: tuple[int, int], label: str, *, scale: Scale, table: str | None = None) -> Html:
    """Draw values as the pixels of an image, black for the lowest and white for the highest of the scale."""
    height, width = shape
    greys = np.rint(np.clip((mean - scale.low) / ((scale.high - scale.low) or 1.0), 0, 1) * 255).astype(int)
    paths = []
    for grey in np.unique(greys):
        pixels = "".join(f"M{place % width} {place // width}h1v1h-1z" for place in np.flatnonzero(greys == grey))
        paths.append(tag("path", d=pixels, fill=_grey(grey / 255)))
    return tag(
        "svg",
        *paths,
        class_="image",
        viewBox=f"0 0 {width} {height}",
        shape_rendering="crispEdges",
        role="img",
        aria_label=label,
        data_table=table,
        data_cells=f"{width} {height}" if table else None,
    )


def greys(scale: Scale, error: float, ends: tuple[str, str]) -> Html:
    """Draw the scale of an image, and how much of it an error bar would take, from end to end."""
    widths = [_percent(3.4 if k < 31 else 3.125) for k in range(32)]
    shades = [
        tag("rect", x=_percent(100 * k / 32), y=0, width=width, height=14, fill=_grey(k / 31))
        for k, width in enumerate(widths)
    ]
    wide = min(2 * error / ((scale.high - scale.low) or 1.0), 1.0) * 100
    return tag(
        "svg",
        *shades,
        tag("rect", x="0", y=0, width="100%", height=14, class_="frame"),
        _text(0, 30, ends[0], "start"),
        _text(100, 30, ends[1], "end"),
        tag("line", x1=_percent(50 - wide / 2), x2=_percent(50 + wide / 2), y1=25, y2=25, class_="error"),
        _upright(50 - wide / 2, 20, 30, "cap"),
        _upright(50 + wide / 2, 20, 30, "cap"),
        class_="greys",
        width="100%",
        height=34,
        role="img",
        aria_label=f"from {ends[0]}, black, to {ends[1]}, white; an error bar is {plain(2 * error, 2)} long",
    )


def bet(chance: float, words: str) -> Html:
    """Draw how often a guess can be right, between a blind guess and certainty."""
    ends = ("50 %: a blind guess", "100 %: certainty")
    place = Scale(0.5, 1.0).at(chance)
    return tag(
        "svg",
        tag("rect", x="0", y=20, width="100%", height=6, rx=3, class_="whole"),
        tag("rect", x="0", y=20, width=_percent(place), height=6, rx=3, class_="part"),
        _upright(place, 16, 30, "cap"),
        _text(place, 11, words, "start" if place < 12 else "end" if place > 88 else "middle"),
        _text(0, 44, ends[0], "start"),
        _text(100, 44, ends[1], "end"),
        class_="bet",
        width="100%",
        height=48,
        role="img",
        aria_label=f"{words}, on a scale from 50 % to 100 %",
    )


def bar(share: float, label: str) -> Html:
    """Draw a share of a whole."""
    return tag(
        "svg",
        tag("rect", x="0", y=0, width="100%", height=8, rx=2, class_="whole"),
        tag("rect", x="0", y=0, width=_percent(max(100 * share, 0.5)), height=8, rx=2, class_="part"),
        class_="bar",
        width="100%",
        height=8,
        role="img",
        aria_label=label,
    )


def _drawn(mean: Floats, low: Floats, high: Floats) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return the outline of the band and the points of the line, across from 0 to 1000."""
    across = 1000 * (np.arange(len(mean)) + 0.5) / len(mean)
    upper, lower = zip(across, high, strict=True), zip(across, low, strict=True)
    return [*upper, *reversed(list(lower))], list(zip(across, mean, strict=True))


def _merged(
    mean: Floats, low: Floats, high: Floats, finest: int
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return the same with neighbours drawn as one stroke, from the lowest to the highest of them."""
    starts = np.linspace(0, len(mean), finest, endpoint=False).astype(int)
    across = 1000 * (np.arange(finest) + 0.5) / finest
    upper = zip(across, np.maximum.reduceat(high, starts), strict=True)
    lower = zip(across, np.minimum.reduceat(low, starts), strict=True)
    ends = zip(across, np.minimum.reduceat(mean, starts), np.maximum.reduceat(mean, starts), strict=True)
    strokes = [(x, y) for x, least, most in ends for y in (least, most)]
    return [*upper, *reversed(list(lower))], strokes


def _points(places: Sequence[tuple[float, float]], scale: Scale) -> str:
    return " ".join(f"{x:.5g},{100 - scale.at(y):.5g}" for x, y in places)


def _upright(x: float, top: float, bottom: float, kind: str) -> Html:
    return tag("line", x1=_percent(x), x2=_percent(x), y1=top, y2=bottom, class_=kind)


def _text(x: float, y: float, words: str, anchor: str) -> Html:
    return tag("text", words, x=_percent(x), y=y, text_anchor=anchor)


def _anchor(x: float) -> str:
    return "start" if x < 4 else "end" if x > 96 else "middle"


def _percent(x: float) -> str:
    return f"{x:.5g}%"


def _grey(part: float) -> str:
    level = round(255 * part)
    return f"#{level:02x}{level:02x}{level:02x}"
