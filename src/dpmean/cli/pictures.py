"""Pictures for the demo: generated, averaged, and drawn in color, or with characters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from dpmean.queries.queries import Floats
from dpmean.release.release import Release

HEIGHT, WIDTH = 22, 22
LONGEST = 11.0
"""The largest l2 norm of a picture."""
_SIGNS = " .:-=+*#%@"


def faces(n: int = 4000) -> tuple[Floats, float]:
    """Return pictures of a face that moves slightly, one per row, and a loose bound on their norms."""
    chance = np.random.default_rng(0)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    move = chance.normal(0, 0.35, (n, 2, 1, 1))
    down, right = y - 10.5 - move[:, 0], x - 10.5 - move[:, 1]
    smile = chance.normal(5.0, 0.5, (n, 1, 1))
    far = np.hypot(down, right)
    picture = 0.55 * _soft(9.5 - far)
    picture -= 0.5 * (_soft(1.4 - np.hypot(down + 3, right - 3.5)) + _soft(1.4 - np.hypot(down + 3, right + 3.5)))
    picture -= 0.5 * _soft(0.8 - np.abs(np.hypot(down, right) - smile)) * _soft(down - 1.5)
    picture += 0.45 * _soft(0.7 - np.abs(far - 9.5))
    picture += chance.normal(0, 0.05, picture.shape)
    return picture.reshape(n, -1), 1000.0


def usual(rows: Floats, rho: float, bound: float) -> Release:
    """Return the mean of the Gaussian mechanism, with noise for the whole bound."""
    from dpmean import baselines

    release: Release = baselines.gaussian_mechanism(rows, rho=rho, norm_bound=bound)
    return release


def draw(console: Console, pictures: Mapping[str, Floats]) -> None:
    """Draw pictures side by side."""
    grid = Table.grid(padding=(0, 3, 0, 0))
    in_color = console.color_system and not console.no_color and console.encoding.startswith("utf")
    paint = _blocks if in_color else _signs
    grid.add_row(*(Text(title, style="bold") for title in pictures))
    grid.add_row(*(paint(np.clip(picture.reshape(HEIGHT, WIDTH), 0, 1)) for picture in pictures.values()))
    console.print(grid)


def _soft(depth: Floats) -> Floats:
    """Return 1 inside, 0 outside, and a value between at the edge."""
    inside: Floats = np.clip(depth + 0.5, 0, 1)
    return inside


def _blocks(picture: Floats) -> Text:
    """Return two lines of pixels as one line of half blocks."""
    text = Text()
    for upper, lower in zip(picture[::2], picture[1::2], strict=True):
        for top, bottom in zip(upper, lower, strict=True):
            text.append("▀", Style(color=_color(top), bgcolor=_color(bottom)))
        text.append("\n")
    text.rstrip()
    return text


def _color(value: float) -> str:
    return f"#{int(40 + 215 * value):02x}{int(30 + 180 * value):02x}{int(60 + 60 * value):02x}"


def _signs(picture: Floats) -> Text:
    """Return two lines of pixels as one line of characters, which are twice as high as wide."""
    lines = (picture[::2] + picture[1::2]) / 2
    index = np.rint(lines * (len(_SIGNS) - 1)).astype(int)
    return Text("\n".join("".join(_SIGNS[i] for i in line) for line in index))
