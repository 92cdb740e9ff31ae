"""Clients, shuffler and analyzer of the shuffle model: what they accept, what they refuse, and what faults do."""

import hmac
import math
import subprocess
import sys
import time
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import dpmean
from dpmean import ApproxDp, ArgumentError, DataError, OverspendError, PureDp, Zcdp
from dpmean.errors import LedgerError
from dpmean.trust.client import Client
from dpmean.trust.devices.ledger import DeviceLedger
from dpmean.trust.devices.signatures import new_identity
from dpmean.trust.local.schema import Outcome
from dpmean.trust.shuffle import simulation
from dpmean.trust.shuffle.amounts import read_budget, write_budget
from dpmean.trust.shuffle.analyzer import ShuffleAnalyzer
from dpmean.trust.shuffle.checks import check_collection
from dpmean.trust.shuffle.costs import check_cost, total_cost
from dpmean.trust.shuffle.delivery import signed_delivery
from dpmean.trust.shuffle.design import design
from dpmean.trust.shuffle.enrollment import Enrollment
from dpmean.trust.shuffle.invitation import AnalyzerKeys, collection_for, invite
from dpmean.trust.shuffle.messages import Batch, Delivery
from dpmean.trust.shuffle.progress import Rounds
from dpmean.trust.shuffle.schema import Counters
from dpmean.trust.shuffle.seal import new_key, public_of, seal, unseal
from dpmean.trust.shuffle.sizes import messages_of_all, unreadable_messages
from dpmean.trust.shuffle.work import check_work, too_much
from tests.support.shuffle_parts import (
    BUDGET,
    KEYS,
    LATER,
    NOW,
    SHUFFLER,
    SMALL,
    NoCoins,
    Play,
    changed,
    changed_batch,
    check_in,
    collection,
    digest_in,
    invitation,
    resigned,
    roll_for,
)
from tests.support.shuffle_roles import read, rows_for, write


@pytest.fixture(scope="module")
def play(shared_folder):
    """A small collection that everybody has checked in to."""
    return Play(shared_folder)


@pytest.fixture(scope="module")
def played(play):
    """Its first round, and what all clients answer."""
    asked = play.analyzer().document(LATER)
    return play, asked, play.batches(asked)


# --- clients -----------------------------------------------------------------------------------------------------


def test_a_client_answers_each_round_once_and_repeats_itself(fast_folder):
    play = Play(fast_folder)
    analyzer = play.analyzer()
    asked = analyzer.document(LATER)
    client = play.client(7, joined=False)
    with pytest.raises(ArgumentError, match="does not know the collection: call join first"):
        client.encode(asked)
    cost = client.join(play.document)
    assert cost.epsilon <= BUDGET.epsilon
    first = client.encode(asked)
    assert client.encode(asked) == first
    play.ledger.close()
    again = DeviceLedger(fast_folder / "ledger", clock=play.now)  # after a restart
    account = again.account("user 7", "rows", BUDGET)
    restarted = Client(7, [5.0, 5.0], account, KEYS.public)
    assert restarted.encode(asked) == first
    with pytest.raises(OverspendError, match="has answered another document of round 0"):
        restarted.encode(changed(asked, "round", radius=1 << 10))
    assert restarted.join(play.document) == cost
    roll = roll_for(play.invitation, SMALL + 1).signature.hex()
    crowded = changed(play.document, "collection", users=SMALL + 1, roll=roll)
    with pytest.raises(OverspendError, match="agreed to another collection of the same invitation"):
        restarted.join(crowded)
    assert account.parts[0].rounds == (0,)
    again.close()


def test_what_could_not_be_stored_is_not_sent(fast_folder):
    """A client whose ledger is gone or full does not answer."""
    play = Play(fast_folder, d=32)
    client, asked = play.client(7, [5.0] * 32), play.analyzer().document(LATER)
    play.ledger._file.write("PRAGMA max_page_count = 1")  # the file may not grow: the disk is full
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"cannot be used: database or disk is full. Nothing was sent"):
            client.encode(asked)
    assert client.account.parts[0].rounds == ()
    play.ledger._file.write("PRAGMA max_page_count = 100000")
    assert client.encode(asked) == client.encode(asked)
    play.ledger.close()
    with pytest.raises(LedgerError, match="cannot be used"):
        client.encode(asked)


def test_a_client_refuses_invitations_that_it_should(fast_folder):
    here, other = [1.0, 2.0], new_identity()[1]
    ledger = DeviceLedger(fast_folder / "ledger", clock=lambda: NOW)

    def client(row=here, budget=BUDGET, analyzer=KEYS.public, **more):
        return Client(0, row, ledger.account(f"me {budget}", "rows", budget), analyzer, **more)

    good = invitation()
    cases = [
        (client(budget=ApproxDp(7, 1e-6)), {}, OverspendError, "epsilon = 7, delta = 1e-06 is left"),
        (client(budget=ApproxDp(8, 1e-7)), {}, OverspendError, "epsilon = 8, delta = 1e-07 is left"),
        (client(budget=Zcdp(1)), {}, OverspendError, "costs an epsilon and a delta"),
        (client(budget=PureDp(1)), {}, OverspendError, "costs an epsilon and a delta"),
        (client([1.0]), {}, ArgumentError, "rows of 2 columns, this one has 1"),
        (client(analyzer=other), {}, ArgumentError, "was not signed by the analyzer with the public key"),
        (client(), {"analyzer": other}, ArgumentError, "names another analyzer than the one that has signed it"),
        (client(), {"shuffler": "zz"}, ArgumentError, "the public key of its shuffler must be 64 hexadecimal digits"),
        (client(), {"key": "zz"}, ArgumentError, "its key is not a public key of X25519"),
        (client(), {"budget": "plenty"}, ArgumentError, "a budget is written"),
        (client(), {"silent": "half"}, ArgumentError, "a share of users is written"),
        (client(), {"silent": "13/20"}, ArgumentError, "at least 30% must be left who are honest and answer, and 25%"),
        (client(), {"colluding": "1/11"}, OverspendError, "allows for 1/11 of the users to collude, and this device"),
        (client(colluding=Fraction(1, 5)), {}, OverspendError, "allows for 1/10 of the users to collude"),
        (client(), {"name": "x"}, ArgumentError, "its name must be 16 hexadecimal digits"),
        (client(), {"step": 5000}, ArgumentError, "this is not an invitation: step must be -1000 to 900, got 5000"),
        (client(), {"closes": LATER + 1}, ArgumentError, "clients check in until closes, and that is not after"),
        (client(), {"closes": NOW - 5}, ArgumentError, "this invitation closed 5 seconds ago"),
        (client(), {"expires": NOW + 500 * 86400}, ArgumentError, "expires in 500 days, and this device holds"),
        (client(), {"version": 1}, ArgumentError, "this invitation is of version 1 of the wire format"),
        (client(), {"surprise": 1}, ArgumentError, "this is not a invitation|not an invitation"),
    ]
    for one, changes, error, words in cases:
        with pytest.raises(error, match=words):
            one.check_in(changed(good, "invitation", **changes))
        assert not one.account.parts
    client().check_in(good)
    ledger.close()


def test_a_client_refuses_collections_that_it_should(fast_folder):
    play = Play(fast_folder)
    client = play.client(0, [1.0, 2.0], joined=False)
    cases = [
        ({"step": -20}, ArgumentError, "not what clients were invited to: its step differs"),
        ({"budget": "epsilon 9 delta 1/1000000"}, ArgumentError, "its budget differs"),
        ({"silent": "0"}, ArgumentError, "its silent differs"),
        ({"key": new_key()[1]}, ArgumentError, "its key differs"),
        ({"expires": LATER + 1}, ArgumentError, "its expires differs"),
        ({"users": SMALL * 1000}, ArgumentError, "has not signed that 120000 users have checked in"),
        ({"roll": "00" * 64}, ArgumentError, "has not signed that 120 users have checked in"),
        ({"roll": "zz"}, ArgumentError, "has not signed that 120 users have checked in"),
        ({"roll": "0"}, ArgumentError, "has not signed that 120 users have checked in"),
        ({"invitation": "00" * 32}, ArgumentError, "does not know the invitation: call check_in first"),
        ({"invitation": "zz"}, ArgumentError, "does not know the invitation"),
        ({"version": 1}, ArgumentError, "this collection is of version 1 of the wire format"),
    ]
    for changes, error, words in cases:
        with pytest.raises(error, match=words):
            client.join(changed(play.document, "collection", **changes))
    stranger = Client(5, [1.0, 2.0], play.account(5), KEYS.public)
    with pytest.raises(ArgumentError, match="does not know the invitation: call check_in first"):
        stranger.join(play.document)
    with pytest.raises(ArgumentError, match="this is not a collection"):
        client.join(b"{}")
    assert client.account.left == (BUDGET.epsilon, BUDGET.delta)
    cost = client.join(play.document)
    assert cost == total_cost(play.public.stages, 2, play.public.honest, BUDGET)
    assert client.account.left == (BUDGET.epsilon - cost.epsilon, 0)
    stages = [msgspec.to_builtins(stage) for stage in play.public.stages]
    stages[0]["shares"] = 3
    thin = changed(play.document, "collection", stages=stages)
    with pytest.raises(OverspendError, match="more than the epsilon = 8"):
        play.client(1, joined=False).join(thin)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"round": 9}, "does not belong"),
        ({"version": 1}, "this round is of version 1 of the wire format, and only version 2 is read"),
        ({"radius": 0}, "its radius"),
        ({"radius": 1 << 50}, "its numbers"),
        ({"centre": [1]}, "its centre"),
        ({"gaps": [1]}, "its gaps"),
        ({"lows": [1]}, "its lows"),
        ({"widths": [1]}, "its widths"),
        ({"closes": -1}, "its closes"),
        ({"closes": NOW - 7}, "this round closed 7 seconds ago: ask for an extension"),
        ({"collection": "00" * 32}, "does not know the collection"),
    ],
)
def test_a_client_refuses_a_round_that_does_not_fit(play, changes, words):
    client = play.client(0)
    with pytest.raises(ArgumentError, match=words):
        client.encode(changed(play.analyzer().document(LATER), "round", **changes))
    assert client.account.parts[0].rounds == ()


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
        Rounds(with_stages(public, public.stages[0], public.stages[2]))
    with pytest.raises(ArgumentError, match="the rounds of variant tree are median, radius, sum"):
        Rounds(msgspec.structs.replace(public, variant="tree"))


def with_stages(public, *stages):
    return msgspec.structs.replace(public, stages=stages)


def hostile_stages():
    """Rounds that cost less than is allowed, and would keep a client busy for minutes, hours or days."""
    coarse, counters, _ = collection(d=32).stages
    change = msgspec.structs.replace
    packs = change(coarse, packed=1, packs=32, shares=4000)
    long = change(coarse, bits=120, packed=32, packs=1, shares=4096)
    noisy = change(coarse, variance=1 << 52)
    thick = change(counters, cells=2, blanket=1 << 28)
    kinds = [change(counters, cells=2, blanket=1000 + kind) for kind in range(5)]
    return [
        ([packs], "128000 messages, and 65536 are the limit"),
        ([long] * 4, "8683716 bytes, and 8388608 are the limit"),
        ([noisy], "10995136 Poisson draws, and 2097152 are the limit"),
        ([thick], "268435456 messages on average in a bucket, and 134217728 are the limit"),
        (kinds, "5 kinds of counters, and 4 are the limit"),
        ([counters] * 33, "number of rounds must be 1 to 32, got 33"),
    ]


@pytest.mark.parametrize("case", range(6))
def test_nobody_can_keep_a_client_busy(case, fast_folder):
    """It looks at public numbers first, and stores nothing; the shuffler tells the same to whoever runs it."""
    stages, words = hostile_stages()[case]
    budget = ApproxDp(20, Fraction(1, 10**6))
    play = Play(fast_folder, d=32, budget=budget)
    document = changed(
        play.document,
        "collection",
        users=10**6,
        stages=[msgspec.to_builtins(stage) for stage in stages],
        roll=roll_for(play.invitation, 10**6).signature.hex(),
    )
    client = play.client(0, [1.0] * 32, budget, joined=False)
    asked = play.analyzer().document(LATER)
    for call in (lambda: client.join(document), lambda: play.shuffler(asked, document=document)):
        with pytest.raises(ArgumentError, match=words):
            call()
    assert client.account.left == (20, budget.delta)


def test_documents_have_a_limit(play):
    client = play.client(0)
    asked = play.analyzer().document(LATER)
    long = b"{" + b" " * (1 << 20) + b"}"
    for call in (client.check_in, client.join, client.encode, client.answer, client.end, play.shuffler):
        with pytest.raises(ArgumentError, match="it has 1048578 bytes, and 1048576 are the limit"):
            call(long)
    client.encode(asked)
    tiny = changed(play.invitation, "invitation", budget=f"epsilon 8 delta 1/1{'0' * 300}")
    with pytest.raises(ArgumentError, match="delta must be at least 1e-30, got 1e-300"):
        client.check_in(tiny)


@pytest.mark.parametrize("kind", [bytes.decode, bytearray, memoryview])
def test_documents_are_bytes(kind, play):
    """Text has no digest, and a client that had stored it could neither answer nor join again."""
    asked = play.analyzer().document(LATER)
    client = play.client(1)
    for call, document in (
        (client.check_in, play.invitation),
        (client.join, play.document),
        (client.answer, play.document),
        (client.encode, asked),
        (client.end, asked),
        (play.shuffler, asked),
    ):
        with pytest.raises(ArgumentError, match="it must be bytes as they were published, got"):
            call(kind(document))


@pytest.mark.parametrize("user", [-1, 1 << 64, 1.0, "1", None, True])
def test_a_client_has_a_number(user, play):
    with pytest.raises(ArgumentError, match=r"user must be an integer from 0 to 2\^64 - 1, got"):
        Client(user, [1.0, 2.0], play.account(0), KEYS.public)


@pytest.mark.parametrize("key", ["", "zz", None, b"x", KEYS.public.upper()])
def test_a_client_knows_its_analyzer(key, play):
    with pytest.raises(ArgumentError, match="the public key of the analyzer must be 64 hexadecimal digits"):
        Client(0, [1.0, 2.0], play.account(0), key)


def test_shares_that_hide_nothing_are_refused():
    """With a pack far longer than its shares can hide, the distance of two views is no float any more."""
    public = collection(d=32)
    open_pack = msgspec.structs.replace(public.stages[0], bits=120, packed=32, packs=1, shares=2)
    with pytest.raises(OverspendError, match="would cost more than"):
        check_cost(with_stages(public, open_pack))


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
    check_work(simulation_of(plan))


def simulation_of(plan):
    return msgspec.structs.replace(
        collection(d=plan.d), users=plan.users, stages=plan.stages, colluding=str(1 - Fraction(plan.honest, plan.users))
    )


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
    envelopes = seal([b"abcd", b"abcd", bytes(4)], public, digest)
    assert {len(envelope) for envelope in envelopes} == {4 + 48}
    assert envelopes[0] != envelopes[1]
    assert envelopes[0][:32] != envelopes[1][:32]  # nothing in common, not even a key
    assert unseal(envelopes, private, digest) == [b"abcd", b"abcd", bytes(4)]
    assert unseal(envelopes[:1], private, bytes(32)) == [None]
    assert unseal(envelopes[:1], new_key()[0], digest) == [None]
    tampered = envelopes[0][:-1] + bytes([envelopes[0][-1] ^ 1])
    assert unseal([tampered, b"short", b""], private, digest) == [None] * 3


def test_envelopes_are_what_browsers_can_make():
    """X25519, HKDF-SHA256, AES-256-GCM and SHA-256, put together by hand as RFC 9180 says."""
    private, public = new_key()
    digest = bytes(range(32))
    (envelope,) = seal([b"abcd"], public, digest)
    key = X25519PrivateKey.from_private_bytes(private)
    shared = key.exchange(X25519PublicKey.from_public_bytes(envelope[:32]))
    kem, suite = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x02"

    def extract(salt, label, content, context):
        return hmac.digest(salt or bytes(32), b"HPKE-v1" + context + label + content, "sha256")

    def expand(secret, label, info, length, context):
        labeled = length.to_bytes(2) + b"HPKE-v1" + context + label + info
        return hmac.digest(secret, labeled + b"\x01", "sha256")[:length]

    secret = expand(
        extract(b"", b"eae_prk", shared, kem), b"shared_secret", envelope[:32] + bytes.fromhex(public), 32, kem
    )
    info = b"dpmean 2 envelope\n" + digest
    context = b"\0" + extract(b"", b"psk_id_hash", b"", suite) + extract(b"", b"info_hash", info, suite)
    seed = extract(secret, b"secret", b"", suite)
    opened = AESGCM(expand(seed, b"key", context, 32, suite)).decrypt(
        expand(seed, b"base_nonce", context, 12, suite), envelope[32:], b""
    )
    assert opened == b"abcd"


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
def test_a_key_that_hides_nothing_is_refused_before_a_client_agrees(point, play):
    key = point.to_bytes(32, "little")
    if point % 2**255 % PRIME in POINTS:
        with pytest.raises(ValueError, match="Error computing shared key"):
            X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(key))
    client = Client(3, [1.0, 2.0], play.account("who checks keys"), KEYS.public)
    with pytest.raises(ArgumentError, match="its key is not a public key of X25519"):
        client.check_in(changed(play.invitation, "invitation", key=key.hex()))
    assert not client.account.parts


def test_an_analyzer_needs_the_keys_of_its_collection(play):
    for wrong in (AnalyzerKeys.new(), AnalyzerKeys(KEYS.identity, bytes(32)), AnalyzerKeys(bytes(32), KEYS.opening)):
        with pytest.raises(ArgumentError, match="these keys are not those of the collection"):
            ShuffleAnalyzer(play.public, wrong)
    with pytest.raises(ArgumentError, match="a private key to sign with has 32 bytes"):
        ShuffleAnalyzer(play.public, AnalyzerKeys(b"", b""))
    assert "bytes" not in repr(KEYS)
    assert KEYS.identity.hex() not in repr(KEYS)


# --- the shuffler ------------------------------------------------------------------------------------------------


def messages_in(batch):
    return msgspec.msgpack.decode(batch, type=Batch).messages


def test_batches_are_accepted_whole_or_not_at_all(played):
    play, asked, batches = played
    shuffler = play.shuffler(asked)
    good = messages_in(batches[0])
    old = [1, bytes(32), 0, bytes(8), good]  # a batch of version 1
    bad = [
        (b"", "malformed"),
        (batches[0][:-1], "malformed"),
        (msgspec.msgpack.encode(old), "another version"),
        (changed_batch(batches[0], version=1), "another version"),
        (changed_batch(batches[0], round=bytes(32)), "another round"),
        (changed_batch(batches[0], user=SMALL.to_bytes(8)), "a user who has not checked in"),
        (changed_batch(batches[0], user=bytes(7)), "a user who has not checked in"),
        (changed_batch(batches[0], messages=good[:-1]), "a number of messages that no honest client sends"),
        (changed_batch(batches[0], messages=[*good, good[0]]), "a number of messages that no honest client sends"),
        (changed_batch(batches[0], messages=[*good[:-1], good[-1] + b"x"]), "a message of the wrong length"),
    ]
    for batch, reason in bad:
        assert shuffler.receive(batch) == (Outcome.REJECTED, reason)
    assert shuffler.clients == 0
    assert shuffler.receive(batches[0]) == (Outcome.ACCEPTED, "")
    assert shuffler.receive(batches[0]) == (Outcome.DUPLICATE, "")
    other = changed_batch(batches[0], messages=[*good[:-1], bytes(len(good[-1]))])
    assert shuffler.receive(other) == (Outcome.CONFLICT, "another batch of the same client")
    assert shuffler.clients == 1


def test_a_round_is_handed_on_with_a_quorum_only_and_then_closed(played):
    play, asked, batches = played
    public, shuffler = play.public, play.shuffler(asked)
    assert public.honest < public.quorum < public.users
    for batch in batches[: public.quorum - 1]:
        shuffler.receive(batch)
    with pytest.raises(
        ArgumentError, match=f"{public.quorum - 1} of 120 clients have answered, and {public.quorum} are needed"
    ):
        shuffler.hand_on()
    shuffler.receive(batches[public.quorum - 1])
    first = msgspec.msgpack.decode(shuffler.hand_on(), type=Delivery)
    assert first.clients == public.quorum
    assert shuffler.receive(batches[-1]) == (Outcome.REJECTED, "a closed round")
    again = msgspec.msgpack.decode(shuffler.hand_on(), type=Delivery)
    assert sorted(again.messages) == sorted(first.messages)
    assert again.messages != first.messages
    sent = [m for batch in batches[: public.quorum] for m in messages_in(batch)]
    assert sorted(first.messages) == sorted(sent)
    with pytest.raises(ArgumentError, match="does not belong to the collection"):
        play.shuffler(changed(asked, "round", round=3))
    with pytest.raises(ArgumentError, match="this is not a collection"):
        play.shuffler(asked, document=b"?")


def test_a_shuffler_that_dies_goes_on_where_it_was(played, tmp_path):
    play, asked, batches = played
    journal = tmp_path / "round"
    first = play.shuffler(asked, journal)
    for batch in batches[:50]:
        first.receive(batch)
    first.close()
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-10])  # it died while it wrote: the last batch was never acknowledged
    with pytest.raises(DataError, match="is not the journal of this round"):
        play.shuffler(changed(asked, "round", closes=LATER - 1), journal)
    second = play.shuffler(asked, journal)
    assert second.clients == 49
    assert second.receive(batches[0]) == (Outcome.DUPLICATE, "")
    for batch in batches[49 : play.public.quorum]:
        assert second.receive(batch)[0] is Outcome.ACCEPTED
    handed = msgspec.msgpack.decode(second.hand_on(), type=Delivery)
    second.close()
    third = play.shuffler(asked, journal)  # it died after it had handed on: nothing may be added any more
    assert third.closed
    assert third.receive(batches[-1]) == (Outcome.REJECTED, "a closed round")
    again = msgspec.msgpack.decode(third.hand_on(), type=Delivery)
    third.close()
    assert sorted(again.messages) == sorted(handed.messages)


def test_a_damaged_journal_or_another_file_is_refused_and_left_alone(played, tmp_path):
    """A round that was handed on must not be opened again because a byte of its journal went bad."""
    play, asked, batches = played
    journal = tmp_path / "round"
    shuffler = play.shuffler(asked, str(journal))
    for batch in batches:
        shuffler.receive(batch)
    shuffler.hand_on()
    with pytest.raises(ArgumentError, match="in use by another shuffler"):
        play.shuffler(asked, journal)
    shuffler.close()
    good = journal.read_bytes()
    for place in (30, len(good) // 2, len(good) - 1):
        bad = bytearray(good)
        bad[place] ^= 1
        journal.write_bytes(bad)
        with pytest.raises(DataError, match=r"damaged|not the journal|not a journal"):
            play.shuffler(asked, journal)
        assert journal.read_bytes() == bad
    table = tmp_path / "table.csv"
    table.write_text("age,height\n" * 100)
    with pytest.raises(DataError, match="not a journal of a shuffler"):
        play.shuffler(asked, table)
    assert table.read_text() == "age,height\n" * 100


def test_a_shuffler_that_cannot_write_stops(played, tmp_path, monkeypatch):
    """Otherwise a batch that is on disk but not in memory would be counted twice after a restart."""
    play, asked, batches = played
    journal = tmp_path / "round"
    shuffler = play.shuffler(asked, journal)
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
    again = play.shuffler(asked, journal)
    assert again.clients == 2  # the second batch had reached the disk after all
    assert again.receive(batches[1]) == (Outcome.DUPLICATE, "")
    again.close()


def test_nobody_can_show_different_collections(played, fast_folder):
    """An analyzer cannot tell some clients of a crowd to hide in: the shuffler signs how many have checked in."""
    play, asked, batches = played
    crowded = changed(play.document, "collection", users=SMALL * 1000)
    new = Play(fast_folder).client(1, joined=False)
    with pytest.raises(ArgumentError, match="has not signed that 120000 users have checked in"):
        new.join(crowded)
    with pytest.raises(ArgumentError, match="has not signed that 120000 users have checked in"):
        play.shuffler(asked, document=crowded)
    signed = changed(crowded, "collection", roll=roll_for(play.invitation, SMALL * 1000).signature.hex())
    with pytest.raises(ArgumentError, match="the collection has 120000 users, and 120 have checked in"):
        play.shuffler(asked, document=signed)
    open_one = Enrollment(play.invitation, KEYS.public, SHUFFLER, clock=play.now)
    for user in range(SMALL):
        open_one.receive(check_in(play.invitation, user))
    with pytest.raises(ArgumentError, match="120 have checked in so far: close the enrollment"):
        play.shuffler(asked, enrollment=open_one)
    (fast_folder / "other").mkdir()
    other = Play(fast_folder / "other", name="ff" * 8)
    with pytest.raises(ArgumentError, match="its name differs"):
        other.shuffler(asked, document=play.document)
    assert other.shuffler(other.analyzer().document(LATER)).receive(batches[0]) == (Outcome.REJECTED, "another round")


def test_nobody_can_show_different_rounds(played, fast_folder):
    """Half of the clients are shown another round document: the shuffler takes none of their batches."""
    play, asked, batches = played
    other = Play(fast_folder)  # the same documents, and clients that have not answered yet
    assert other.document == play.document
    strange = changed(asked, "round", radius=1 << 20)
    thin = [other.client(user).encode(strange) for user in range(SMALL // 2)]
    shuffler = play.shuffler(asked)
    for batch in thin:
        assert shuffler.receive(batch) == (Outcome.REJECTED, "another round")
    for batch in thin:  # relabelled, they do not open: the round is in the context of every envelope
        relabelled = changed_batch(batch, round=digest_in(asked))
        assert unseal(messages_in(relabelled), KEYS.opening, digest_in(asked)) == [None] * len(messages_in(batch))
        assert shuffler.receive(relabelled) == (Outcome.ACCEPTED, "")
    for batch in batches[SMALL // 2 :]:
        shuffler.receive(batch)
    analyzer = play.analyzer()
    analyzer.document(LATER)
    with pytest.raises(DataError, match="1500 messages of this delivery cannot be read, and those who may collude can"):
        analyzer.receive(shuffler.hand_on())
    assert not analyzer.outcomes


def copied(batch, user, change=lambda envelope: envelope):
    return changed_batch(batch, user=user.to_bytes(8), messages=[change(envelope) for envelope in messages_in(batch)])


def test_a_batch_that_was_copied_is_refused(played, tmp_path):
    """Envelopes that occur twice would tell the analyzer which ones came together."""
    play, asked, (first, second, third, *_) = played
    keys = [{m[:32] for m in messages_in(batch)} for batch in (first, second)]
    shuffler = play.shuffler(asked, tmp_path / "round")
    assert shuffler.receive(first) == (Outcome.ACCEPTED, "")
    refused = (Outcome.REJECTED, "an envelope whose key or tag was used before")
    mine, theirs = messages_in(second), messages_in(first)
    copies = [
        copied(first, 5),
        copied(first, 5, lambda envelope: envelope[:32] + bytes(len(envelope) - 32)),
        copied(first, 5, lambda e: e[:31] + bytes([e[31] ^ 128]) + e[32:]),  # X25519 ignores this bit
        copied(first, 5, lambda e: bytes([e[0] ^ 1]) + e[1:]),  # another key, and the rest as it was
        copied(first, 5, lambda e: e[:-1] + bytes([e[-1] ^ 1])),
        changed_batch(second, messages=[mine[0][:32] + mine[1][32:], *mine[1:]]),
        changed_batch(second, messages=[theirs[0], *mine[1:]]),
        changed_batch(second, messages=[mine[1], *mine[1:]]),
        changed_batch(second, messages=[mine[1][:32] + mine[0][32:], *mine[1:]]),
    ]
    for copy in copies:
        assert shuffler.receive(copy) == refused
    assert shuffler.receive(first) == (Outcome.DUPLICATE, "")
    assert shuffler.receive(second) == (Outcome.ACCEPTED, "")
    shuffler.close()
    again = play.shuffler(asked, tmp_path / "round")  # keys are known after a restart, too
    assert again.receive(copied(second, 6)) == refused
    assert again.receive(third) == (Outcome.ACCEPTED, "")
    again.close()
    assert not keys[0] & keys[1]


def test_an_analyzer_opens_no_delivery_with_a_copied_envelope(played):
    play, asked, batches = played
    good = play.delivery(asked, batches)
    messages = msgspec.msgpack.decode(good, type=Delivery).messages
    for copy in (
        messages[1],
        messages[1][:32] + messages[0][32:],
        messages[0][:32] + messages[1][32:],
        bytes([messages[1][0] ^ 1]) + messages[1][1:],
    ):
        analyzer = play.analyzer()
        analyzer.document(LATER)
        with pytest.raises(DataError, match="two envelopes of this delivery have one key or tag"):
            analyzer.receive(resigned(good, messages=[copy, *messages[1:]]))
        assert analyzer.round.round == 0
        assert not analyzer.outcomes
    analyzer.receive(good)
    assert analyzer.round.round == 1


# --- the analyzer ------------------------------------------------------------------------------------------------


def test_a_whole_collection_by_messages_with_silent_clients_and_a_resumed_analyzer(fast_folder):
    """A tenth of the clients never answers; the analyzer is saved and resumed after every round."""
    play, rows = Play(fast_folder), rows_for(SMALL)
    clients = [play.client(user, coins=NoCoins(user, average=True)) for user in range(play.public.quorum)]
    analyzer = play.analyzer()
    while not analyzer.done:
        asked = analyzer.document(LATER)
        analyzer = ShuffleAnalyzer.resume(analyzer.save(), KEYS)
        assert analyzer.document(LATER) == asked
        analyzer.receive(play.delivery(asked, [client.encode(asked) for client in clients]))
        analyzer = ShuffleAnalyzer.resume(analyzer.save(), KEYS)
    assert np.linalg.norm(analyzer.estimate.centre - rows[: play.public.quorum].mean(axis=0)) < 0.3
    assert np.linalg.norm(analyzer.estimate.mean - rows[: play.public.quorum].mean(axis=0)) < 0.3
    assert analyzer.outcomes["rejected"] == 0
    release = analyzer.release()
    assert 7.9 < release.epsilon(1e-6) <= 8
    assert release.n == play.public.quorum
    assert analyzer.release(columns="age").settings.columns == ("age",)
    assert dpmean.Release.from_json(release.to_json()).mean.tolist() == analyzer.estimate.mean.tolist()
    assert "of whom 96 must be honest" in " ".join(release.explain().split())
    for refused in (lambda: analyzer.document(LATER), lambda: analyzer.receive(b"?"), lambda: analyzer.extend(LATER)):
        with pytest.raises(ArgumentError, match="this collection is complete: there is nothing left to ask"):
            refused()
    with pytest.raises(ArgumentError, match="this is not a saved analyzer"):
        ShuffleAnalyzer.resume(b"?", KEYS)
    old = msgspec.msgpack.encode({**msgspec.msgpack.decode(analyzer.save()), "version": 1})
    with pytest.raises(ArgumentError, match="this is not a saved analyzer: it is of version 1"):
        ShuffleAnalyzer.resume(old, KEYS)


def test_a_round_has_one_document(play):
    analyzer = play.analyzer()
    for call in (lambda: analyzer.receive(b"?"), lambda: analyzer.extend(LATER)):
        with pytest.raises(ArgumentError, match="round 0 has not been published: call document first"):
            call()
    asked = analyzer.document(LATER - 9)
    assert analyzer.document(LATER - 9) == asked
    with pytest.raises(ArgumentError, match=f"it closes at {LATER - 9}, and not at {LATER}.*extend it"):
        analyzer.document(LATER)
    for never in (0, -1, LATER + 1):
        with pytest.raises(ArgumentError, match="closes must be a time in seconds since 1970, before the collection"):
            play.analyzer().document(never)


def test_deliveries_are_signed_by_the_shuffler_of_the_collection(played):
    """What somebody else has made, or changed, closes no round."""
    play, asked, batches = played
    good = play.delivery(asked, batches)
    read = msgspec.msgpack.decode(good, type=Delivery)
    other = new_identity()[0]
    forged = [
        msgspec.structs.replace(read, clients=read.clients - 1),
        msgspec.structs.replace(read, users=read.users - 1),
        msgspec.structs.replace(read, messages=read.messages[::-1]),
        msgspec.structs.replace(read, messages=[read.messages[0] + b"x", *read.messages[1:]]),
        msgspec.structs.replace(read, messages=read.messages[:-1]),
        msgspec.structs.replace(read, signature=bytes(64)),
        msgspec.structs.replace(read, signature=b""),
        msgspec.structs.replace(read, signature=roll_for(play.invitation, SMALL).signature),
    ]
    documents = [msgspec.msgpack.encode(one) for one in forged]
    documents.append(signed_delivery(other, read.round, read.users, read.clients, read.messages))
    for document in documents:
        analyzer = play.analyzer()
        analyzer.document(LATER)
        with pytest.raises(DataError, match="was not signed by the shuffler of the collection"):
            analyzer.receive(document)
        assert analyzer.round.round == 0
    for document, words in (
        (b"?", "malformed"),
        (good[:-1], "malformed"),
        (msgspec.msgpack.encode([1, bytes(32), 0, 100, []]), "another version: this delivery is of version 1"),
        (resigned(good, digest=bytes(32)), "not a delivery of the open round"),
    ):
        with pytest.raises(DataError, match=words):
            analyzer.receive(document)
    analyzer.receive(good)
    assert analyzer.round.round == 1


def test_deliveries_are_plausible(played):
    """Signed by the shuffler, and still not what so many clients send: it closes no round."""
    play, asked, batches = played
    public = play.public
    good = play.delivery(asked, batches)
    messages = msgspec.msgpack.decode(good, type=Delivery).messages
    noise = [bytes([k % 256, k // 256]) * 40 for k in range(len(messages))]
    noise = [x[: len(messages[0])] for x in noise]
    for changes, words in (
        ({"messages": []}, "has 0 messages, and 120 clients send 3000 to 3000"),
        ({"messages": messages[1:]}, "has 2999 messages"),
        ({"messages": [*messages, noise[0]]}, "has 3001 messages"),
        ({"clients": public.quorum - 1}, "is from 107 of 120 clients, and 108 to 120 of 120 are expected"),
        ({"clients": SMALL + 1}, "is from 121 of 120 clients"),
        ({"users": SMALL * 2}, "is from 120 of 240 clients"),
        ({"messages": [noise[7], *messages[1:]]}, "1 messages of this delivery cannot be read"),
    ):
        analyzer = play.analyzer()
        analyzer.document(LATER)
        with pytest.raises(DataError, match=words):
            analyzer.receive(resigned(good, **changes))
        assert analyzer.round.round == 0
        assert not analyzer.outcomes


@pytest.fixture(scope="module")
def counted(shared_folder):
    """A collection that begins with counters, and the first delivery."""
    folder = shared_folder / "counted"
    folder.mkdir()
    play = Play(folder, "two")
    asked = play.analyzer().document(LATER)
    return play, asked, play.delivery(asked, play.batches(asked))


def test_counts_of_which_many_do_not_open_close_no_round(counted):
    """Up to as many as those who may collude can send: more, or too few, or thousands that do not open, are refused."""
    play, _, good = counted
    stage, messages = play.public.stages[0], msgspec.msgpack.decode(good, type=Delivery).messages
    noise = list({np.random.default_rng(k).bytes(len(messages[0])) for k in range(5000)})
    fewest, most = messages_of_all(play.public, stage, SMALL)
    allowed = unreadable_messages(play.public, stage)
    assert fewest < len(messages) < most
    assert 0 < allowed < len(messages)
    for changed_messages, words in (
        ([], "has 0 messages"),
        (noise, "has 5000 messages" if most < 5000 else "cannot be read"),
        (messages[: fewest - 1], f"has {fewest - 1} messages"),
        ([*noise[: allowed + 1], *messages[allowed + 1 :]], f"{allowed + 1} messages of this delivery cannot be read"),
    ):
        analyzer = play.analyzer()
        analyzer.document(LATER)
        with pytest.raises(DataError, match=words):
            analyzer.receive(resigned(good, messages=changed_messages))
        assert analyzer.round.round == 0
    analyzer.receive(resigned(good, messages=[*noise[:allowed], *messages[allowed:]]))
    assert analyzer.outcomes["rejected"] == allowed


def test_lost_late_and_forged_counts_cost_little(counted):
    """Each message is one count: what is lost or made up moves the counts by as many."""
    play, asked, good = counted
    messages = msgspec.msgpack.decode(good, type=Delivery).messages
    digest = digest_in(asked)
    late = seal([bytes(4)], KEYS.key, bytes(32))  # sealed for another round
    unknown = seal([(1 << 31).to_bytes(4)], KEYS.key, digest)  # a bucket that there is not
    longer = seal([bytes(5)], KEYS.key, digest)
    one, other = play.analyzer(), play.analyzer()
    for analyzer, delivery in (
        (one, good),
        (other, resigned(good, messages=[*messages[5:], *late, *unknown, *longer, b"noise"])),
    ):
        analyzer.document(LATER)
        analyzer.receive(delivery)
    assert np.abs(one._rounds.closed[0].numbers - other._rounds.closed[0].numbers).sum() == 5
    assert other.outcomes["rejected"] == 3


def opened(asked, delivery):
    return unseal(msgspec.msgpack.decode(delivery, type=Delivery).messages, KEYS.opening, digest_in(asked))


def test_lost_and_forged_shares_are_noticed(played):
    play, asked, batches = played
    good = play.delivery(asked, batches)
    messages, shares = msgspec.msgpack.decode(good, type=Delivery).messages, opened(asked, good)
    size = 1 << (8 * play.public.stages[0].pack_bytes)

    def moved(by):  # a share replaced by a random one is within the range once in some hundred times, by chance
        first = (int.from_bytes(shares[0]) + by) % size
        return [*seal([first.to_bytes(play.public.stages[0].pack_bytes)], KEYS.key, digest_in(asked)), *messages[1:]]

    for by in (size // 2, size // 4):
        analyzer = play.analyzer()
        analyzer.document(LATER)
        with pytest.raises(DataError, match="out of range"):
            analyzer.receive(resigned(good, messages=moved(by)))
        assert analyzer.round.round == 0
        assert not analyzer.outcomes
    # a known limit: one who knows the packing moves the sum by anything that honest clients could have sent
    honest, cheated = play.analyzer(), play.analyzer()
    for analyzer, delivery in ((honest, good), (cheated, resigned(good, messages=moved(1000)))):
        analyzer.document(LATER)
        analyzer.receive(delivery)
    difference = cheated._rounds.closed[0].numbers - honest._rounds.closed[0].numbers
    assert difference.tolist() == [1000, 0]


def test_silent_and_colluding_clients_have_shares_of_their_own():
    """The calculation: with a quorum that answers, and all that may collude among them, honest noise is enough.

    If more than that collude, the same rounds cost more than was promised.
    """
    budget = ApproxDp(1, 1e-9)
    terms = invitation(d=4, budget=budget, silent=Fraction(1, 10), colluding=Fraction(1, 5))
    public = collection_for(terms, msgspec.msgpack.encode(roll_for(terms, 10_000)))
    assert (public.quorum, public.cheats, public.honest) == (9000, 2000, 7000)

    def cost(honest_left):
        thinner = [
            msgspec.structs.replace(stage, blanket=math.floor(stage.blanket * honest_left / public.honest))
            if isinstance(stage, Counters)
            else msgspec.structs.replace(stage, variance=math.floor(stage.variance * honest_left / public.honest))
            for stage in public.stages
        ]
        return total_cost(thinner, 4, honest_left, budget).epsilon

    assert cost(public.quorum - public.cheats) <= 1
    assert cost(math.floor((public.quorum - public.cheats) * 0.95)) > 1


@pytest.mark.parametrize("users", [1, 20, 119, 120, 997, 10**6])
@pytest.mark.parametrize(
    ("silent", "colluding"), [("1/10", "1/10"), ("1/3", "1/3"), ("0", "0"), ("7/10", "0"), ("1/7", "2/9")]
)
def test_whoever_is_left_is_at_least_as_many_as_noise_is_calibrated_to(users, silent, colluding):
    public = msgspec.structs.replace(collection(), users=users, silent=silent, colluding=colluding)
    assert public.quorum - public.cheats >= public.honest >= users * (1 - Fraction(silent) - Fraction(colluding)) - 1


# --- three processes ---------------------------------------------------------------------------------------------


def test_clients_shuffler_and_analyzer_run_as_three_processes(tmp_path):
    """They exchange bytes only; the analyzer here never sees a row, and messages are sealed to its key."""
    users = 60
    keys, (identity, public_identity) = AnalyzerKeys.new(), new_identity()
    later = int(time.time()) + 3600
    times = {"closes": later, "expires": later}
    invited = invite(keys, public_identity, name="ab" * 8, d=2, reach=40.0, budget=BUDGET, **times)
    command = [sys.executable, "-m", "tests.support.shuffle_roles"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        subprocess.Popen([*command, "clients", str(users), keys.public, str(tmp_path)], **pipes) as clients,
        subprocess.Popen([*command, "shuffler", keys.public, identity.hex(), str(tmp_path)], **pipes) as shuffler,
    ):
        for role in (clients, shuffler):
            write(role.stdin, invited)
        for _ in range(users):
            write(shuffler.stdin, read(clients.stdout))
        write(shuffler.stdin, b"")
        public = collection_for(invited, read(shuffler.stdout), few_rounds=True)
        analyzer = ShuffleAnalyzer(public, keys)
        for role in (clients, shuffler):
            write(role.stdin, analyzer.published)
        while not analyzer.done:
            asked = analyzer.document(later)
            write(shuffler.stdin, asked)
            write(clients.stdin, asked)
            for _ in range(users):
                write(shuffler.stdin, read(clients.stdout))
            write(shuffler.stdin, b"")
            analyzer.receive(read(shuffler.stdout))
        clients.stdin.close()
        shuffler.stdin.close()
    assert clients.returncode == shuffler.returncode == 0
    release = analyzer.release()
    assert release.epsilon(1e-6) <= 8
    stage, asked = public.stages[0], analyzer._rounds.asked[0]
    whole = simulation.lattice_numpy.on_grid(rows_for(users), public.step, public.reach, [])
    exact = simulation.whole_vectors(stage, asked, whole).sum(axis=0)
    noise = math.sqrt(stage.variance * users / public.honest)
    assert np.abs(analyzer._rounds.closed[0].numbers - exact).max() < 8 * noise < 2 ** (stage.bits - 4)
    assert analyzer.outcomes["rejected"] == 0
