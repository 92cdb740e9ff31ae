"""Reading once: what bins hold, by how much one replaced row can move what is made of them, and what was drawn."""

import math
from collections import defaultdict
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmean.errors import ArgumentError
from dpmean.numerics import shells as layers
from dpmean.numerics.grid import Grid, radius_at
from dpmean.queries.domain import Domain
from dpmean.queries.totals import BinSums, Histogram
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.curator import WEIGHT_ONE
from tests.support import runs
from tests.support.public import mean
from tests.support.recorder import Binned, Histogrammed, Summed
from tests.support.runs import REACH, nasty, one_way, price_of_choices, squared

Run = partial(runs.Run, n=20_000, away=9, one_pass=True, coins="once")

RUNS = [
    Run("refined", 1, 0.5, 1),
    Run("refined", 1, 5.0, 2, lumpy=True),
    Run("refined", 3, 0.05, 3),
    Run("refined", 9, 2.0, 4, box=True),
    Run("refined", 12, 5.0, 5, far=300),
    Run("refined", 4, 5.0, 6, lumpy=True),
    Run("refined", 40, 50.0, 9),
    Run("shifted", 5, 2.0, 7),
    Run("clipped", 6, 0.5, 8, n=400),
    Run("refined", 6, 20.0, 10, skewed=True),
]


def bins_of(run):
    (question,) = (question for question in run.recorded.questions if isinstance(question, Binned))
    return question.bins


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_all_rows_are_read_once(run):
    full = [question for question in run.recorded.questions if question.positions is None]
    assert len(full) == 1
    assert isinstance(full[0], Binned)


@pytest.mark.parametrize("run", RUNS, ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_one_replaced_row_moves_sums_by_what_is_paid_for(run, data):
    """Sums are linear in single rows, so two rows alone can show all that a replacement can do."""
    bins, gaps = bins_of(run), run.recorded.gaps
    rows = [np.array([data.draw(st.lists(nasty, min_size=run.d, max_size=run.d))]) for _ in range(2)]
    crowd = run.data[:50]
    before, after = (MemoryRows(np.concatenate((crowd, row)), run.domain).answer(bins) for row in rows)
    assert one_way(before.histogram.counts, after.histogram.counts)
    last = len(bins.radii) - 1
    top = data.draw(st.integers(0, last))
    edges = sorted({top, *data.draw(st.lists(st.integers(0, top), max_size=4))}, reverse=True)
    shells = layers.make_shells(bins, edges)
    sums = [layers.shell_sums(found, bins, edges) for found in (before, after)]
    for k in range(len(edges)):
        one, two = (layers.clipped_sum(found, shells, k) for found in sums)
        assert squared(two - one) <= layers.clipped_sum_sensitivity(shells, k) ** 2
        for factors in ([4096] * len(edges), [4096, *[data.draw(st.integers(4096, 20000))] * (len(edges) - 1)]):
            gap = [layers.bias_gap(found, shells, k, factors) for found in sums]
            assert abs(gap[1] - gap[0]) <= layers.bias_gap_sensitivity(shells, k, factors)
    for asked, k, factors in gaps:
        assert asked.length == bins.length
        assert layers.bias_gap_sensitivity(asked, k, factors) > 0


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_two_radii_are_reached_and_not_exceeded(run):
    """Opposite rows far out move a sum by two radii or little less: what is paid for is not too much either."""
    bins, away = bins_of(run), np.zeros((1, run.d))
    away[0, 0] = 1e3
    one, two = (MemoryRows(row, run.domain).answer(bins) for row in (away, -away))
    for edge in range(0, len(bins.radii), 7):
        shells = layers.make_shells(bins, [edge])
        sums = [layers.clipped_sum(layers.shell_sums(found, bins, [edge]), shells, 0) for found in (one, two)]
        length = math.sqrt(squared(sums[1] - sums[0]))
        assert length <= layers.clipped_sum_sensitivity(shells, 0)
        if shells.radii[0] * shells.unit < 0.2 * run.domain.reach and not np.any(bins.centre[1:]):
            assert length >= 1.99 * shells.radii[0]


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_a_sum_from_bins_is_the_sum_of_clipped_rows(run):
    """Against floats: each row clipped at the edge of a bin, up to the precision of bins and of directions."""
    bins, domain = bins_of(run), run.domain
    rows = MemoryRows(run.data, domain)
    sums, values = rows.answer(bins), rows.values() - bins.centre
    lengths = np.linalg.norm(values, axis=1)
    middle = bins.at(math.ceil(64 * math.log2(np.median(lengths))))
    for edge in {middle, min(middle + 9, len(bins.radii) - 1), len(bins.radii) - 1}:
        shells = layers.make_shells(bins, [edge])
        found = layers.clipped_sum(layers.shell_sums(sums, bins, [edge]), shells, 0) * shells.unit
        radius = radius_at(bins.first + bins.stride * edge)
        expected = (values * np.minimum(1, radius / np.maximum(lengths, 1e-300))[:, None]).sum(axis=0)
        assert np.allclose(found, expected, rtol=0, atol=run.n * radius * 2.0**-10)
        assert shells.radii[0] * shells.unit - radius * (1 - 1e-6) >= 0


@pytest.mark.parametrize(("d", "n"), [(3, 10**9), (1024, 9 * 10**9), (4096, 9 * 10**9), (1 << 19, 10**5)])
def test_a_row_cut_shorter_than_its_bin_is_paid_for(d, n):
    """Just beyond the end of a bin, and cut by nearly one unit in every coordinate, it seems to be inside the ball."""
    reach = 1000.0 * math.sqrt(d)
    grid, domain = (
        Grid(2.0 ** math.floor(math.log2(reach / 2**28)), reach, d),
        Domain.within_norm(d, reach, impute=False),
    )
    bins = grid.bins(np.zeros(d), reach / 16, n)
    top = min(
        (e for e in range(8, len(bins.radii) - 2) if bins.exponents[e - 3] == bins.exponents[e]),
        key=lambda e: bins.radii[e],
    )
    edge, unit = radius_at(bins.first + bins.stride * (top - 4)), 2.0 ** bins.exponents[top - 3]
    aim, whole = (edge / unit) ** 2 * (1 + 3e-5), math.floor(edge / unit / math.sqrt(d) - 1)
    while d * (whole + 1.9999) ** 2 <= aim:
        whole += 1
    more = math.ceil((aim - d * (whole + 0.9999) ** 2) / ((whole + 1.9999) ** 2 - (whole + 0.9999) ** 2))
    row = np.full((1, d), whole + 0.9999)
    row[0, :more] += 1
    row *= unit
    shells, factors = layers.make_shells(bins, [top, top - 4]), [layers.FACTOR_ONE, round(1.1 * layers.FACTOR_ONE)]

    def gap(last):
        rows = np.concatenate([row, row, row, last])
        sums = MemoryRows(rows, domain, threads=1).answer(bins)
        return layers.bias_gap(layers.shell_sums(sums, bins, [top, top - 4]), shells, 1, factors)

    moved, paid = abs(gap(row) - gap(-row)), layers.bias_gap_sensitivity(shells, 1, factors)
    assert 0.9 * paid < moved <= paid or d == 3
    assert moved <= paid


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_bins_are_put_together_exactly(run):
    """Against fractions: what lies within an edge is added up as it is, all else by its direction."""
    (bins,) = (question.bins for question in run.recorded.questions if isinstance(question, Binned))
    generator = np.random.default_rng(run.seed)
    last = len(bins.radii) - 1
    inner, outer = (generator.integers(-(1 << 40), 1 << 40, (last + 1, run.d)) for _ in range(2))
    sums = BinSums(Histogram(np.zeros((1, 2), dtype=np.int64)), inner, outer)
    for several in ({last}, {last, last // 2, 0}, {last - 1, last // 3}, {last // 2, last // 3, last // 4}):
        edges = sorted(several, reverse=True)
        shells, unit = layers.make_shells(bins, edges), Fraction(2) ** (bins.exponents[edges[0]] - 1)
        assert shells.unit == unit
        put_together = layers.shell_sums(sums, bins, edges)
        for k, edge in enumerate(edges):
            radius = bins.radii[edge] * Fraction(2) ** bins.exponents[edge]
            assert shells.radii[k] == math.ceil(radius / unit)
            exactly = [
                sum(int(inner[b, j]) * Fraction(2) ** bins.exponents[b] for b in range(edge + 1)) / unit
                + Fraction(shells.radii[k] * sum(int(outer[b, j]) for b in range(edge + 1, last + 1)), bins.length)
                for j in range(run.d)
            ]
            assert layers.clipped_sum(put_together, shells, k).tolist() == [math.floor(x) for x in exactly]


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_what_was_drawn_is_what_the_receipts_say(run):
    questions, draws, _, gaps, clipped, _, estimate = run.recorded
    balls = iter([question.ball for question in questions if isinstance(question, Summed)])
    gaps, (clipped,) = iter(gaps), clipped
    squares = {"mean": layers.clipped_sum_sensitivity(*clipped) ** 2, **runs.squares_of_shape(run)}
    for receipt in estimate.receipts:
        if receipt.step.startswith("locate"):
            squares[receipt.step] = (2 * next(balls).radius) ** 2
        elif receipt.step.startswith("bias"):
            squares[receipt.step] = layers.bias_gap_sensitivity(*next(gaps)) ** 2
    spent = defaultdict(Fraction)
    for step, _, variance, count in draws:
        name = step.partition("/")[0]
        square = count * WEIGHT_ONE**2 if name == "shrinkage" else squares.get(name, count)
        spent[name] += Fraction(square) / (2 * variance)
    spent.update(price_of_choices(run))
    assert next(balls, None) is next(gaps, None) is None
    assert spent == {receipt.step: receipt.cost.rho for receipt in estimate.receipts}
    assert sum(spent.values()) == Fraction(str(run.rho))


def test_the_runs_differ_in_kind():
    steps = [{receipt.step for receipt in run.recorded.estimate.receipts} for run in RUNS]
    assert any("far rows" in names for names in steps)
    assert any("profile, near" in names for names in steps)
    assert any("bias 1" in names for names in steps)
    assert any(isinstance(q, Histogrammed) and q.positions is not None for run in RUNS for q in run.recorded.questions)


def test_a_release_says_how_often_rows_were_read():
    rows = np.random.default_rng(1).normal(3, 1, (20_000, 4))
    for method in ("refined", "shifted", "clipped"):
        two, one = (mean(rows, rho=1, norm_bound=100, seed=1, method=method, passes=passes) for passes in (2, 1))
        assert (two.settings.passes, one.settings.passes) == (2, 1)
        assert one.settings.sample == two.settings.sample
        assert np.linalg.norm(one.mean - rows.mean(axis=0)) < 0.02
        assert one.rho == two.rho == 1
    few = mean(rows[:9000], rho=1, norm_bound=100, seed=1)
    assert (few.settings.passes, few.settings.sample) == (1, 0)  # held
    with pytest.raises(ArgumentError, match="passes must be 1 or 2, got 3"):
        mean(rows, rho=1, norm_bound=100, passes=3)


def test_too_many_rows_for_one_pass_are_told_so():
    with pytest.raises(ArgumentError, match="give passes=2"):
        Grid(2.0**-20, REACH, 3).bins(np.zeros(3), 1.0, 2**40)
