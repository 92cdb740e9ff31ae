"""The privacy proof of the refined estimator, checked without any chance: every draw is priced by what can move.

As in test_sensitivity.py, a run is recorded and its questions are put to a data set with one row replaced.
"""

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmean import ArgumentError, Neighbours, OverspendError, Zcdp
from dpmean.enums import Shaping
from dpmean.noise.source import seeded
from dpmean.numerics import shells as layers
from dpmean.numerics.grid import Grid
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Shells
from dpmean.queries.totals import Histogram, ShellSums
from dpmean.rows import private_size
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.budget_filter import BudgetFilter
from dpmean.trust.central.curator import WEIGHT_ONE, Curator
from tests.support import runs
from tests.support.curators import Answering
from tests.support.recorder import RecordingNoise, Shelled, Summed
from tests.support.runs import REACH, assert_made_of_answers_alone, assert_paid_for, nasty, price_of_choices, squared

Run = partial(runs.Run, "refined")

RUNS = [
    Run(1, 0.5, 1),
    Run(1, 20.0, 2, box=True),
    Run(2, 0.5, 3),
    Run(3, 0.01, 4),  # a small budget: everything is nearly random
    Run(9, 2.0, 5),
    Run(9, 2.0, 6, n=1000, far=60),  # some rows far away: the alarm goes off
    Run(12, 1.0, 7, box=True),
    Run(4, 500.0, 8, n=20_000),  # many rows: only some of them find the centre
    Run(40, 5.0, 9),
    Run(40, 5.0, 9, n=2000),  # so little noise that shrinkage is corrected
    Run(1, 500.0, 11, lumpy=True),
    Run(1, 5.0, 12, n=600, lumpy=True),
    Run(3, 5.0, 13, lumpy=True),
    Run(6, 20.0, 15, skewed=True),  # the columns of a norm differ in scale
    Run(3, 20.0, 16, box=True),  # columns have bounds
    Run(4, 0.5, 17, n=20_000, box=True),  # more rows for octaves than for the centre
    Run(3, 5.0, 18, shape=(3.0, 1.0, 0.2)),
    Run(3, 5.0, 18, box=True, shape=(3.0, 1.0, 0.2)),
    Run(9, 2.0, 5, shape=Shaping.ROUND),
    Run(9, 20.0, 19, box=True, far=11, away=1000),  # columns with a tail that their octaves do not show
    Run(1, 2.0, 20, population=True),
    Run(3, 5.0, 21, box=True, population=True),
    Run(6, 20.0, 22, skewed=True, population=True),
    Run(4, 500.0, 23, n=20_000, population=True),
    Run(3, 5.0, 24, lumpy=True, population=True),
]


def replaced(run, data):
    neighbour = run.data
    row = data.draw(st.one_of(st.integers(0, run.n - 1), st.sampled_from(run.positions())))
    neighbour[row] = data.draw(st.lists(nasty, min_size=run.d, max_size=run.d))
    return neighbour


@pytest.mark.parametrize("run", RUNS, ids=str)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_one_replaced_row_moves_answers_by_what_is_paid_for(run, data):
    neighbour = run.rows(replaced(run, data))
    for question, before in zip(run.recorded.questions, run.answers, strict=True):
        assert_paid_for(run, question, before, question.ask(neighbour))


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_what_was_drawn_is_what_the_receipts_say(run):
    """Price every draw by the sensitivity of what it hides and every choice by its range: the receipts, exactly."""
    questions, draws, _, gaps, *_, estimate = run.recorded
    gaps = list(gaps)
    balls = [question.ball for question in questions if isinstance(question, Summed)]
    shelled = [question.shells for question in questions if isinstance(question, Shelled)]
    squares = runs.squares_of_shape(run)
    for receipt in estimate.receipts:
        name = receipt.step
        if name.startswith("locate"):
            squares[name] = (2 * balls.pop(0).radius) ** 2
        elif name.startswith("bias"):
            squares[name] = layers.bias_gap_sensitivity(*gaps.pop(0)) ** 2
        elif name == "mean" and not shelled:
            squares[name] = (2 * balls.pop(0).radius) ** 2
        elif name == "mean":
            stretch = 1.0 if estimate.scales is None else estimate.scales.stretch
            radius = round(estimate.radius / stretch / shelled[0].unit - 0.5)
            k = min(range(len(shelled[0].radii)), key=lambda j: abs(shelled[0].radii[j] - radius))
            squares[name] = layers.clipped_sum_sensitivity(shelled[0], k) ** 2
        elif name == "shrinkage":
            squares[name] = WEIGHT_ONE**2 * len(shelled[0].radii)
    spent = defaultdict(Fraction)
    for step, _, variance, _ in draws:
        name = step.partition("/")[0]
        spent[name] += Fraction(squares.get(name, 1)) / (2 * variance)
    spent.update(price_of_choices(run))
    assert not balls
    assert spent == {receipt.step: receipt.cost.rho for receipt in estimate.receipts}
    assert sum(spent.values()) == Fraction(str(run.rho))
    assert all(
        count == (run.d if step == "mean" or step.startswith("locate") else len(shelled[0].radii))
        for step, _, _, count in draws
        if step in ("mean", "shrinkage") or step.startswith("locate")
    )


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_no_noise_is_used_twice(run):
    variates = [(step, start + i) for step, start, _, count in run.recorded.draws for i in range(count)]
    variates += [(step, 0) for step, _, _ in run.recorded.choices]
    assert len(variates) == len(set(variates))


def test_the_runs_cover_what_can_happen():
    steps = [{receipt.step for receipt in run.recorded.estimate.receipts} for run in RUNS]
    assert any("far rows" in found for found in steps)
    assert any("bias 2" in found for found in steps)
    ends = [found for run, found in zip(RUNS, steps, strict=True) if run.lumpy and not run.population]
    assert [("upper end" in found, "far rows" in found) for found in ends] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert any("upper end" in found for found in steps)
    assert any(factors[k] > layers.FACTOR_ONE for run in RUNS for _, k, factors in run.recorded.gaps)
    assert any(len(run.positions()) < run.n for run in RUNS)
    assert any("tails 1, by column" in found for found in steps)
    assert all(("variances" in found) == run.population for run, found in zip(RUNS, steps, strict=True))


@pytest.mark.parametrize("run", [RUNS[7], Run(1, 500.0, 8, n=20_000)], ids=str)
def test_many_rows_are_read_twice_and_a_sample_of_them_as_often_as_it_takes(run):
    questions = run.recorded.questions
    assert sum(question.positions is None for question in questions) == 2
    assert len({id(question.positions) for question in questions if question.positions is not None}) == 1


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_an_estimate_is_made_of_answers_alone(run):
    """No rows at all, empty handles, and the same answers: the same estimate. So nothing else was looked at."""
    assert_made_of_answers_alone(run)


# --- single operations ---------------------------------------------------------------------------------------


def histogram(*distances, points=40):
    counts = np.bincount(np.minimum(distances, points), minlength=points + 1)
    return Histogram(np.cumsum(counts)[np.newaxis])


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.integers(0, 40), min_size=2, max_size=20),
    other=st.integers(0, 40),
    cost=st.fractions(Fraction(1, 1000), 10),
    slope=st.floats(0.1, 100),
)
def test_exponents_of_a_choice_move_within_a_range_that_is_paid_for(rows, other, cost, slope):
    """The exponential mechanism: a range of epsilon costs epsilon^2 / 8."""
    seen = []
    for data in (rows, [other, *rows[1:]]):
        noise = RecordingNoise(seeded(1))
        curator = Answering(Zcdp(cost), noise)
        curator.upper_end(histogram(*data), 0, 0, slope, cost, "radius")
        seen.append((noise.choices[0], curator.receipts[0].cost.rho))
    ((_, one, unit), paid), ((_, two, _), _) = seen
    moves = [a - b for a, b in zip(one, two, strict=True)]
    assert Fraction(max(moves) - min(moves), unit) ** 2 / 8 <= paid <= cost
    assert paid > cost * Fraction(999_999, 1_000_000)


def test_the_range_that_is_paid_for_is_reached():
    noise = RecordingNoise(seeded(1))
    curator = Answering(Zcdp(1), noise)
    for step, distance in (("one", 0), ("two", 30)):
        curator.upper_end(histogram(distance, 5, 5), 0, 0, 1.0, Fraction(1, 2), step)
    (_, one, unit), (_, two, _) = noise.choices
    moves = [b - a for a, b in zip(one, two, strict=True)]
    assert Fraction(max(moves) - min(moves), unit) ** 2 / 8 == curator.receipts[0].cost.rho


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_sums_by_shell_move_by_what_is_paid_for_whatever_the_factors(data):
    """One row against another, near and far, with correction factors that the estimator might find."""
    d = data.draw(st.sampled_from([1, 2, 7, 65]))
    direction = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=(2, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    lengths = [data.draw(st.one_of(st.floats(0, 12), st.sampled_from([5.0, 4.2, 1.25, 1.2501]))) for _ in range(2)]
    opposite = data.draw(st.booleans())
    one, other = direction[0] * lengths[0], (-direction[0] if opposite else direction[1]) * lengths[1]
    grid = Grid(2.0**-20, REACH, d)
    shells = grid.shells(np.zeros(d), [5.0, 5 * 2**-0.25, 5 * 2**-0.5, 2.5, 1.25], 1)
    factors = data.draw(st.lists(st.integers(layers.FACTOR_ONE, 20 * layers.FACTOR_ONE), min_size=5, max_size=5))
    sums = [
        MemoryRows(row[np.newaxis], Domain.within_norm(d, REACH, impute=False), threads=1).answer(shells)
        for row in (one, other)
    ]
    for k in range(5):
        change = layers.clipped_sum(sums[0], shells, k) - layers.clipped_sum(sums[1], shells, k)
        assert squared(change) <= layers.clipped_sum_sensitivity(shells, k) ** 2
        if k:
            gaps = [layers.bias_gap(each, shells, k, factors) for each in sums]
            assert abs(gaps[0] - gaps[1]) <= layers.bias_gap_sensitivity(shells, k, factors)
            # a single row contributes no more than half of it, which is what the proof bounds
            assert max(gaps) <= layers.bias_gap_sensitivity(shells, k, factors) / 2 + layers.root_up(d) + 1


def test_the_bias_gap_is_not_paid_for_too_dearly():
    """Two far rows on one side instead of a far one and a near one move it by half of what is paid for: its norm."""
    grid, domain = Grid(2.0**-20, REACH, 2), Domain.within_norm(2, REACH, impute=False)
    shells = grid.shells(np.zeros(2), [5.0, 2.5], 2)
    factors = [layers.FACTOR_ONE, layers.FACTOR_ONE]
    far, near = (MemoryRows(np.array([[9.0, 0], row]), domain) for row in ([9.0, 0], [0.0, 0]))
    gaps = [layers.bias_gap(rows.answer(shells), shells, 1, factors) for rows in (far, near)]
    assert gaps[0] - gaps[1] > 0.49 * layers.bias_gap_sensitivity(shells, 1, factors)


def test_mean_weights_are_bounded():
    curator = Answering(Zcdp(1), seeded(1))
    with pytest.raises(ArgumentError, match="weights must lie between 0 and WEIGHT_ONE"):
        curator.mean_weights(histogram(1, 2), np.full((1, 41), WEIGHT_ONE + 1), Fraction(1, 2), "shrinkage")


def test_the_filter_is_never_overdrawn_and_no_step_is_asked_twice():
    curator = Answering(Zcdp(1), seeded(1))
    counts = histogram(1, 2, 3)
    curator.count_beyond(counts, 2, Fraction(3, 4), "alarm")
    with pytest.raises(OverspendError, match="radius costs 1/2, but 1/4 of the budget is left"):
        curator.upper_end(counts, 0, 0, 1.0, Fraction(1, 2), "radius")
    with pytest.raises(AssertionError, match="its noise would be used twice"):
        curator.count_beyond(counts, 2, Fraction(1, 8), "alarm")
    with pytest.raises(OverspendError):
        curator.quantile(counts, 1.0, Fraction(0), "spread")
    for nothing in (Fraction(0), Fraction(-1, 2), Fraction(-2)):
        with pytest.raises(OverspendError):
            BudgetFilter(Zcdp(1)).pay("free", "?", "!", nothing)
    assert curator.left == Fraction(1, 4)
    ball = Grid(2.0**-9, 2.0, 1).ball(np.zeros(1), 1.0)
    with pytest.raises(OverspendError):
        curator.curator.ball_sum(curator.curator.rows, ball, Fraction(1, 3), "mean")


def test_answers_carry_the_noise_that_was_paid_for():
    cost, counts = Fraction(1, 10), histogram(1, 2, 3, 30)
    alarm = Answering(Zcdp(1), seeded(3)).count_beyond(counts, 2, cost, "alarm")
    assert alarm.value == 2 + seeded(3).at("alarm").gaussian(1 / (2 * cost), 1)[0]
    assert alarm.std == pytest.approx(math.sqrt(5))
    weights = np.full((2, 41), WEIGHT_ONE)
    weights[1, 3:] = 0
    found, std = Answering(Zcdp(1), seeded(3)).mean_weights(counts, weights, cost, "shrinkage")
    variance = Fraction(2 * WEIGHT_ONE**2) / (2 * cost)
    noise = seeded(3).at("shrinkage").gaussian(variance, 2)
    assert np.allclose(found, (np.array([4, 2]) * WEIGHT_ONE + noise) / (4 * WEIGHT_ONE))
    assert std == pytest.approx(math.sqrt(variance) / (4 * WEIGHT_ONE))


def test_a_quantile_is_searched_by_noisy_counts():
    counts, cost = histogram(*range(40)), Fraction(1, 50)
    variance = Fraction(6) / (2 * cost)  # 40 points take 6 questions
    left, right = 0, 39
    for question in range(6):
        middle = (left + right) // 2
        noisy = counts.counts[0, middle] + seeded(4).at(f"spread/{question}").gaussian(variance, 1)[0]
        left, right = (min(middle + 1, right), right) if noisy <= 20 else (left, middle)
    assert Answering(Zcdp(1), seeded(4)).quantile(counts, 20, cost, "spread") == right
    assert len({Answering(Zcdp(1), seeded(s)).quantile(counts, 20, cost, "spread") for s in range(20)}) > 5


def test_a_choice_is_drawn_from_the_exponents():
    counts, noise = histogram(3, 9, 9, 20), RecordingNoise(seeded(2))
    found = {}
    for seed in range(40):
        noise = RecordingNoise(seeded(seed))
        found[seed] = Answering(Zcdp(1), noise).upper_end(counts, 0, 2, 3.0, Fraction(1, 2), "radius")
        _, exponents, unit = noise.choices[0]
        assert found[seed] == 2 + seeded(seed).at("radius").choose(exponents, unit)
    assert len(set(found.values())) > 5


def test_sums_and_gaps_are_the_exact_ones_rounded_down_once():
    """Against fractions written out from the sums by shell."""
    generator = np.random.default_rng(1)
    rows = MemoryRows(generator.normal(0, 3, (200, 5)), Domain.within_norm(5, REACH, impute=False))
    shells = Grid(2.0**-20, REACH, 5).shells(np.zeros(5), [9.0, 6.0, 2.0], 200)
    sums, factors = rows.answer(shells), [4097, 5000, 9999]

    def clipped(k):
        inner, outer = sums.inner[k + 1 :].sum(axis=0).tolist(), sums.outer[: k + 1].sum(axis=0).tolist()
        return [Fraction(i) + Fraction(shells.radii[k] * o, shells.length) for i, o in zip(inner, outer, strict=True)]

    for k in range(3):
        assert layers.clipped_sum(sums, shells, k).tolist() == [math.floor(x) for x in clipped(k)]
        pairs = zip(clipped(k), clipped(0), strict=True)
        gap = [math.floor((factors[k] * x - factors[0] * y) / layers.FACTOR_ONE) for x, y in pairs]
        assert layers.bias_gap(sums, shells, k, factors) == math.isqrt(sum(x * x for x in gap))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_gaps_are_the_same_in_64_bits_as_in_unbounded_numbers(data):
    """Up to the largest totals that there can be, where a product with a factor no longer fits 64 bits."""
    large = st.integers(0, 61).flatmap(lambda bits: st.integers(-(1 << bits), 1 << bits))
    size, bits = data.draw(st.integers(1, 3)), data.draw(st.integers(24, 58))
    lines = st.lists(st.lists(large, min_size=size, max_size=size), min_size=3, max_size=3)
    inner, outer = (np.array(data.draw(lines), dtype=np.int64) // 3 for _ in range(2))
    if data.draw(st.booleans()):  # nothing but rows within both balls: the gap is as small as it gets
        inner[:2], outer[:] = 0, 0
    shells = Shells(np.zeros(size), 1.0, (1 << 23, data.draw(st.integers(1, 1 << 23))), 1 << bits)
    factors = data.draw(st.lists(st.integers(1, 1 << 15), min_size=2, max_size=2))
    found, unbounded = ShellSums(inner, outer), ShellSums(inner.astype(object), outer)
    assert layers.bias_gap(found, shells, 1, factors) == layers.bias_gap(unbounded, shells, 1, factors)


@pytest.mark.parametrize("fine", [0, 3])
def test_sums_and_gaps_in_unbounded_whole_numbers_are_those_in_64_bits(fine):
    generator = np.random.default_rng(2)
    rows = MemoryRows(generator.normal(0, 3, (200, 5)), Domain.within_norm(5, REACH, impute=False))
    shells = Grid(2.0**-20, REACH, 5).shells(np.zeros(5), [9.0, 6.0, 2.0], 200)
    sums, factors = rows.answer(shells), [4097, 5000, 9999]
    unbounded = ShellSums(sums.inner.astype(object) << fine, sums.outer, fine)
    for k in range(3):
        one, other = layers.clipped_sum(sums, shells, k), layers.clipped_sum(unbounded, shells, k)
        assert one.dtype == other.dtype == np.int64
        assert one.tolist() == other.tolist()
        assert layers.bias_gap(sums, shells, k, factors) == layers.bias_gap(unbounded, shells, k, factors)


@pytest.mark.parametrize("bits", [4, 31, 32, 59, 60, 61])
def test_sums_are_exact_for_any_length_of_directions(bits):
    """Also where directions are multiplied in two halves, or in unbounded whole numbers."""
    generator, radii = np.random.default_rng(bits), ((1 << 31) - 1, 1 << 30, 12345)
    outer = generator.integers(-(1 << 61), 1 << 61, (4, 3))
    outer[2:] = 0
    inner = generator.integers(-(1 << 50), 1 << 50, (4, 3))
    for largest in (radii[0], radii[0] + 1, 1 << 33):
        shells = Shells(np.zeros(3), 1.0, (largest, *radii[1:]), 1 << bits)
        sums = ShellSums(inner, outer)
        for k in range(3):
            inside, outside = inner[k + 1 :].sum(axis=0).tolist(), outer[: k + 1].sum(axis=0).tolist()
            exactly = [(i << bits) + o * shells.radii[k] for i, o in zip(inside, outside, strict=True)]
            if all(abs(x >> bits) < 1 << 62 for x in exactly):
                assert layers.clipped_sum(sums, shells, k).tolist() == [x >> bits for x in exactly]


@pytest.mark.parametrize(("length", "fine"), [(3 << 20, 0), (1 << 20, 1), (1 << 20, 3)])
def test_sums_and_gaps_are_right_for_any_length_and_any_fine_unit(length, fine):
    """In 64 bits they would be wrong then, so these are left to unbounded whole numbers, whatever they come in."""
    generator = np.random.default_rng(length + fine)
    shells, factors = Shells(np.zeros(4), 1.0, (70_000, 30_001, 20_007), length), [4097, 5000, 9999]
    sums = ShellSums(generator.integers(-(10**9), 10**9, (4, 4)), generator.integers(-(10**9), 10**9, (4, 4)), fine)

    def clipped(k):
        inner, outer = sums.inner[k + 1 :].sum(axis=0).tolist(), sums.outer[: k + 1].sum(axis=0).tolist()
        outward = Fraction(shells.radii[k], shells.length)
        return [Fraction(i, 1 << fine) + outward * o for i, o in zip(inner, outer, strict=True)]

    for k in range(3):
        assert layers.clipped_sum(sums, shells, k).tolist() == [math.floor(x) for x in clipped(k)]
        pairs = zip(clipped(k), clipped(0), strict=True)
        gap = [math.floor((factors[k] * x - factors[0] * y) / layers.FACTOR_ONE) for x, y in pairs]
        assert layers.bias_gap(sums, shells, k, factors) == math.isqrt(sum(x * x for x in gap))


@pytest.mark.parametrize(
    ("bits", "factors"), [(47, [1, 1 << 17]), (47, [1 << 17, 1]), (58, [1, 9999]), (58, [9999, 1])]
)
def test_gaps_are_right_where_what_is_left_of_a_length_is_too_large_for_64_bits(bits, factors):
    """Times its factor, that is."""
    inner, outer = np.zeros((3, 1), dtype=np.int64), np.zeros((3, 1), dtype=np.int64)
    shells = Shells(np.zeros(1), 1.0, (1, 1), 1 << bits)
    for first in ((1 << bits) - 1, 0):  # a whole length, all but one, beyond both balls or between them
        outer[:2, 0] = first, (1 << bits) - 1 - first
        found, unbounded = ShellSums(inner, outer), ShellSums(inner.astype(object), outer)
        assert layers.bias_gap(found, shells, 1, factors) == layers.bias_gap(unbounded, shells, 1, factors)


@pytest.mark.parametrize("contributions", [1, 2])
def test_what_is_paid_for_is_the_bound_that_is_proved(contributions):
    """By hand: no rows come close enough to the bound to tell it from one that is smaller by one."""
    shells, one = Shells(np.zeros(10), 1.0, (40, 30, 8), 1 << 7), layers.FACTOR_ONE
    assert layers.clipped_sum_sensitivity(shells, 1, contributions) == contributions * 30 + 4
    short = 2 + 1600 // 128
    for factors, row in (
        ([one, one, one], 10 + short),
        ([one, 2 * one, one], 30 + short),
        ([3 * one, 2 * one, one], 60 + 3 * short),
        ([one, one + 1, one], 10 + short),
    ):
        found = layers.bias_gap_sensitivity(shells, 1, factors, contributions)
        assert found == contributions * row + 4 + 1
    assert layers.bias_gap_sensitivity(shells, 1, [one, one - 1, one]) == 2 * (10 + short + 1) + 4 + 1
    assert layers.bias_gap_sensitivity(shells, 1, [one] * 3) == layers.bias_gap_sensitivity(shells, 1, [one] * 3, 2)
    assert layers.clipped_sum_sensitivity(shells, 2) == layers.clipped_sum_sensitivity(shells, 2, 2)


@given(d=st.integers(1, 10**6))
def test_the_root_is_rounded_up(d):
    assert layers.root_up(d) ** 2 >= d > (layers.root_up(d) - 1) ** 2


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_rounding_is_paid_for_too(data):
    """Radii of a few units, where rounding d coordinates is not small beside them."""
    d = data.draw(st.sampled_from([1, 2, 3, 8, 50, 400]))
    largest = data.draw(st.integers(8, 80))
    radii = tuple(sorted({max(1, int(largest * 2 ** (-k / 4))) for k in (0, 1, 2, 4, 8)}, reverse=True))
    shells = Shells(np.zeros(d), 1.0, radii, 1 << (largest.bit_length() + data.draw(st.integers(1, 12))))
    domain = Domain.within_norm(d, data.draw(st.sampled_from([largest / 2, 1e3])), impute=True)
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    rows = generator.normal(size=(data.draw(st.integers(1, 4)), d))
    rows *= (
        largest * generator.choice([1.0, 0.7, 0.3, 1.5], size=(len(rows), 1)) / np.linalg.norm(rows, axis=1)[:, None]
    )
    if data.draw(st.booleans()):
        rows[0] = np.sign(rows[0]) * largest / math.sqrt(d) * data.draw(st.sampled_from([0.99, 0.8, 1.3]))
    other = rows.copy()
    other[0] *= -data.draw(st.sampled_from([1, 0.9, 0.5, 1.2]))
    factors = data.draw(
        st.lists(st.integers(layers.FACTOR_ONE, 6 * layers.FACTOR_ONE), min_size=len(radii), max_size=len(radii))
    )
    one, two = (MemoryRows(x, domain, threads=1).answer(shells) for x in (rows, other))
    for k in range(len(radii)):
        change = layers.clipped_sum(one, shells, k) - layers.clipped_sum(two, shells, k)
        assert squared(change) <= layers.clipped_sum_sensitivity(shells, k) ** 2
        gaps = [layers.bias_gap(each, shells, k, factors) for each in (one, two)]
        assert abs(gaps[0] - gaps[1]) <= layers.bias_gap_sensitivity(shells, k, factors)


def test_rounding_must_be_paid_for():
    """Without it the sum of this one would move by more than is paid for: 5 rows of ones, one of them turned round."""
    d = 400
    shells = Shells(np.zeros(d), 1.0, (30, 8), 1 << 6)
    rows = np.full((3, d), 1.3)
    other = rows.copy()
    other[0] *= -1
    domain = Domain.within_norm(d, 1e3, impute=True)
    one, two = (MemoryRows(x, domain, threads=1).answer(shells) for x in (rows, other))
    change = layers.clipped_sum(one, shells, 1) - layers.clipped_sum(two, shells, 1)
    assert (2 * 8) ** 2 < squared(change) <= layers.clipped_sum_sensitivity(shells, 1) ** 2


def test_weights_move_by_what_is_paid_for():
    weights = np.array([[WEIGHT_ONE] * 10 + [0] * 31, [WEIGHT_ONE] * 41])
    moves = []
    for distances in ((3, 5), (30, 5)):
        noise = RecordingNoise(seeded(1))
        found, _ = Answering(Zcdp(1), noise).mean_weights(histogram(*distances), weights, Fraction(1, 2), "shrinkage")
        ((_, _, variance, count),) = noise.log
        moves.append(found * 2 * WEIGHT_ONE)
    assert squared(np.rint(moves[0] - moves[1])) == WEIGHT_ONE**2 <= 2 * variance * Fraction(1, 2)
    assert count == 2


class Silent:
    """No noise, but the variance that it should have had."""

    def at(self, _step):
        return self

    def gaussian(self, variance, count):
        self.variance = variance
        return np.zeros(count, dtype=np.int64)


def weighed(distances, weights, cost, public):
    """Return the exact sums that ``mean_weights`` hides, and the variance of the noise that hides them."""
    noise, counts = Silent(), histogram(*distances, points=4)
    counts = counts if public is None else private_size._ending_at(public, counts)
    found, _ = Answering(Zcdp(1), noise).mean_weights(counts, weights, cost, "shrinkage")
    n = len(distances) if public is None else public
    return np.rint(found * n * WEIGHT_ONE).astype(np.int64), noise.variance


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("public", [None, 1, 9])
def test_all_small_data_sets_move_weights_by_what_is_paid_for(seed, public):
    """By brute force: every data set of three rows on five places, and every neighbour; of a private number, too."""
    weights = np.random.default_rng(seed).choice([0, 1, WEIGHT_ONE // 3, WEIGHT_ONE], (2, 5))
    weights[0, 0], weights[:, 4] = (0, WEIGHT_ONE)[seed % 2], (WEIGHT_ONE, 0)[seed % 2]
    cost, largest = Fraction(1, 3), 0
    for rows in itertools.product(range(5), repeat=3):
        one, variance = weighed(rows, weights, cost, public)
        for row, place in itertools.product(range(3), range(5)):
            other = rows[:row] + ((place,) if public is None else ()) + rows[row + 1 :]
            change = squared(one - weighed(other, weights, cost, public)[0])
            assert Fraction(change) / (2 * variance) <= cost
            largest = max(largest, change)
    assert WEIGHT_ONE**2 <= largest <= 2 * WEIGHT_ONE**2


def test_sums_and_gaps_carry_the_noise_that_was_paid_for():
    rows = MemoryRows(np.random.default_rng(1).normal(0, 3, (50, 2)), Domain.within_norm(2, REACH, impute=False))
    grid, cost = Grid(2.0**-20, REACH, 2), Fraction(1, 7)
    shells, ball = grid.shells(np.zeros(2), [6.0, 2.0], 50), grid.ball(np.zeros(2), 4.0)
    sums, factors, curator = rows.answer(shells), [5000, 7000], Answering(Zcdp(1), seeded(9))

    found = curator.clipped_sum(sums, shells, 1, cost, "mean")
    variance = Fraction(layers.clipped_sum_sensitivity(shells, 1) ** 2) / (2 * cost)
    drawn = seeded(9).at("mean").gaussian(variance, 2)
    assert (found.total == layers.clipped_sum(sums, shells, 1) + drawn).all()
    assert found.variance == variance

    variance = Fraction(layers.bias_gap_sensitivity(shells, 1, factors) ** 2) / (2 * cost)
    drawn = seeded(9).at("bias 1").gaussian(variance, 1)[0]
    answer = curator.bias_gap(sums, shells, 1, factors, cost, "bias 1")
    assert answer.value == layers.bias_gap(sums, shells, 1, factors) + drawn

    whole = Curator(rows, Zcdp(1), seeded(9), Neighbours.REPLACE_ONE)
    found = whole.ball_sum(whole.rows, ball, cost, "locate 1")
    drawn = seeded(9).at("locate 1").gaussian(Fraction((2 * ball.radius) ** 2) / (2 * cost), 2)
    assert (found.total == rows.answer(ball) + drawn).all()
    assert (curator.left, whole.left) == (1 - 2 * cost, 1 - cost)


def test_a_quantile_can_be_searched_from_a_point_on():
    counts = histogram(*range(40))
    assert Answering(Zcdp(10**9), seeded(1)).quantile(counts, 30, Fraction(10**8), "far rows", start=10) == 30
    assert Answering(Zcdp(10**9), seeded(1)).quantile(counts, 5, Fraction(10**8), "far rows", start=10) == 10


TWO_LINES = Histogram(np.array([[10, 10, 10, 10, 11, 12], [0, 0, 0, 9, 9, 20]]))


@pytest.mark.parametrize("start", [0, 4])
def test_a_choice_weighs_radii_by_the_rows_beyond_them(start):
    distances, noise, cost, slope = (3, 9, 9, 20, 40), RecordingNoise(seeded(2)), Fraction(1, 3), 2.5
    Answering(Zcdp(1), noise).upper_end(histogram(*distances), 0, start, slope, cost, "radius")
    ((_, exponents, unit),) = noise.choices
    epsilon, rise = math.isqrt(math.floor(8 * cost * unit**2)), round(slope * math.log(2) / 64 * unit)
    exactly = [rise * j + epsilon * sum(x > start + j for x in distances) for j in range(40 - start)]
    assert [exponents[j] for j in range(len(exponents))] == exactly == exponents[:]
    assert exponents[-1] == exactly[-1]
    assert np.asarray(exponents).tolist() == pytest.approx(exactly, rel=1e-14)


def test_of_radii_that_are_alike_the_smaller_is_never_the_less_likely():
    noise = RecordingNoise(seeded(2))
    Answering(Zcdp(1), noise).upper_end(histogram(0, 0), 0, 0, 0.0, Fraction(1, 3), "radius")
    assert noise.choices[0][1][:3] == [0, 1, 2]


def test_answers_are_about_the_line_that_is_asked_for():
    much = Fraction(10**8)
    curator = Answering(Zcdp(10**10), seeded(1))
    assert curator.quantile(TWO_LINES, 5, much, "one") == 0
    assert curator.quantile(TWO_LINES, 5, much, "other", line=1) == 3
    assert curator.quantile(histogram(7), -1, much, "first") == 0
    assert curator.count_beyond(TWO_LINES, 3, much, "beyond").value == 2
    weights = np.arange(6)[np.newaxis]
    found, _ = curator.mean_weights(TWO_LINES, weights, much, "weights")
    assert found * 12 * WEIGHT_ONE == pytest.approx(4 + 5, abs=0.5)
    with pytest.raises(ArgumentError, match="weights must lie between 0 and WEIGHT_ONE"):
        curator.mean_weights(TWO_LINES, np.full_like(weights, -1), much, "more weights")
    assert all(receipt.exact for receipt in curator.receipts)


def test_one_number_carries_one_number_of_noise():
    noise, cost = RecordingNoise(seeded(5)), Fraction(1, 100)
    found = Answering(Zcdp(1), noise).count_beyond(histogram(1, 2, 3, 30), 2, cost, "alarm")
    assert noise.log == [("alarm", 0, 50, 1)]
    (drawn,) = seeded(5).at("alarm").gaussian(Fraction(50), 1)
    assert drawn != 0
    assert found.value == 2 + drawn


@pytest.mark.parametrize(("points", "start", "asked"), [(33, 0, 6), (32, 0, 5), (40, 8, 5), (40, 7, 6), (40, 30, 4)])
def test_the_noise_of_a_quantile_is_known_before_it_is_asked(points, start, asked):
    cost = Fraction(1, 7)
    named, counts = () if start == 0 else (start,), Answering(Zcdp(1), None).counts(histogram(1, points=points))
    assert Answering.quantile_std(counts, cost, *named) == pytest.approx(math.sqrt(asked * 3.5))
