"""Where the number of rows is private: one row more or less moves answers by what was paid for.

As in test_refined_sensitivity.py, a run is recorded and its questions are put to a data set with one row less. Which
rows are sampled, and which make a pair, is secret there, so neighbours are compared under coins that go together: the
same law for each, and the same rows and pairs but for one (section 13 of docs/privacy_guarantee.md).
"""

import contextlib
import itertools
import json
import math
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet
from scipy import sparse

import dpmean
from dpmean import DataError, TooFewRowsError, Zcdp
from dpmean.noise.public import PublicCoins
from dpmean.noise.source import seeded
from dpmean.numerics import shells as layers
from dpmean.numerics.grid import Grid
from dpmean.pipeline import central as front
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.domain import Domain
from dpmean.queries.totals import Histogram
from dpmean.rows.memory import MemoryRows
from dpmean.rows.private_size import PrivateSizeRows
from dpmean.trust.central.curator import WEIGHT_ONE
from tests.rows.conformance.problems import assert_same
from tests.support import runs
from tests.support.recorder import Counted, Histogrammed, RecordingNoise, Shelled, Summed
from tests.support.runs import assert_made_of_answers_alone, assert_paid_for, squared, with_and_without, without

Run = partial(runs.Run, uncounted=True, coins="private")

RUNS = [
    Run("refined", 1, 0.5, 1),
    Run("refined", 2, 0.5, 3),
    Run("refined", 3, 0.01, 4),
    Run("refined", 9, 2.0, 5, n=301),
    Run("refined", 9, 2.0, 6, n=1000, far=60),
    Run("refined", 4, 500.0, 8, n=20_001),
    Run("refined", 40, 5.0, 9, n=2000),
    Run("refined", 1, 500.0, 11, lumpy=True),
    Run("refined", 3, 5.0, 13, lumpy=True),
    Run("refined", 4, 500.0, 14, n=20_000, one_pass=True),
    Run("refined", 6, 20.0, 18, skewed=True),
    Run("refined", 3, 20.0, 19, box=True),
    Run("refined", 4, 0.5, 20, n=20_000, box=True),
    Run("refined", 3, 5.0, 21, box=True, shape=(3.0, 1.0, 0.2)),
    Run("refined", 1, 2.0, 22, population=True),
    Run("refined", 4, 5.0, 23, box=True, population=True),
    Run("refined", 4, 500.0, 24, n=20_000, population=True),
    Run("refined", 4, 500.0, 25, n=20_000, one_pass=True, population=True),
    Run("refined", 9, 20.0, 20, box=True, far=11, away=1000),  # columns with a tail
    Run("shifted", 5, 1.0, 15),
    Run("shifted", 3, 400.0, 16, n=9000),
    Run("shifted", 3, 400.0, 16, n=9000, one_pass=True),
    Run("clipped", 6, 0.3, 17),
    Run("clipped", 6, 0.3, 17, one_pass=True),
]


@pytest.mark.parametrize("run", RUNS, ids=str)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_one_row_less_moves_answers_by_what_is_paid_for(run, data):
    row = data.draw(st.one_of(st.integers(0, run.n - 1), st.sampled_from(run.positions())))
    original = run.data
    original[row] = data.draw(st.sampled_from([original[row], np.full(run.d, 60.0), np.zeros(run.d), -original[row]]))
    for question in run.recorded.questions:
        assert_paid_for(run, question, *with_and_without(run, question, original, row))


def test_a_replaced_row_would_not_be_paid_for():
    """The test above can fail: what is paid for is half of what a replaced row can do."""
    run = RUNS[3]
    rows, other = run.data, run.data
    rows[5], other[5] = 40.0, -40.0
    ball = next(q.ball for q in run.recorded.questions if isinstance(q, Summed))
    one, two = (run.rows(x).answer(ball) for x in (rows, other))
    assert squared(one - two) > ball.radius**2


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_what_was_drawn_is_what_the_receipts_say(run):
    questions, draws, choices, gaps, *_, estimate = run.recorded
    gaps = list(gaps)
    balls = [question.ball for question in questions if isinstance(question, Summed)]
    shelled = [question.shells for question in questions if isinstance(question, Shelled)]
    squares = runs.squares_of_shape(run)
    for receipt in estimate.receipts:
        name = receipt.step
        if name.startswith("locate") or (name == "mean" and balls):
            squares[name] = balls.pop(0).radius ** 2
        elif name.startswith("bias"):
            squares[name] = layers.bias_gap_sensitivity(*gaps.pop(0), 1) ** 2
        elif name == "mean" and shelled:
            asked = shelled[0]
            stretch = 1.0 if estimate.scales is None else estimate.scales.stretch
            k = np.argmin(np.abs(np.array(asked.radii) * asked.unit - estimate.radius / stretch))
            squares[name] = layers.clipped_sum_sensitivity(asked, k, 1) ** 2
        elif name == "shrinkage":
            squares[name] = WEIGHT_ONE**2
    spent = defaultdict(Fraction)
    for step, _, variance, count in draws:
        name = step.partition("/")[0]
        if run.one_pass and (name in ("mean", "shrinkage") or name.startswith("bias")):
            continue  # their radii are not recorded; test_one_pass.py prices them
        times = count if name in ("centre", "shrinkage") else 1
        spent[name] += Fraction(squares.get(name, 1)) * times / (2 * variance)
    for step, exponents, unit in choices:
        paid = next(receipt.cost.rho for receipt in estimate.receipts if receipt.step == step)
        epsilon = math.isqrt(int(8 * paid * unit**2))
        spent[step] = Fraction(epsilon**2, 8 * unit**2)
        assert len(exponents) > 1
    paid = {receipt.step: receipt.cost.rho for receipt in estimate.receipts}
    assert all(spent[step] == paid[step] for step in spent)
    assert sum(paid.values()) == Fraction(str(run.rho))
    assert "places" not in {step for step, *_ in draws}


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_an_estimate_is_made_of_answers_alone(run):
    """No rows at all, empty handles, and the same answers: the same estimate. So n is not looked at."""
    assert_made_of_answers_alone(run)


# --- secret places -------------------------------------------------------------------------------------------------


def pairs_of(places):
    half = len(places) // 2
    return frozenset(frozenset((int(places[i]), int(places[i + half]))) for i in range(half))


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_coupled_pairs_have_the_law_they_should_have(size):
    """All orders of a sample are equally likely; take one row out, coupled: all pairings of the rest are, too."""
    for row in range(size):
        law = Counter(pairs_of(without(np.array(order), row)) for order in itertools.permutations(range(size)))
        rest = [place for place in range(size) if place != row]
        direct = Counter(pairs_of(np.array(order)) for order in itertools.permutations(rest))
        assert set(law) == set(direct)
        assert len(set(law.values())) == 1
        for order in itertools.permutations(range(size)):
            before, after = pairs_of(np.array(order)), pairs_of(without(np.array(order), row))
            assert len(before - after) <= 1
            assert len(after - before) <= 1


def taken(n, public, size, seed):
    held = MemoryRows(np.arange(float(n))[:, None], Domain.within_norm(1, 1e9, impute=False))
    rows = PrivateSizeRows(held, public, seeded(seed))
    found = rows.take(np.arange(size))
    assert found.n == size
    return found.rows.positions


def test_every_row_is_taken_by_coins_of_its_own():
    n, trials = 40, 4000
    kept = np.zeros(n)
    together = np.zeros((n, n))
    for seed in range(trials):
        here = np.zeros(n)
        here[taken(n, 50, 10, seed)] = 1
        kept += here
        together += np.outer(here, here)
    std = math.sqrt(trials * 0.2 * 0.8)
    assert np.abs(kept - trials * 0.2).max() < 5.5 * std
    off = together[~np.eye(n, dtype=bool)]
    assert np.abs(off - trials * 0.04).max() < 6 * math.sqrt(trials * 0.04 * 0.96)
    assert abs(kept.sum() - trials * n * 0.25) > 50 * std  # a share of 10 of 40 rows would be found out


@dataclass
class Coins:
    """Known words to decide which rows are taken, then one that takes the next; and a known order, or that of rows."""

    known: list
    order: tuple = ()
    step: str = ""
    start: int = 0

    seeded = True

    def at(self, step, start=0):
        return replace(self, step=step, start=start)

    def words(self, count):
        if self.step == "order":
            return np.array(self.order or range(count), dtype=np.uint64)
        assert self.step == "places"
        found = self.known[self.start : self.start + count]
        return np.array([*found, *[(1 << 64) - 1] * (count - len(found))], dtype=np.uint64)


def rows_taken(words, n, public, size):
    held = MemoryRows(np.arange(float(n))[:, None], Domain.within_norm(1, 1e9, impute=False))
    return PrivateSizeRows(held, public, Coins(words)).take(np.arange(size)).rows.positions.tolist()


def test_a_share_of_the_public_number_is_taken_exactly():
    """The next row is taken if a word is not among the first 1 - size / n of all; see rows/test_permutation.py."""
    half, third = 1 << 63, (1 << 64) // 3
    assert rows_taken([half, half - 1, half], 3, 10, 5) == [0, 2]
    assert rows_taken([half - 1], 1, 10, 5) == rows_taken([half - 1], 1, 2, 1) == []
    assert rows_taken([2 * third + 1, 2 * third - 1], 2, 3, 1) == [0]
    assert rows_taken([third + 1, third - 1], 2, 3, 2) == [0]
    assert rows_taken([0, 0, 0], 10, 10, 10) == rows_taken([0, 0, 0], 10, 3, 10) == list(range(10))
    assert rows_taken([], 10, 10, 0) == rows_taken([], 0, 10, 5) == []


def test_a_row_at_the_end_leaves_other_rows_where_they_are():
    """With the same seed: they are taken as before, and in the same order."""
    for seed in range(50):
        fewer, more = taken(200, 210, 70, seed), taken(201, 210, 70, seed)
        assert np.array_equal(fewer, more[more < 200])


def words_that_take(chosen):
    """Return words by which just these rows are taken, of rows that are taken with probability 1/2.

    A word passes over k rows if it is between 2^(63 - k) and twice that.
    """
    rows = np.flatnonzero([*chosen, True])
    return [3 << int(62 - passed) for passed in np.diff(rows, prepend=-1) - 1]


def law_of_answers(values, share, secret):
    """Return the exact law of all answers of a sample, over all coins: each with its weight, in units of 2^-9 / 9!.

    Rows are in a secret order, or in the one they have.
    """
    held = MemoryRows(np.array(values, dtype=float)[:, None], Domain.within_norm(1, 64.0, impute=False))
    grid, law = Grid(2.0**-10, 64.0, 1), Counter()
    questions = [Histogrammed(None, grid.pairs()), Histogrammed(None, grid.distances(np.zeros(1)))]
    questions += [Summed(None, grid.ball(np.zeros(1), 8.0)), Counted(None, grid.sides(np.zeros(1)), np.array([300]))]
    for taken in itertools.product((True, False) if share == Fraction(1, 2) else (True,), repeat=len(values)):
        words, count = words_that_take(taken) if share < 1 else [], sum(taken)
        orders = list(itertools.permutations(range(count))) if secret else [tuple(range(count))]
        for order in orders:
            rows = PrivateSizeRows(held, 8, Coins(words, order=order)).take(np.arange(int(8 * share)))
            assert sorted(rows.rows.positions) == np.flatnonzero(taken).tolist()
            answers = [np.asarray(question.ask(rows)).astype(np.int64) for question in questions]
            weight = share ** len(values) * Fraction(2**9 * math.factorial(9), len(orders))
            law[tuple(answer.tobytes() for answer in answers)] += int(weight)
    assert sum(law.values()) == 2**9 * math.factorial(9)
    return law, questions


def can_be_coupled(more, fewer, share, *, secret=True):
    """Whether two laws are those of one pair of answers that never differ by more than is paid for: by a flow."""
    (one, questions), (two, _) = (law_of_answers(values, share, secret) for values in (more, fewer))
    capacity = np.zeros((2 + len(one) + len(two),) * 2, dtype=np.int32)
    capacity[0, 2 : 2 + len(one)] = list(one.values())
    capacity[2 + len(one) :, 1] = list(two.values())
    run = Run("refined", 1, 0.5, 1)
    for (i, before), (j, after) in itertools.product(enumerate(one), enumerate(two)):
        with contextlib.suppress(AssertionError):
            for question, *told in zip(questions, before, after, strict=True):
                counts = [np.frombuffer(each, dtype=np.int64) for each in told]
                assert_paid_for(
                    run, question, *(each[None] if isinstance(question, Histogrammed) else each for each in counts)
                )
            capacity[2 + i, 2 + len(one) + j] = np.iinfo(np.int32).max
    flow = sparse.csgraph.maximum_flow(sparse.csr_array(capacity), 0, 1)
    return flow.flow_value == 2**9 * math.factorial(9)


VALUES = (0, 1, 3, -9, 20, 45)


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 2)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_answers_of_a_sample_together_are_paid_for_under_some_coupling(n, share):
    """Exactly, over all coins and orders: pairs, distances, sums and counts, of the same sample, at the same time."""
    for row in range(n):
        assert can_be_coupled(VALUES[:n], VALUES[:row] + VALUES[row + 1 : n], share)


def test_rows_in_an_order_that_is_known_would_not_be_paid_for():
    assert not can_be_coupled(VALUES, VALUES[1:], Fraction(1), secret=False)


def test_all_rows_are_taken_in_any_order():
    n, trials = 4, 6000
    law = Counter(tuple(taken(n, 9, 9, seed).tolist()) for seed in range(trials))
    assert len(law) == 24
    expected = trials / 24
    chi2 = sum((count - expected) ** 2 / expected for count in law.values())
    assert chi2 < 80  # 23 degrees of freedom: 1e-7


def test_counts_end_at_the_public_number():
    rows = PrivateSizeRows(
        MemoryRows(np.arange(10.0)[:, None], Domain.within_norm(1, 1e3, impute=False)), 25, seeded(1)
    )
    grid = Grid(2.0**-10, 1e3, 1)
    exact = rows.rows.answer(grid.distances(np.zeros(1))).counts
    drawn = rows.take(np.arange(25))
    for view, total in ((grid.distances(np.zeros(1)), 25), (grid.sides(np.zeros(1)), 25), (grid.pairs(), 12)):
        counts = drawn.answer(view).counts
        assert np.array_equal(counts[:, -1], np.full(len(counts), total))
    assert np.array_equal(exact[:, -1:] - exact, 25 - rows.answer(grid.distances(np.zeros(1))).counts)
    assert isinstance(rows.answer(grid.distances(np.zeros(1))), Histogram)


# --- dpmean.mean -----------------------------------------------------------------------------------------------------

SETTINGS = {"rho": 0.5, "norm_bound": 60.0, "neighbours": "add-or-remove-one"}


def people(n=3000, d=4, seed=0):
    return np.random.default_rng(seed).normal(5, 1, (n, d))


def test_the_number_of_rows_is_told_with_the_noise_that_was_paid_for(monkeypatch):
    noise = RecordingNoise(seeded(3))
    monkeypatch.setattr(front, "read_randomness", lambda _: (noise, PublicCoins("known")))
    release = dpmean.mean(people(), **SETTINGS)
    (step, _, variance, count) = noise.log[0]
    receipt = release.receipts[0]
    assert (step, count) == ("number", 1) == (receipt.step, 1)
    assert 1 / (2 * variance) == receipt.cost.rho == Fraction(1, 50)
    assert release.n == 3000 + seeded(3).at("number").gaussian(variance, 1)[0] != 3000
    assert release.neighbours is Neighbours.ADD_OR_REMOVE_ONE
    assert release.rho == Fraction(1, 2)


def test_nothing_that_is_shown_depends_on_the_number_of_rows_otherwise():
    """Public numbers of a release are those of its noisy number, on every engine and in every method."""
    for method, passes in (("refined", 2), ("refined", 1), ("shifted", 2), ("clipped", 2)):
        release = dpmean.mean(people(20_011, 3), method=method, passes=passes, seed=5, **SETTINGS)
        document = json.dumps([json.loads(release.to_json())["public"], release.n, [r.asked for r in release.receipts]])
        assert "20011" not in document
        assert "the number of rows is published with noise" in " ".join(release.explain().split())
        assert f"about {release.n} rows" in str(release)
        assert release.settings.sample in (0, 2000, 8192, release.n) or method == "shifted"


@pytest.mark.parametrize("n", [0, 1, 5, 40])
def test_few_rows_are_refused_by_their_noisy_number_and_that_is_paid_for(n):
    ledger = dpmean.Ledger(rho=1.0)
    with pytest.raises(
        TooFewRowsError, match=r"^about (1 row is|\d+ rows are) too few for .* The noisy count cost rho = 0\.02$"
    ) as caught:
        dpmean.mean(np.zeros((n, 3)), rho=0.5, norm_bound=1.0, neighbours="add-or-remove-one", ledger=ledger)
    assert caught.value.receipts[0].cost.rho == Fraction(1, 50) == ledger.spent


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("fault", ["a value that is missing", "a warning that is an error"])
def test_a_number_that_may_have_been_seen_is_paid_for(fault):
    ledger, rows = dpmean.Ledger(rho=1.0), people(120, 20)
    if fault == "a value that is missing":
        rows[3] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error" if fault == "a warning that is an error" else "ignore")
        with pytest.raises((ValueError, dpmean.TooFewRowsWarning)):
            dpmean.mean(rows, ledger=ledger, **SETTINGS)
    assert ledger.spent == (Fraction(1, 2) if fault == "a warning that is an error" else Fraction(1, 50))


@pytest.mark.parametrize(
    ("rows", "bounds"),
    [
        (np.zeros((3000, 1)), (0, 1)),
        ((np.arange(3000)[:, None] < 9).astype(float), (0, 1)),
        (np.zeros((3000, 8)), (0, 1)),
        (people(3000, 4), (-60, 60)),
    ],
    ids=["zeros", "few ones", "zeros in 8 dimensions", "normal"],
)
def test_the_noise_on_the_number_of_rows_is_part_of_the_error_bound(rows, bounds):
    held, trials = 0, 60
    for seed in range(trials):
        release = dpmean.mean(rows, rho=0.5, bounds=bounds, neighbours="add-or-remove-one", seed=seed)
        error = np.linalg.norm((release.mean - rows.mean(0)) * 2 / (bounds[1] - bounds[0]) * release_unit(release))
        held += error <= release.error_bound(0.95)
    assert held >= 48  # of 57 that are promised; with chance 0.95 each, fewer than that once in 10^6


def release_unit(release):
    """The unit of lengths is the user's where all columns have the same bounds."""
    bound = release.settings.bound
    return (bound.upper[0] - bound.lower[0]) / 2


def test_a_clipped_mean_tells_the_noise_on_the_number_of_rows():
    rows = np.random.default_rng(1).normal(50, 10, (3000, 1))
    errors, stds = [], []
    for seed in range(60):
        release = dpmean.mean(rows, method="clipped", **{**SETTINGS, "norm_bound": 200.0}, seed=seed)
        errors.append(release.mean[0] - rows.mean())
        stds.append(release.noise_std[0])
    assert 0.7 < np.std(errors) / np.mean(stds) < 1.35


def test_it_is_twice_as_accurate_as_when_rows_are_replaced():
    """A row more or less moves a sum half as far as a replaced one."""
    rows = people(4000, 64)

    def error(neighbours):
        settings = {**SETTINGS, "neighbours": neighbours}
        return np.mean([np.linalg.norm(dpmean.mean(rows, seed=s, **settings).mean - rows.mean(0)) for s in range(8)])

    assert 0.4 < error("add-or-remove-one") / error("replace-one") < 0.6


def test_no_rows_are_an_error_where_their_number_is_public_and_too_few_where_it_is_not():
    settings = {"rho": 0.5, "norm_bound": 1.0}
    with pytest.raises(DataError):
        dpmean.mean(np.zeros((0, 3)), neighbours="replace-one", **settings)
    with pytest.raises(TooFewRowsError, match=r"^1 row"):
        dpmean.mean(np.zeros((1, 3)), neighbours="replace-one", **settings)
    for private in ({}, {"neighbours": "add-or-remove-one"}):
        with pytest.raises(TooFewRowsError, match=r"^about"):
            dpmean.mean(np.zeros((0, 3)), **private, **settings)


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("method", ["refined", "shifted", "clipped"])
@pytest.mark.parametrize("passes", [1, 2])
def test_what_has_no_rows_has_a_private_number_of_them(method, passes, tmp_path):
    settings = {"rho": 0.5, "norm_bound": 1.0, "method": method, "passes": passes, "seed": 1}
    private = {**settings, "neighbours": "add-or-remove-one", "allow_few_rows": True}
    (tmp_path / "nobody.csv").write_text("a,b,c\n")
    np.save(tmp_path / "nobody.npy", np.zeros((0, 3)))
    columns = pa.table({name: pa.array([], pa.float64()) for name in "abc"})
    parquet.write_table(columns, tmp_path / "nobody.parquet")
    feather.write_feather(columns, tmp_path / "nobody.arrow")
    matrices = [sparse.csr_array((0, 3)), sparse.coo_matrix((0, 3))]
    for nobody in (*matrices, columns, columns.to_pandas(), *tmp_path.iterdir()):
        assert_same(dpmean.mean(nobody, **private), dpmean.mean(np.zeros((0, 3)), **private))
        with pytest.raises(DataError, match="X is empty: give at least one row"):
            dpmean.mean(nobody, neighbours="replace-one", **settings)
    with pytest.raises(DataError, match="with at least one column") as caught:
        dpmean.mean(sparse.csr_array((31415, 0)), **private)
    assert "31415" not in str(caught.value)


def test_a_public_number_has_no_noise():
    public = front._Number(7, "7 rows", (), Zcdp(1))
    assert public.std == 0
    assert public.left == Zcdp(1)


def test_what_is_given_is_checked():
    rows = people(500)
    with pytest.raises(ValueError, match='neighbours must be "replace-one"'):
        dpmean.mean(rows, rho=0.5, norm_bound=60.0, neighbours="swap")
    with pytest.raises(ValueError, match="rho must be at least 1e-06 if the number of rows is private, got 1e-07"):
        dpmean.mean(rows, rho=1e-7, norm_bound=60.0, neighbours="add-or-remove-one")
    with pytest.raises(TooFewRowsError):
        dpmean.mean(rows, rho=1e-6, norm_bound=60.0, neighbours="add-or-remove-one")
    with pytest.raises(ValueError, match="is for the central model: in the local model the number of users is public"):
        dpmean.mean(rows, rho=0.5, norm_bound=60.0, trust="local", neighbours="add-or-remove-one")
