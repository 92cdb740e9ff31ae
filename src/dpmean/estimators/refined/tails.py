"""Columns of a table with many rows far out: their scale was taken too small, as one does with a heavy tail."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmean.estimators.refined import plan
from dpmean.estimators.refined.shape import Shape, grid_through
from dpmean.numerics.grid import Grid, radius_index
from dpmean.privacy.budgets import Zcdp
from dpmean.queries.queries import Columns
from dpmean.trust.central.costs import rows_to_clip
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.handles import Sample

TAIL, TAILS = 0.006, 0.045
"""What it takes to count the rows that are far out in all columns, and in each of them, where there are too many."""
WIDER, TURNS = 4.0, 4
"""The unit of a column with too many of them becomes so much larger at a time, and so often at most."""
_STDS_OF_ROWS, _STDS_OF_COLUMNS = 2.0, 3.2
"""In standard deviations of the noise: from where on there are too many."""


def heavy_columns(
    curator: Curator, some: Sample, shape: Shape, grid: Grid, budget: Fraction, turn: int
) -> NDArray[np.bool_]:
    """Return in which columns rows are far out, if more are than clipping may cost: their scale was taken too small.

    Without that, one column with a heavy tail, in which scales are hard to find, would raise the noise of all others.
    """
    d, domain, far = some.d, shape.domain, 2 * (math.sqrt(some.d) + 2)
    rows, finer = curator.through(some, domain), grid_through(grid, some.domain, domain)
    counts = curator.count(rows, finer.distances(np.zeros(d)))
    index = min(max(radius_index(far) - finer.lowest, 0), counts.points - 1)
    beyond = curator.count_beyond(counts, index, plan.part(budget, TAIL), f"tails {turn}")
    harmless = rows_to_clip(d, Zcdp(budget), curator.neighbours)
    if beyond.value <= _STDS_OF_ROWS * beyond.std + harmless:
        return np.zeros(d, dtype=np.bool_)
    view = Columns(np.full(d, -far / 2), np.full(d, far), np.full(d, 2))
    outside = curator.count_outside(rows, view, plan.part(budget, TAILS), f"tails {turn}, by column")
    found: NDArray[np.bool_] = outside.values > _STDS_OF_COLUMNS * outside.std
    return found
