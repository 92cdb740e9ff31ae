"""The central model: a trusted curator sees the rows and adds noise once to each answer.

Neighbours replace one row, and n is public; or they have one row more or less, and n is private. All noise is
discrete Gaussian on whole numbers: an answer of l2 sensitivity S with variance v in each of its entries costs
S^2 / (2 v) zCDP.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpmean.enums import Trust
from dpmean.errors import OverspendError
from dpmean.numerics.noisy_search import questions
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt
from dpmean.queries.protocols import Noise, Rows, Tally
from dpmean.queries.queries import Ball, Ints, VectorSum, View


@final
@dataclass(frozen=True, slots=True)
class Central:
    """Adds discrete Gaussian noise to exact counts and sums."""

    neighbours: Neighbours = Neighbours.REPLACE_ONE
    name = Trust.CENTRAL

    def divide(self, budget: Zcdp, *shares: int) -> Sequence[Zcdp]:
        """Split a budget in proportion to ``shares``: everybody answers everything, so costs add up."""
        return tuple(budget.share(share, sum(shares)) for share in shares)

    def open_counter(
        self, rows: Rows, view: View, budget: Zcdp, noise: Noise, step: str
    ) -> tuple[NoisyCounter, Receipt]:
        """Pay for one binary search per value of the view.

        One row, replaced or not there, changes each count by at most one, so one question about all values has
        sensitivity sqrt(size), and all questions together cost questions * size / (2 variance).
        """
        asked = questions(view.points)
        variance = _count_variance(view.points, view.size, budget)
        receipt = Receipt(
            step=step,
            asked=f"binary search of {asked} counts",
            mechanism=f"discrete Gaussian of std {math.sqrt(variance):.4g} on counts of sensitivity 1",
            cost=budget,
        )
        return NoisyCounter(rows.tally(view), view.points, variance, noise, step, view.size, view.first), receipt

    def bounded_sum(self, rows: Rows, ball: Ball, budget: Zcdp, noise: Noise, step: str) -> tuple[VectorSum, Receipt]:
        """Pay for the sum of all rows, each clipped to the ball.

        Replacing one moves it by at most twice the radius, and one more or less by the radius.
        """
        sensitivity = self.neighbours.contributions * ball.radius
        variance = Fraction(sensitivity**2) / (2 * budget.rho)
        total = rows.add_up(ball) + noise.at(step).gaussian(variance, rows.d)
        receipt = Receipt(
            step=step,
            asked=f"sum of clipped rows, of norm at most {ball.radius} units of {ball.unit:.4g}",
            mechanism=f"discrete Gaussian of std {math.sqrt(variance):.4g} units, sensitivity {sensitivity} units",
            cost=budget,
        )
        return VectorSum(total, ball.unit, variance), receipt

    def count(self, n: int, budget: Zcdp, noise: Noise, step: str) -> tuple[int, Receipt]:
        """Pay for the number of rows itself, where it is private; it is told as one row at least."""
        variance = 1 / (2 * budget.rho)
        receipt = Receipt(
            step=step,
            asked="number of rows",
            mechanism=f"discrete Gaussian of std {math.sqrt(variance):.4g} on a count of sensitivity 1",
            cost=budget,
        )
        return max(n + int(noise.at(step).gaussian(variance, 1)[0]), 1), receipt

    def count_std(self, points: int, size: int, budget: Zcdp) -> float:
        """Return the standard deviation of the noise on the counts of ``open_counter``."""
        return math.sqrt(_count_variance(points, size, budget))

    def rows_to_clip(self, d: int, budget: Zcdp) -> float:
        """How many rows are best clipped: sqrt(2 d / rho) (section 3.1), half of it if n is private."""
        return math.sqrt(2 * d / budget.rho) * self.neighbours.contributions / 2


FOR_NUMBER = (1, 24)
"""How a budget is divided where the number of rows is private: to tell it, and to tell the mean."""
REPLACING = Central()
"""The model of the paper: neighbours replace one row."""


def _count_variance(points: int, size: int, budget: Zcdp) -> Fraction:
    return Fraction(questions(points) * size) / (2 * budget.rho)


@final
class NoisyCounter:
    """Answers the questions that were paid for, and not one more."""

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
            raise OverspendError(f"{self._step}: all {self.questions} questions that were paid for are answered")
        found = self._tally.count_at_most(index) + self._draw(self._answered)
        self._answered += 1
        return found

    def _draw(self, question: int) -> Ints:
        """Draw the noise of a question: each at an address of its own, or all at once if noise needs no address."""
        if self._noise.seeded:
            return self._noise.at(f"{self._step}/{question}", self._first).gaussian(self._variance, self.size)
        if self._drawn is None:
            self._drawn = self._noise.at(self._step).gaussian(self._variance, self.questions * self.size)
        found: Ints = self._drawn[question * self.size : (question + 1) * self.size]
        return found
