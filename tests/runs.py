"""Recorded runs: an estimator asks rows that write down every question, with noise that writes down every draw."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from dpmean import Zcdp
from dpmean import shells as layers
from dpmean.coins import PublicCoins
from dpmean.estimators.clipped import ClippedMean
from dpmean.estimators.refined import RefinedMean
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.frame import Frame
from dpmean.grid import Grid
from dpmean.neighbours import Neighbours
from dpmean.noise.source import seeded
from dpmean.rows.memory import MemoryRows
from dpmean.rows.uncounted import UncountedRows
from dpmean.trust import curator as curators
from dpmean.trust.central import Central
from dpmean.trust.curator import Curator
from tests.recorder import Recorder, RecordingNoise

REACH = 50.0
OFF = 7
"""A public number that stands for a private one is off by so many rows."""
ANSWERS = ("quantile", "upper_end", "count_beyond", "mean_weights", "ball_sum", "clipped_sum", "bias_gap")

nasty = st.one_of(
    st.floats(-60, 60),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, 1e-300, 5.0, 1e300, -1e300, math.nan, math.inf]),
)


class Recorded(NamedTuple):
    """The questions, the draws, the choices, the gaps and the sums that were asked for, and the estimate."""

    questions: list
    draws: list
    choices: list
    gaps: list
    sums: list
    estimate: object


@dataclass(frozen=True)
class Run:
    """One run: who asks, through which frame, of which rows."""

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

    @property
    def frame(self):
        if self.box:
            return Frame.within_box(np.full(self.d, -20.0), np.linspace(20, 50, self.d), impute=True)
        return Frame.within_norm(self.d, REACH, impute=True)

    @cached_property
    def _made(self):
        rows = np.random.default_rng(self.seed).normal(3, 1 + self.seed % 3, (self.n, self.d))
        rows[: self.far] += self.away
        if self.lumpy:
            rows[np.arange(self.n) % 20 > 0] = 3.0
        return rows

    @property
    def data(self):
        """The rows, to be changed at will."""
        return self._made.copy()

    def rows(self, data):
        return MemoryRows(data, self.frame, threads=1)

    @property
    def estimator(self):
        grid, coins = Grid(2.0**-20, self.frame.reach, self.d), PublicCoins(self.coins)
        trust = Central(Neighbours.ADD_OR_REMOVE_ONE) if self.uncounted else Central()
        return {
            "refined": RefinedMean(grid, coins, self.one_pass, trust),
            "shifted": ShiftedClippedMean(grid, trust, coins, self.one_pass),
            "clipped": ClippedMean(grid, trust, self.one_pass),
        }[self.method]

    def estimate(self, rows, noise):
        seen = UncountedRows(rows, self.n + OFF, noise) if self.uncounted else rows
        return self.estimator(seen, Zcdp(self.rho), noise)

    @cached_property
    def recorded(self):
        recorder, noise, gaps, sums = Recorder(self.rows(self.data)), RecordingNoise(seeded(self.seed)), [], []
        with pytest.MonkeyPatch.context() as patch:
            ask, add = layers.bias_gap, layers.clipped_sum
            patch.setattr(curators.layers, "bias_gap", lambda *a: gaps.append(a[1:]) or ask(*a))
            patch.setattr(curators.layers, "clipped_sum", lambda *a: sums.append(a[1:]) or add(*a))
            estimate = self.estimate(recorder, noise)
        return Recorded(recorder.log, noise.log, noise.choices, gaps, sums, estimate)

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
    return all(set(line.tolist()) <= {0, 1} or set(line.tolist()) <= {0, -1} for line in change)


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


def assert_made_of_answers_alone(run, other):
    """Give the answers of a run to an estimate of other rows: it must be the same, or something else was looked at."""
    answers = []

    def estimate(data, answer):
        with pytest.MonkeyPatch.context() as patch:
            for name in ANSWERS:
                ask = getattr(Curator, name)
                patch.setattr(Curator, name, lambda self, *a, ask=ask, **k: answer(ask(self, *a, **k)))
            return run.estimate(run.rows(data), seeded(run.seed))

    one = estimate(run.data, lambda found: answers.append(found) or found)
    replayed = iter(answers)
    two = estimate(other, lambda _: next(replayed))
    assert next(replayed, None) is None
    assert (one.receipts, one.found, one.radius, one.noise_std) == (two.receipts, two.found, two.radius, two.noise_std)
    assert np.array_equal(one.mean, two.mean)
    assert np.array_equal(one.centre, two.centre)
