"""The central model: only a trusted curator holds the rows; it answers with exact noise until the budget is spent.

Neighbours differ in one replaced row, and n is public; or in one added or removed row, and n is private. Queries and
their costs may depend on all earlier answers. A zCDP filter (Feldman and Zrnic 2021; Whitehouse et al. 2023) makes
this safe: the exact sum of all costs never exceeds the budget.

Estimators hold handles only. This is one file because exact totals must not leave it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final
from weakref import WeakKeyDictionary

import numpy as np

from dpmean.errors import ArgumentError, plural
from dpmean.numerics import shells as layers
from dpmean.numerics.grid import RADII_PER_OCTAVE
from dpmean.numerics.noisy_search import questions, search
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt
from dpmean.queries.domain import Domain
from dpmean.queries.interfaces import Noise, Rows
from dpmean.queries.queries import (
    Ball,
    BallSquares,
    Bins,
    Columns,
    Coordinates,
    Floats,
    Ints,
    Octaves,
    Pairs,
    Radial,
    Shells,
    Squares,
    VectorSum,
)
from dpmean.queries.totals import BinSums, Histogram, ShellSums
from dpmean.trust.central.budget_filter import BudgetFilter
from dpmean.trust.central.costs import count_variance, describe_noise, variance_at
from dpmean.trust.central.exponents import CHOICE_UNIT, Exponents
from dpmean.trust.central.handles import Binned, Counts, Sample, Sums, check_positions
from dpmean.trust.central.noisy_counter import NoisyCounter

WEIGHT_ONE = 1 << 12
"""Weights of rows are integer multiples of 1 / WEIGHT_ONE, from 0 to 1."""


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """A noisy number and the standard deviation of its noise."""

    value: float
    std: float


@final
@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Noisy numbers and the standard deviation of the noise on each of them."""

    values: Ints
    std: float


@final
@dataclass(frozen=True, slots=True, eq=False)
class _From:
    """One line of a histogram, beginning at a given point."""

    counts: Ints

    def count_at_most(self, index: Ints) -> Ints:
        found: Ints = self.counts[index]
        return found


@final
class Curator:
    """Holds rows and exact totals, answers queries with exact noise, and keeps the receipts."""

    def __init__(self, rows: Rows, budget: Zcdp, noise: Noise, neighbours: Neighbours) -> None:
        self.neighbours, self.rows = neighbours, Sample(rows.n, rows.d, rows.domain)
        self._filter, self._noise = BudgetFilter(budget), noise
        self._rows: WeakKeyDictionary[Sample, Rows] = WeakKeyDictionary({self.rows: rows})
        self._counts: WeakKeyDictionary[Counts, Histogram] = WeakKeyDictionary()
        self._sums: WeakKeyDictionary[Sums, ShellSums] = WeakKeyDictionary()
        self._bins: WeakKeyDictionary[Binned, BinSums] = WeakKeyDictionary()

    @property
    def left(self) -> Fraction:
        """The remaining budget."""
        return self._filter.left

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of all queries so far."""
        return tuple(self._filter.receipts)

    def put_aside(self, cost: Fraction) -> None:
        """Reserve a part of the budget for a last query: nothing else can spend it."""
        self._filter.put_aside(cost)

    def take_back(self) -> None:
        """Return the reserved part to the remaining budget."""
        self._filter.take_back()

    # --- handles: they reveal nothing, and cost nothing -------------------------------------------------------

    def hold(self) -> None:
        """Load all rows into memory or onto their device: for few rows, which answer many queries."""
        self._rows[self.rows] = self._rows[self.rows].collect()

    def take(self, positions: Ints, of: Sample | None = None) -> Sample:
        """Take the rows at the given public positions, in this order, each at most once, as costs are for one row."""
        all_rows = self.rows if of is None else of
        check_positions(positions, all_rows.n)
        return self._hand_out(self._rows[all_rows].take(positions))

    def through(self, sample: Sample, domain: Domain) -> Sample:
        """Return the same rows with another public domain."""
        return self._hand_out(self._rows[sample].through(domain))

    def _hand_out(self, rows: Rows) -> Sample:
        sample = Sample(rows.n, rows.d, rows.domain)
        self._rows[sample] = rows
        return sample

    def count(self, sample: Sample, view: Radial) -> Counts:
        """Count rows, or pairs of rows, by their distance."""
        found, of_pairs = self._rows[sample].answer(view), isinstance(view, Pairs)
        return self._keep(found, sample.n // 2 if of_pairs else sample.n, of_pairs=of_pairs)

    def add_up(self, sample: Sample, shells: Shells) -> Sums:
        """Add up rows and their directions, shell by shell."""
        sums = Sums(shells)
        self._sums[sums] = self._rows[sample].answer(shells)
        return sums

    def bin(self, sample: Sample, bins: Bins) -> Binned:
        """Count rows by their distance, and add up rows and their directions bin by bin, in one pass."""
        found = self._rows[sample].answer(bins)
        binned = Binned(bins, self._keep(found.histogram, sample.n))
        self._bins[binned] = found
        return binned

    def add_up_bins(self, binned: Binned, edges: list[int]) -> Sums:
        """Combine bins to sums by shell; the radii are those of the bins in ``edges``."""
        sums = Sums(layers.make_shells(binned.bins, edges))
        self._sums[sums] = layers.shell_sums(self._bins[binned], binned.bins, edges)
        return sums

    def _keep(self, histogram: Histogram, n: int, *, of_pairs: bool = False) -> Counts:
        counts = Counts(histogram.points, n, of_pairs)
        self._counts[counts] = histogram
        return counts

    # --- answers: each has noise and a cost --------------------------------------------------------------------

    def quantile(self, counts: Counts, rank: float, cost: Fraction, step: str, start: int = 0, line: int = 0) -> int:
        """Search for the first point, from ``start`` on, with more than ``rank`` rows at or below it (Algorithm 1)."""
        points = counts.points - start
        variance = count_variance(points, 1, cost)
        asked = f"binary search of {questions(points)} counts"
        self._filter.pay(step, asked, f"{describe_noise(variance)} on counts of sensitivity 1", cost)
        tally = _From(self._counts[counts].counts[line, start:])
        return start + int(search(NoisyCounter(tally, points, variance, self._noise, step), rank)[0])

    @staticmethod
    def quantile_std(counts: Counts, cost: Fraction, start: int = 0) -> float:
        """Return the standard deviation of the noise on each count of ``quantile``, before it is asked."""
        return math.sqrt(questions(counts.points - start) / (2 * cost))

    def coordinate_medians(
        self, sample: Sample, views: Iterable[Coordinates], width: int, cost: Fraction, step: str
    ) -> Floats:
        """Find the median of each of ``width`` rotated coordinates; each view covers a portion of them."""
        rows, medians, asked, variance = self._rows[sample], np.empty(width), 0, Fraction(0)
        self._filter.reserve(step, cost)
        covered = 0
        for view in views:
            if view.first != covered or covered + view.size > width:
                raise ArgumentError(f"views must cover the coordinates in order, up to {width}")
            covered += view.size
            asked, variance = questions(view.points), count_variance(view.points, width, cost)
            tally = rows.answer(view)
            counter = NoisyCounter(tally, view.points, variance, self._noise, step, view.size, view.first)
            found = search(counter, rank=sample.n // 2)
            medians[view.first : view.first + view.size] = view.low + (found - 0.5) * view.spacing
        searches = f"medians after a rotation, {width} x {asked} counts of {sample.n} rows"
        self._filter.note(step, searches, f"{describe_noise(variance)} on counts of sensitivity 1", cost)
        return medians

    def column_medians(self, sample: Sample, view: Columns, cost: Fraction, step: str) -> Ints:
        """Find the median of every column on its own line: the first point with half of the rows at or below it.

        One row, replaced or absent, changes each count by at most one.
        """
        left, right = np.zeros(len(view.last), dtype=np.int64), view.last.copy()
        levels = np.array([questions(int(last) + 1) for last in view.last])
        asked = int(levels.sum())
        variance = variance_at(asked, cost)
        searches = f"medians of {plural(int(np.count_nonzero(levels)), 'column')}, {asked} counts of {sample.n} rows"
        self._filter.pay(step, searches, f"{describe_noise(variance)} on counts of sensitivity 1", cost)
        tally, noise = self._rows[sample].answer(view), self._noise.at(step).gaussian(variance, asked)
        drawn = 0
        for level in range(int(levels.max())):
            asks = levels > level
            middle = (left + right) // 2
            found = tally.count_at_most(middle)[asks] + noise[drawn : drawn + int(asks.sum())]
            drawn += int(asks.sum())
            low = np.zeros(len(asks), dtype=np.bool_)
            low[asks] = found <= sample.n // 2
            left = np.where(asks & low, np.minimum(middle + 1, right), left)
            right = np.where(asks & ~low, middle, right)
        return right

    def count_outside(self, sample: Sample, view: Columns, cost: Fraction, step: str) -> Answers:
        """Count the rows outside of an interval in each column: between the first two of three points.

        One row, replaced or absent, changes each count by at most one.
        """
        if np.any(view.last != 2):
            raise ArgumentError("every column needs a line of three points")
        variance = variance_at(sample.d, cost)
        asked = f"number of rows outside of an interval, in {plural(sample.d, 'column')}"
        self._filter.pay(step, asked, f"{describe_noise(variance)} on counts of sensitivity 1", cost)
        tally = self._rows[sample].answer(view)
        below, within, every = (tally.count_at_most(np.full(sample.d, point)) for point in range(3))
        exact = every - (within - below)
        return Answers(exact + self._noise.at(step).gaussian(variance, sample.d), math.sqrt(variance))

    def octaves(self, sample: Sample, octaves: Octaves, cost: Fraction, step: str) -> Answers:
        """Count pairs of rows by the octave of their difference, column by column.

        One row, replaced or absent, replaces or adds one pair. In each column, one octave then counts at most one pair
        less, and another at most one more.
        """
        d = sample.d
        variance = variance_at(2 * d, cost)
        asked = f"differences in {sample.n // 2} pairs by octave, in {d} columns"
        self._filter.pay(step, asked, f"{describe_noise(variance)} on counts of sensitivity sqrt(2 d)", cost)
        exact = self._rows[sample].answer(octaves)
        noise = self._noise.at(step).gaussian(variance, exact.size)
        return Answers(exact + noise.reshape(exact.shape), math.sqrt(variance))

    def squares(self, sample: Sample, squares: Squares, cost: Fraction, step: str) -> Answers:
        """Add up the directions of the squared differences in pairs of rows.

        One row, replaced or absent, replaces or adds one pair. A pair adds a non-negative vector of norm at most
        ``length``, and two of these are at most sqrt(2) lengths apart.
        """
        variance = variance_at(2 * squares.length**2, cost)
        asked = f"squares of differences in {sample.n // 2} pairs, as directions, in {sample.d} columns"
        mechanism = f"{describe_noise(variance / squares.length**2)} on sums of sensitivity sqrt(2)"
        self._filter.pay(step, asked, mechanism, cost)
        exact = self._rows[sample].answer(squares)
        return Answers(exact + self._noise.at(step).gaussian(variance, sample.d), math.sqrt(variance))

    def upper_end(self, counts: Counts, line: int, start: int, slope: float, cost: Fraction, step: str) -> int:
        """Choose a point x, from ``start`` on, with weight ``x^-slope exp(-epsilon * rows beyond x)``.

        One row, replaced or absent, changes the numbers of rows beyond the points by 0 or 1, all in the same direction.
        So the exponents change within a range of epsilon, which costs epsilon^2 / 8 (bounded range: Dong et al. 2020,
        Cesar and Rogers 2021).
        """
        epsilon = math.isqrt(math.floor(8 * cost * CHOICE_UNIT**2))
        rise = max(1, round(slope * math.log(2) / RADII_PER_OCTAVE * CHOICE_UNIT))
        self._filter.pay(
            step,
            f"one of {counts.points - start} radii, by the rows beyond it",
            f"exponential mechanism, epsilon {epsilon / CHOICE_UNIT:.4g} per row",
            Fraction(epsilon**2, 8 * CHOICE_UNIT**2),
        )
        exact = self._counts[counts].counts[line]
        beyond = exact[-1] - exact[start:-1]
        return start + self._noise.at(step).choose(Exponents(rise, epsilon, beyond), CHOICE_UNIT)

    def count_beyond(self, counts: Counts, index: int, cost: Fraction, step: str) -> Answer:
        """Count the rows, or pairs of rows, beyond a point."""
        variance = variance_at(1, cost)
        asked = f"number of {'pairs' if counts.of_pairs else 'rows'} beyond a radius"
        self._filter.pay(step, asked, f"{describe_noise(variance)}, sensitivity 1", cost)
        exact = self._counts[counts].counts[0]
        return Answer(int(exact[-1] - exact[index]) + self._draw(step, variance), math.sqrt(variance))

    def mean_weights(self, counts: Counts, weights: Ints, cost: Fraction, step: str) -> tuple[Floats, float]:
        """Average weights of the rows, integers from 0 to WEIGHT_ONE that depend on the distance only.

        One row, replaced or absent, changes each sum by at most WEIGHT_ONE.
        """
        if weights.min() < 0 or weights.max() > WEIGHT_ONE:
            raise ArgumentError("weights must lie between 0 and WEIGHT_ONE")
        variance = variance_at(len(weights) * WEIGHT_ONE**2, cost)
        asked = f"mean weight of the rows at {len(weights)} radii"
        self._filter.pay(step, asked, f"{describe_noise(variance / WEIGHT_ONE**2)} rows", cost)
        exact = weights @ np.diff(self._counts[counts].counts[0], prepend=0)
        noisy = exact + self._noise.at(step).gaussian(variance, len(weights))
        return noisy / (counts.n * WEIGHT_ONE), math.sqrt(variance) / (counts.n * WEIGHT_ONE)

    def ball_sum(self, sample: Sample, ball: Ball, cost: Fraction, step: str) -> VectorSum:
        """Add up the rows, each clipped to a ball.

        Replacing a row changes the sum by at most twice the radius; adding or removing one, by at most the radius.
        """
        sensitivity = self.neighbours.contributions * ball.radius
        variance = self._pay_for_sum(ball.radius, ball.unit, sensitivity, cost, step)
        exact = self._rows[sample].answer(ball)
        return VectorSum(exact + self._noise.at(step).gaussian(variance, sample.d), ball.unit, variance)

    def ball_squares(self, sample: Sample, squares: BallSquares, cost: Fraction, step: str) -> Answers:
        """Add up the squares of the rows, column by column, each row clipped to a ball.

        The squares of a row form a non-negative integer vector whose sum, and so its norm, is at most ``length``.
        Replacing a row changes one such vector into another: they are at most sqrt(2) lengths apart, or one length if
        there is one column. Adding or removing a row changes the sum by at most one length.
        """
        twice = self.neighbours is Neighbours.REPLACE_ONE and sample.d > 1
        variance = variance_at((1 + twice) * squares.length**2, cost)
        asked = f"sum of squares of clipped rows, of {sample.n} rows, in {plural(sample.d, 'column')}"
        part = f"{describe_noise(variance / squares.length**2)} squared radii"
        self._filter.pay(step, asked, f"{part}, sensitivity {'sqrt(2)' if twice else '1'}", cost)
        exact = self._rows[sample].answer(squares)
        return Answers(exact + self._noise.at(step).gaussian(variance, sample.d), math.sqrt(variance))

    def clipped_sum(self, sums: Sums, k: int, cost: Fraction, step: str) -> VectorSum:
        """Add up the rows, each clipped at one of the radii of its shells."""
        shells = sums.shells
        sensitivity = layers.clipped_sum_sensitivity(shells, k, self.neighbours.contributions)
        variance = self._pay_for_sum(shells.radii[k], shells.unit, sensitivity, cost, step)
        noise = self._noise.at(step).gaussian(variance, len(shells.centre))
        return VectorSum(layers.clipped_sum(self._sums[sums], shells, k) + noise, shells.unit, variance)

    def bias_gap(self, sums: Sums, k: int, factors: list[int], cost: Fraction, step: str) -> Answer:
        """Measure the bias of radius k: the distance of the sum clipped there from that at the largest radius.

        It is in units of the shells; the factors correct the sums for the shrinkage by clipping.
        """
        shells = sums.shells
        sensitivity = layers.bias_gap_sensitivity(shells, k, factors, self.neighbours.contributions)
        variance = variance_at(sensitivity**2, cost)
        share = shells.radii[k] / shells.radii[0]
        exactly = f"{shells.radii[k]} instead of {shells.radii[0]} units of {shells.unit:.4g}"
        asked = f"bias of clipping at {share:.3g} of the largest radius, that is at {exactly}"
        self._filter.pay(step, asked, f"{describe_noise(variance)} units, sensitivity {sensitivity} units", cost)
        exact = layers.bias_gap(self._sums[sums], shells, k, factors)
        return Answer(exact + self._draw(step, variance), math.sqrt(variance))

    def _pay_for_sum(self, radius: int, unit: float, sensitivity: int, cost: Fraction, step: str) -> Fraction:
        variance = variance_at(sensitivity**2, cost)
        asked = f"sum of clipped rows, of norm at most {radius} units of {unit:.4g}"
        self._filter.pay(step, asked, f"{describe_noise(variance)} units, sensitivity {sensitivity} units", cost)
        return variance

    def _draw(self, step: str, variance: Fraction) -> int:
        return int(self._noise.at(step).gaussian(variance, 1)[0])
