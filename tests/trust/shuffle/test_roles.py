"""Clients, shuffler and analyzer of the shuffle model: what they accept, what they refuse, and what faults do."""

import itertools
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

import dpmean
from dpmean import ApproxDp, ArgumentError, DataError, OverspendError, PureDp, Zcdp
from dpmean.trust.client import Client
from dpmean.trust.local.schema import Outcome
from dpmean.trust.shuffle import encoder, simulation
from dpmean.trust.shuffle.analyzer import ShuffleAnalyzer, collection_for
from dpmean.trust.shuffle.checks import check_collection, check_round, check_work, too_much
from dpmean.trust.shuffle.costs import total_cost
from dpmean.trust.shuffle.design import calibrated, design
from dpmean.trust.shuffle.schema import (
    Batch,
    Collection,
    Counters,
    Delivery,
    Round,
    digest_of,
    read_budget,
    write_budget,
)
from dpmean.trust.shuffle.seal import new_key, public_of, seal, unseal
from dpmean.trust.shuffle.shuffler import Shuffler
from tests.support.shuffle_parts import (
    BUDGET,
    SMALL,
    NoCoins,
    batches_for,
    client_of,
    collection,
    document,
)
from tests.support.shuffle_roles import read, rows_for, write

VECTORS = Path(__file__).parents[2] / "vectors" / "shuffle.json"


# --- clients -----------------------------------------------------------------------------------------------------


def test_a_client_answers_each_round_once_and_repeats_itself():
    public = collection()
    asked = document(ShuffleAnalyzer(public).round)
    kept = {}
    client = client_of(7, [5.0, 5.0], remember=lambda memory: kept.update(memory))
    with pytest.raises(ArgumentError, match="has agreed to no collection"):
        client.encode(asked)
    cost = client.join(document(public))
    assert cost.epsilon <= BUDGET.epsilon
    first = client.encode(asked)
    assert client.encode(asked) == first
    assert client_of(7, [5.0, 5.0], memory=kept).encode(asked) == first  # after a restart
    other = msgspec.structs.replace(ShuffleAnalyzer(public).round, radius=1 << 10)
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
            client.encode(document(ShuffleAnalyzer(public).round))
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
        (client_of(0, here), {"version": 2}, ArgumentError, "version must be 1, got 2"),
        (client_of(0, here), {"honest": SMALL}, ArgumentError, "quorum must be 120, got 108"),
        (client_of(0, here), {"quorum": 96}, ArgumentError, "quorum must be 108 to 120, got 96"),
        (client_of(0, here), {"honest": 19}, OverspendError, "more than the epsilon = 8"),
        (client_of(0, here), {"key": "zz"}, ArgumentError, "its key is not a public key of X25519"),
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
        client.encode(document(msgspec.structs.replace(ShuffleAnalyzer(public).round, **changes)))


@pytest.mark.parametrize(
    ("number", "changes", "words"),
    [
        (1, {"cells": 1}, "cells in round 1 must be 2 to 65536, got 1"),
        (1, {"lines": 2}, "lines in round 1 must be 1, got 2"),
        (1, {"levels": ()}, "number of levels in round 1 must be 1 to 16, got 0"),
        (1, {"levels": (0, 0)}, "number of different levels in round 1 must be 2, got 1"),
        (1, {"levels": (0, -1)}, "level in round 1 must be 0 to 15, got -1"),
        (1, {"blanket": 0}, "blanket in round 1 must be 1 to 1073741824, got 0"),
        (1, {"blanket": 1 << 31}, "blanket in round 1 must be 1 to 1073741824, got 2147483648"),
        (1, {"blanket": 1 << 30}, r"messages of a client, on average, in round 1 must be 1 to 1048576, got 11\d{8}"),
        (1, {"cells": 1 << 40}, "cells in round 1 must be 2 to 65536, got 1099511627776"),
        (0, {"radius": 0}, "radius in round 0 must be 1 to 1073741824, got 0"),
        (0, {"radius": -64}, "radius in round 0 must be 1 to 1073741824, got -64"),
        (0, {"shares": 1}, "shares in round 0 must be 2 to 4096, got 1"),
        (0, {"packs": 5}, "packs in round 0 must be 1, got 5"),
        (0, {"packed": 0}, "packed in round 0 must be 1 to 2, got 0"),
        (0, {"variance": 0}, "variance in round 0 must be 1 to 9007199254740992, got 0"),
        (0, {"bits": 200}, "bits in round 0 must be 2 to 120, got 200"),
    ],
)
def test_collections_that_do_not_fit_together_are_refused(number, changes, words):
    public = collection()
    stages = list(public.stages)
    stages[number] = msgspec.structs.replace(stages[number], **changes)
    with pytest.raises(ArgumentError, match=words):
        check_collection(msgspec.structs.replace(public, stages=tuple(stages)))


@pytest.mark.parametrize("d", [0, 4097])
def test_a_number_of_columns_that_is_refused_is_named(d):
    with pytest.raises(ArgumentError, match=f"number of columns must be 1 to 4096, got {d}"):
        check_collection(msgspec.structs.replace(collection(), d=d))


def test_an_analyzer_asks_only_the_rounds_of_its_variant():
    """Otherwise it would find out in the middle, when clients have paid."""
    public = collection()
    with pytest.raises(ArgumentError, match="the rounds of variant mean are sum, radius, sum; these are sum, sum"):
        ShuffleAnalyzer(with_stages(public, public.stages[0], public.stages[2]))
    with pytest.raises(ArgumentError, match="the rounds of variant tree are median, radius, sum"):
        ShuffleAnalyzer(msgspec.structs.replace(public, variant="tree"))


def with_stages(public, *stages):
    return msgspec.structs.replace(public, stages=stages)


def hostile_collections():
    """Collections that cost less than is allowed, and would keep a client busy for minutes, hours or days."""
    public = msgspec.structs.replace(collection(d=32), users=10**6, honest=8 * 10**5, quorum=9 * 10**5)
    coarse, counters, _ = public.stages
    change = msgspec.structs.replace
    packs = change(coarse, packed=1, packs=32, shares=4000)
    long = change(coarse, bits=120, packed=32, packs=1, shares=4096)
    noisy = change(coarse, variance=1 << 52)
    thick = change(counters, cells=2, blanket=1 << 28)
    kinds = [change(counters, cells=2, blanket=1000 + kind) for kind in range(5)]
    return [
        (with_stages(public, packs), "128000 messages, and 65536 are the limit"),
        (with_stages(public, *[long] * 4), "8683724 bytes, and 8388608 are the limit"),
        (with_stages(public, noisy), "10995136 Poisson draws, and 2097152 are the limit"),
        (with_stages(public, thick), "268435456 messages on average in a bucket, and 134217728 are the limit"),
        (with_stages(public, *kinds), "5 kinds of counters, and 4 are the limit"),
        (with_stages(public, *[counters] * 33), "number of rounds must be 1 to 32, got 33"),
    ]


@pytest.mark.parametrize("case", range(6))
def test_nobody_can_keep_a_client_busy(case):
    """It looks at public numbers first, and stores nothing; the shuffler tells the same to whoever runs it."""
    public, words = hostile_collections()[case]
    client = client_of(0, [1.0] * 32, ApproxDp(20, 1e-6))
    for asked in (client.join, lambda public: Shuffler(public, 0)):
        with pytest.raises(ArgumentError, match=words):
            asked(document(msgspec.structs.replace(public, budget="epsilon 20 delta 1/1000000")))
    assert not client.memory


def test_documents_have_a_limit():
    client = client_of(0, [1.0, 2.0])
    public = document(collection())
    for asked in (client.join, client.answer, lambda public: Shuffler(public, 0)):
        with pytest.raises(ArgumentError, match=r"it has 10[0-9]* bytes, and 1048576 are the limit"):
            asked(public + b" " * (1 << 20))
    client.join(public)
    with pytest.raises(ArgumentError, match="and 1048576 are the limit"):
        client.encode(b" " * (1 << 21))
    tiny = msgspec.structs.replace(collection(), budget=f"epsilon 8 delta 1/1{'0' * 300}")
    with pytest.raises(ArgumentError, match="delta must be at least 1e-30, got 1e-300"):
        client_of(0, [1.0, 2.0]).join(document(tiny))


@pytest.mark.parametrize("kind", [bytes.decode, bytearray, memoryview])
def test_documents_are_bytes(kind):
    """Text has no digest, and a client that had stored it could neither answer nor join again."""
    public = collection()
    asked = document(ShuffleAnalyzer(public).round)
    client = client_of(0, [1.0, 2.0])
    for refused in (client.join, client.answer, lambda public: Shuffler(public, 0)):
        with pytest.raises(ArgumentError, match="it must be bytes as they were published, got"):
            refused(kind(document(public)))
    assert not client.memory
    client.join(document(public))
    with pytest.raises(ArgumentError, match="this is not a round: it must be bytes"):
        client.encode(kind(asked))
    client.encode(asked)


@pytest.mark.parametrize("user", [-1, 1 << 64, 1.0, "1", None, True])
def test_a_client_has_a_number(user):
    with pytest.raises(ArgumentError, match=r"user must be an integer from 0 to 2\^64 - 1, got"):
        client_of(user, [1.0, 2.0])


def test_shares_that_hide_nothing_are_refused():
    """With a pack far longer than its shares can hide, the distance of two views is no float any more."""
    public = collection(d=32)
    open_pack = msgspec.structs.replace(public.stages[0], bits=120, packed=32, packs=1, shares=2)
    with pytest.raises(OverspendError, match="would cost more than"):
        client_of(0, [1.0] * 32).join(document(with_stages(public, open_pack)))


@pytest.mark.parametrize(
    ("users", "d", "budget", "few"),
    [
        (10**6, 1024, ApproxDp(1, 1e-9), False),
        (10**6, 4096, ApproxDp(20, 1e-9), False),
        (5574, 4096, ApproxDp(20, 1e-9), True),
        (40_000, 1, ApproxDp(Fraction(3, 100), 1e-9), True),  # a tree would take 80000 messages
    ],
)
def test_what_is_designed_is_within_the_limits_of_work(users, d, budget, few):
    plan = design(users, d, budget, Fraction(1, 2), few_rounds=few)
    assert not too_much(plan.stages, d, plan.honest)
    check_work(collection_for(plan, "0" * 16, 40.0))


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
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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


PRIME = 2**255 - 19
ORDER_EIGHT = (
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
)
POINTS = [0, 1, PRIME - 1, *(int.from_bytes(bytes.fromhex(point), "little") for point in ORDER_EIGHT)]
LOW_ORDER = [*POINTS, PRIME, PRIME + 1]
LONGER = [PRIME + 2, PRIME + 18, 2**255 + 9]
"""The last ones are points like others, but not in the encoding that a key has."""


@pytest.mark.parametrize("point", [*LOW_ORDER, *(point + 2**255 for point in LOW_ORDER), *LONGER])
def test_a_key_that_hides_nothing_is_refused_before_a_client_agrees(point):
    key = point.to_bytes(32, "little")
    if point % 2**255 % PRIME in POINTS:
        with pytest.raises(ValueError, match="Error computing shared key"):
            X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(key))
    client = client_of(0, [1.0, 2.0])
    with pytest.raises(ArgumentError, match="its key is not a public key of X25519"):
        client.join(document(collection(key=key.hex())))
    assert not client.memory
    client.join(document(collection()))


def test_an_analyzer_needs_the_key_of_its_collection():
    private, key = new_key()
    ShuffleAnalyzer(collection(key=key), private)
    for wrong in (new_key()[0], b""):
        with pytest.raises(ArgumentError, match="private key"):
            ShuffleAnalyzer(collection(key=key), wrong)


# --- the shuffler ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def played():
    """A small collection and the batches of its first round."""
    public = collection()
    asked = ShuffleAnalyzer(public).round
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


def copied(batch, user, change=lambda envelope: envelope):
    messages = msgspec.msgpack.decode(batch, type=Batch).messages
    return changed(batch, user=user.to_bytes(8), messages=[change(envelope) for envelope in messages])


def test_a_batch_that_was_copied_is_refused(tmp_path):
    """Envelopes that occur twice would tell the analyzer which ones came together."""
    private, key = new_key()
    public = collection(key=key)
    asked = ShuffleAnalyzer(public, private).round
    first, second, third = batches_for(public, asked, 3)
    keys = [{m[:32] for m in msgspec.msgpack.decode(batch, type=Batch).messages} for batch in (first, second)]
    shuffler = Shuffler(document(public), 0, tmp_path / "round")
    assert shuffler.receive(first) == (Outcome.ACCEPTED, "")
    refused = (Outcome.REJECTED, "an envelope whose key or tag was used before")
    mine = msgspec.msgpack.decode(second, type=Batch).messages
    theirs = msgspec.msgpack.decode(first, type=Batch).messages
    copies = [
        copied(first, 5),
        copied(first, 5, lambda envelope: envelope[:32] + bytes(len(envelope) - 32)),
        copied(first, 5, lambda e: e[:31] + bytes([e[31] ^ 128]) + e[32:]),  # X25519 ignores this bit
        copied(first, 5, lambda e: bytes([e[0] ^ 1]) + e[1:]),  # another key, and the rest as it was
        copied(first, 5, lambda e: e[:-1] + bytes([e[-1] ^ 1])),
        changed(second, messages=[mine[0][:32] + mine[1][32:], *mine[1:]]),
        changed(second, messages=[theirs[0], *mine[1:]]),
        changed(second, messages=[mine[1], *mine[1:]]),
        changed(second, messages=[mine[1][:32] + mine[0][32:], *mine[1:]]),
    ]
    for copy in copies:
        assert shuffler.receive(copy) == refused
    assert shuffler.receive(first) == (Outcome.DUPLICATE, "")
    assert shuffler.receive(second) == (Outcome.ACCEPTED, "")
    shuffler.close()
    again = Shuffler(document(public), 0, tmp_path / "round")  # keys are known after a restart, too
    assert again.receive(copied(second, 6)) == refused
    assert again.receive(third) == (Outcome.ACCEPTED, "")
    again.close()
    assert not keys[0] & keys[1]


def test_an_analyzer_opens_no_delivery_with_a_copied_envelope():
    private, key = new_key()
    public = collection("two", key=key)
    digest = digest_of(document(public))
    good = seal([bytes(4)] * 3, key, digest, 0)
    for copy in (good[0], good[0][:32] + bytes(20), bytes(32) + good[1][32:], bytes([good[2][0] ^ 1]) + good[2][1:]):
        analyzer = ShuffleAnalyzer(public, private)
        with pytest.raises(DataError, match="two envelopes of this delivery have one key or tag"):
            analyzer.receive(msgspec.msgpack.encode(Delivery(1, digest, 0, public.quorum, [*good, copy])))
        assert not analyzer.closed
        assert not analyzer.outcomes
        analyzer.receive(msgspec.msgpack.encode(Delivery(1, digest, 0, public.quorum, good)))


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
    analyzer = ShuffleAnalyzer(public, private)
    rows = rows_for(SMALL)
    clients = [Client(user, row, BUDGET, coins=NoCoins(user, average=True)) for user, row in enumerate(rows.tolist())][
        : public.quorum
    ]
    for client in clients:
        client.join(document(public))
    while not analyzer.done:
        batches = [client.encode(analyzer.document()) for client in clients]
        analyzer.receive(delivery_of(public, analyzer.round.round, batches))
        analyzer = ShuffleAnalyzer.resume(analyzer.save(), private)
    assert np.linalg.norm(analyzer.estimate.centre - rows[: public.quorum].mean(axis=0)) < 0.3
    assert np.linalg.norm(analyzer.estimate.mean - rows[: public.quorum].mean(axis=0)) < 0.3
    assert analyzer.outcomes["rejected"] == 0
    release = analyzer.release()
    assert 7.9 < release.epsilon(1e-6) <= 8
    assert release.n == public.quorum
    assert analyzer.release(columns="age").settings.columns == ("age",)
    assert dpmean.Release.from_json(release.to_json()).mean.tolist() == analyzer.estimate.mean.tolist()
    assert "of whom 96 must be honest" in " ".join(release.explain().split())
    with pytest.raises(ArgumentError, match="nothing left to ask"):
        analyzer.document()
    with pytest.raises(ArgumentError, match="this collection is complete"):
        analyzer.close(SMALL, np.zeros(2, dtype=np.int64))
    with pytest.raises(ArgumentError, match="this is not a saved analyzer"):
        ShuffleAnalyzer.resume(b"?")


def test_lost_and_forged_shares_are_noticed(played):
    public, _, batches = played
    good = msgspec.msgpack.decode(delivery_of(public, 0, batches), type=Delivery)

    def with_messages(messages, clients=SMALL):
        return msgspec.msgpack.encode(Delivery(1, digest_of(document(public)), 0, clients, messages))

    lost, twice = good.messages[1:], [*good.messages, good.messages[0]]
    size = 1 << (8 * public.stages[0].pack_bytes)

    def moved(by):  # a share replaced by a random one is within the range once in some hundred times, by chance
        first = (int.from_bytes(good.messages[0]) + by) % size
        return [first.to_bytes(public.stages[0].pack_bytes), *good.messages[1:]]

    for messages, words in (
        (lost, "2999 shares could be read, and 3000 are needed"),
        (twice, "some are missing, or there are too many"),
        (moved(size // 2), "out of range"),
        (moved(size // 4), "out of range"),
    ):
        analyzer = ShuffleAnalyzer(public)
        with pytest.raises(DataError, match=words):
            analyzer.receive(with_messages(messages))
        assert not analyzer.closed
        assert not analyzer.outcomes
    for clients in (public.quorum - 1, SMALL + 1):
        with pytest.raises((ArgumentError, DataError)):
            ShuffleAnalyzer(public).receive(with_messages(good.messages, clients))


def test_a_share_that_moves_the_sum_by_little_is_not_noticed(played):
    """A known limit: one who knows the packing moves the sum by anything that honest clients could have sent."""
    public, _, batches = played
    good = msgspec.msgpack.decode(delivery_of(public, 0, batches), type=Delivery)
    moved = int.from_bytes(good.messages[0]) + 1000
    moved %= 1 << (8 * public.stages[0].pack_bytes)
    forged = [moved.to_bytes(public.stages[0].pack_bytes), *good.messages[1:]]
    honest, cheated = ShuffleAnalyzer(public), ShuffleAnalyzer(public)
    honest.receive(msgspec.msgpack.encode(good))
    cheated.receive(msgspec.msgpack.encode(msgspec.structs.replace(good, messages=forged)))
    difference = cheated.closed[0].numbers - honest.closed[0].numbers
    assert difference.tolist() == [1000, 0]


def test_lost_late_and_forged_counts_cost_little():
    """Each message is one count: what is lost or made up moves the counts by as many."""
    private, key = new_key()
    public = collection("two", key=key)
    asked = ShuffleAnalyzer(public, private).round
    batches = batches_for(public, asked)
    good = msgspec.msgpack.decode(delivery_of(public, 0, batches), type=Delivery)
    digest = digest_of(document(public))
    late = seal([bytes(4)], key, digest, 1)  # sealed for another round
    unknown = seal([(1 << 31).to_bytes(4)], key, digest, 0)  # a bucket that there is not
    longer = seal([bytes(5)], key, digest, 0)
    forged = [*good.messages[5:], *late, *unknown, *longer, b"noise"]
    one, other = ShuffleAnalyzer(public, private), ShuffleAnalyzer(public, private)
    one.receive(msgspec.msgpack.encode(good))
    other.receive(msgspec.msgpack.encode(msgspec.structs.replace(good, messages=forged)))
    assert np.abs(one.closed[0].numbers - other.closed[0].numbers).sum() == 5
    assert other.outcomes["rejected"] == 3
    for changes in ({"round": 1}, {"version": 2}, {"collection": bytes(32)}):
        with pytest.raises(DataError, match="not a delivery of the open round"):
            ShuffleAnalyzer(public, private).receive(msgspec.msgpack.encode(msgspec.structs.replace(good, **changes)))
    with pytest.raises(DataError, match="malformed"):
        ShuffleAnalyzer(public, private).receive(b"?")


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


# --- three processes ---------------------------------------------------------------------------------------------


def test_clients_shuffler_and_analyzer_run_as_three_processes():
    """They exchange bytes only; the analyzer here never sees a row, and messages are sealed to its key."""
    users = 60
    private, key = new_key()
    public = collection(users=users, key=key)
    analyzer = ShuffleAnalyzer(public, private)
    command = [sys.executable, "-m", "tests.support.shuffle_roles"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        subprocess.Popen([*command, "clients", str(users)], **pipes) as clients,
        subprocess.Popen([*command, "shuffler"], **pipes) as shuffler,
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
    whole = simulation.lattice_numpy.on_grid(rows_for(users), public.step, public.reach, [])
    exact = simulation.whole_vectors(stage, asked, whole).sum(axis=0)
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
