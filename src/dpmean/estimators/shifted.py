"""The shifted clipped mean (section 3.3): find a centre privately, then clip around it.

The rotation serves to find the centre and nothing else. Norms and isotropic noise do not know directions, so the
medians are rotated back, and everything after that happens in the original coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from dpmean.estimators.clipped import FAILURE, clipped_around, clipped_in_one_pass
from dpmean.estimators.feasibility import Need, rows_for_radius_and_mean
from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid
from dpmean.numerics.noisy_search import questions, rank_error, search
from dpmean.numerics.rotation import Rotation
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.receipts import Receipt
from dpmean.queries.protocols import Noise, Rows, TrustModel
from dpmean.queries.queries import Estimate, Floats
from dpmean.trust.central.model import Central

ROWS_PER_RANK = 24
"""Rows that find the centre, per unit of noise in their counts: the noise then moves it by a tenth of the spread."""
FEWEST_ROWS = 2000
"""Fewer rows than this would miss the centre by their own sampling error, however little noise there is."""
_TALLY_BYTES = 64 << 20


@final
@dataclass(frozen=True, slots=True)
class ShiftedClippedMean:
    """Clip rows around a private centre (Shifted-CM)."""

    grid: Grid
    trust: Central
    coins: PublicCoins
    one_pass: bool = False
    name = "shifted"

    def __call__(self, rows: Rows, budget: Zcdp, noise: Noise) -> Estimate:
        """Estimate the mean of the rows within the budget."""
        for_centre, for_mean = self.trust.divide(budget, 1, 3)
        rotation = Rotation.draw(self.grid, self.coins)
        some = centre_rows(rows.n, rotation, self.trust, for_centre)
        rows = rows.held() if some == rows.n else rows  # few rows, many questions
        chosen = rows if some == rows.n else rows.take(self.coins.sample(rows.n, some))
        centre, paid = self._centre(chosen, rotation, for_centre, noise)
        if self.one_pass and some < rows.n:
            estimate = clipped_in_one_pass(centre, self.grid, self.trust, rows, for_mean, noise)
        else:
            estimate = clipped_around(centre, self.grid, self.trust, rows, for_mean, noise)
        return replace(estimate, receipts=(paid, *estimate.receipts))

    def rows_needed(self, budget: Zcdp) -> Need:
        """Return how many rows this takes: half of them must exceed the rank error of all comparisons for the centre.

        Otherwise some coordinate of the centre may go astray. With three quarters of that it is risky.
        """
        rotation = Rotation.draw(self.grid, self.coins)
        for_centre, _ = self.trust.divide(budget, 1, 3)
        std = self.trust.count_std(rotation.points, rotation.width, for_centre)
        half = rank_error(std, questions(rotation.points) * rotation.width, FAILURE)
        return rows_for_radius_and_mean(self.grid.d, self.trust, budget).and_also(Need(2 * half, 1.5 * half))

    def _centre(self, chosen: Rows, rotation: Rotation, budget: Zcdp, noise: Noise) -> tuple[Floats, Receipt]:
        """Find the private median of every rotated coordinate, from a public sample of the rows."""
        medians = np.empty(rotation.width)
        portion = max(_TALLY_BYTES // (4 * chosen.n), chosen.d // 4)
        for view in rotation.views(max(1, portion)):
            for_view = budget.share(view.size, rotation.width)
            counter, paid = self.trust.open_counter(chosen, view, for_view, noise, "centre")
            found = search(counter, rank=chosen.n // 2)
            medians[view.first : view.first + view.size] = view.low + (found - 0.5) * view.spacing

        centre = rotation.back(medians)
        length = float(np.linalg.norm(centre))
        if length > self.grid.reach:
            centre *= self.grid.reach / length
        searches = f"medians after a rotation, {rotation.width} x {counter.questions} counts of {chosen.n} rows"
        return self.grid.round(centre), replace(paid, asked=searches, cost=budget)


def centre_rows(n: int, rotation: Rotation, trust: TrustModel, budget: Zcdp) -> int:
    """Return how many rows find the centre: enough to drown the noise on the counts; more would hardly help."""
    drowning = math.ceil(ROWS_PER_RANK * trust.count_std(rotation.points, rotation.width, budget))
    return min(n, max(drowning, FEWEST_ROWS))
