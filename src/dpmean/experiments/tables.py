"""Simulated tables: the distribution of each column, and its public range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.queries.queries import Floats

Generator = np.random.Generator


@final
@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its range, and the distribution of its values, which are clipped to the range."""

    name: str
    lower: float
    upper: float
    values: Callable[[Generator, int], Floats]

    def draw(self, generator: Generator, n: int) -> Floats:
        """Draw n values within the range."""
        values: Floats = np.clip(self.values(generator, n), self.lower, self.upper)
        return values


def _ages(g: Generator, n: int) -> Floats:
    return np.floor(np.where(g.random(n) < 0.7, g.normal(42, 13, n), g.normal(71, 9, n)))


def _share(share: float) -> Callable[[Generator, int], Floats]:
    return lambda g, n: np.where(g.random(n) < share, 1.0, 0.0)


EIGHT = (
    Column("age", 0, 130, _ages),
    Column("income", 0, 1e7, lambda g, n: g.lognormal(10.4, 0.6, n)),
    Column("height", 0, 300, lambda g, n: g.normal(170, 9.5, n)),
    Column("smoker", 0, 1, _share(0.2)),
    Column("laboratory value", 0, 1e4, lambda g, n: g.normal(14, 1.3, n)),
    Column("pressure", 0, 400, lambda g, n: g.normal(128, 16, n)),
    Column("visits", 0, 1000, lambda g, n: g.poisson(3, n).astype(np.float64)),
    Column("temperature", 0, 60, lambda g, n: g.normal(36.8, 0.5, n)),
)
"""Columns like those of a hospital's table; most ranges are loose, one by thousands of standard deviations."""
ROUGH = (
    Column("constant", 0, 1e6, lambda _, n: np.full(n, 7.0)),
    Column("1 % ones", 0, 1e6, _share(0.01)),
    Column("rare counts", 0, 1e6, lambda g, n: g.poisson(0.05, n).astype(np.float64)),
    Column("0.3 % of 1000", 0, 1e9, lambda g, n: 1000 * _share(0.003)(g, n)),
    Column("3 % exponential", 0, 1e9, lambda g, n: g.exponential(100, n) * _share(0.03)(g, n)),
    Column("Student t", -1e8, 1e8, lambda g, n: g.standard_t(2, n)),
    Column("lognormal", 0, 1e9, lambda g, n: g.lognormal(0, 2, n)),
)
"""Columns whose scales are hard to find, with ranges of millions of standard deviations."""
OTHER = (
    Column("5 % ones", 0, 1, _share(0.05)),
    Column("uniform", -1000, 1000, lambda g, n: g.uniform(-20, 20, n)),
    Column("two modes", 0, 1e5, lambda g, n: np.where(g.random(n) < 0.5, g.normal(100, 3, n), g.normal(160, 5, n))),
    Column("waiting time", 0, 1e6, lambda g, n: g.gamma(0.7, 20, n)),
    Column("price", 0, 1e8, lambda g, n: g.lognormal(4, 1, n)),
    Column("10 % exponential", 0, 1e5, lambda g, n: g.exponential(30, n) * _share(0.1)(g, n)),
    Column("small unit", 0, 1000, lambda g, n: g.normal(0.5, 0.001, n)),
    Column("score", 1, 5, lambda g, n: 1 + g.binomial(4, 0.7, n).astype(np.float64)),
    Column("overdispersed count", 0, 1e5, lambda g, n: g.negative_binomial(0.5, 0.1, n).astype(np.float64)),
    Column("laplace", -1e6, 1e6, lambda g, n: g.laplace(40, 4, n)),
    Column("1 % ones in a tight range", 0, 1, _share(0.01)),
)
"""Columns for tests only: no constant was tuned on them."""
_TAME = tuple(column for column in EIGHT if column.name in ("age", "income", "height", "pressure", "temperature"))
_NINTH = (*ROUGH, OTHER[0])
"""Columns that may be added to the eight, by number."""

TABLES = {
    "table of eight": EIGHT,
    "rough table": (*ROUGH, *_TAME),
    "ninth column": EIGHT,
    "other table": OTHER,
}


def columns_of(kind: str, **options: float) -> tuple[Column, ...]:
    """Return the columns of a table; the option ``ninth`` chooses the rough column that is added to the eight."""
    if kind != "ninth column":
        return TABLES[kind]
    return (*EIGHT, _NINTH[int(options.get("ninth", 0))])


def bounds_of(kind: str, **options: float) -> tuple[Floats, Floats] | None:
    """Return the public ranges of the columns; None for rows with a bound on the norm."""
    if kind not in TABLES:
        return None
    columns = columns_of(kind, **options)
    return np.array([column.lower for column in columns]), np.array([column.upper for column in columns])


def table(kind: str) -> Callable[..., Floats]:
    """Return a function that draws the rows of a table, column by column."""

    def drawn(generator: Generator, n: int, d: int, **options: float) -> Floats:
        columns = columns_of(kind, **options)
        if d != len(columns):
            raise ArgumentError(f"rows of {kind!r} have {len(columns)} columns, got d={d}")
        return np.column_stack([column.draw(generator, n) for column in columns])

    return drawn


@lru_cache(maxsize=16)
def spread_of(column: Column) -> float:
    """Return the standard deviation of a column, from a large sample with a fixed seed; 0 if it is constant."""
    return float(column.draw(np.random.default_rng(0), 200_000).std())
