"""Mechanisms in floating point, for peers that need matrices or columns: to be measured, not to protect.

Their noise has the right size, and each answer its receipt; but sums of floats round, and what they round to may tell
neighbours apart. Releases made with them say so (``exact`` is False) and a ledger refuses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import final

import numpy as np

from dpmean.errors import ArgumentTypeError
from dpmean.numerics.noisy_search import questions, search
from dpmean.privacy.budgets import Zcdp
from dpmean.queries.protocols import Noise, Rows
from dpmean.queries.queries import Floats, Ints
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.curator import Curator

_UNIT_BITS = 30  # noise is drawn in multiples of 2^-30 standard deviations


@final
class FloatCurator:
    """Answers questions about an array with noise in floats and keeps the receipts."""

    def __init__(self, rows: Rows, budget: Zcdp, noise: Noise) -> None:
        held = rows.held()
        if not isinstance(held, MemoryRows):
            raise ArgumentTypeError(f"this baseline needs its rows in memory, got {type(held).__name__}")
        self.values = held.values()
        self.purse = Curator(budget, noise)
        self._noise = noise

    def ball_mean(self, rows: Floats, centre: Floats, radius: float, cost: Fraction, step: str) -> tuple[Floats, float]:
        """Average rows that are clipped to a ball; also return the noise on each coordinate.

        Replacing one row moves their mean by at most 2 radius / n.
        """
        n, d = rows.shape
        std = 2 * radius / (n * math.sqrt(2 * cost))
        self.purse.pay(step, f"mean of rows clipped at {radius:.4g}", _mechanism(std), cost, exact=False)
        squares = np.einsum("ij,ij->i", rows, rows) - 2 * (rows @ centre) + centre @ centre
        weights = radius / np.maximum(np.sqrt(np.maximum(squares, 0)), radius)
        mean: Floats = (weights @ rows) / n + centre * (1 - weights.mean()) + std * self._normal(step, d)
        return mean, std

    def second_moments(self, rows: Floats, radius: float, cost: Fraction, step: str) -> Floats:
        """Average the outer products of rows that are clipped at a radius around zero.

        Replacing one row moves that matrix by at most sqrt(2) radius^2 / n in the Frobenius norm; noise goes on its
        upper triangle.
        """
        n, d = rows.shape
        std = radius**2 / (n * math.sqrt(cost))
        self.purse.pay(step, f"second moments of rows clipped at {radius:.4g}", _mechanism(std), cost, exact=False)
        short = clipped(rows, radius)
        upper = np.triu_indices(d)
        matrix: Floats = short.T @ short / n
        matrix[upper] += std * self._normal(step, len(upper[0]))
        matrix.T[upper] = matrix[upper]
        return matrix

    def quantiles(
        self, columns: Floats, rank: float, point: Callable[[Ints], Floats], points: int, cost: Fraction, step: str
    ) -> Floats:
        """Search each column for the first of some points with more than ``rank`` values at or below it.

        ``point`` tells where a point is, by its number. Replacing a row changes one count by at most one in each
        column and question.
        """
        d, asked = columns.shape[1], questions(points)
        std = math.sqrt(asked * d / (2 * cost))
        self.purse.pay(step, f"{d} binary searches of {asked} counts", _mechanism(std), cost, exact=False)
        counter = _FloatCounter(np.sort(columns, axis=0), point, points, asked, std, self._normal, step)
        return point(search(counter, rank))

    def _normal(self, step: str, count: int) -> Floats:
        drawn = self._noise.at(step).gaussian(Fraction(4**_UNIT_BITS), count)
        return drawn.astype(np.float64) * 2.0**-_UNIT_BITS


@final
class _FloatCounter:
    """Counts what lies at or below a point in sorted columns, with noise."""

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
        """Count, with noise rounded to whole numbers."""
        limits = self._point(index)
        counts = [np.searchsorted(self._ordered[:, j], limits[j], side="right") for j in range(self.size)]
        noise = self.noise_std * self._normal(f"{self._step}/{self._answered}", self.size)
        self._answered += 1
        noisy: Ints = np.array(counts) + np.rint(noise).astype(np.int64)
        return noisy


def clipped(rows: Floats, radius: float) -> Floats:
    """Shorten rows that are longer than the radius."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    short: Floats = rows * (radius / np.maximum(lengths, radius))
    return short


def _mechanism(std: float) -> str:
    return f"Gaussian of std {std:.4g} in floats"
