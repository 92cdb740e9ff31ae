"""The rows of the comparison of libraries, with the public bounds that all libraries get: a tight and a loose one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from bench.problem import Floats
from dpmean.experiments.data import draw
from dpmean.experiments.tables import EIGHT

Generator = np.random.Generator


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """The public bounds of rows: a range for each column, and for vectors a ball that holds almost all of them."""

    name: str
    lower: Floats
    upper: Floats
    centre: Floats
    norm: float
    """The radius of the ball; NaN for tables, which have ranges only."""

    @property
    def is_table(self) -> bool:
        """Whether there are ranges only."""
        return bool(np.isnan(self.norm))

    @property
    def ball(self) -> float:
        """The radius of a ball that holds all transformed rows."""
        return float(np.sqrt(len(self.lower))) if self.is_table else self.norm

    @property
    def middle(self) -> Floats:
        """The shift that the transformation subtracts."""
        return (self.lower + self.upper) / 2 if self.is_table else self.centre

    @property
    def scale(self) -> Floats:
        """The scale by which the transformation divides."""
        return (self.upper - self.lower) / 2 if self.is_table else np.ones_like(self.lower)

    def enter(self, rows: Floats) -> Floats:
        """Transform rows, with public numbers only, for libraries that need a bound on the norm."""
        within = np.clip(rows, self.lower, self.upper) if self.is_table else rows
        return (within - self.middle) / self.scale

    def leave(self, mean: Floats) -> Floats:
        """Undo the transformation for a mean."""
        moved: Floats = mean * self.scale + self.middle
        return moved


@final
@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind of rows, and its bounds."""

    name: str
    n: int
    d: int
    draw: Callable[[Generator], Floats]
    bounds: tuple[Bound, ...]

    @property
    def label(self) -> str:
        """The name of the kind in tables."""
        return f"{self.name}, {self.n} x {self.d}"

    def error(self, found: Floats, rows: Floats) -> float:
        """Return the error of a mean: the distance to the mean of the rows; for a table, in its worst column.

        Of vectors it is the l2 distance in spreads, the root of the summed variances of all columns.
        """
        off, variances = np.abs(found - rows.mean(axis=0)), rows.var(axis=0)
        if self.bounds[0].is_table:
            return float((off / np.sqrt(variances)).max())
        return float(np.linalg.norm(off) / np.sqrt(variances.sum()))


def vectors(name: str, d: int, columns: tuple[float, float], centre: float, norm: float) -> Bound:
    """Return a bound for vectors whose columns share a range."""
    lower, upper = columns
    return Bound(name, np.full(d, float(lower)), np.full(d, float(upper)), np.full(d, float(centre)), norm)


def table(name: str, *ranges: tuple[float, float]) -> Bound:
    """Return a bound for the columns of a table."""
    lower, upper = np.array(ranges, dtype=np.float64).T
    return Bound(name, lower, upper, np.zeros(len(ranges)), np.nan)


def normal(n: int, d: int) -> Kind:
    """Return normal rows around 5, with a tight ball, and with ranges of 100 standard deviations."""
    tight = vectors("tight", d, (1, 9), 5, float(np.sqrt(d) + 2.5))
    return Kind(
        "normal", n, d, lambda g: g.normal(5, 1, (n, d)), (tight, vectors("loose", d, (-50, 50), 0, 50 * np.sqrt(d)))
    )


def scales(n: int, d: int) -> Kind:
    """Return normal rows; column j has standard deviation 1/j."""
    stds = 1 / np.arange(1.0, d + 1)
    tight = Bound("tight", 5 - 4 * stds, 5 + 4 * stds, np.full(d, 5.0), 3.5)
    loose = vectors("loose", d, (-50, 50), 0, 50 * np.sqrt(d))
    return Kind("columns 1/j", n, d, lambda g: draw("skewed", g, n, d).rows, (tight, loose))


def lognormal(n: int, d: int) -> Kind:
    """Return log-normal rows, almost all of which are within the tight bound."""
    bounds = vectors("tight", d, (0, 15), 1.5, 25), vectors("loose", d, (0, 1000), 0, 1000 * np.sqrt(d))
    return Kind("log-normal", n, d, lambda g: g.lognormal(0, 1, (n, d)), bounds)


def one_column(n: int) -> Kind:
    """Return heights, in a table of one column."""
    bounds = table("tight", (120, 220)), table("loose", (0, 10_000))
    return Kind("one column", n, 1, lambda g: g.normal(170, 10, (n, 1)), bounds)


def eight(n: int) -> Kind:
    """Return a table like that of a hospital; the tight ranges are those that a domain expert would give."""
    known = (18, 100), (0, 250_000), (130, 210), (0, 1), (8, 20), (60, 200), (0, 12), (34, 40)
    loose = table("loose", *((column.lower, column.upper) for column in EIGHT))
    return Kind("table of eight", n, 8, lambda g: draw("table of eight", g, n, 8).rows, (table("tight", *known), loose))


def unit_vectors(n: int, d: int) -> Kind:
    """Return unit vectors in all directions."""

    def drawn(g: Generator) -> Floats:
        rows = g.normal(size=(n, d))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    most = 4 / np.sqrt(d)
    return Kind("unit vectors", n, d, drawn, (vectors("tight", d, (-most, most), 0, 1),))


def digits() -> Kind:
    """Return images of handwritten digits, whose norms are at most 77."""
    bounds = vectors("tight", 64, (0, 16), 0, 80), vectors("loose", 64, (0, 1000), 0, 1000)
    return Kind("digits", 1797, 64, lambda g: draw("digits", g, 1797, 64).rows, bounds)  # the same in every run


@lru_cache(maxsize=1)
def _embedded() -> Floats:
    """Return the digits after a random layer of a network, normalised to length 1 like text embeddings."""
    images = draw("digits", np.random.default_rng(0), 1797, 64).rows
    hidden = np.maximum(0, images @ np.random.default_rng(1).normal(size=(64, 256)))
    lengths: Floats = np.linalg.norm(hidden, axis=1, keepdims=True)
    return hidden / lengths


def embeddings() -> Kind:
    """Return the embeddings of the digits, whose only bound is their length 1."""
    return Kind("embeddings", 1797, 256, lambda _: _embedded(), (vectors("tight", 256, (0, 0.25), 0, 1),))


KINDS = (
    one_column(2000),
    normal(1000, 4),
    normal(4000, 128),
    normal(100_000, 32),
    scales(4000, 64),
    lognormal(4000, 16),
    eight(5000),
    unit_vectors(4000, 128),
    digits(),
    embeddings(),
    normal(150, 8),
)
