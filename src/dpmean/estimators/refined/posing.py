"""The preparation of the refined mean: choose samples of rows, and working units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.enums import Shaping
from dpmean.estimators.refined import plan
from dpmean.estimators.refined.columns import find_columns, given_columns, rows_for_octaves
from dpmean.estimators.refined.directions import find_directions, given_directions
from dpmean.estimators.refined.metric import Metric
from dpmean.estimators.refined.problem import Problem
from dpmean.estimators.refined.shape import OrderedScales, Shape, grid_through, takes_shape
from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid
from dpmean.queries.domain import Domain
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.handles import Sample


@final
@dataclass(frozen=True, slots=True)
class Samples:
    """The samples that answer queries before all rows do."""

    for_shape: Sample
    """Rows in a random order: pairs of them reveal the scales of columns."""
    in_pairs: Sample
    """Rows in a random order: pairs of them reveal distances."""
    for_centre: Sample
    """The rows that find the centre; all rows if there are few."""


def draw_samples(curator: Curator, coins: PublicCoins, shaping: OrderedScales) -> Samples:
    """Draw the samples; if there are few rows, all are loaded into memory, as many queries follow."""
    n, d, rho, domain = curator.rows.n, curator.rows.d, float(curator.left), curator.rows.domain
    m = plan.rows_to_locate(n, d, rho)
    if m == n:
        curator.hold()
        drawn = curator.take(coins.order(n, n))
        return Samples(drawn, drawn, curator.rows)
    asks_for_octaves = shaping is Shaping.AUTO and _has_shape(domain) and domain.ball is None
    more = rows_for_octaves(n, d, rho, m) if asks_for_octaves else m
    drawn = curator.take(coins.order(n, more))
    some = drawn if more == m else curator.take(np.arange(m), of=drawn)
    return Samples(drawn, some, some)


def _has_shape(domain: Domain) -> bool:
    """Whether columns can have separate scales; public."""
    return domain.d > 1 and takes_shape(domain)


def find_shape(curator: Curator, samples: Samples, shaping: OrderedScales, grid: Grid) -> Shape | None:
    """Find the scales of the columns, or use the given ones; None if scales are not requested or cannot be found."""
    domain = curator.rows.domain
    if shaping is Shaping.ROUND or not _has_shape(domain):
        return None
    if not isinstance(shaping, Shaping):
        scales, share_a_unit = np.array(shaping), domain.ball is not None
        return given_directions(domain, scales) if share_a_unit else given_columns(domain, scales)
    if domain.ball is None:
        return find_columns(curator, samples.for_shape, samples.for_centre, grid)
    return find_directions(curator, samples.for_shape, grid)


def pose(curator: Curator, samples: Samples, shape: Shape | None, grid: Grid, *, one_pass: bool) -> Problem:
    """Return the problem to be solved with the remaining budget, in the working units of the shape."""
    all_rows, some, rho = curator.rows, samples.for_centre, curator.left
    shares = plan.divide(rho, all_rows.n, some.n, all_rows.d)
    one_pass = one_pass and some.n < all_rows.n
    if shape is None:
        return Problem(grid, curator, all_rows, some, samples.in_pairs, Metric(), shares, rho, one_pass)
    finer = grid_through(grid, all_rows.domain, shape.domain)
    rows, pairs = (curator.through(each, shape.domain) for each in (all_rows, samples.in_pairs))
    centre = rows if some is all_rows else pairs  # the same sample is used in pairs and for the centre
    return Problem(finer, curator, rows, centre, pairs, shape.metric, shares, rho, one_pass)
