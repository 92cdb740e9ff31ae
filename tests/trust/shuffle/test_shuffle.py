"""The shuffle model: what clients send, what the crowd sends, what counts tell, and ``dpmean.mean``."""

import itertools
import json
import math
import sys
from collections import Counter
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpmean
from dpmean import ApproxDp, ArgumentError, TooFewRowsError
from dpmean.errors import TooFewRowsWarning
from dpmean.noise.source import secure, seeded
from dpmean.release.text import four_digits_up
from dpmean.trust.devices import lattice
from dpmean.trust.devices.randomness import SystemCoins
from dpmean.trust.shuffle import counters, encoder, paper_construction, secure_sum, simulation
from dpmean.trust.shuffle.checks import check_round
from dpmean.trust.shuffle.counters import Counts, interpolated, tail_radius
from dpmean.trust.shuffle.decoder import decoded
from dpmean.trust.shuffle.design import VARIANTS, calibrated, clients_needed, design
from dpmean.trust.shuffle.messages import Batch
from dpmean.trust.shuffle.progress import Rounds
from dpmean.trust.shuffle.schema import Counters, Round, Sums
from dpmean.trust.shuffle.shuffler import permuted
from dpmean.trust.shuffle.simulation import Crowd
from dpmean.trust.shuffle.sizes import blanket_mean, fewest_messages, most_messages, noise_mean
from tests.support.public import REPLACED
from tests.support.shuffle_parts import (
    BUDGET,
    LATER,
    SMALL,
    AverageNoise,
    NoCoins,
    Play,
    collection,
    one_stage,
    rows_of_three,
    signed_round,
    silent,
    sum_round,
    sums_stage,
)

# --- what one client sends ---------------------------------------------------------------------------------------


@given(row=rows_of_three, other=rows_of_three, user=st.integers(0, SMALL - 1), level=st.sampled_from([(0,), (2, 0)]))
def test_replacing_a_row_moves_one_message_at_each_level_and_changes_no_number(row, other, user, level):
    stage = Counters("median", 4, 16, level, 30)
    public = one_stage(stage)
    asked = Round(2, "", 0, lows=[-(30 << 20)] * 4, widths=[1 << 22] * 4, gaps=list(range(15)))
    sent = [encoder.messages(public, stage, asked, user, x, NoCoins()) for x in (row, other)]
    assert len(sent[0]) == len(sent[1]) == len(level)
    moved = Counter(sent[0]) - Counter(sent[1])
    assert sum(moved.values()) <= len(level)
    assert all(int.from_bytes(message) < stage.buckets for message in sent[0])


@given(row=rows_of_three, d=st.integers(1, 20), radius=st.integers(8, 4096), length=st.integers(1, 1 << 30))
def test_a_whole_vector_is_never_longer_than_the_radius(row, d, radius, length):
    stage = Sums(radius, 1000, 30, 1, d, 4)
    whole = encoder.lattice.on_grid((row * 7)[:d], -20, 10 << 20, [])
    vector = encoder.whole_vector(stage, sum_round(length), whole)
    assert sum(x * x for x in vector) <= radius**2


def test_the_work_on_a_whole_vector_grows_with_its_columns():
    """Calls of ``length``: one for the row, one for the radius; not one for each column."""
    called = []

    def count(frame, event, _):
        if event == "call" and frame.f_code is lattice.length.__code__:
            called.append(event)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        encoder.whole_vector(sums_stage(100), sum_round(), [1] * 100)
    finally:
        sys.setprofile(before)
    assert len(called) == 2


def test_the_bound_on_whole_vectors_is_nearly_reached():
    """The sensitivity that is paid for, twice the radius, is not far from what two rows can do."""
    stage = Sums(512, 1000, 30, 1, 3, 4)
    ends = [np.array(encoder.whole_vector(stage, sum_round(1 << 20), [x << 21, 0, 0])) for x in (-1, 1)]
    assert 0.99 * 1024 <= np.linalg.norm(ends[1] - ends[0]) <= 1024


def test_rounding_is_unbiased_and_short_rows_are_only_scaled():
    stage = Sums(512, 1000, 30, 1, 2, 4)
    generator = np.random.default_rng(0)
    rows = (generator.normal(0, 0.5, (20_000, 2)) * 2**20).astype(np.int64)
    vectors = simulation.whole_vectors(stage, sum_round(5 << 20), rows)
    scale = encoder.twice_inner(512, 2) / 2 / (5 << 20)
    assert np.abs(vectors - rows * scale).max() <= 0.5
    assert np.abs((vectors - rows * scale).mean(axis=0)).max() < 5 * 0.29 / math.sqrt(20_000)


@given(
    values=st.lists(st.integers(-(2**18), 2**18), min_size=1, max_size=9),
    packed=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_shares_add_up_to_what_is_packed_and_packing_is_undone(values, packed, seed):
    d = len(values)
    stage = Sums(1 << 18, 1, 22, min(packed, d), -(-d // min(packed, d)), 5)
    public = one_stage(stage, users=SMALL, d=d)
    totals = secure_sum.packed(stage, np.array(values))
    assert secure_sum.decoded(public, stage, totals, 1).tolist() == values
    coins = NoCoins(seed)
    modulus = 1 << (8 * stage.pack_bytes)
    for number in range(stage.packs):
        shares = encoder._shares(stage, encoder._packed(stage, values, number), number, coins)
        assert sum(shares) % modulus == int.from_bytes(totals[number].tobytes())
        assert len(shares) == stage.shares


def test_any_shares_but_all_of_them_are_uniform():
    """One byte of each share, of a constant input: every one fits the uniform law, and the sum of all does not."""
    stage = Sums(8, 1, 6, 1, 1, 3)
    drawn = np.array([encoder._shares(stage, 5, 0, SystemCoins()) for _ in range(20_000)])
    for column in range(3):
        counts = np.bincount(drawn[:, column], minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-9
    assert set(drawn.sum(axis=1) % 256) == {5}


def test_the_number_of_messages_is_poisson_and_does_not_depend_on_the_row():
    public = collection("two", d=2)
    stage, asked = public.stages[0], Rounds(public).round
    far = [len(encoder.messages(public, stage, asked, 3, [9.0, 9.0], SystemCoins())) for _ in range(1500)]
    near = [len(encoder.messages(public, stage, asked, 3, [math.nan, 0.0], SystemCoins())) for _ in range(1500)]
    mean = float(blanket_mean(public, stage)) + len(stage.levels)
    assert stats.ks_2samp(far, near).pvalue > 1e-6
    assert abs(np.mean(far + near) - mean) < 5 * math.sqrt(mean / 3000)
    assert max(far + near) <= most_messages(public, stage)


# --- many clients at once ----------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    rows=st.lists(rows_of_three, min_size=1, max_size=5),
    about=st.sampled_from(["median", "radius"]),
    levels=st.sampled_from([(0,), (3, 0), (0, 2)]),
)
def test_the_crowd_names_the_buckets_that_clients_name(rows, about, levels):
    stage = Counters(about, 4 if about == "median" else 1, 18, levels, 30)
    public, centre = one_stage(stage), [5, 6, 7] if about == "radius" else []
    lows = [-(30 << 20)] * stage.lines
    asked = Round(2, "", 0, lows=lows, widths=[3 << 20] * stage.lines, gaps=list(range(17)), centre=centre)
    check_round(public, b"", asked)
    users = np.arange(len(rows))
    whole = simulation.lattice_numpy.on_grid(np.array(rows), public.step, public.reach, centre)
    many = simulation.buckets(public, stage, asked, users, whole)
    for user, row in enumerate(rows):
        one = encoder.messages(public, stage, asked, user, row, NoCoins())
        assert [int.from_bytes(message) for message in one] == many[user].tolist()


@settings(max_examples=40)
@given(rows=st.lists(rows_of_three, min_size=1, max_size=5), bits=st.integers(20, 40), packed=st.integers(1, 3))
def test_the_crowd_splits_the_vectors_that_clients_split(rows, bits, packed):
    """Without noise: a client's shares, the crowd's shares and the crowd's totals all add up to the same sum."""
    stage = sums_stage(bits=bits, packed=packed)
    public, asked = one_stage(stage, users=len(rows)), sum_round(centre=(5, -6, 7))
    totals = Crowd(np.array(rows), silent(), totals=True).answer(public, asked)
    messages = Crowd(np.array(rows), silent(), totals=False).answer(public, asked)
    assert np.array_equal(totals, messages)
    sent = [
        m for user, row in enumerate(rows) for m in encoder.messages(public, stage, asked, user, row, NoCoins(user))
    ]
    lines = np.frombuffer(b"".join(sent), dtype=np.uint8).reshape(-1, stage.size)
    assert np.array_equal(decoded(public, stage, lines, len(rows)), totals)


@pytest.mark.parametrize("totals", [True, False])
def test_noise_of_counts_and_sums_has_the_law_that_is_paid_for(totals):
    """Counts: Poisson with the blanket's mean. Sums: mean zero, the promised variance; a quarter more is told apart."""
    rows = np.zeros((40, 3))
    stage = Counters("radius", 1, 64, (0,), 25)
    asked = Round(2, "", 0, lows=[0], widths=[1], gaps=list(range(1 << 20, 64 << 20, 1 << 20)), centre=[0, 0, 0])
    counts = np.concatenate(
        [Crowd(rows, seeded(s), totals=totals).answer(one_stage(stage, 40), asked)[1:] for s in range(60)]
    )
    expected = stats.poisson.pmf(np.arange(10, 41), 25) * len(counts)
    observed = np.bincount(counts, minlength=60)[10:41]
    assert stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), 30) > 1e-6
    wrong = stats.poisson.pmf(np.arange(10, 41), 26) * len(counts)
    assert stats.chi2.sf(((observed - wrong) ** 2 / wrong).sum(), 30) < 1e-6

    stage = sums_stage()
    sums = np.concatenate(
        [Crowd(rows, seeded(s), totals=totals).answer(one_stage(stage, 40), sum_round()) for s in range(1500)]
    )
    assert abs(sums.mean()) < 5 * math.sqrt(1000 / len(sums))
    statistic = (sums**2).sum() / 1000
    assert 1e-6 < stats.chi2.cdf(statistic, len(sums)) < 1 - 1e-6
    assert stats.chi2.cdf(statistic / 1.25, len(sums)) < 1e-6


def test_more_clients_than_must_be_honest_bring_more_noise():
    stage = Counters("radius", 1, 64, (0,), 25)
    public = one_stage(stage, users=40, colluding="1/2")
    asked = Round(2, "", 0, lows=[0], widths=[1], gaps=list(range(1 << 20, 64 << 20, 1 << 20)), centre=[0, 0, 0])
    counts = np.concatenate(
        [Crowd(np.zeros((40, 3)), seeded(s), totals=True).answer(public, asked)[1:] for s in range(60)]
    )
    assert abs(counts.mean() - 50) < 5 * math.sqrt(50 / len(counts))


@pytest.mark.parametrize("variant", VARIANTS)
def test_messages_and_totals_agree_in_law(variant):
    """The same statistic of many small collections, played both ways."""
    rows = np.random.default_rng(0).normal(5, 1, (SMALL, 2))
    means = [
        [Crowd(rows, seeded(seed), totals=totals).play(Rounds(collection(variant))).mean[0] for seed in range(60)]
        for totals in (True, False)
    ]
    assert stats.ks_2samp(*means).pvalue > 1e-5


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_noise_every_variant_finds_the_mean(variant):
    """What is left is rounding, and what clipping takes away."""
    rows = np.random.default_rng(0).normal(5, 1, (4000, 3))
    public = collection(variant, users=4000, d=3)
    estimate = Crowd(rows, AverageNoise(), totals=True).play(Rounds(public))
    assert np.linalg.norm(estimate.centre - 5) < 0.6
    assert np.linalg.norm(estimate.mean - rows.mean(axis=0)) < 0.05


# --- the order of messages ---------------------------------------------------------------------------------------


def test_messages_are_handed_on_in_a_uniform_order():
    orders = list(itertools.permutations(range(4)))
    messages = [bytes([k]) for k in range(4)]
    seen = Counter(tuple(m[0] for m in permuted(messages)) for _ in range(24_000))
    assert stats.chisquare([seen[order] for order in orders]).pvalue > 1e-9
    mixed = Counter()
    for _ in range(6000):
        order = np.arange(4)
        simulation._shuffle(order, secure().words(8))
        mixed[tuple(order.tolist())] += 1
    assert stats.chisquare([mixed[order] for order in orders]).pvalue > 1e-9


def test_unfair_words_are_not_used():
    order = np.arange(3)
    top = np.uint64(2**64 - 1)
    assert not simulation._shuffle(order, np.array([top, top, top, top], dtype=np.uint64))
    assert simulation._shuffle(order, np.array([top, 0, top, 0], dtype=np.uint64))


# --- what counts tell --------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 1000), levels=st.sampled_from([(0,), (3, 0), (0, 2, 4)]), lines=st.sampled_from([1, 4]))
def test_counts_add_up_over_levels(seed, levels, lines):
    stage = Counters("median", lines, 37, levels, 10)
    cells = np.random.default_rng(seed).integers(0, 37, (lines, 50))
    tally = np.zeros(stage.buckets, dtype=np.int64)
    for line in range(lines):
        start = line * stage.per_line
        for level in levels:
            np.add.at(tally, start + (cells[line] >> level), 1)
            start += stage.at_level(level)
    exact = (cells[:, :, np.newaxis] <= np.arange(37)).sum(axis=1)
    assert np.allclose(Counts(stage, tally, 0.0).at_most(), exact)


def test_a_rank_is_found_between_the_ends_of_a_cell():
    at_most = np.array([[0.0, 10.0, 30.0, 40.0], [40.0, 40.0, 40.0, 40.0]])
    cell, part = interpolated(at_most, np.array([20.0, 20.0]))
    assert cell.tolist() == [2, 0]
    assert part.tolist() == [0.5, 0.5]


def test_the_radius_leaves_few_rows_beyond_and_sees_rows_far_away():
    ladder = np.array([round(100 * 2 ** (k / 4)) for k in range(40)])
    stage = Counters("radius", 1, 40, (0,), 1)

    def radius(distances, least, blanket=0.0):
        tally = np.bincount(np.searchsorted(ladder[:-1], distances), minlength=40)
        return tail_radius(Counts(stage, tally, blanket), ladder, least, len(distances), 2)

    distances = np.random.default_rng(0).exponential(500, 100_000)
    found = radius(distances, 100)
    assert 20 <= (distances > found).sum() <= 300
    far = np.concatenate((distances[:-1000], np.full(1000, 50_000.0)))
    assert radius(far, 100) > 45_000
    assert radius(np.zeros(1000), 5) == ladder[0]
    assert radius(np.full(1000, 997.0), 5) >= 997  # rows at one distance are not clipped
    assert (distances > radius(distances, 1000)).sum() == pytest.approx(1000, rel=0.5)


def test_noise_seldom_leads_the_radius_astray():
    """Noise of 25 on each of 100 counts, most of them empty; nothing in 300 runs is more than a third too large."""
    ladder = np.array([round(10 * 2 ** (k / 4)) for k in range(101)])
    stage = Counters("radius", 1, 101, (0,), 625)
    generator = np.random.default_rng(0)
    distances = np.linalg.norm(generator.normal(0, 200, (50_000, 16)), axis=1)
    exact = np.bincount(np.searchsorted(ladder[:-1], distances), minlength=101)
    found = [
        tail_radius(Counts(stage, exact + generator.poisson(625, 101), 625.0), ladder, 60, 50_000, 2)
        for _ in range(300)
    ]
    assert max(found) < 4 / 3 * distances.max()
    assert min(found) > np.quantile(distances, 0.98)


# --- dpmean.mean -----------------------------------------------------------------------------------------------------


ROWS = np.random.default_rng(5).normal(5, 1, (20_000, 4))


def mean(rows=ROWS, **arguments):
    given = {"epsilon": 1.0, "delta": 1e-9, "norm_bound": 40.0, "trust": "shuffle", "seed": 3, **arguments}
    return dpmean.mean(rows, **given)


@pytest.mark.parametrize("fidelity", ["totals", "messages"])
def test_a_collection_is_nearly_as_good_as_the_central_model(fidelity):
    release = mean(fidelity=fidelity)
    central = dpmean.mean(ROWS, epsilon=1.0, delta=1e-9, norm_bound=40.0, method="shifted", seed=3, **REPLACED)
    assert np.linalg.norm(release.noise_std) < 1.5 * np.linalg.norm(central.noise_std)
    assert np.linalg.norm(release.mean - ROWS.mean(axis=0)) < 4 * np.linalg.norm(release.noise_std)
    assert release.settings.collection.fidelity == fidelity
    assert release.settings.collection.played_in_one_process is True


def test_a_release_says_what_was_sent_and_what_it_cost():
    release = mean(seed=None)
    planned = dpmean.plan(20_000, 4, epsilon=1.0, delta=1e-9, trust="shuffle").traffic
    for name, value in (
        ("variant", planned.variant),
        ("rounds", planned.rounds),
        ("messages_per_user", planned.messages),
        ("bytes_per_user", planned.bytes),
        ("sealed_bytes_per_user", planned.sealed_bytes),
    ):
        assert getattr(release.settings.collection, name) == value
    assert 0.98 < release.epsilon(1e-9) <= 1
    assert release.epsilon(1e-6) < 0.9
    assert len(release.receipts) == planned.rounds
    assert release.exact
    text = " ".join(release.explain().split())
    for words in (
        f"epsilon = {four_digits_up(release.epsilon(1e-9)):.4g}",
        "delta = 1e-09",
        "messages",
        "when sealed",
        "played in one process",
        "must be honest",
    ):
        assert words in text
    assert f"epsilon={four_digits_up(release.epsilon(1e-9)):.4g}" in repr(release)
    again = dpmean.Release.from_json(release.to_json())
    assert str(again) == str(release)
    assert again.explain() == release.explain()
    assert again.epsilon(1e-9) == release.epsilon(1e-9)
    with pytest.raises(ArgumentError, match="and no rho"):
        _ = release.rho
    with pytest.raises(ArgumentError, match="has no rho"):
        dpmean.Ledger(rho=1.0).record(release)
    with pytest.raises(ArgumentError, match="no error bound in the shuffle model"):
        release.error_bound()
    broken = json.loads(release.to_json())
    broken["receipts"][0]["orders"] = [2]
    with pytest.raises(ArgumentError, match="orders of this version"):
        dpmean.Release.from_json(json.dumps(broken))


def test_what_travels_is_what_was_planned(fast_folder):
    """The average size of real batches is what the plan says; an envelope is 48 bytes longer than what is in it."""
    play = Play(fast_folder)
    plan = calibrated("mean", SMALL, 2, BUDGET, Fraction(4, 5))
    first, total = Rounds(play.public).round, 0.0
    for number, stage in enumerate(play.public.stages):
        asked = msgspec.structs.replace(first, round=number, closes=LATER)
        if isinstance(stage, Counters):
            cells = {"lows": [0], "widths": [1], "gaps": list(range(1, stage.cells)), "radius": 0}
            asked = msgspec.structs.replace(asked, **cells)
        batches = play.batches(signed_round(asked), 40)
        total += np.mean([len(batch) for batch in batches])
        sent = [msgspec.msgpack.decode(batch, type=Batch).messages for batch in batches]
        assert min(map(len, sent)) >= fewest_messages(stage)
        assert {len(message) for messages in sent for message in messages} == {stage.size + 48}
    assert total == pytest.approx(plan.bytes(sealed=True), rel=0.1)
    assert plan.bytes(sealed=True) - plan.bytes(sealed=False) == pytest.approx(48 * plan.messages)


def test_rows_that_are_not_finite_answer_and_seeds_repeat():
    rows = ROWS.copy()
    rows[:50] = np.nan
    rows[50:60] = 1e200
    release = mean(rows)
    assert np.linalg.norm(release.mean - 5) < 0.2
    assert np.array_equal(mean(rows).mean, release.mean)
    assert release.seeded
    assert not np.array_equal(mean(rows, seed=None).mean, mean(rows, seed=None).mean)


def test_bounds_of_columns_and_few_rounds():
    release = mean(norm_bound=None, bounds=([0, 0, 0, 0], [10, 10, 10, 20]), rounds="few")
    assert np.abs(release.mean - ROWS.mean(axis=0)).max() < 0.3
    assert release.settings.collection.rounds == 3
    assert release.noise_std[3] == pytest.approx(2 * release.noise_std[0])


def test_too_few_rows_are_refused_with_the_number_that_would_do():
    with pytest.raises(TooFewRowsError, match="rows are too few for d=4") as caught:
        mean(ROWS[:500])
    fine, risky = clients_needed(4, ApproxDp(1, 1e-9), Fraction(4, 5))
    assert caught.value.rows_needed == math.ceil(risky)
    with pytest.warns(TooFewRowsWarning, match="few for d=4"):
        mean(ROWS[: math.ceil(risky) + 10])
    mean(ROWS[: math.ceil(fine) + 1])
    with pytest.warns(TooFewRowsWarning, match="too few"):
        mean(ROWS[:500], allow_few_rows=True)
    outlook = dpmean.plan(500, 4, epsilon=1.0, delta=1e-9, trust="shuffle")
    assert outlook.rows_needed == math.ceil(fine)
    assert str(outlook.rows_needed) in str(outlook)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rho": 0.5}, "needs epsilon and delta, got rho=0.5"),
        ({"delta": None}, "needs epsilon and delta, got epsilon=1.0 and delta=None"),
        ({"epsilon": 100.0}, "epsilon must lie between 0.01 and 20, got 100"),
        ({"delta": 1e-40}, "delta must lie between 1e-30 and 0.01"),
        ({"honest": 0.2}, "honest is the share of honest users and must lie between 0.3 and 1"),
        ({"honest": 1.2}, "honest is the share of honest users and must lie between 0.3 and 1"),
        ({"fidelity": "simulated"}, 'fidelity must be "totals" or "messages"'),
        ({"rounds": "many"}, 'rounds must be "adaptive" or "few"'),
        ({"method": "refined"}, 'in the shuffle model method must be "shifted"'),
        ({"step": 0.5}, "step is for the central model"),
        ({"trust": "local", "delta": None, "honest": 0.9}, "honest is for the shuffle model"),
        ({"trust": "central", "fidelity": "messages"}, "fidelity is for the shuffle model"),
    ],
)
def test_arguments_are_checked(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        mean(**arguments)


def test_the_cheapest_design_that_is_accurate_is_chosen():
    budget = ApproxDp(1, 1e-9)
    chosen = design(100_000, 8, budget, Fraction(1))
    assert chosen.messages <= 50
    assert chosen.bytes(sealed=False) <= 1000
    for variant in VARIANTS:
        other = calibrated(variant, 100_000, 8, budget, Fraction(1))
        cheaper = other.bytes(sealed=True) < chosen.bytes(sealed=True)
        assert not (cheaper and other.error(60.0) <= chosen.error(60.0))
    assert len(design(100_000, 8, budget, Fraction(1), few_rounds=True).stages) == 3
    with pytest.raises(ArgumentError, match="at least 19 honest users"):
        design(15, 2, budget, Fraction(1))


def test_the_papers_construction_needs_ten_times_the_noise_and_more():
    budget = ApproxDp(1, 1e-9)
    for n, d in ((100_000, 8), (100_000, 64), (100_000, 256)):
        plan = design(n, d, budget, Fraction(1))
        ratio = paper_construction.noise(n, d, budget) / plan._noise_of(plan.stages[-1])
        assert 10 < ratio < 20


def test_noise_and_blanket_add_up_to_what_the_stage_says():
    public = collection()
    for stage in public.stages:
        if isinstance(stage, Counters):
            assert blanket_mean(public, stage) * public.honest == stage.buckets * stage.blanket
        else:
            assert 2 * noise_mean(public, stage) * public.honest == stage.variance
    assert counters.tally(public.stages[1], np.zeros((3, 4), dtype=np.uint8))[0] == 3
