"""The estimate, drawn and in numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpmean.release.digits import between, from_to, plain, with_error
from dpmean.reports import charts
from dpmean.reports.columns import Columns, Floats
from dpmean.reports.markup import Html, join, tag
from dpmean.reports.scale import Scale
from dpmean.reports.tables import is_listed, numbers

_DOTS, _NAMED_DOTS = 12, 60
"""The maximum number of columns that are drawn as dots below each other: without names, and with names."""
_LOOSE = 0.05
"""Bounds are loose if the estimate is closer to one of them, or to zero, than this part of the range."""


def few(columns: Columns) -> bool:
    """Whether each column gets a line of its own."""
    return columns.d <= (_NAMED_DOTS if columns.named else _DOTS)


def estimate(columns: Columns, image: tuple[int, int] | None = None, table: str = "numbers") -> Html:
    """Return the estimate as a drawing, with words that say how to read it, and the numbers."""
    if image is not None:
        scale = Scale(float(columns.mean.min()), float(columns.mean.max()))
        drawing, words = picture(columns, image, scale, table)
    elif few(columns):
        drawing, words = _dots(columns)
    else:
        drawing, words = curve(columns, Scale.around(reached(columns)), table)
    caption = tag("figcaption", words, " ", covered(columns))
    figure = tag("figure", drawing, caption, class_=None if image is None else "pictured")
    return join(figure, numbers(columns, table))


def _dots(columns: Columns) -> tuple[Html, str]:
    shared = None
    if columns.share_a_unit and (columns.d > 1 or columns.lower is None):
        shared = Scale.around(reached(columns))
    scales = [_between_bounds(columns, j) if shared is None else None for j in range(columns.d)]
    items = [_own(columns, j, scale) for j, scale in enumerate(scales)]
    if shared is not None:
        items = [*(dot(columns, j, shared) for j in range(columns.d)), axis(shared)]
    kind = "dots" + (" own" if shared is None else "") + (" single" if columns.d == 1 else "")
    return tag("ul", *items, class_=kind), " ".join(_about_dots(columns, scales, shared))


def _about_dots(columns: Columns, scales: Sequence[Scale | None], shared: Scale | None) -> list[str]:
    """Return how dots are to be read, in sentences."""
    words, close = [how_to_read(columns, one=columns.d == 1)], scales.count(None)
    if shared is not None:
        bounds = {columns.bounds(j) for j in range(columns.d)} - {""}
        words += [f"The public bounds are {' and '.join(sorted(bounds))}."] if len(bounds) == 1 else []
    elif columns.d == 1:
        near = "The public bounds are loose, so only the part around the estimate is drawn."
        words.append(near if close else "It is drawn between its public bounds.")
    else:
        words.append("Columns have units of their own: each is drawn between its public bounds.")
        words += ["Where these are loose, only the part around the estimate is drawn."] if close else []
    if _beyond(columns):
        words.append("Noise can carry an estimate beyond its bounds.")
    return words


def _own(columns: Columns, j: int, scale: Scale | None) -> Html:
    """Return one estimate on an axis of its own: between its bounds, or close to it if there is no such scale."""
    if scale is not None:
        return dot(columns, j, scale, ends=scale.ends())
    near = _close(columns, j)
    return dot(columns, j, near, ends=near.ends(), bounds=columns.bounds(j))


def _between_bounds(columns: Columns, j: int) -> Scale | None:
    """Return the scale between the bounds of a column; None if they are too loose to show anything.

    They are if the estimate almost coincides with a bound, or with zero, or is beyond a bound.
    """
    if columns.lower is None or columns.upper is None:
        return None
    scale, mean = Scale(float(columns.lower[j]), float(columns.upper[j])), float(columns.mean[j])
    marks = [scale.low, scale.high, *([0.0] if scale.low < 0 < scale.high else [])]
    loose = any(abs(mean - mark) < _LOOSE * (scale.high - scale.low) for mark in marks)
    return None if loose or not scale.low <= mean <= scale.high else scale


def _close(columns: Columns, j: int) -> Scale:
    """Return a scale of one column that holds its estimate and its intervals, with as much room on both sides."""
    ends = _ends(columns, j)
    low, high = min(ends), max(ends)
    room = (high - low) / 2 or 2 * float(columns.noise_std[j])
    if columns.lower is None or columns.upper is None:
        return Scale.around([low - room, high + room])
    lower, upper = float(columns.lower[j]), float(columns.upper[j])
    return Scale.around([max(low - room, min(low, lower)), min(high + room, max(high, upper))])


def _ends(columns: Columns, j: int) -> list[float]:
    return [float(values[j]) for values in (columns.mean, columns.low, columns.high, *(columns.population or ()))]


def how_to_read(columns: Columns, *, one: bool) -> str:
    """Return how dots and bars are to be read: one of each, or several."""
    if columns.few:
        return "Dots are estimates."
    bars = _bars(columns)[: -1 if one else None] if columns.measured else "noise"
    thin = "" if columns.population is None else ", thin lines those of the population"
    if one:
        thin = thin.replace("lines those", "line that")
        return f"The dot is the estimate, the bar its {bars}{thin}; a bar that is narrower than the dot cannot be seen."
    return f"Dots are estimates, bars their {bars}{thin}; a bar that is narrower than its dot cannot be seen."


def _bars(columns: Columns) -> str:
    return "95 % confidence intervals" if columns.measured else "error bars"


def dot(
    columns: Columns,
    j: int,
    scale: Scale,
    *,
    name: str | None = None,
    ends: tuple[str, str] | None = None,
    bounds: str = "",
    size: str = "",
    ticks: int = 5,
) -> Html:
    """Return one estimate as a line of a list: its name, a dot with a bar, the number.

    By default the name is that of its column, with its unit; beside it stand ``bounds`` that are not drawn, or the
    ``size`` of a group.
    """
    mean, error, bar = float(columns.mean[j]), float(columns.error[j]), (float(columns.low[j]), float(columns.high[j]))
    value, around, known = with_error(mean, error)[0], between(*bar, error), error > 0
    within = f", between {around.replace(' to ', ' and ')}" if known else ", with an error that is not known"
    shown = columns.names[j] if name is None else name
    low, high = ends or scale.ends()
    label = f"{shown}: {value}{within}; drawn from {low} to {high}"
    wide = None if columns.population is None else (float(columns.population[0][j]), float(columns.population[1][j]))
    beside = f"bounds: {bounds}" if bounds else columns.units[j] if name is None else size
    return tag(
        "li",
        tag("span", tag("bdi", shown), tag("span", beside, class_="soft") if beside else None, class_="name"),
        charts.track(mean, bar, scale, label, wide=wide, ends=ends, whole=not bounds, ticks=ticks),
        tag("span", value, tag("span", around, class_="soft ends") if known else None, class_="value"),
    )


def axis(scale: Scale, ticks: int = 5) -> Html:
    """Return the last line of a list whose dots share a scale."""
    return tag("li", tag("span", class_="name"), charts.axis(scale, ticks), class_="axis", aria_hidden="true")


def reached(columns: Columns) -> list[float]:
    """Return the ends of all error bars, as they are drawn."""
    mean, low, high = _drawn(columns)
    wide = columns.population if few(columns) and columns.population is not None else ()
    return [*mean.tolist(), *low.tolist(), *high.tolist(), *(value for ends in wide for value in ends.tolist())]


def _beyond(columns: Columns) -> bool:
    if columns.lower is None or columns.upper is None or columns.share_a_unit:
        return False
    return bool(np.any((columns.mean < columns.lower) | (columns.mean > columns.upper)))


def _drawn(columns: Columns) -> tuple[Floats, Floats, Floats]:
    """Return means and ends of bars as they are drawn: without a common unit, in per cent of the way between bounds."""
    drawn, lower, upper = (columns.mean, columns.low, columns.high), columns.lower, columns.upper
    if columns.share_a_unit or lower is None or upper is None or few(columns):
        return drawn
    mean, low, high = (100 * (values - lower) / (upper - lower) for values in drawn)
    return mean, low, high


def curve(columns: Columns, scale: Scale, table: str | None) -> tuple[Html, str]:
    """Return the estimates as a line in a band, and words that say how to read it."""
    mean, low, high = _drawn(columns)
    band = ", with errors that are not known" if columns.few else f", in a band that is {from_to(high - low)} high"
    label = f"Estimates of {columns.d} columns as a line, from {plain(mean.min(), 3)} to {plain(mean.max(), 3)}{band}"
    words = f"The line goes through the estimates of columns 0 to {columns.d - 1}"
    words += "." if columns.few else f", the band shows their {_bars(columns)}."
    if not columns.share_a_unit:
        words += " Columns have units of their own: they are drawn in per cent of the way from lower to upper bound."
    units = set(columns.units)
    words += f" The unit is {units.pop()}." if len(units) == 1 and units != {""} and columns.share_a_unit else ""
    return charts.line(mean, (low, high), scale, label, table=table if is_listed(columns) else None), words


def picture(columns: Columns, shape: tuple[int, int], scale: Scale, table: str | None) -> tuple[Html, str]:
    """Return the estimates as an image, and words that say how to read it."""
    error, noise = float(columns.error.max()), float(columns.noise_std.max())
    ends = (with_error(scale.low, error)[0], with_error(scale.high, error)[0])
    label = (
        f"Estimates as an image of {shape[0]} x {shape[1]} pixels, from {ends[0]}, black, to {ends[1]}, white, "
        f"with noise of standard deviation {plain(noise, 2)}"
    )
    share = noise / (scale.high - scale.low) if scale.high > scale.low else math.inf
    words = (
        f"Black is {ends[0]}, white is {ends[1]}. The noise in each pixel has a standard deviation of "
        f"{plain(noise, 2)}, {plain(100 * share, 2)} % of that range; the bar below the greys is a pixel's error bar."
    )
    hover = table if is_listed(columns) else None
    drawing = join(charts.image(columns.mean, shape, label, scale=scale, table=hover), charts.greys(scale, error, ends))
    return tag("div", drawing, class_="picture"), words


def covered(columns: Columns) -> str:
    """Return what error bars cover, in words."""
    if columns.few:
        return (
            f"There were too few {columns.one}s to know the error: none is drawn, and the noise, whose standard "
            "deviation is in the table, is only a part of it."
        )
    if columns.measured:
        words = (
            f"At 95 % confidence, the mean of these {columns.one}s lies in the interval: it covers the noise, and "
            "the bias of clipping as far as it could be measured."
        )
    else:
        words = (
            "Error bars are 1.96 standard deviations of the noise to either side, which covers the noise in 95 % of "
            "cases; clipping may add a bias, which they do not cover."
        )
    outside = round(columns.d / 20)
    if columns.d >= 20:
        words += f" This holds for each column by itself: of {columns.d}, about {outside} may lie outside."
    return words
