"""The estimate, drawn and in numbers."""

from __future__ import annotations

import math

import numpy as np

from dpmean.pages import charts
from dpmean.pages.columns import Columns
from dpmean.pages.markup import Html, join, tag
from dpmean.pages.numbers import from_to, plain, with_error
from dpmean.pages.scale import Scale

_DOTS, _NAMED_DOTS = 12, 60
"""As many columns are drawn as dots, one below the other: without names, and with."""
_OPEN, _LISTED = 12, 2000
"""As many rows of a table are shown at once, and at all."""


def estimate(columns: Columns, image: tuple[int, int] | None = None, table: str = "numbers") -> Html:
    """Return the estimate as a drawing, with words that say how to read it, and the numbers."""
    hover = table if columns.d <= _LISTED else None
    if image is not None:
        drawing, words = _image(columns, image, hover)
    elif columns.d <= (_NAMED_DOTS if columns.named else _DOTS):
        drawing, words = _dots(columns)
    else:
        drawing, words = _line(columns, hover)
    caption = tag("figcaption", *words, " ", _covered(columns))
    figure = tag("figure", drawing, caption, class_=None if image is None else "pictured")
    return join(figure, numbers(columns, table))


def numbers(columns: Columns, name: str) -> Html:
    """Return a table of all numbers, rounded to what the error supports; folded if it is long."""
    shown = min(columns.d, _LISTED)
    bounded = columns.lower is not None and columns.upper is not None and not columns.share_a_unit
    head = ["column, and its bounds" if bounded else "column", "estimate", "± at 95 %", "noise"]
    lines = []
    for j in range(shown):
        value, error = with_error(float(columns.mean[j]), float(columns.error[j]))
        cells = [value, error, plain(float(columns.noise_std[j]), 2)]
        within = None
        if bounded and columns.lower is not None and columns.upper is not None:
            sides = f"{plain(columns.lower[j], 6)} to {plain(columns.upper[j], 6)}"
            within = tag("span", sides, class_="soft")
        name_cell = tag("th", tag("bdi", columns.names[j]), within, scope="row")
        lines.append(tag("tr", name_cell, *(tag("td", cell) for cell in cells)))
    some = "" if shown == columns.d else f"; the first {shown} of {columns.d}, all are in the data below"
    caption = (
        f"Estimates, rounded to what their errors support{some}. Noise: its standard deviation. "
        "Exact values are in the data below."
    )
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *(tag("th", word, scope="col") for word in head))),
        tag("tbody", *lines),
        id=name,
        class_="numbers",
    )
    title = "The numbers" if columns.d == 1 else f"The numbers of all {columns.d} columns"
    return tag("details", tag("summary", title), tag("div", table, class_="wide"), open=columns.d <= _OPEN)


def _dots(columns: Columns) -> tuple[Html, list[str]]:
    shared = None
    if columns.share_a_unit and (columns.d > 1 or columns.lower is None):
        shared = Scale.around([*(columns.mean - columns.error), *(columns.mean + columns.error)])
    items = []
    for j, name in enumerate(columns.names):
        value, error = with_error(float(columns.mean[j]), float(columns.error[j]))
        scale, ends = shared, None
        if scale is None and columns.lower is not None and columns.upper is not None:
            scale = Scale(float(columns.lower[j]), float(columns.upper[j]))
            ends = (plain(scale.low, 6), plain(scale.high, 6))
        scale = scale or Scale.around([float(columns.mean[j])])
        label = f"{name}: {value}, give or take {error}; drawn from {plain(scale.low, 6)} to {plain(scale.high, 6)}"
        items.append(
            tag(
                "li",
                tag("span", tag("bdi", name), class_="name"),
                charts.track(float(columns.mean[j]), float(columns.error[j]), scale, label, ends=ends),
                tag("span", value, tag("span", f" ± {error}", class_="soft"), class_="value"),
            )
        )
    if shared is not None:
        items.append(tag("li", tag("span", class_="name"), charts.axis(shared), class_="axis", aria_hidden="true"))
    kind = "dots" + (" own" if shared is None else "") + (" single" if columns.d == 1 else "")
    drawing = tag("ul", *items, class_=kind)
    words = ["Dots are estimates, bars their errors; a bar that is narrower than its dot cannot be seen."]
    if columns.d == 1:
        words = ["The dot is the estimate, the bar its error; a bar that is narrower than the dot cannot be seen."]
    if shared is None:
        own = "Columns have units of their own: each" if columns.d > 1 else "It"
        words.append(f" {own} is drawn between its public bounds.")
    if _beyond(columns):
        words.append(" Noise can carry an estimate beyond its bounds; a hollow dot is at the end of its line.")
    return drawing, words


def _beyond(columns: Columns) -> bool:
    if columns.lower is None or columns.upper is None or columns.share_a_unit:
        return False
    return bool(np.any((columns.mean < columns.lower) | (columns.mean > columns.upper)))


def _line(columns: Columns, hover: str | None) -> tuple[Html, list[str]]:
    mean, error, unit = columns.mean, columns.error, ""
    if not columns.share_a_unit and columns.lower is not None and columns.upper is not None:
        width = columns.upper - columns.lower
        mean, error = 100 * (mean - columns.lower) / width, 100 * error / width
        unit = " Columns have units of their own: they are drawn in per cent of the way from lower to upper bound."
    scale = Scale.around([*(mean - error), *(mean + error)])
    label = (
        f"Estimates of {columns.d} columns as a line, from {plain(mean.min(), 3)} to {plain(mean.max(), 3)}, "
        f"in a band of {from_to(error)} to either side"
    )
    words = f"The line goes through the estimates of columns 0 to {columns.d - 1}, the band is their error.{unit}"
    return charts.line(mean, error, scale, label, table=hover), [words]


def _image(columns: Columns, shape: tuple[int, int], hover: str | None) -> tuple[Html, list[str]]:
    scale = Scale(float(columns.mean.min()), float(columns.mean.max()))
    error, noise = float(columns.error.max()), float(columns.noise_std.max())
    ends = (with_error(scale.low, error)[0], with_error(scale.high, error)[0])
    label = (
        f"Estimates as an image of {shape[0]} x {shape[1]} pixels, from {ends[0]}, black, to {ends[1]}, white, "
        f"with noise of standard deviation {plain(noise, 2)}"
    )
    share = noise / (scale.high - scale.low) if scale.high > scale.low else math.inf
    words = [
        f"Black is {ends[0]}, white is {ends[1]}. The noise in each pixel has a standard deviation of "
        f"{plain(noise, 2)}, {plain(100 * share, 2)} % of that range; the bar below the greys is a pixel's error bar."
    ]
    drawing = join(charts.image(columns.mean, shape, label, scale=scale, table=hover), charts.greys(scale, error, ends))
    return tag("div", drawing, class_="picture"), words


def _covered(columns: Columns) -> str:
    if columns.measured:
        words = (
            "At 95 % confidence, the mean of these rows lies within the error: it covers the noise, and the bias of "
            "clipping as far as it could be measured."
        )
    else:
        words = (
            "The error is 1.96 standard deviations of the noise, which covers the noise in 95 % of cases; clipping may "
            "add a bias, which it does not cover."
        )
    outside = round(columns.d / 20)
    if columns.d >= 20:
        words += f" This holds for each column by itself: of {columns.d}, some {outside} may lie outside."
    return words
