"""The shape of vectors whose columns share a unit: noise in proportion to the root of each column's own scale.

For a bound on the norm. With columns of root mean squares s and working units u, the noise is in proportion to
``sqrt(sum u^2 * sum s^2 / u^2)``, which is least, ``sum s``, for ``u = sqrt(s)``; with even units it is
``sqrt(d sum s^2)``. The rows that count are those at which clipping begins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import ScaleKind
from dpmean.estimators.refined import plan
from dpmean.estimators.refined.metric import Metric
from dpmean.estimators.refined.shape import FINEST, Shape, grid_through, shortened
from dpmean.numerics.grid import Grid, radius_at, radius_index
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Floats, Squares
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.handles import Sample

ROUNDS = 6
SHARE = 0.003
"""What each question takes of the budget; the first ones take half of it."""
FIRST = 2
PROMISE = 0.9
"""Scales must promise noise of at most this part of that with even units."""
HOPE = 0.96
"""If it is promised to be more than this part after the first questions, no more is asked."""
PROVEN = 0.82
"""The same for what is measured: far pairs must be at most this part of their distance apart in the new units."""
TOLD, CLEAR = 2.5, 5.0
"""In standard deviations of the noise: from where on a scale counts as found, and is not drawn to the mean."""
FLOOR = 0.4
"""Of what hidden columns have on average: none is taken to have less."""
FAR_SHARE = 0.008
"""What the search for the distance of far pairs takes; the count of far pairs in the new units takes half of that."""
MOST = 0.016
"""What this search may take of the budget; if it needs more, as rows are few, nothing is asked."""
FAR = 2.0
"""In standard deviations of their squared length: rows that are clipped are about so far out."""
_STDS, _QUESTIONS = 4, 11
_ROUGH = 0.15
"""Directions weigh pairs alike, and the spread is a quantile: scales differ by so much from standard deviations."""
_LENGTH = 1 << 24


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Standard deviations of columns, of mean square one, and what part of each is noise."""

    stds: Floats
    errors: Floats

    @property
    def promise(self) -> float:
        """The noise that the best units promise, in multiples of that with even units."""
        return float(self.stds.sum()) / math.sqrt(len(self.stds) * float((self.stds**2).sum()))

    @property
    def units(self) -> Floats:
        """The best working units, of mean square one."""
        return shortened(_normalised(np.sqrt(_of_far_rows(self.stds))))


def enough_rows(n: int, d: int, rho: float) -> bool:
    """Whether there are enough rows to ask for scales; public."""
    return d > 1 and n > 1 and math.sqrt(1000 * d / rho) <= n and _far_share(n // 2, rho) <= MOST


def most_to_pay(n: int, rho: float) -> float:
    """Return what part of the budget this takes at most, if that many rows are asked; public."""
    return sum(_share(turn) for turn in range(ROUNDS)) + 1.5 * _far_share(n // 2, rho)


def _share(turn: int) -> float:
    """Return what part of the budget a turn takes: less as long as there is little hope."""
    return SHARE / 2 if turn < FIRST else SHARE


def _far_share(pairs: int, rho: float) -> float:
    """Return what part of the budget tells where the farthest quarter of the pairs begins."""
    return max(FAR_SHARE, _QUESTIONS / 2 / (pairs / 4 / _STDS) ** 2 / rho)


def find_directions(curator: Curator, drawn: Sample, grid: Grid) -> Shape | None:
    """Find the scale of each column from random pairs, and give it units of its own if that pays.

    None: there are too few rows to ask.
    """
    if not enough_rows(drawn.n, drawn.d, float(curator.left)):
        return None
    budget, found = curator.left, _Found(np.ones(drawn.d), np.ones(drawn.d))
    for turn in range(ROUNDS):
        cost = plan.part(budget, _share(turn))
        found = _ask(curator, drawn, found, cost, f"squares {turn + 1}")
        if turn + 1 == FIRST and found.promise > HOPE:
            break
    if found.promise < PROMISE:
        shape = _shape(drawn.domain, found, found.stds, ScaleKind.FOUND)
        if _pays(curator, drawn, shape, grid):
            return shape
    return Shape(drawn.domain, Metric(), found.stds, found.errors, ScaleKind.FOUND, relative=True)


def given_directions(domain: Domain, scales: Floats) -> Shape:
    """Take scales that the caller knows."""
    found = _Found(_normalised(scales), np.zeros(len(scales)))
    return _shape(domain, found, scales, ScaleKind.GIVEN)


def _shape(before: Domain, found: _Found, stds: Floats, kind: ScaleKind) -> Shape:
    units = found.units
    after, metric = before.reshape(before.middle, before.scale * units), Metric.of(units, found.stds / units)
    return Shape(after, metric, stds, found.errors, kind, relative=kind is ScaleKind.FOUND)


def _ask(curator: Curator, drawn: Sample, so_far: _Found, cost: Fraction, step: str) -> _Found:
    """Ask for the squares of differences in the scales so far, and correct these.

    With each turn smaller columns come into sight, as larger ones no longer dominate.
    """
    domain = drawn.domain
    scaled = curator.through(drawn, domain.reshape(domain.middle, domain.scale * so_far.stds))
    answer = curator.squares(scaled, Squares(_LENGTH), cost, step)
    squares, std = answer.values / _LENGTH, answer.std / _LENGTH
    told: NDArray[np.bool_] = squares > TOLD * std
    errors = np.ones(len(told))
    sampling = math.sqrt(2 / max(drawn.n // 2, 1))
    errors[told] = np.hypot(np.hypot(std / squares[told], sampling) / 2, _ROUGH)
    stds = np.maximum(_normalised(so_far.stds * np.sqrt(_without_noise(squares, std))), FINEST)
    return _Found(shortened(_normalised(stds)), errors)


def _without_noise(squares: Floats, std: float) -> Floats:
    """Return squares of which those that noise may hide are drawn to their mean, as James and Stein do.

    They are drawn the more, the more of their variance is that of the noise.
    """
    hidden: NDArray[np.bool_] = squares <= CLEAR * std
    if not hidden.any():
        return squares
    values = squares[hidden]
    mean = max(float(values.mean()), std / math.sqrt(len(values)))
    variance = max(float(np.mean((values - mean) ** 2)) - std**2, 0.0)
    drawn, found = mean + variance / (variance + std**2) * (values - mean), squares.copy()
    found[hidden] = np.maximum(drawn, FLOOR * mean)
    return found


def _pays(curator: Curator, drawn: Sample, shape: Shape, grid: Grid) -> bool:
    """Return whether far pairs are so much nearer in the new units that noise shrinks as promised.

    A search finds the distance that a few pairs exceed. In the new units no more pairs may exceed ``PROVEN`` times that
    distance. One count decides this: a second search is wrong more often, and where noise could shrink to a quarter, a
    wrong answer is costly.
    """
    budget, finer = float(curator.left), grid_through(grid, drawn.domain, shape.domain)
    share = _far_share(drawn.n // 2, budget)
    cost, half_of_it = plan.part(curator.left, share), plan.part(curator.left, share / 2)
    pairs = curator.count(drawn, grid.pairs())
    few = max(_STDS * curator.quantile_std(pairs, cost), math.sqrt(drawn.d / 2 / budget))
    far = radius_at(grid.lowest + curator.quantile(pairs, max(pairs.n - few, 0.0), cost, "far pairs"))
    nearer = curator.count(curator.through(drawn, shape.domain), finer.pairs())
    index = min(max(radius_index(PROVEN * far) - finer.lowest, 0), nearer.points - 1)
    return curator.count_beyond(nearer, index, half_of_it, "far pairs 2").value <= few


def _of_far_rows(stds: Floats) -> Floats:
    """Return the root mean squares of the columns of normal rows that are far out: larger columns are larger still.

    Rows whose squared length is FAR standard deviations above its mean have the variances of a tilted distribution.
    Working units are roots of these, so they are found together.
    """
    found = stds
    for _ in range(3):
        squares = stds**2 / found  # the variances in working units
        room = FAR * math.sqrt(2 * float((squares**2).sum()))
        low, high = 0.0, 1 / float(squares.max())
        for _ in range(40):
            middle = (low + high) / 2
            longer = float((squares / (1 - middle * squares) - squares).sum())
            low, high = (middle, high) if longer < room else (low, middle)
        found = stds / np.sqrt(1 - low * squares)
    return found


def _normalised(values: Floats) -> Floats:
    scaled: Floats = values / math.sqrt(float(np.mean(values**2)))
    return scaled
