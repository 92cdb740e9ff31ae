"""Recorded runs: an estimator asks rows that write down every question, with noise that writes down every draw."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from dpmean import Zcdp
from dpmean.enums import Shaping
from dpmean.estimators.registry import find_estimator
from dpmean.noise.public import PublicCoins
from dpmean.noise.source import seeded
from dpmean.numerics import shells as layers
from dpmean.numerics.grid import Grid, power_of_two_at_most
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.domain import Domain
from dpmean.rows.memory import MemoryRows
from dpmean.rows.private_size import PrivateSizeRows
from dpmean.trust.central import curator as curators
from dpmean.trust.central.curator import WEIGHT_ONE, Curator
from tests.support.curators import Playing, Taping
from tests.support.recorder import (
    Binned,
    Counted,
    Histogrammed,
    Octaved,
    Recorder,
    RecordingNoise,
    Shelled,
    Squared,
    SquaredInBall,
    Summed,
)

REACH = 50.0
OFF = 7
"""A public number that stands for a private one is off by so many rows."""

nasty = st.one_of(
    st.floats(-60, 60),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, 1e-300, 5.0, 1e300, -1e300, math.nan, math.inf]),
)


class Recorded(NamedTuple):
    """The questions, the draws, the choices, the gaps, sums and weights that were asked for, and the estimate."""

    questions: list
    draws: list
    choices: list
    gaps: list
    sums: list
    weights: list
    estimate: object


class Floats64:
    """Rows in an array of floats."""

    @staticmethod
    def records(run):
        rows = np.random.default_rng(run.seed).normal(3, 1 + run.seed % 3, (run.n, run.d))
        if run.skewed:
            rows /= np.arange(1, run.d + 1) ** 2
        rows[: run.far] += run.away
        if run.lumpy:
            rows[np.arange(run.n) % 20 > 0] = 3.0
        return rows

    @staticmethod
    def rows(data, domain):
        return MemoryRows(data, domain, threads=1)


@dataclass(frozen=True)
class Run:
    """One run: who asks, through which domain, of which rows."""

    method: str
    d: int
    rho: float
    seed: int
    n: int = 300
    box: bool = False
    far: int = 0
    away: float = 15
    lumpy: bool = False
    one_pass: bool = False
    uncounted: bool = False
    coins: str = "sensitivity"
    reach: float = REACH
    kind: object = Floats64
    reshaped: bool = False
    skewed: bool = False
    shape: object = Shaping.AUTO
    population: bool = False

    @cached_property
    def domain(self):
        if self.box:
            domain = Domain.within_box(np.full(self.d, -20.0), np.linspace(20, 50, self.d), impute=True)
        else:
            domain = Domain.within_norm(self.d, self.reach, impute=True)
        return self._reshape(domain) if self.reshaped else domain

    def _reshape(self, domain):
        """Return a domain whose columns differ thirtyfold, around another middle if they have bounds."""
        scales = np.geomspace(0.3, 9.0, self.d)
        return domain.reshape(np.linspace(2.9, -1.3, self.d) if self.box else np.zeros(self.d), scales)

    @property
    def contributions(self):
        """How many rows are in one of two neighbours only."""
        return 1 if self.uncounted else 2

    @cached_property
    def _made(self):
        return self.kind.records(self)

    @property
    def data(self):
        """The rows, to be changed at will."""
        return self._made.copy()

    def rows(self, data):
        return self.kind.rows(data, self.domain)

    @property
    def estimator(self):
        step = 2.0**-20 * power_of_two_at_most(max(1.0, self.domain.reach / REACH))
        grid, coins = Grid(step, self.domain.reach, self.d), PublicCoins(self.coins)
        build = find_estimator(self.method, 1 if self.one_pass else 2, population=self.population)
        return build(grid, coins, self.shape)

    @property
    def neighbours(self):
        return Neighbours.ADD_OR_REMOVE_ONE if self.uncounted else Neighbours.REPLACE_ONE

    def curator(self, rows, noise):
        seen = PrivateSizeRows(rows, self.n + OFF, noise) if self.uncounted else rows
        return Curator(seen, Zcdp(self.rho), noise, self.neighbours)

    def estimate(self, rows, noise):
        return self.estimator(self.curator(rows, noise))

    @cached_property
    def recorded(self):
        recorder, noise = Recorder(self.rows(self.data)), RecordingNoise(seeded(self.seed))
        gaps, sums, weights = [], [], []
        with pytest.MonkeyPatch.context() as patch:
            ask, add, weigh = layers.bias_gap, layers.clipped_sum, Curator.mean_weights
            patch.setattr(curators.layers, "bias_gap", lambda *a: gaps.append(a[1:]) or ask(*a))
            patch.setattr(curators.layers, "clipped_sum", lambda *a: sums.append(a[1:]) or add(*a))
            patch.setattr(Curator, "mean_weights", lambda self, *a: weights.append(a[1]) or weigh(self, *a))
            estimate = self.estimate(recorder, noise)
        return Recorded(recorder.log, noise.log, noise.choices, gaps, sums, weights, estimate)

    @cached_property
    def answers(self):
        """What the rows answer to each question, without noise."""
        rows = self.rows(self.data)
        return [question.ask(rows) for question in self.recorded.questions]

    def positions(self):
        """Return the positions that were sampled, or all."""
        sampled = (q.positions for q in self.recorded.questions if q.positions is not None)
        return next(sampled, np.arange(self.n)).tolist()


def squared(change):
    return sum(int(x) ** 2 for x in np.ravel(change))


def one_way(before, after):
    """Whether a line of counts moved by 0 or +1 everywhere, or by 0 or -1 everywhere."""
    change = after - before
    least, most = change.min(axis=1), change.max(axis=1)
    return bool(np.all(((least >= 0) & (most <= 1)) | ((least >= -1) & (most <= 0))))


def without(positions, row):
    """Return the places of a sample without one row, coupled: the same pairs, except for that of the row.

    Its partner is left over, or goes with the one that was left over before.
    """
    half, places = len(positions) // 2, list(positions)
    if row not in places:
        return np.array(places, dtype=np.int64)
    at = places.index(row)
    if len(places) % 2:
        places[at] = places[-1]
        return np.array(places[:-1], dtype=np.int64)
    partner = places[at + half if at < half else at - half]
    pairs = [(places[i], places[i + half]) for i in range(half) if i not in (at, at - half)]
    return np.array([first for first, _ in pairs] + [second for _, second in pairs] + [partner], dtype=np.int64)


def with_and_without(run, question, data, row):
    """Put a question to all rows and to all but one, under coins that go together."""
    positions = np.arange(run.n) if question.positions is None else question.positions
    alone, rows = replace(question, positions=None), run.rows(data)
    return [alone.ask(rows.take(places)) for places in (positions, without(positions, row))]


def assert_paid_for(run, question, before, after):
    """Insist that an answer about neighbours moves by no more than what is charged for it.

    Where the number of rows is private, counts are told as those beyond a point; all others have the same last count.
    """
    match question:
        case Counted():
            assert np.abs(after - before).max() <= 1
        case Histogrammed():
            _assert_counts_paid_for(run, before, after)
        case Summed(ball=ball):
            assert squared(after - before) <= (run.contributions * ball.radius) ** 2
        case SquaredInBall(squares=squares):
            assert squared(after - before) <= price_of_ball_squares(run, squares)
        case Squared(squares=squares):
            assert squared(after - before) <= 2 * squares.length**2
        case Octaved():
            assert squared(after - before) <= 2 * run.d
        case Binned(bins=bins):
            _assert_counts_paid_for(run, before.histogram.counts, after.histogram.counts)
            for (shells, one), (_, two) in zip(_at_some_edges(bins, before), _at_some_edges(bins, after), strict=True):
                _assert_shells_paid_for(run, shells, one, two)
        case Shelled(shells=shells):
            _assert_shells_paid_for(run, shells, before, after)
            for asked, k, factors in run.recorded.gaps:
                assert asked is shells
                change = layers.bias_gap(after, shells, k, factors) - layers.bias_gap(before, shells, k, factors)
                assert abs(change) <= layers.bias_gap_sensitivity(shells, k, factors, run.contributions)


def price_of_ball_squares(run, squares):
    """Return the squared sensitivity of the squares of rows in a ball."""
    return squares.length**2 * (1 if run.uncounted or run.d == 1 else 2)


@lru_cache(maxsize=64)
def _at_some_edges(bins, found):
    """Return balls, and the sums of the rows clipped there, at a few of many bins: each takes its time."""
    edges = range(len(bins.radii) % 7, len(bins.radii), max(1, len(bins.radii) // 4))
    return [(layers.make_shells(bins, [b]), layers.shell_sums(found, bins, [b])) for b in edges]


def _assert_counts_paid_for(run, before, after):
    beyond = [counts - counts[:, -1:] for counts in (before, after)]
    assert one_way(*beyond)
    assert run.uncounted or np.array_equal(before[:, -1], after[:, -1])
    for weights in run.recorded.weights:
        if weights.shape[1] == before.shape[1]:
            sums = [weights @ np.diff(counts[0], prepend=0) for counts in beyond]
            assert np.abs(sums[1] - sums[0]).max() <= WEIGHT_ONE


def _assert_shells_paid_for(run, shells, before, after):
    for k in range(len(shells.radii)):
        change = layers.clipped_sum(after, shells, k) - layers.clipped_sum(before, shells, k)
        assert squared(change) <= layers.clipped_sum_sensitivity(shells, k, run.contributions) ** 2


def squares_of_shape(run):
    """Return the squared sensitivity of each answer about the scales of columns, by what was asked and drawn."""
    found, draws = {}, {step: count for step, _, _, count in run.recorded.draws}
    squared_ones = (q for q in run.recorded.questions if isinstance(q, Squared))
    for receipt in run.recorded.estimate.receipts:
        if receipt.step.startswith("squares"):
            found[receipt.step] = 2 * next(squared_ones).squares.length ** 2
        elif receipt.step == "variances":
            (asked,) = (q.squares for q in run.recorded.questions if isinstance(q, SquaredInBall))
            found[receipt.step] = price_of_ball_squares(run, asked)
        elif receipt.step == "octaves":
            found[receipt.step] = 2 * run.d
        elif receipt.step.startswith("medians") or receipt.step.endswith("by column"):
            found[receipt.step] = draws[receipt.step]
    return found


def price_of_choices(run):
    """Return what each choice costs by the range of its exponents, which count the rows beyond each end."""
    prices = {}
    for step, exponents, unit in run.recorded.choices:
        paid = next(receipt.cost.rho for receipt in run.recorded.estimate.receipts if receipt.step == step)
        epsilon = math.isqrt(int(8 * paid * unit**2))
        rise = exponents[-1] - exponents[-2]  # no row is beyond the last two
        beyond = [exponent - exponents[-1] + rise * j for j, exponent in enumerate(reversed(exponents))]
        assert all(rows % epsilon == 0 and 0 <= rows <= run.n * epsilon for rows in beyond)
        prices[step] = Fraction(epsilon**2, 8 * unit**2)
    return prices


def assert_made_of_answers_alone(run):
    """Replay the answers of a run to an estimator that holds empty handles: the estimate must be the same."""
    tape = Taping(run.curator(run.rows(run.data), seeded(run.seed)))
    one = run.estimator(tape)
    two = run.estimator(Playing(tape))
    assert (one.receipts, one.found, one.radius, one.noise_std) == (two.receipts, two.found, two.radius, two.noise_std)
    assert np.array_equal(one.mean, two.mean)
    assert np.array_equal(one.centre, two.centre)
