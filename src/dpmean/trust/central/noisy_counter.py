"""Noisy counts that are already paid for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from dpmean.errors import OverspendError
from dpmean.numerics.noisy_search import questions
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.receipts import Receipt
from dpmean.queries.interfaces import Noise
from dpmean.queries.queries import Ints
from dpmean.queries.totals import Tally
from dpmean.trust.central.costs import describe_noise, variance_at


@final
class NoisyCounter:
    """Answers the number of queries that were paid for, and no more."""

    def __init__(
        self, tally: Tally, points: int, variance: Fraction, noise: Noise, step: str, size: int = 1, first: int = 0
    ) -> None:
        self.size, self.points, self.questions = size, points, questions(points)
        self.noise_std = math.sqrt(variance)
        self._tally, self._variance, self._noise = tally, variance, noise
        self._step, self._first, self._answered = step, first, 0
        self._drawn: Ints | None = None

    def count_at_most(self, index: Ints) -> Ints:
        """Count the rows at or below each point, with noise."""
        if self._answered == self.questions:
            raise OverspendError(f"{self._step}: all {self.questions} queries that were paid for have been answered")
        found = self._tally.count_at_most(index) + self._draw(self._answered)
        self._answered += 1
        return found

    def _draw(self, question: int) -> Ints:
        """Draw the noise of a query: at its own address, or for all queries at once if noise needs no address."""
        if self._noise.seeded:
            return self._noise.at(f"{self._step}/{question}", self._first).gaussian(self._variance, self.size)
        if self._drawn is None:
            self._drawn = self._noise.at(self._step).gaussian(self._variance, self.questions * self.size)
        found: Ints = self._drawn[question * self.size : (question + 1) * self.size]
        return found


def count_values(present: Ints, budget: Zcdp, noise: Noise, what: str = "rows") -> tuple[Ints, Receipt]:
    """Count the rows, or persons, with a value in each column, with noise; return the counts and the receipt.

    A row adds 0 or 1 to each of d counts, so two rows, or one and none, differ by at most sqrt(d).
    """
    d = len(present)
    variance = variance_at(d, budget.rho)
    words = f"{describe_noise(variance)} on each of {d} counts, sensitivity sqrt({d})"
    receipt = Receipt("values", f"number of {what} with a value in each column", words, budget)
    return present + noise.at("values").gaussian(variance, d), receipt


def count_rows(n: int, budget: Zcdp, noise: Noise, step: str, what: str = "rows") -> tuple[int, Receipt]:
    """Count rows, or persons, with noise; return the noisy number, which is at least 1, and the receipt."""
    variance = variance_at(1, budget.rho)
    receipt = Receipt(step, f"number of {what}", f"{describe_noise(variance)} on a count of sensitivity 1", budget)
    return max(n + int(noise.at(step).gaussian(variance, 1)[0]), 1), receipt
