"""The shape of a table, whose columns have ranges of their own: each is to be good in its own standard deviations.

For bounds on columns. Pairs of rows tell in which octaves the differences of a column lie, and so its scale, and a
median tells where its values are. Nothing is clipped by that. Lengths are in half-ranges: values lie between -1 and 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import ScaleKind
from dpmean.estimators.refined import plan
from dpmean.estimators.refined.metric import Metric
from dpmean.estimators.refined.shape import FINEST, Shape, shortened
from dpmean.estimators.refined.tails import TAIL, TURNS, WIDER, heavy_columns
from dpmean.numerics.error_quantiles import normal_quantile
from dpmean.numerics.grid import Grid
from dpmean.numerics.noisy_search import questions
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Columns, Floats, Ints, Octaves
from dpmean.release.scales import FINE_MEDIANS
from dpmean.trust.central.curator import Answers, Curator
from dpmean.trust.central.handles import Sample

LOWEST, OCTAVES = -40, 42
"""Differences are told apart from 2^-40 half-ranges on."""
GROUPS = (1, 2, 4)
"""A column reaches as far as the farthest so many octaves that hold enough pairs."""
FAILURE = 1e-5
"""How likely noise alone may be taken for pairs, in any octave of any column."""
ENOUGH = 0.01
"""Noise need not be told from less than this part of the pairs."""
MOST, MORE = 0.05, 0.1
"""What octaves may take of the budget, and what they may take where that is too little."""
TOO_FEW = 0.25
"""If noise is not told from this part of the pairs, nothing is asked."""
FAINT = 0.58
"""So many times what is told from noise may be left out at the end of the farthest octaves."""
MIDDLE, FINE = 0.08, 0.06
"""Noise on the counts of a median, as a part of the rows: of a column in which rows differ, and of others."""
MOST_FOR_MEDIANS = 0.05
"""What either kind of medians takes of the budget at most."""
RELIABLE = 0.1
"""With more noise a median may be anywhere. Means are reported at the finer ones: these are not asked then."""
_MOST_NUMBERS = 1 << 21
"""So many numbers are drawn, unless octaves take more."""
_USUAL_LEVELS = 10
"""Counts for a median, if a range is about a hundred times too loose."""
_FINE_CELL = 2.0**-27
"""How finely the median of a column is found in which hardly any rows differ."""
_LAST = 5
"""So many octaves tell a standard deviation; below them squares are too small to matter."""
_WIDTH = 0.1
"""What part of a standard deviation may be due to the width of an octave."""


@final
@dataclass(frozen=True, slots=True)
class Terms:
    """What the octaves cost, and how many pairs in an octave are told from noise; public."""

    cost: Fraction
    certain: float

    @staticmethod
    def of(budget: Fraction, pairs: int, d: int) -> Terms | None:
        """Divide the budget; None if there are too few pairs for it."""
        z = normal_quantile(1 - FAILURE / (d * OCTAVES))
        share = min(MOST, d * (z / (ENOUGH * max(pairs, 1))) ** 2 / float(budget))
        if _certain(d, z, share * float(budget)) > TOO_FEW * pairs:
            share = MORE
        certain = _certain(d, z, share * float(budget))
        return None if certain > TOO_FEW * pairs else Terms(plan.part(budget, share), certain)


def _certain(d: int, z: float, cost: float) -> float:
    return z * math.sqrt(d / cost)


def rows_for_octaves(n: int, d: int, rho: float, least: int) -> int:
    """Return how many rows show the octaves: enough for noise to be told from a hundredth of the pairs.

    In many dimensions fewer, but always so many that octaves can be asked.
    """
    z = normal_quantile(1 - FAILURE / (d * OCTAVES))
    wanted = min(_MOST_NUMBERS // d, math.ceil(2 * _certain(d, z, MOST * rho) / ENOUGH))
    needed = 2 * math.ceil(1.01 * _certain(d, z, MORE * rho) / TOO_FEW) + 2
    return max(least, min(n, max(wanted, needed)))


def usual_cost(budget: Fraction, drawn: int, some: int, d: int) -> float | None:
    """Return what part of the budget this usually takes, if that many rows are asked; None if nothing is asked."""
    terms, levels = Terms.of(budget, drawn // 2, d), _USUAL_LEVELS * d
    medians = _share_of_medians(levels, MIDDLE, some, budget)
    return None if terms is None else float(terms.cost / budget) + medians + TAIL


def find_columns(curator: Curator, drawn: Sample, some: Sample, grid: Grid) -> Shape | None:
    """Find a scale and a middle for each column; None if there are too few rows."""
    d, pairs, budget = drawn.d, drawn.n // 2, curator.left
    terms = Terms.of(budget, pairs, d)
    if terms is None:
        return None
    answer = curator.octaves(drawn, Octaves(LOWEST, OCTAVES), terms.cost, "octaves")
    tops = np.array([_top(counts, terms.certain) for counts in answer.values])
    stds, errors = _stds(answer, tops, pairs, terms.certain), _errors(answer, tops)
    farthest = np.where(tops > 0, np.exp2(tops + LOWEST), 0.0)
    units = shortened(np.maximum(stds, np.where(tops > 0, farthest, 2.0) / (1 + math.sqrt(d))))
    middle, fine = _middles(curator, some, farthest, budget)
    shape = _shape(drawn.domain, middle, units, stds, errors, ScaleKind.FOUND)
    for turn in range(TURNS):
        heavy = heavy_columns(curator, some, shape, grid, budget, turn + 1)
        if not heavy.any():
            break
        units, errors = np.where(heavy, WIDER * units, units), np.where(heavy, 1.0, errors)
        shape = _shape(drawn.domain, middle, units, stds, errors, ScaleKind.FOUND)
    return replace(shape, unseen=stds == 0 if fine else None)


def given_columns(domain: Domain, scales: Floats) -> Shape:
    """Take scales that the caller knows."""
    stds = scales / domain.scale
    units = shortened(np.maximum(stds, FINEST))
    return _shape(domain, np.zeros(domain.d), units, stds, np.zeros(domain.d), ScaleKind.GIVEN)


def _shape(before: Domain, middle: Floats, units: Floats, stds: Floats, errors: Floats, kind: ScaleKind) -> Shape:
    """Return a shape whose lengths are in half-ranges; what ``Scales.known`` says is known."""
    after, known = before.reshape(before.to_user(middle), before.scale * units), (stds > 0) & (errors < 1)
    weights = np.where(known, units / np.where(known, stds, 1.0), 1.0)
    metric = Metric.of(weights, np.where(known, stds / units, 0.0))
    return Shape(after, metric, before.scale * stds, errors, kind)


def _top(counts: Ints, certain: float) -> int:
    """Return the end of the farthest octaves that hold more pairs than noise may look like; 0: there are none."""
    for top in range(OCTAVES, 0, -1):
        for size in GROUPS:
            if size <= top and counts[top - size : top].sum() > certain * math.sqrt(size):
                return _without_empty(counts, top - size, top, FAINT * certain)
    return 0


def _without_empty(counts: Ints, first: int, top: int, faint: float) -> int:
    """Return where octaves end once those are left out in which there may be nothing but noise."""
    for end in range(first + 1, top):
        left_out, kept = counts[end:top].sum(), counts[first:end].sum()
        if left_out < faint * math.sqrt(top - end) and kept > faint * math.sqrt(end - first):
            return end
    return top


def _squares(answer: Answers, tops: Ints) -> tuple[Floats, Floats]:
    """Return for each column the sum of squared differences in its last octaves, and the noise on that."""
    octaves = np.arange(OCTAVES)
    within = 3 / math.log(4) * np.exp2(2.0 * (octaves + LOWEST))  # the mean square of what is spread evenly over one
    within[-1] = 4.0  # nothing is farther apart than the ends of a range
    counted = (octaves < tops[:, None]) & (octaves >= tops[:, None] - _LAST)
    weights = np.where(counted, within, 0.0)
    return (answer.values * weights).sum(axis=1), answer.std * np.sqrt((weights**2).sum(axis=1))


def _stds(answer: Answers, tops: Ints, pairs: int, certain: float) -> Floats:
    """Return the standard deviation of each column; zero if it was not seen."""
    least = np.where(tops > 0, certain / 16 * np.exp2(2.0 * (tops + LOWEST)), 0.0)
    found: Floats = np.sqrt(np.maximum(_squares(answer, tops)[0], least) / (2 * max(pairs, 1)))
    return found


def _errors(answer: Answers, tops: Ints) -> Floats:
    """Return what part of these is noise, or due to the width of an octave."""
    squares, noise = _squares(answer, tops)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(squares > noise, np.hypot(noise / squares / 2, _WIDTH), 1.0)
    return found


def _share_of_medians(levels: int, noise: float, rows: int, budget: Fraction) -> float:
    return min(levels / 2 / (noise * rows) ** 2 / float(budget), MOST_FOR_MEDIANS)


def _middles(curator: Curator, some: Sample, farthest: Floats, budget: Fraction) -> tuple[Floats, bool]:
    """Find the median of each column, in cells of half its largest differences; finer ones if it has none.

    Return also whether these finer ones were asked. Otherwise there are too few rows, and the middle is that of bounds.
    """
    differ = farthest > 0
    usual, fine = (_Medians.of(cells, asked) for cells, asked in ((farthest / 2, differ), (_FINE_CELL, ~differ)))
    middle, finds_fine = np.zeros(some.d), False
    if usual.levels:
        cost = plan.part(budget, _share_of_medians(usual.levels, MIDDLE, some.n, budget))
        middle = np.where(differ, usual.find(curator, some, cost, "medians"), middle)
    if fine.levels:
        cost = plan.part(budget, _share_of_medians(fine.levels, FINE, some.n, budget))
        finds_fine = math.sqrt(fine.levels / 2 / cost) <= RELIABLE * some.n
        if finds_fine:
            middle = np.where(differ, middle, fine.find(curator, some, cost, FINE_MEDIANS))
    clipped: Floats = np.clip(middle, -1, 1)
    return clipped, finds_fine


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Medians:
    """Where the medians of some columns are looked for: in cells from -1 to 1, of a width for each column."""

    cells: Floats
    last: Ints
    """The last cell of each column; 0 where no median is asked for."""
    levels: int
    """How many counts it takes."""

    @staticmethod
    def of(cells: Floats | float, asked: NDArray[np.bool_]) -> _Medians:
        """Divide the columns that are asked for."""
        widths = np.where(asked, cells, 2.0)
        last = np.where(asked, np.ceil(2 / widths), 0).astype(np.int64)
        return _Medians(widths, last, sum(questions(int(end) + 1) for end in last[asked]))

    def find(self, curator: Curator, some: Sample, cost: Fraction, step: str) -> Floats:
        """Return the middle of the cell in which each median is."""
        found = curator.column_medians(some, Columns(np.full(some.d, -1.0), self.cells, self.last), cost, step)
        middles: Floats = (found - 0.5) * self.cells - 1
        return middles
