"""Mechanisms in floating point, for baselines that need matrices or columns: for measurements, not for real data.

Their noise has the right size, and each answer has a receipt. But sums of floats are rounded, and the rounding may
reveal which of two neighbours was used. Such releases are marked (``exact`` is False), and a ledger refuses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final
from weakref import WeakKeyDictionary

import numpy as np

from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.numerics.noisy_search import questions, search
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt
from dpmean.queries.interfaces import Noise, Rows
from dpmean.queries.queries import Floats, Ints
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.budget_filter import BudgetFilter

_UNIT_BITS = 30  # noise is drawn in multiples of 2^-30 standard deviations


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Table:
    """A handle for an array of ``n`` rows and ``d`` columns that a curator holds."""

    n: int
    d: int


@final
class FloatCurator:
    """A curator that holds an array, answers queries about it with noise in floats, and keeps the receipts."""

    def __init__(self, rows: Rows, budget: Zcdp, noise: Noise, neighbours: Neighbours) -> None:
        if neighbours is not Neighbours.REPLACE_ONE:
            raise ArgumentError(f'baselines in floats need neighbours="replace-one", got neighbours="{neighbours}"')
        held = rows.collect()
        if not isinstance(held, MemoryRows):
            raise ArgumentTypeError(f"this baseline needs its rows in memory, got {type(held).__name__}")
        self._tables: WeakKeyDictionary[Table, Floats] = WeakKeyDictionary()
        self.rows = self._keep(held.values())
        self._filter, self._noise = BudgetFilter(budget), noise

    @property
    def left(self) -> Fraction:
        """The remaining budget."""
        return self._filter.left

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of all queries so far."""
        return tuple(self._filter.receipts)

    def times(self, table: Table, matrix: Floats) -> Table:
        """Multiply rows with a public matrix."""
        return self._keep(self._tables[table] @ matrix)

    def scale(self, table: Table, centre: Floats, scale: Floats) -> Table:
        """Subtract a public centre from the rows, and divide their columns by public numbers."""
        return self._keep((self._tables[table] - centre) / scale)

    def half_squares(self, table: Table) -> Table:
        """Return half the squared differences in pairs of rows; a row is in at most one pair."""
        half, values = table.n // 2, self._tables[table]
        return self._keep((values[:half] - values[half : 2 * half]) ** 2 / 2)

    def lengths(self, table: Table) -> Table:
        """Return the norms of rows, as one column."""
        return self._keep(np.linalg.norm(self._tables[table], axis=1, keepdims=True))

    def _keep(self, values: Floats) -> Table:
        table = Table(*values.shape)
        self._tables[table] = values
        return table

    def ball_mean(self, table: Table, centre: Floats, radius: float, cost: Fraction, step: str) -> tuple[Floats, float]:
        """Average rows that are clipped to a ball; also return the standard deviation of the noise.

        Replacing one row moves their mean by at most 2 radius / n.
        """
        n, d, rows = table.n, table.d, self._tables[table]
        std = 2 * radius / (n * math.sqrt(2 * cost))
        self._filter.pay(step, f"mean of rows clipped at {radius:.4g}", _mechanism(std), cost, exact=False)
        squares = np.einsum("ij,ij->i", rows, rows) - 2 * (rows @ centre) + centre @ centre
        weights = radius / np.maximum(np.sqrt(np.maximum(squares, 0)), radius)
        mean: Floats = (weights @ rows) / n + centre * (1 - weights.mean()) + std * self._normal(step, d)
        return mean, std

    def second_moments(self, table: Table, radius: float, cost: Fraction, step: str) -> Floats:
        """Average the outer products of rows that are clipped at a radius around zero.

        Replacing one row changes this matrix by at most sqrt(2) radius^2 / n in the Frobenius norm; noise is added to
        its upper triangle.
        """
        n, d = table.n, table.d
        std = radius**2 / (n * math.sqrt(cost))
        self._filter.pay(step, f"second moments of rows clipped at {radius:.4g}", _mechanism(std), cost, exact=False)
        short = clip_rows(self._tables[table], radius)
        upper = np.triu_indices(d)
        matrix: Floats = short.T @ short / n
        matrix[upper] += std * self._normal(step, len(upper[0]))
        matrix.T[upper] = matrix[upper]
        return matrix

    def quantiles(
        self, table: Table, rank: float, point: Callable[[Ints], Floats], points: int, cost: Fraction, step: str
    ) -> Floats:
        """Find, in each column, the first of some points with more than ``rank`` values at or below it.

        ``point`` maps the index of a point to its position. Replacing a row changes each count by at most one.
        """
        d, asked = table.d, questions(points)
        std = math.sqrt(asked * d / (2 * cost))
        self._filter.pay(step, f"{d} binary searches of {asked} counts", _mechanism(std), cost, exact=False)
        counter = _FloatCounter(np.sort(self._tables[table], axis=0), point, points, asked, std, self._normal, step)
        return point(search(counter, rank))

    def _normal(self, step: str, count: int) -> Floats:
        drawn = self._noise.at(step).gaussian(Fraction(4**_UNIT_BITS), count)
        return drawn.astype(np.float64) * 2.0**-_UNIT_BITS


@final
class _FloatCounter:
    """Counts the values at or below a point in sorted columns, with noise."""

    def __init__(
        self,
        ordered: Floats,
        point: Callable[[Ints], Floats],
        points: int,
        asked: int,
        std: float,
        normal: Callable[[str, int], Floats],
        step: str,
    ) -> None:
        self.size, self.points, self.questions, self.noise_std = ordered.shape[1], points, asked, std
        self._ordered, self._point, self._normal, self._step, self._answered = ordered, point, normal, step, 0

    def count_at_most(self, index: Ints) -> Ints:
        """Count, with noise rounded to integers."""
        limits = self._point(index)
        counts = [np.searchsorted(self._ordered[:, j], limits[j], side="right") for j in range(self.size)]
        noise = self.noise_std * self._normal(f"{self._step}/{self._answered}", self.size)
        self._answered += 1
        noisy: Ints = np.array(counts) + np.rint(noise).astype(np.int64)
        return noisy


def clip_rows(rows: Floats, radius: float) -> Floats:
    """Shorten rows that are longer than the radius."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    short: Floats = rows * (radius / np.maximum(lengths, radius))
    return short


def _mechanism(std: float) -> str:
    return f"Gaussian of std {std:.4g} in floats"
