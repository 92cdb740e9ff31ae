"""The heart of the privacy proof, checked without any chance: one replaced row moves answers by what was paid for.

A run is recorded: which rows were sampled, which thresholds were asked, which centre, radius and units were used.
The same questions are then put to a data set with one row replaced by whatever hypothesis finds.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmean.budget import Zcdp
from dpmean.coins import PublicCoins
from dpmean.estimators.clipped import ClippedMean
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.frame import Frame
from dpmean.grid import Grid
from dpmean.noise.source import seeded
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central import Central
from tests.recorder import Counted, Recorder, Summed

N, REACH = 200, 50.0

nasty = st.one_of(
    st.floats(-60, 60),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, 1e-300, 5.0, 1e300, -1e300, math.nan, math.inf]),
)


def estimator(name, d):
    grid = Grid(2.0**-20, REACH, d)
    if name == "clipped":
        return ClippedMean(grid, Central())
    return ShiftedClippedMean(grid, Central(), PublicCoins("sensitivity"))


def record(name, d, rho, seed):
    """Run an estimator and return its data and the questions it asked."""
    data = np.random.default_rng(seed).normal(3, 1 + seed % 3, (N, d))
    recorder = Recorder(MemoryRows(data, Frame.within_norm(d, REACH, impute=True), threads=1))
    estimator(name, d)(recorder, Zcdp(rho), seeded(seed))
    return data, recorder.log


RUNS = {
    (name, d): record(name, d, rho, seed)
    for name, d, rho, seed in [
        ("clipped", 1, 0.5, 1),
        ("clipped", 5, 0.05, 2),
        ("shifted", 1, 0.5, 3),
        ("shifted", 3, 0.5, 4),
        ("shifted", 8, 5.0, 5),  # a large budget: only some of the rows find the centre
        ("shifted", 13, 0.01, 6),  # a small one: thresholds and radius are nearly random
    ]
}


def moved(question, data, neighbour):
    """Return the exact change of an answer, as Python whole numbers."""
    frame = Frame.within_norm(data.shape[1], REACH, impute=True)
    before, after = (question.ask(MemoryRows(x, frame, threads=1)) for x in (data, neighbour))
    return [int(a) - int(b) for a, b in zip(after, before, strict=True)]


@pytest.mark.parametrize("run", RUNS, ids=str)
@settings(max_examples=40)
@given(data=st.data())
def test_one_replaced_row_moves_counts_by_one_and_the_sum_by_two_radii(run, data):
    rows, questions = RUNS[run]
    neighbour = rows.copy()
    row = data.draw(st.integers(0, N - 1))
    neighbour[row] = data.draw(st.lists(nasty, min_size=rows.shape[1], max_size=rows.shape[1]))
    for question in questions:
        change = moved(question, rows, neighbour)
        match question:
            case Counted():
                assert max(abs(x) for x in change) <= 1
            case Summed(ball):
                assert sum(x * x for x in change) <= (2 * ball.radius) ** 2


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_the_bounds_are_reached(run):
    """Opposite far rows move the sum by nearly two radii, so the sensitivity paid for is not too large either."""
    rows, questions = RUNS[run]
    one, other = rows.copy(), rows.copy()
    direction = np.zeros(rows.shape[1])
    direction[0] = REACH
    one[0], other[0] = direction, -direction
    sums = [question for question in questions if isinstance(question, Summed)]
    assert len(sums) == 1
    length = math.sqrt(sum(x * x for x in moved(sums[0], one, other)))
    radius = sums[0].ball.radius
    assert 0.4 * radius < length <= 2 * radius
    other[0] = 0.0
    counts = [moved(question, one, other) for question in questions if isinstance(question, Counted)]
    assert any(any(change) for change in counts)


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_as_many_questions_are_asked_as_receipts_say(run):
    rows, questions = RUNS[run]
    name, d = run
    counted = [question for question in questions if isinstance(question, Counted)]
    searches = {question.view for question in counted}
    for view in searches:
        asked = sum(question.view is view for question in counted)
        assert asked == (view.points - 1).bit_length()
    assert len(searches) == (1 if name == "clipped" else 2)
    assert rows.shape[1] == d
