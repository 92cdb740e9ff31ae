"""The data that all steps of the refined mean share: the curator, the rows, and the shares of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpmean.estimators.refined.metric import Metric
from dpmean.estimators.refined.plan import Shares
from dpmean.numerics.grid import Grid, radius_at, radius_index
from dpmean.privacy.budgets import Zcdp
from dpmean.queries.queries import Floats
from dpmean.trust.central.costs import rows_to_clip
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.handles import Counts, Sample


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """The problem of the refined mean; all of it is public."""

    grid: Grid
    curator: Curator
    rows: Sample
    """All rows, in working units."""
    some: Sample
    """The rows that find the centre: a sample, or all of them."""
    drawn: Sample
    """Rows in a random order: distances are measured in pairs of them."""
    metric: Metric
    shares: Shares
    rho: Fraction
    one_pass: bool

    @property
    def n(self) -> int:
        """The public number of rows."""
        return self.rows.n

    @property
    def d(self) -> int:
        """The number of coordinates of a row."""
        return self.rows.d

    @property
    def all_find_the_centre(self) -> bool:
        """Whether all rows find the centre, so that no sample is needed."""
        return self.some.n == self.rows.n

    @property
    def harmless(self) -> float:
        """The optimal number of rows to clip."""
        return rows_to_clip(self.d, Zcdp(self.rho), self.curator.neighbours) / self.metric.typical

    def as_if_replaced(self, rho: Fraction) -> float:
        """Return the budget that gives the same noise if neighbours replace a row, which plans assume."""
        return float(rho * 4 / self.curator.neighbours.contributions**2)

    def radius(self, index: int) -> float:
        """Return the radius of a rung of the ladder on which rows are counted."""
        return radius_at(self.grid.lowest + index)

    def index(self, radius: float, counts: Counts) -> int:
        """Return the rung of a radius on the ladder on which rows are counted."""
        return min(max(radius_index(radius) - self.grid.lowest, 0), counts.points - 1)

    def farthest(self, centre: Floats) -> float:
        """Return the largest possible distance of a row from a centre."""
        return self.grid.reach + float(np.linalg.norm(centre))
