"""Tables: where the differences of a column end, where its values are, and what a tail or a wrong median costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmean
from dpmean.estimators.refined import columns
from dpmean.estimators.refined.columns import FAILURE, FAINT, GROUPS, LOWEST, OCTAVES, _certain, _top, _without_empty
from dpmean.numerics.error_quantiles import normal_quantile
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Octaves
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.curator import Curator

PUBLIC = {"neighbours": "replace-one"}


# --- octaves ---------------------------------------------------------------------------------------------------------


def counts_of(places):
    """Return counts of octaves: how many pairs are in some of them."""
    counts = np.zeros(OCTAVES, dtype=np.int64)
    for place, count in places.items():
        counts[place] = count
    return counts


def octaves_of(apart):
    """Return the exact counts of differences: of pairs of zeros and these, in a table whose values are up to one."""
    rows = np.concatenate((np.zeros(len(apart)), apart))[:, np.newaxis]
    box = Domain.within_box(np.full(1, -1.0), np.full(1, 1.0), impute=False)
    return MemoryRows(rows, box).answer(Octaves(LOWEST, OCTAVES))[0]


@pytest.mark.parametrize("power", range(LOWEST, 1))
def test_without_noise_the_farthest_octave_that_holds_pairs_is_the_last(power):
    generator = np.random.default_rng(-power)
    apart = np.minimum(np.ldexp(generator.uniform(0.5, 1.0, 400), power + 1), 1.0)
    assert _top(octaves_of(apart), 100.0) == power - LOWEST + 1
    counts = octaves_of(np.ldexp(apart, -generator.poisson(3, 400)))
    assert _top(counts, 0.9) == np.flatnonzero(counts)[-1] + 1


@given(st.dictionaries(st.integers(0, OCTAVES - 1), st.integers(1, 500), max_size=6), st.floats(0.1, 400))
def test_octaves_end_where_more_pairs_are_than_noise_may_look_like(places, certain):
    counts = counts_of(places)
    top = _top(counts, certain)
    enough = [
        end
        for end in range(1, OCTAVES + 1)
        for size in GROUPS
        if size <= end and counts[end - size : end].sum() > certain * size**0.5
    ]
    assert (top == 0) == (not enough)
    if top:
        farthest = max(enough)
        assert farthest - max(GROUPS) < top <= farthest
        assert counts[top:farthest].sum() < FAINT * certain * max(GROUPS) ** 0.5


def test_a_few_pairs_in_each_of_some_octaves_are_told_together():
    certain = 100.0
    assert _top(counts_of({20: 101}), certain) == 21
    assert _top(counts_of({20: 99}), certain) == 0
    assert _top(counts_of({19: 75, 20: 75}), certain) == 21
    assert _top(counts_of(dict.fromkeys(range(17, 21), 60)), certain) == 21
    assert _top(counts_of({20: 101, 30: 60}), certain) == 21


def test_octaves_in_which_there_may_be_noise_alone_are_left_out_at_the_end():
    certain = 100.0
    faint = FAINT * certain
    counts = counts_of({18: 300, 19: 3, 20: -4, 21: 5})
    assert _without_empty(counts, 18, 22, faint) == 19
    assert _top(counts, certain) == 19
    assert _without_empty(counts_of({18: 300, 21: 60}), 18, 22, faint) == 19  # below what noise on three may be
    assert _without_empty(counts_of({18: 300, 21: 102}), 18, 22, faint) == 22
    assert _without_empty(counts_of({18: 50, 21: 50}), 18, 22, faint) == 22  # nothing that is kept is told from noise


@pytest.mark.parametrize("d", [1, 20, 2000])
def test_noise_alone_has_no_octave(d):
    """In more than one of so many columns with a chance below 10^-8."""
    cost, seen = 0.01, 0
    z = normal_quantile(1 - FAILURE / (d * OCTAVES))
    noise = np.random.default_rng(d).normal(0, (d / cost) ** 0.5, (2000, OCTAVES))  # of sensitivity sqrt(2 d)
    for counts in noise:
        seen += _top(counts, _certain(d, z, cost)) > 0
    assert seen <= 1
    assert any(_top(counts, 0.6 * _certain(d, z, cost)) > 0 for counts in noise)


# --- medians ---------------------------------------------------------------------------------------------------------


def nearly_all_equal(n, d=10):
    return np.column_stack([np.random.default_rng(0).normal(50, 10, n), np.full((n, d - 1), 3.0)])


def test_finer_medians_are_asked_only_if_they_can_be_told():
    """Between 650 and 750 rows are enough for octaves, and too few for the medians of nine columns of equal values."""
    for n, fine in ((680, False), (900, True)):
        for seed in range(3):
            release = dpmean.mean(nearly_all_equal(n), rho=0.5, bounds=(0.0, 200.0), seed=seed, **PUBLIC)
            steps = [receipt.step for receipt in release.receipts]
            assert ("octaves" in steps, "medians" in steps, "medians, fine" in steps) == (True, True, fine)
            assert np.abs(release.mean[1:] - 3).max() < (1e-4 if fine else 4.0)


def of_many_kinds(seed, n=5000):
    generator = np.random.default_rng(seed)
    normal, late = generator.normal(50, 10, (n, 3)), generator.exponential(10, n)
    return np.column_stack([normal, late, generator.random(n) < 0.2]).astype(float)


def errors_of_many_kinds():
    """Return the error of each column in its standard deviations: the median of five releases, and the largest."""
    found = []
    for seed in range(5):
        rows = of_many_kinds(seed)
        release = dpmean.mean(rows, rho=0.5, bounds=([0.0] * 5, [200.0] * 4 + [1.0]), seed=seed, **PUBLIC)
        found.append(np.abs(release.mean - rows.mean(axis=0)) / rows.std(axis=0))
    return np.median(found, axis=0), np.max(found)


@pytest.mark.parametrize("end", [0.0, 1.0])
@pytest.mark.parametrize("column", range(5))
def test_a_wrong_median_costs_little(column, end, monkeypatch):
    """It is one of the ends of the range, up to fifteen standard deviations off. Without that: 0.004 and 0.007."""
    ask = Curator.column_medians

    def wrong(self, sample, view, *asked):
        found = ask(self, sample, view, *asked)
        found[column] = end * view.last[column]
        return found

    monkeypatch.setattr(Curator, "column_medians", wrong)
    typical, largest = errors_of_many_kinds()
    assert typical.max() < 0.02  # measured: 0.008
    assert largest < 0.04  # measured: 0.014


# --- tails -----------------------------------------------------------------------------------------------------------


def errors_beside_a_tail(seeds, *, heavy=True):
    """Return the mean error of seven normal columns in their standard deviations, seed by seed."""
    found = []
    for seed in seeds:
        generator = np.random.default_rng(seed)
        rows, tail = generator.normal(50, 10, (1000, 7)), generator.lognormal(0, 2, 1000)
        bounds = (0.0, 1000.0)
        if heavy:
            rows, bounds = np.column_stack([rows, tail]), ([0.0] * 8, [1000.0] * 7 + [1e9])
        release = dpmean.mean(rows, rho=0.5, bounds=bounds, seed=seed, **PUBLIC)
        found.append(np.mean((np.abs(release.mean - rows.mean(axis=0)) / rows.std(axis=0))[:7]))
    return np.array(found)


def test_a_column_with_a_heavy_tail_costs_others_little(monkeypatch):
    seeds = range(100)
    alone, beside = errors_beside_a_tail(seeds, heavy=False), errors_beside_a_tail(seeds)
    assert np.median(beside) < 2 * np.median(alone)  # measured: 1.74
    monkeypatch.setattr(columns, "heavy_columns", lambda _curator, some, *_: np.zeros(some.d, dtype=bool))
    assert errors_beside_a_tail(seeds).max() > 1.8 * beside.max()  # measured: 5.6


def test_a_column_without_a_tail_keeps_its_unit():
    """And what it costs to see that is little: one count."""
    for seed in range(5):
        release = dpmean.mean(of_many_kinds(seed), rho=0.5, bounds=(0.0, 1000.0), seed=seed, **PUBLIC)
        assert [receipt.step for receipt in release.receipts if receipt.step.startswith("tails")] == ["tails 1"]
        paid = sum(receipt.cost.rho for receipt in release.receipts if receipt.step.startswith("tails"))
        assert paid <= 0.5 * columns.TAIL * (1 + 1e-9)
