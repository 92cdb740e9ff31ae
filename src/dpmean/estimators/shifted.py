"""The shifted clipped mean (section 3.3 of the paper): find a centre privately, then clip around it.

The rotation is used only to find the centre. Norms and isotropic noise do not depend on directions, so the medians are
rotated back, and all later steps use the original coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpmean.estimators.clipped import FAILURE, clipped_around, clipped_in_one_pass
from dpmean.estimators.feasibility import Need, rows_for_radius_and_mean
from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid
from dpmean.numerics.noisy_search import questions, rank_error
from dpmean.numerics.rotation import Rotation
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.queries import Floats
from dpmean.release.estimate import Estimate
from dpmean.trust.central.costs import count_std, split
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.handles import Sample

ROWS_PER_RANK = 24
"""Rows in the sample, per unit of noise on their counts: noise then moves the centre by a tenth of the spread."""
FEWEST_ROWS = 2000
"""The smallest sample: with fewer rows, the sampling error of the centre alone would be too large."""
_TALLY_BYTES = 64 << 20


@final
@dataclass(frozen=True, slots=True)
class ShiftedClippedMean:
    """The mean of rows that are clipped around a private centre (Shifted-CM in the paper)."""

    grid: Grid
    coins: PublicCoins
    one_pass: bool = False
    name = "shifted"

    def __call__(self, curator: Curator) -> Estimate:
        """Estimate the mean of the rows within the budget."""
        n, (for_centre, _) = curator.rows.n, split(Zcdp(curator.left), 1, 3)
        rotation = Rotation.draw(self.grid, self.coins)
        some = count_centre_rows(n, rotation, for_centre)
        if some == n:
            curator.hold()  # few rows, many queries
        chosen = curator.rows if some == n else curator.take(self.coins.sample(n, some))
        centre = self._centre(curator, chosen, rotation, for_centre.rho)
        if self.one_pass and some < n:
            return clipped_in_one_pass(curator, centre, self.grid)
        return clipped_around(curator, centre, self.grid)

    def rows_needed(self, budget: Zcdp, neighbours: Neighbours) -> Need:
        """Return the number of rows needed: half of them must exceed the rank error of all comparisons for the centre.

        Otherwise some coordinate of the centre may be wrong. With three quarters of that number, it is risky.
        """
        rotation = Rotation.draw(self.grid, self.coins)
        for_centre, _ = split(budget, 1, 3)
        std = count_std(rotation.points, rotation.width, for_centre)
        half = rank_error(std, questions(rotation.points) * rotation.width, FAILURE)
        return rows_for_radius_and_mean(self.grid.d, budget, neighbours).and_also(Need(2 * half, 1.5 * half))

    def _centre(self, curator: Curator, chosen: Sample, rotation: Rotation, cost: Fraction) -> Floats:
        """Find the private median of every rotated coordinate, in a sample of the rows."""
        portion = max(_TALLY_BYTES // (4 * chosen.n), chosen.d // 4)
        views = rotation.views(max(1, portion))
        centre = rotation.back(curator.coordinate_medians(chosen, views, rotation.width, cost, "centre"))
        length = float(np.linalg.norm(centre))
        if length > self.grid.reach:
            centre *= self.grid.reach / length
        return self.grid.round(centre)


def count_centre_rows(n: int, rotation: Rotation, budget: Zcdp) -> int:
    """Return the number of rows that find the centre: enough that noise on counts matters little."""
    drowning = math.ceil(ROWS_PER_RANK * count_std(rotation.points, rotation.width, budget))
    return min(n, max(drowning, FEWEST_ROWS))
