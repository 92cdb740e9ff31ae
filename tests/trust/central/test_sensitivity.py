"""The heart of the privacy proof, checked without any chance: one replaced row moves answers by what was paid for.

A run is recorded: which rows were sampled, which thresholds were asked, which centre, radius and units were used.
The same questions are then put to a data set with one row replaced by whatever hypothesis finds.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmean import Neighbours, OverspendError, Receipt, Zcdp
from dpmean.noise.source import seeded
from dpmean.numerics.grid import Grid
from dpmean.privacy.receipts import total_cost
from dpmean.queries.domain import Domain
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.costs import count_variance, rows_to_clip
from dpmean.trust.central.noisy_counter import NoisyCounter, count_rows
from tests.support import runs
from tests.support.recorder import Counted, Histogrammed, Summed
from tests.support.runs import REACH, assert_paid_for, nasty

Run = partial(runs.Run, n=200)

RUNS = [
    Run("clipped", 1, 0.5, 1),
    Run("clipped", 5, 0.05, 2),
    Run("clipped", 4, 1.0, 7, box=True),
    Run("shifted", 1, 0.5, 3),
    Run("shifted", 3, 0.5, 4),
    Run("shifted", 13, 0.01, 6),  # a small budget: thresholds and radius are nearly random
    Run("shifted", 6, 2.0, 8, box=True),
    Run("clipped", 4, 1.0, 7, reshaped=True),
    Run("clipped", 4, 1.0, 9, box=True, reshaped=True),
    Run("shifted", 1, 0.5, 3, reshaped=True),
    Run("shifted", 6, 2.0, 8, reshaped=True),
    Run("shifted", 6, 2.0, 4, box=True, reshaped=True),
    Run("shifted", 4, 50.0, 5, n=3000),  # a large one: only some of the rows find the centre
]


def by(before, after):
    """Return the exact change of an answer, as Python whole numbers."""
    return [int(a) - int(b) for a, b in zip(after, before, strict=True)]


def moved(question, run, data, neighbour):
    return by(*(question.ask(run.rows(x)) for x in (data, neighbour)))


def moved_counts(question, run, data, neighbour):
    one, other = (question.ask(run.rows(x)) for x in (data, neighbour))
    return other - one


@pytest.mark.parametrize("run", RUNS, ids=str)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_one_replaced_row_moves_counts_by_one_and_the_sum_by_two_radii(run, data):
    neighbour = run.data
    row = data.draw(st.one_of(st.integers(0, run.n - 1), st.sampled_from(run.positions())))
    neighbour[row] = data.draw(st.lists(nasty, min_size=run.d, max_size=run.d))
    for question, before in zip(run.recorded.questions, run.answers, strict=True):
        assert_paid_for(run, question, before, question.ask(run.rows(neighbour)))


def test_one_run_samples_its_rows_and_another_sees_them_through_a_box():
    assert len(RUNS[-1].positions()) < RUNS[-1].n
    assert {(run.box, run.reshaped) for run in RUNS} == {(False, False), (True, False), (False, True), (True, True)}


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_the_bounds_are_reached(run):
    """Far rows on opposite sides move the sum by two radii or little less: what is paid for is not too much either."""
    questions = run.recorded.questions
    (question,) = (question for question in questions if isinstance(question, Summed))
    away = np.zeros(run.d)
    away[0] = 1e3
    one, other = run.data, run.data
    one[0], other[0] = away, -away
    length = math.sqrt(sum(x * x for x in moved(question, run, one, other)))
    assert 1.3 * question.ball.radius < length <= 2 * question.ball.radius
    other[0] = 0.0
    counts = [moved_counts(q, run, one, other) for q in questions if isinstance(q, Counted | Histogrammed)]
    assert any(change.any() for change in counts)


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_what_was_drawn_is_what_the_receipts_say(run):
    """Add up sensitivity^2 / (2 variance) over all noise that was really drawn: it is the price, exactly."""
    questions, draws, *_, estimate = run.recorded
    (summed,) = (question for question in questions if isinstance(question, Summed))
    spent = defaultdict(Fraction)
    for step, _, variance, count in draws:
        name = step.partition("/")[0]
        square = (2 * summed.ball.radius) ** 2 if name == "mean" else count
        spent[name] += Fraction(square) / (2 * variance)
    assert spent == {receipt.step: receipt.cost.rho for receipt in estimate.receipts}
    assert sum(spent.values()) == Fraction(str(run.rho))
    assert sum(count for step, _, _, count in draws if step == "mean") == run.d


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_an_estimate_is_made_of_answers_alone(run):
    """No rows at all, empty handles, and the same answers: the same estimate. So nothing else was looked at."""
    runs.assert_made_of_answers_alone(run)


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_no_noise_is_used_twice(run):
    variates = [(step, start + i) for step, start, _, count in run.recorded.draws for i in range(count)]
    assert len(variates) == len(set(variates))


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_as_many_questions_are_asked_as_receipts_say(run):
    counted = [question for question in run.recorded.questions if isinstance(question, Counted)]
    for view in {question.view for question in counted}:
        assert sum(question.view is view for question in counted) == (view.points - 1).bit_length()
    (radii,) = (question.view for question in run.recorded.questions if isinstance(question, Histogrammed))
    drawn = [step for step, *_ in run.recorded.draws if step.startswith("radius/")]
    assert len(drawn) == (radii.points - 1).bit_length()
    assert len(run.recorded.estimate.receipts) == (2 if run.method == "clipped" else 3)


def test_a_counter_adds_its_noise_and_refuses_one_question_too_many():
    rows = MemoryRows(np.linspace(0, 40, 100)[:, np.newaxis], Domain.within_norm(1, REACH, impute=False))
    view = Grid(2.0**-4, REACH, 1).distances(np.zeros(1))
    variance = count_variance(view.points, 1, Fraction(1, 10))
    counter = NoisyCounter(rows.answer(view), view.points, variance, seeded(1), "radius")
    index = np.array([view.points // 2])
    exact = rows.answer(view).count_at_most(index)
    assert variance == Fraction(counter.questions) / (2 * Fraction(1, 10))
    for question in range(counter.questions):
        drawn = seeded(1).at(f"radius/{question}").gaussian(variance, 1)
        assert counter.count_at_most(index) == exact + drawn
    with pytest.raises(OverspendError, match="queries that were paid for have been answered"):
        counter.count_at_most(index)


def test_receipts_beyond_the_budget_are_refused():
    receipts = [Receipt("a", "?", "!", Zcdp(0.3)), Receipt("b", "?", "!", Zcdp(0.3))]
    assert total_cost(receipts, Zcdp(0.6)).rho == Fraction(6, 10)
    with pytest.raises(OverspendError, match="more than the budget"):
        total_cost(receipts, Zcdp(Fraction(6, 10) - Fraction(1, 10**30)))


@dataclass
class Numbered:
    """Noise that is no noise: 100, 101, 102, ..., so that it shows which number went where."""

    seeded = False
    asked: list = field(default_factory=list)
    first: int = 100

    def at(self, _step):
        return self

    def gaussian(self, variance, count):
        self.asked.append((variance, count))
        drawn = np.arange(self.first, self.first + count)
        self.first += count
        return drawn


class Nobody:
    """A tally of no rows."""

    def count_at_most(self, index):
        return np.zeros_like(index)


def test_noise_that_is_drawn_at_once_is_used_once():
    """Without a seed all questions of a search share one draw: every number of it must serve one answer."""
    noise = Numbered()
    counter = NoisyCounter(Nobody(), 9, Fraction(7, 2), noise, "centre", size=3)
    answers = [counter.count_at_most(np.zeros(3, dtype=np.int64)).tolist() for _ in range(4)]
    assert answers == [[100, 101, 102], [103, 104, 105], [106, 107, 108], [109, 110, 111]]
    assert noise.asked == [(Fraction(7, 2), 12)]
    alone = NoisyCounter(Nobody(), 9, Fraction(7, 2), Numbered(), "radius")
    assert [alone.count_at_most(np.array([0])).tolist() for _ in range(4)] == [[100], [101], [102], [103]]


def test_the_number_of_rows_is_told_with_its_noise_and_as_one_at_least():
    rho = Zcdp(Fraction(1, 8))
    for n, first, told in ((5, 100, 105), (5, -3, 2), (1, 0, 1), (0, 0, 1), (3, -100, 1)):
        noise = Numbered(first=first)
        assert count_rows(n, rho, noise, "number")[0] == told
        assert noise.asked == [(4, 1)]


def test_as_many_rows_are_best_clipped_as_the_paper_says():
    assert rows_to_clip(3, Zcdp(0.7), Neighbours.REPLACE_ONE) == pytest.approx(math.sqrt(6 / 0.7))
    assert rows_to_clip(3, Zcdp(0.7), Neighbours.ADD_OR_REMOVE_ONE) == pytest.approx(math.sqrt(6 / 0.7) / 2)
