"""The shuffle model: what clients send, what is mixed, what the analyzer makes of it, and what faults do."""

import itertools
import json
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpmean
from dpmean import ApproxDp, ArgumentError, DataError, OverspendError, PureDp, TooFewRowsError, Zcdp
from dpmean.errors import TooFewRowsWarning
from dpmean.noise.source import secure, seeded
from dpmean.trust.client import Client
from dpmean.trust.coins import SystemCoins
from dpmean.trust.shuffle import counters, crowd, encoder, paper, secure_sum
from dpmean.trust.shuffle.analyzer import Analyzer, collection_for, decoded
from dpmean.trust.shuffle.costs import total_cost
from dpmean.trust.shuffle.counters import Counts, interpolated, tail_radius
from dpmean.trust.shuffle.crowd import Crowd
from dpmean.trust.shuffle.design import VARIANTS, calibrated, clients_needed, design
from dpmean.trust.shuffle.schema import (
    Batch,
    Collection,
    Counters,
    Delivery,
    Round,
    Sums,
    blanket_mean,
    check_collection,
    check_round,
    digest_of,
    fewest_messages,
    most_messages,
    noise_mean,
    read_budget,
    write_budget,
)
from dpmean.trust.shuffle.seal import new_key, public_of, seal, unseal
from dpmean.trust.shuffle.shuffler import Outcome, Shuffler, permuted
from tests.audit.broken import ScaledNoise
from tests.shuffle_roles import read, rows_for, write

NAME = "00112233445566ff"
BUDGET = ApproxDp(8, Fraction(1, 10**6))
VECTORS = Path(__file__).parent / "vectors" / "shuffle.json"
SMALL = 120


def collection(variant="mean", users=SMALL, d=2, reach=40.0, key="", honest=Fraction(4, 5), budget=BUDGET):
    return collection_for(calibrated(variant, users, d, budget, honest), NAME, reach, key)


def client_of(user, row, budget=BUDGET, **more):
    """A client that trusts everybody and does not seal, where that is not what is tested."""
    return Client(user, row, budget, **{"honest": Fraction(1), "sealed": False, **more})


def document(thing):
    return msgspec.json.encode(thing)


def silent():
    """Noise that is none: every Poisson number is zero."""
    return ScaledNoise(1, Fraction(0))


class AverageNoise:
    """Noise that is always what it is on average."""

    seeded = True

    def at(self, _step, _start=0):
        return self

    def poisson(self, mean, count):
        return np.full(count, round(mean))


class NoCoins:
    """Coins for a client without noise, or with average noise; shares and buckets are still random."""

    def __init__(self, seed=0, average=False):
        self.generator, self.average = np.random.default_rng(seed), average

    def poissons(self, _step, mean, count):
        assert mean > 0
        return [round(mean) if self.average else 0] * count

    def below(self, _step, limit, count):
        return [int.from_bytes(self.generator.bytes(80)) % limit for _ in range(count)]


def sums_stage(d=3, bits=20, packed=2, shares=4, radius=64):
    return Sums(radius, 1000, bits, packed, -(-d // packed), shares)


def one_stage(stage, users=SMALL, d=3, honest=None):
    return Collection(
        1, NAME, users, honest or users, honest or users, d, -20, 10 << 20, write_budget(BUDGET), "mean", (stage,)
    )


def sum_round(radius=5 << 20, centre=()):
    return Round(1, NAME, 0, centre=list(centre), radius=radius)


rows_of_three = st.lists(st.floats(allow_nan=True) | st.floats(-8, 8), min_size=3, max_size=3)


# --- what one client sends ---------------------------------------------------------------------------------------


@given(row=rows_of_three, other=rows_of_three, user=st.integers(0, SMALL - 1), level=st.sampled_from([(0,), (2, 0)]))
def test_replacing_a_row_moves_one_message_at_each_level_and_changes_no_number(row, other, user, level):
    stage = Counters("median", 4, 16, level, 30)
    public = one_stage(stage)
    asked = Round(1, NAME, 0, lows=[-(30 << 20)] * 4, widths=[1 << 22] * 4, gaps=list(range(15)))
    sent = [encoder.messages(public, stage, asked, user, x, NoCoins()) for x in (row, other)]
    assert len(sent[0]) == len(sent[1]) == len(level)
    moved = Counter(sent[0]) - Counter(sent[1])
    assert sum(moved.values()) <= len(level)
    assert all(int.from_bytes(message) < stage.buckets for message in sent[0])


@given(row=rows_of_three, d=st.integers(1, 20), radius=st.integers(8, 4096), length=st.integers(1, 1 << 30))
def test_a_whole_vector_is_never_longer_than_the_radius(row, d, radius, length):
    stage = Sums(radius, 1000, 30, 1, d, 4)
    whole = encoder.place.on_grid((row * 7)[:d], -20, 10 << 20, [])
    vector = encoder.whole_vector(stage, sum_round(length), whole)
    assert sum(x * x for x in vector) <= radius**2


def test_the_bound_on_whole_vectors_is_nearly_reached():
    """The sensitivity that is paid for, twice the radius, is not far from what two rows can do."""
    stage = Sums(512, 1000, 30, 1, 3, 4)
    ends = [np.array(encoder.whole_vector(stage, sum_round(1 << 20), [x << 21, 0, 0])) for x in (-1, 1)]
    assert 0.99 * 1024 <= np.linalg.norm(ends[1] - ends[0]) <= 1024


def test_rounding_is_unbiased_and_short_rows_are_only_scaled():
    stage = Sums(512, 1000, 30, 1, 2, 4)
    generator = np.random.default_rng(0)
    rows = (generator.normal(0, 0.5, (20_000, 2)) * 2**20).astype(np.int64)
    vectors = crowd.whole_vectors(stage, sum_round(5 << 20), rows)
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
    stage, asked = public.stages[0], Analyzer(public).round
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
    asked = Round(1, NAME, 0, lows=lows, widths=[3 << 20] * stage.lines, gaps=list(range(17)), centre=centre)
    check_round(public, asked)
    users = np.arange(len(rows))
    whole = crowd.places.on_grid(np.array(rows), public.step, public.reach, centre)
    many = crowd.buckets(public, stage, asked, users, whole)
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
    asked = Round(1, NAME, 0, lows=[0], widths=[1], gaps=list(range(1 << 20, 64 << 20, 1 << 20)), centre=[0, 0, 0])
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
    public = one_stage(stage, users=40, honest=20)
    asked = Round(1, NAME, 0, lows=[0], widths=[1], gaps=list(range(1 << 20, 64 << 20, 1 << 20)), centre=[0, 0, 0])
    counts = np.concatenate(
        [Crowd(np.zeros((40, 3)), seeded(s), totals=True).answer(public, asked)[1:] for s in range(60)]
    )
    assert abs(counts.mean() - 50) < 5 * math.sqrt(50 / len(counts))


@pytest.mark.parametrize("variant", VARIANTS)
def test_messages_and_totals_agree_in_law(variant):
    """The same statistic of many small collections, played both ways."""
    rows = np.random.default_rng(0).normal(5, 1, (SMALL, 2))
    means = [
        [Crowd(rows, seeded(seed), totals=totals).play(Analyzer(collection(variant))).mean[0] for seed in range(60)]
        for totals in (True, False)
    ]
    assert stats.ks_2samp(*means).pvalue > 1e-5


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_noise_every_variant_finds_the_mean(variant):
    """What is left is rounding, and what clipping takes away."""
    rows = np.random.default_rng(0).normal(5, 1, (4000, 3))
    public = collection(variant, users=4000, d=3)
    estimate = Crowd(rows, AverageNoise(), totals=True).play(Analyzer(public))
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
        crowd._shuffle(order, secure().words(8))
        mixed[tuple(order.tolist())] += 1
    assert stats.chisquare([mixed[order] for order in orders]).pvalue > 1e-9


def test_unfair_words_are_not_used():
    order = np.arange(3)
    top = np.uint64(2**64 - 1)
    assert not crowd._shuffle(order, np.array([top, top, top, top], dtype=np.uint64))
    assert crowd._shuffle(order, np.array([top, 0, top, 0], dtype=np.uint64))


# --- clients -----------------------------------------------------------------------------------------------------


def test_a_client_answers_each_round_once_and_repeats_itself():
    public = collection()
    asked = document(Analyzer(public).round)
    kept = {}
    client = client_of(7, [5.0, 5.0], remember=lambda memory: kept.update(memory))
    with pytest.raises(ArgumentError, match="has agreed to no collection"):
        client.encode(asked)
    cost = client.join(document(public))
    assert cost.epsilon <= BUDGET.epsilon
    first = client.encode(asked)
    assert client.encode(asked) == first
    assert client_of(7, [5.0, 5.0], memory=kept).encode(asked) == first  # after a restart
    other = msgspec.structs.replace(Analyzer(public).round, radius=1 << 10)
    with pytest.raises(OverspendError, match="has answered round 0"):
        client.encode(document(other))
    client.join(document(public))
    with pytest.raises(OverspendError, match="agreed to another collection"):
        client.join(document(msgspec.structs.replace(public, name="0" * 16)))
    with pytest.raises(OverspendError, match="this device has answered"):
        client_of(7, [5.0, 5.0], memory={"place": "a local task"}).join(document(public))


def test_what_could_not_be_stored_is_not_sent():
    """A client whose disk is full does not answer, and answers anew only what nobody has seen."""
    public = collection()
    full = [False]

    def remember(_):
        if full[0]:
            raise OSError("disk full")

    client = client_of(7, [5.0, 5.0], remember=remember)
    client.join(document(public))
    full[0] = True
    for _ in range(2):
        with pytest.raises(OSError, match="disk full"):
            client.encode(document(Analyzer(public).round))
    assert set(client.memory) == {"collection"}


def test_a_client_refuses_what_it_should():
    public = collection()
    here = [1.0, 2.0]
    cases = [
        (client_of(0, here, ApproxDp(7, 1e-6)), {}, OverspendError, "this client allows epsilon = 7"),
        (client_of(0, here, ApproxDp(8, 1e-7)), {}, OverspendError, "this client allows epsilon = 8, delta = 1e-07"),
        (client_of(0, here, Zcdp(1)), {}, OverspendError, "costs an epsilon and a delta"),
        (client_of(0, here, PureDp(1)), {}, OverspendError, "costs an epsilon and a delta"),
        (client_of(0, [1.0]), {}, ArgumentError, "rows of 2 columns, this one has 1"),
        (client_of(SMALL, here), {}, ArgumentError, f"numbered 0 to {SMALL - 1}, got {SMALL}"),
        (client_of(0, here), {"version": 2}, ArgumentError, "its version cannot be right"),
        (client_of(0, here), {"honest": SMALL}, ArgumentError, "its quorum cannot be right"),
        (client_of(0, here), {"quorum": 96}, ArgumentError, "its quorum cannot be right"),
        (client_of(0, here), {"honest": 19}, OverspendError, "more than the epsilon = 8"),
        (client_of(0, here), {"key": "zz"}, ArgumentError, "its key cannot be right"),
        (client_of(0, here), {"budget": "epsilon 2 delta 1/1000000"}, OverspendError, "more than the epsilon = 2"),
        (client_of(0, here), {"budget": "plenty"}, ArgumentError, "a budget is written"),
        (
            client_of(0, here, honest=Fraction(7, 10)),
            {},
            OverspendError,
            "relies on 96 of 120 users, and this device on 70%",
        ),
        (client_of(0, here, sealed=True), {}, OverspendError, "the collection has no key"),
    ]
    for client, changes, error, words in cases:
        with pytest.raises(error, match=words):
            client.join(document(msgspec.structs.replace(public, **changes)))
        assert not client.memory
    with pytest.raises(ArgumentError, match="this is not a collection"):
        client_of(0, here).join(b"{}")
    for epsilon in (8, 12, 20):  # who allows more, accepts, and all see one cost
        cost = client_of(0, here, ApproxDp(epsilon, 1e-5)).join(document(public))
        assert cost == total_cost(public.stages, 2, public.honest, BUDGET)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "0" * 16}, "does not belong"),
        ({"round": 9}, "does not belong"),
        ({"radius": 0}, "its radius"),
        ({"radius": 1 << 50}, "its numbers"),
        ({"centre": [1]}, "its centre"),
        ({"gaps": [1]}, "its gaps"),
        ({"lows": [1]}, "its lows"),
        ({"widths": [1]}, "its widths"),
    ],
)
def test_a_client_refuses_a_round_that_does_not_fit(changes, words):
    public = collection()
    client = client_of(0, [1.0, 2.0])
    client.join(document(public))
    with pytest.raises(ArgumentError, match=words):
        client.encode(document(msgspec.structs.replace(Analyzer(public).round, **changes)))


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (1, {"cells": 1}),
        (1, {"lines": 2}),
        (1, {"levels": ()}),
        (1, {"levels": (0, 0)}),
        (1, {"blanket": 0}),
        (0, {"radius": 0}),
        (0, {"radius": -64}),
        (1, {"blanket": 1 << 31}),
        (0, {"shares": 1}),
        (0, {"packs": 5}),
        (0, {"packed": 0}),
        (0, {"variance": 0}),
        (0, {"bits": 200}),
    ],
)
def test_collections_that_do_not_fit_together_are_refused(number, changes):
    public = collection()
    stages = list(public.stages)
    stages[number] = msgspec.structs.replace(stages[number], **changes)
    with pytest.raises(ArgumentError, match=f"its stage {number} cannot be right"):
        check_collection(msgspec.structs.replace(public, stages=tuple(stages)))


def test_budgets_are_written_and_read():
    assert read_budget(write_budget(BUDGET)) == BUDGET
    for text in (
        "epsilon 1",
        "epsilon 1e9 delta 1/2",
        "epsilon 1 delta 2",
        "rho 1",
        "epsilon 1/0 delta 1/2",
        "a b c d",
    ):
        with pytest.raises(ArgumentError, match="delta"):
            read_budget(text)


def test_the_client_of_a_device_needs_no_array_library():
    code = "import sys, dpmean.trust.client; sys.exit(bool({'numpy', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603


# --- seals -------------------------------------------------------------------------------------------------------


def test_seals_hide_bind_and_have_one_length():
    private, public = new_key()
    assert public_of(private) == public
    digest = bytes(range(32))
    envelopes = seal([b"abcd", b"abcd", bytes(4)], public, digest, 3)
    assert {len(envelope) for envelope in envelopes} == {4 + 48}
    assert envelopes[0] != envelopes[1]
    assert envelopes[0][:32] != envelopes[1][:32]  # nothing in common, not even a key
    assert unseal(envelopes, private, digest, 3) == [b"abcd", b"abcd", bytes(4)]
    assert unseal(envelopes[:1], private, digest, 2) == [None]
    assert unseal(envelopes[:1], private, bytes(32), 3) == [None]
    assert unseal(envelopes[:1], new_key()[0], digest, 3) == [None]
    tampered = envelopes[0][:-1] + bytes([envelopes[0][-1] ^ 1])
    assert unseal([tampered, b"short", b""], private, digest, 3) == [None] * 3


def test_an_analyzer_needs_the_key_of_its_collection():
    private, key = new_key()
    Analyzer(collection(key=key), private)
    for wrong in (new_key()[0], b""):
        with pytest.raises(ArgumentError, match="private key"):
            Analyzer(collection(key=key), wrong)


# --- the shuffler ------------------------------------------------------------------------------------------------


def batches_for(public, asked, count=SMALL, budget=BUDGET):
    rows = rows_for(count)
    found = []
    for user in range(count):
        client = client_of(user, rows[user].tolist(), budget)
        client.join(document(public))
        found.append(client.encode(document(asked)))
    return found


@pytest.fixture(scope="module")
def played():
    """A small collection and the batches of its first round."""
    public = collection()
    asked = Analyzer(public).round
    return public, asked, batches_for(public, asked)


def changed(batch, **changes):
    return msgspec.msgpack.encode(msgspec.structs.replace(msgspec.msgpack.decode(batch, type=Batch), **changes))


def test_batches_are_accepted_whole_or_not_at_all(played):
    public, _, batches = played
    shuffler = Shuffler(document(public), 0)
    good = msgspec.msgpack.decode(batches[0], type=Batch).messages
    bad = [
        (b"", "malformed"),
        (batches[0][:-1], "malformed"),
        (changed(batches[0], version=2), "another version"),
        (changed(batches[0], collection=bytes(32)), "another collection"),
        (changed(batches[0], round=1), "another round"),
        (changed(batches[0], user=SMALL.to_bytes(8)), "an unknown user"),
        (changed(batches[0], user=bytes(7)), "an unknown user"),
        (changed(batches[0], messages=good[:-1]), "a number of messages that no honest client sends"),
        (changed(batches[0], messages=[*good, good[0]]), "a number of messages that no honest client sends"),
        (changed(batches[0], messages=[*good[:-1], good[-1] + b"x"]), "a message of the wrong length"),
    ]
    for batch, reason in bad:
        assert shuffler.receive(batch) == (Outcome.REJECTED, reason)
    assert shuffler.clients == 0
    assert shuffler.receive(batches[0]) == (Outcome.ACCEPTED, "")
    assert shuffler.receive(batches[0]) == (Outcome.DUPLICATE, "")
    other = changed(batches[0], messages=[*good[:-1], bytes(len(good[-1]))])
    assert shuffler.receive(other) == (Outcome.REJECTED, "another batch of the same client")
    assert shuffler.clients == 1


def test_a_round_is_handed_on_with_a_quorum_only_and_then_closed(played):
    public, _, batches = played
    shuffler = Shuffler(document(public), 0)
    assert public.honest < public.quorum < public.users
    for batch in batches[: public.quorum - 1]:
        shuffler.receive(batch)
    with pytest.raises(
        ArgumentError, match=f"{public.quorum - 1} clients have been accepted, and {public.quorum} are needed"
    ):
        shuffler.hand_on()
    shuffler.receive(batches[public.quorum - 1])
    first = msgspec.msgpack.decode(shuffler.hand_on(), type=Delivery)
    assert first.clients == public.quorum
    assert shuffler.receive(batches[-1]) == (Outcome.REJECTED, "a closed round")
    again = msgspec.msgpack.decode(shuffler.hand_on(), type=Delivery)
    assert sorted(again.messages) == sorted(first.messages)
    assert again.messages != first.messages
    sent = [m for batch in batches[: public.quorum] for m in msgspec.msgpack.decode(batch, type=Batch).messages]
    assert sorted(first.messages) == sorted(sent)
    with pytest.raises(ArgumentError, match="none has number 3"):
        Shuffler(document(public), 3)
    with pytest.raises(ArgumentError, match="this is not a collection"):
        Shuffler(b"?", 0)


def test_a_shuffler_that_dies_goes_on_where_it_was(played, tmp_path):
    public, _, batches = played
    journal = tmp_path / "round"
    first = Shuffler(document(public), 0, journal)
    for batch in batches[:50]:
        first.receive(batch)
    first.close()
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-10])  # it died while it wrote: the last batch was never acknowledged
    with pytest.raises(DataError, match="is not the journal of this round"):
        Shuffler(document(public), 1, journal)
    second = Shuffler(document(public), 0, journal)
    assert second.clients == 49
    assert second.receive(batches[0]) == (Outcome.DUPLICATE, "")
    for batch in batches[49 : public.quorum]:
        assert second.receive(batch)[0] is Outcome.ACCEPTED
    handed = msgspec.msgpack.decode(second.hand_on(), type=Delivery)
    second.close()
    third = Shuffler(document(public), 0, journal)  # it died after it had handed on: nothing may be added any more
    assert third.closed
    assert third.receive(batches[-1]) == (Outcome.REJECTED, "a closed round")
    again = msgspec.msgpack.decode(third.hand_on(), type=Delivery)
    third.close()
    assert sorted(again.messages) == sorted(handed.messages)


def test_a_damaged_journal_or_another_file_is_refused_and_left_alone(played, tmp_path):
    """A round that was handed on must not be opened again because a byte of its journal went bad."""
    public, _, batches = played
    journal = tmp_path / "round"
    shuffler = Shuffler(document(public), 0, str(journal))
    for batch in batches:
        shuffler.receive(batch)
    shuffler.hand_on()
    with pytest.raises(ArgumentError, match="in use by another shuffler"):
        Shuffler(document(public), 0, journal)
    shuffler.close()
    good = journal.read_bytes()
    for place in (30, len(good) // 2, len(good) - 1):
        bad = bytearray(good)
        bad[place] ^= 1
        journal.write_bytes(bad)
        with pytest.raises(DataError, match=r"damaged|not the journal|not a journal"):
            Shuffler(document(public), 0, journal)
        assert journal.read_bytes() == bad
    table = tmp_path / "table.csv"
    table.write_text("age,height\n" * 100)
    with pytest.raises(DataError, match="not a journal of a shuffler"):
        Shuffler(document(public), 0, table)
    assert table.read_text() == "age,height\n" * 100


def test_a_shuffler_that_cannot_write_stops(played, tmp_path, monkeypatch):
    """Otherwise a batch that is on disk but not in memory would be counted twice after a restart."""
    public, _, batches = played
    journal = tmp_path / "round"
    shuffler = Shuffler(document(public), 0, journal)
    shuffler.receive(batches[0])

    def broken(_):
        raise OSError("input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", broken)
        with pytest.raises(OSError, match="input/output"):
            shuffler.receive(batches[1])
    for refused in (lambda: shuffler.receive(batches[1]), shuffler.hand_on):
        with pytest.raises(DataError, match="could not be written"):
            refused()
    shuffler.close()
    again = Shuffler(document(public), 0, journal)
    assert again.clients == 2  # the second batch had reached the disk after all
    assert again.receive(batches[1]) == (Outcome.DUPLICATE, "")
    again.close()


def test_nobody_can_show_different_collections(played):
    """An analyzer that tells clients of a crowd to hide in, and the shuffler of another one, gets no batch."""
    public, asked, batches = played
    crowded = collection(users=SMALL * 1000)
    thin = client_of(1, [5.0, 5.0])
    thin.join(document(crowded))
    alone = msgspec.structs.replace(public, users=2, honest=1, quorum=2)
    assert Shuffler(document(public), 0).receive(thin.encode(document(asked))) == (
        Outcome.REJECTED,
        "another collection",
    )
    assert Shuffler(document(alone), 0).receive(batches[0]) == (Outcome.REJECTED, "another collection")


# --- the analyzer ------------------------------------------------------------------------------------------------


def delivery_of(public, number, batches):
    shuffler = Shuffler(document(public), number)
    for batch in batches:
        assert shuffler.receive(batch)[0] is Outcome.ACCEPTED
    return shuffler.hand_on()


def test_a_whole_collection_by_messages_with_silent_clients_and_a_resumed_analyzer():
    """A tenth of the clients never answers; the analyzer is saved and resumed after every round."""
    private, key = new_key()
    public = collection(users=SMALL, key=key)
    analyzer = Analyzer(public, private)
    rows = rows_for(SMALL)
    clients = [Client(user, row, BUDGET, coins=NoCoins(user, average=True)) for user, row in enumerate(rows.tolist())][
        : public.quorum
    ]
    for client in clients:
        client.join(document(public))
    while not analyzer.done:
        batches = [client.encode(analyzer.document()) for client in clients]
        analyzer.receive(delivery_of(public, analyzer.round.round, batches))
        analyzer = Analyzer.resume(analyzer.save(), private)
    assert np.linalg.norm(analyzer.estimate.centre - rows[: public.quorum].mean(axis=0)) < 0.3
    assert np.linalg.norm(analyzer.estimate.mean - rows[: public.quorum].mean(axis=0)) < 0.3
    assert analyzer.outcomes["rejected"] == 0
    release = analyzer.release()
    assert 7.9 < release.epsilon(1e-6) <= 8
    assert release.n == public.quorum
    assert dpmean.Release.from_json(release.to_json()).mean.tolist() == analyzer.estimate.mean.tolist()
    assert "of whom 96 must be honest" in str(release)
    with pytest.raises(ArgumentError, match="nothing left to ask"):
        analyzer.document()
    with pytest.raises(ArgumentError, match="this collection is complete"):
        analyzer.close(SMALL, np.zeros(2, dtype=np.int64))
    with pytest.raises(ArgumentError, match="this is not a saved analyzer"):
        Analyzer.resume(b"?")


def test_lost_and_forged_shares_are_noticed(played):
    public, _, batches = played
    good = msgspec.msgpack.decode(delivery_of(public, 0, batches), type=Delivery)

    def with_messages(messages, clients=SMALL):
        return msgspec.msgpack.encode(Delivery(1, digest_of(document(public)), 0, clients, messages))

    lost, twice = good.messages[1:], [*good.messages, good.messages[0]]
    swapped = [*good.messages[1:], good.messages[1]]
    poisoned = [b"\x5a" * len(good.messages[0]), *good.messages[1:]]
    for messages, words in (
        (lost, "2999 shares could be read, and 3000 are needed"),
        (twice, "some are missing, or there are too many"),
        (swapped, "out of range"),
        (poisoned, "out of range"),
    ):
        analyzer = Analyzer(public)
        with pytest.raises(DataError, match=words):
            analyzer.receive(with_messages(messages))
        assert not analyzer.closed
    for clients in (public.quorum - 1, SMALL + 1):
        with pytest.raises((ArgumentError, DataError)):
            Analyzer(public).receive(with_messages(good.messages, clients))


def test_a_share_that_moves_the_sum_by_little_is_not_noticed(played):
    """A known limit: one who knows the packing moves the sum by anything that honest clients could have sent."""
    public, _, batches = played
    good = msgspec.msgpack.decode(delivery_of(public, 0, batches), type=Delivery)
    moved = int.from_bytes(good.messages[0]) + 1000
    moved %= 1 << (8 * public.stages[0].pack_bytes)
    forged = [moved.to_bytes(public.stages[0].pack_bytes), *good.messages[1:]]
    honest, cheated = Analyzer(public), Analyzer(public)
    honest.receive(msgspec.msgpack.encode(good))
    cheated.receive(msgspec.msgpack.encode(msgspec.structs.replace(good, messages=forged)))
    difference = cheated.closed[0].numbers - honest.closed[0].numbers
    assert difference.tolist() == [1000, 0]


def test_lost_late_and_forged_counts_cost_little():
    """Each message is one count: what is lost or made up moves the counts by as many."""
    private, key = new_key()
    public = collection("two", key=key)
    asked = Analyzer(public, private).round
    batches = batches_for(public, asked)
    good = msgspec.msgpack.decode(delivery_of(public, 0, batches), type=Delivery)
    digest = digest_of(document(public))
    late = seal([bytes(4)], key, digest, 1)  # sealed for another round
    unknown = seal([(1 << 31).to_bytes(4)], key, digest, 0)  # a bucket that there is not
    longer = seal([bytes(5)], key, digest, 0)
    forged = [*good.messages[5:], *late, *unknown, *longer, b"noise"]
    one, other = Analyzer(public, private), Analyzer(public, private)
    one.receive(msgspec.msgpack.encode(good))
    other.receive(msgspec.msgpack.encode(msgspec.structs.replace(good, messages=forged)))
    assert np.abs(one.closed[0].numbers - other.closed[0].numbers).sum() == 5
    assert other.outcomes["rejected"] == 3
    for changes in ({"round": 1}, {"version": 2}, {"collection": bytes(32)}):
        with pytest.raises(DataError, match="not a delivery of the open round"):
            Analyzer(public, private).receive(msgspec.msgpack.encode(msgspec.structs.replace(good, **changes)))
    with pytest.raises(DataError, match="malformed"):
        Analyzer(public, private).receive(b"?")


def test_silent_and_colluding_clients_share_one_allowance():
    """The calculation: with a quorum that answers, and all that need not be honest among them, honest noise is enough.

    One tenth of the clients stays away, another tenth tells what it sent; what the rest adds is what was planned. If
    more than that collude, the same rounds cost more than was promised.
    """
    budget = ApproxDp(1, 1e-9)
    plan = calibrated("mean", 10_000, 4, budget, Fraction(4, 5))
    silent_ones = plan.users - plan.quorum
    colluding = plan.quorum - plan.honest
    assert silent_ones == colluding == 1000

    def cost(honest_left):
        thinner = [
            msgspec.structs.replace(stage, blanket=math.floor(stage.blanket * honest_left / plan.honest))
            if isinstance(stage, Counters)
            else msgspec.structs.replace(stage, variance=math.floor(stage.variance * honest_left / plan.honest))
            for stage in plan.stages
        ]
        return total_cost(thinner, 4, honest_left, budget).epsilon

    assert cost(plan.users - silent_ones - colluding) <= 1
    assert cost(math.floor((plan.users - silent_ones - colluding) * 0.95)) > 1


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


# --- three processes ---------------------------------------------------------------------------------------------


def test_clients_shuffler_and_analyzer_run_as_three_processes():
    """They exchange bytes only; the analyzer here never sees a row, and messages are sealed to its key."""
    users = 60
    private, key = new_key()
    public = collection(users=users, key=key)
    analyzer = Analyzer(public, private)
    command = [sys.executable, "-m", "tests.shuffle_roles"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        subprocess.Popen([*command, "clients", str(users)], **pipes) as clients,  # noqa: S603
        subprocess.Popen([*command, "shuffler"], **pipes) as shuffler,  # noqa: S603
    ):
        for role in (clients, shuffler):
            write(role.stdin, document(public))
        while not analyzer.done:
            write(clients.stdin, analyzer.document())
            for _ in range(users):
                write(shuffler.stdin, read(clients.stdout))
            write(shuffler.stdin, b"")
            analyzer.receive(read(shuffler.stdout))
        clients.stdin.close()
        shuffler.stdin.close()
    assert clients.returncode == shuffler.returncode == 0
    release = analyzer.release()
    assert release.epsilon(1e-6) <= 8
    stage, asked = public.stages[0], analyzer.asked[0]
    whole = crowd.places.on_grid(rows_for(users), public.step, public.reach, [])
    exact = crowd.whole_vectors(stage, asked, whole).sum(axis=0)
    noise = math.sqrt(stage.variance * users / public.honest)
    assert np.abs(analyzer.closed[0].numbers - exact).max() < 8 * noise < 2 ** (stage.bits - 4)
    assert analyzer.outcomes["rejected"] == 0


# --- vectors -----------------------------------------------------------------------------------------------------


class WrittenCoins:
    """Coins that were written down."""

    def __init__(self, poissons, numbers):
        self._poissons, self._numbers = iter(poissons), {step: list(map(int, n)) for step, n in numbers.items()}

    def poissons(self, _step, _mean, count):
        return list(itertools.islice(self._poissons, count))

    def below(self, step, _limit, count):
        assert len(self._numbers.get(step, [])) == count
        return self._numbers.get(step, [])


def test_vectors_on_disk():
    """What other implementations must send and refuse; numbers are written down beside them."""
    vectors = json.loads(VECTORS.read_text())
    assert len(vectors["answers"]) >= 6
    for answer in vectors["answers"]:
        public = msgspec.convert(answer["collection"], Collection)
        asked = msgspec.convert(answer["round"], Round)
        stage = check_round(public, asked)
        coins = WrittenCoins(answer["poissons"], answer["numbers"])
        sent = encoder.messages(public, stage, asked, answer["user"], answer["row"], coins)
        digest = digest_of(document(public))
        assert digest.hex() == answer["digest"]
        batch = Batch(1, digest, asked.round, answer["user"].to_bytes(8), sent)
        assert msgspec.msgpack.encode(batch).hex() == answer["batch"]
    shuffler = Shuffler(document(msgspec.convert(vectors["batches"]["collection"], Collection)), 0)
    for batch in vectors["batches"]["received"]:
        outcome, reason = shuffler.receive(bytes.fromhex(batch["batch"]))
        assert f"{outcome}: {reason}".rstrip(": ") == batch["outcome"]
    sealed = vectors["sealed"]
    digest = bytes.fromhex(sealed["digest"])
    opened = unseal([bytes.fromhex(sealed["envelope"])], bytes.fromhex(sealed["private"]), digest, sealed["round"])
    assert opened == [bytes.fromhex(sealed["message"])]


# --- the front door ----------------------------------------------------------------------------------------------


ROWS = np.random.default_rng(5).normal(5, 1, (20_000, 4))


def mean(rows=ROWS, **arguments):
    given = {"epsilon": 1.0, "delta": 1e-9, "norm_bound": 40.0, "trust": "shuffle", "seed": 3, **arguments}
    return dpmean.mean(rows, **given)


@pytest.mark.parametrize("fidelity", ["totals", "messages"])
def test_the_front_door_is_nearly_as_good_as_the_central_model(fidelity):
    release = mean(fidelity=fidelity)
    central = dpmean.mean(ROWS, epsilon=1.0, delta=1e-9, norm_bound=40.0, method="shifted", seed=3)
    assert np.linalg.norm(release.noise_std) < 1.5 * np.linalg.norm(central.noise_std)
    assert np.linalg.norm(release.mean - ROWS.mean(axis=0)) < 4 * np.linalg.norm(release.noise_std)
    assert release.public["fidelity"] == fidelity
    assert release.public["played_in_one_process"] is True


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
        assert release.public[name] == value
    assert 0.98 < release.epsilon(1e-9) <= 1
    assert release.epsilon(1e-6) < 0.9
    assert len(release.receipts) == planned.rounds
    assert release.exact
    text = str(release)
    for words in (
        "epsilon = 0.99",
        "delta = 1e-09",
        "messages",
        "when sealed",
        "played in one process",
        "must be honest",
    ):
        assert words in text
    assert "epsilon=0.99" in repr(release)
    again = dpmean.Release.from_json(release.to_json())
    assert str(again) == text
    assert again.epsilon(1e-9) == release.epsilon(1e-9)
    with pytest.raises(ArgumentError, match="has no rho"):
        _ = release.rho
    with pytest.raises(ArgumentError, match="has no rho"):
        dpmean.Ledger(rho=1.0).record(release)
    with pytest.raises(ArgumentError, match="no error bound in the shuffle model"):
        release.error_bound()
    broken = json.loads(release.to_json())
    broken["receipts"][0]["orders"] = [2]
    with pytest.raises(ArgumentError, match="orders of this version"):
        dpmean.Release.from_json(json.dumps(broken))


def test_what_travels_is_what_was_planned():
    """The average size of real batches, sealed and not, is what the plan says."""
    for key in ("", new_key()[1]):
        public = collection(key=key)
        plan = calibrated("mean", SMALL, 2, BUDGET, Fraction(4, 5))
        analyzer = Analyzer(collection())
        total = 0.0
        for number, stage in enumerate(public.stages):
            asked = msgspec.structs.replace(analyzer.round, round=number)
            if isinstance(stage, Counters):
                cells = {"lows": [0], "widths": [1], "gaps": list(range(1, stage.cells)), "radius": 0}
                asked = msgspec.structs.replace(asked, **cells)
            batches = batches_for(public, asked, 40)
            total += np.mean([len(batch) for batch in batches])
            counts = [len(msgspec.msgpack.decode(batch, type=Batch).messages) for batch in batches]
            assert min(counts) >= fewest_messages(stage)
        assert total == pytest.approx(plan.bytes(sealed=bool(key)), rel=0.1)


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
    assert release.public["rounds"] == 3
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
        ({"delta": None}, "needs epsilon and delta, got 1.0 and None"),
        ({"epsilon": 100.0}, "epsilon must lie between 0.01 and 20, got 100"),
        ({"delta": 1e-40}, "delta must lie between 1e-30 and 0.01"),
        ({"honest": 0.2}, "honest must lie between 0.5 and 1"),
        ({"honest": 1.2}, "honest must lie between 0.5 and 1"),
        ({"fidelity": "simulated"}, 'fidelity must be "totals" or "messages"'),
        ({"rounds": "many"}, 'rounds must be "adaptive" or "few"'),
        ({"method": "refined"}, 'in the shuffle model the method is "shifted"'),
        ({"step": 0.5}, "step is for the central model"),
        ({"trust": "local", "delta": None, "honest": 0.9}, "honest and fidelity are for the shuffle model"),
        ({"trust": "central", "fidelity": "messages"}, "honest and fidelity are for the shuffle model"),
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
        ratio = paper.noise(n, d, budget) / plan._noise_of(plan.stages[-1])
        assert 10 < ratio < 20


def test_noise_and_blanket_add_up_to_what_the_stage_says():
    public = collection()
    for stage in public.stages:
        if isinstance(stage, Counters):
            assert blanket_mean(public, stage) * public.honest == stage.buckets * stage.blanket
        else:
            assert 2 * noise_mean(public, stage) * public.honest == stage.variance
    assert counters.tally(public.stages[1], np.zeros((3, 4), dtype=np.uint8))[0] == 3
