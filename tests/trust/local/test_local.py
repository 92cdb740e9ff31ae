"""The local model: devices, messages, the analyzer; what each answer gives away, and what faults do."""

import contextlib
import itertools
import json
import math
import os
import subprocess
import sys
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmean
from dpmean import ArgumentError, OverspendError, PureDp, Zcdp, baselines
from dpmean.baselines import gaboardi
from dpmean.errors import LedgerError
from dpmean.noise.source import seeded
from dpmean.trust.client import Client
from dpmean.trust.devices import lattice_numpy
from dpmean.trust.devices.hashing import header, tree_places
from dpmean.trust.devices.ledger import DeviceLedger
from dpmean.trust.devices.randomness import SystemCoins
from dpmean.trust.devices.search import shares_from_tree
from dpmean.trust.devices.signatures import identity_of, publish
from dpmean.trust.local import randomizers, simulation
from dpmean.trust.local.analyzer import LocalAnalyzer
from dpmean.trust.local.division import divide, expected_error, noise_share, users_needed
from dpmean.trust.local.encoder import tree_bit
from dpmean.trust.local.protocol import Setup, setup_for
from dpmean.trust.local.randomizers import WORD, flips_are_covered, half_space, half_space_is_covered, lies
from dpmean.trust.local.schema import Outcome, Task, is_asked, read_budget, write_budget
from dpmean.trust.local.simulation import Fleet
from tests.support.recorder import RecordingNoise
from tests.support.shuffle_parts import LATER, clock

NAME = "00112233445566ff"
IDENTITY = bytes(range(32))
PUBLIC = identity_of(IDENTITY)
VECTORS = Path(__file__).parents[2] / "vectors" / "local.json"
BUDGETS = [Zcdp(0.5), PureDp(1), PureDp(Fraction(1, 4)), Zcdp(Fraction(1, 32))]


class SeededCoins:
    """What a device draws when the fleet has a seed."""

    def __init__(self, seed, user):
        self.noise, self.user = seeded(seed), user

    def word(self, step):
        return int(self.noise.at(step, self.user).words(1)[0])

    def gaussians(self, step, variance, count):
        return self.noise.at(step, self.user * count).gaussian(variance, count).tolist()


@pytest.fixture(scope="module")
def ledger(shared_folder):
    return DeviceLedger(shared_folder / "ledger", clock=clock)


PERSONS = itertools.count()


def device(ledger, user, row, budget, **more):
    """A device that has answered nothing yet."""
    return Client(user, row, ledger.account(f"person {next(PERSONS)}", "rows", budget), PUBLIC, **more)


def analyzer(users=400, d=3, budget=None, few=False, reach=10.0):
    setup = setup_for(NAME, users, d, reach, budget or Zcdp(0.5), few_rounds=few, analyzer=PUBLIC)
    return LocalAnalyzer(setup, IDENTITY)


def signed(task):
    """A task, as it is published."""
    return publish(IDENTITY, "task", msgspec.json.encode(msgspec.structs.replace(task, closes=task.closes or LATER)))


def rows_for(users=400, d=3, seed=0):
    rows = np.random.default_rng(seed).normal(2, 1, (users, d))
    rows[5] = np.nan
    rows[6] = 1e300
    rows[7] = 9.0  # outside the bound
    rows[8] = 0.0
    return rows


# --- randomizers: what an answer gives away ------------------------------------------------------------------------


@given(budget=st.fractions(min_value=Fraction(1, 1000), max_value=10))
def test_a_lying_bit_has_exactly_the_ratio_that_is_paid_for(budget):
    """Both outputs, both inputs: (1 - q) / q is at most exp(epsilon), and would exceed it with one lie less."""
    lie = lies(PureDp(budget))
    assert math.log((WORD - lie) / lie) <= float(budget) * (1 + 1e-12)
    low, high = dpmean.noise.exact.exp_bounds(budget, 200)
    assert Fraction(lie, WORD - lie) >= Fraction(low, 1 << 200)
    assert Fraction(lie - 1, WORD - lie + 1) <= Fraction(high, 1 << 200)
    assert not flips_are_covered(lie - 1, PureDp(budget))


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.5, 3.0, 40.0])
def test_a_lying_bit_has_the_renyi_divergence_that_is_paid_for(rho):
    lie = lies(Zcdp(rho))
    q = lie / WORD
    for alpha in (1.0001, 1.1, 1.5, 2, 3, 10, 100):
        if alpha * math.log((1 - q) / q) < 600:
            power = (1 - q) ** alpha * q ** (1 - alpha) + q**alpha * (1 - q) ** (1 - alpha)
            assert math.log(power) / (alpha - 1) <= rho * alpha * (1 + 1e-9) + 1e-9
    kl = (1 - 2 * q) * math.log((1 - q) / q)
    assert kl == pytest.approx(rho, rel=1e-6 if rho < 10 else 1e-3)  # reached as alpha nears 1
    assert flips_are_covered(lie, Zcdp(rho))
    assert not flips_are_covered(int(0.99 * lie), Zcdp(rho))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 4.0, 10.0])
def test_a_half_space_answer_stays_within_epsilon_for_any_directions(epsilon):
    """What is kept has density 1 or a, over q + a (1 - q); q may differ by 2^-20 from one direction to another."""
    answer = half_space(Fraction(str(epsilon)))
    a, q = answer.outside / WORD, math.erfc(answer.threshold / math.sqrt(2)) / 2
    off = 2.0**-20
    worst = (1 / (q - off + a * (1 - q + off))) / (a / (q + off + a * (1 - q - off)))
    assert math.log(worst) <= epsilon
    assert math.log(worst) > epsilon - 0.002
    assert half_space_is_covered(answer, PureDp(Fraction(str(epsilon))))
    greedy = randomizers.HalfSpace(answer.threshold, int(answer.outside * 0.99))
    assert not half_space_is_covered(greedy, PureDp(Fraction(str(epsilon))))


def test_the_half_space_is_as_likely_in_every_direction():
    """The bound 2^-20 of the proof, as far as half a million draws can see it: along an axis, a diagonal, between."""
    rows = np.array([[1.0, 0, 0], [1, 1, 1], [3, -1, 0.2]])
    drawn = seeded(3).at("proposals").gaussian(Fraction(1 << 60), 3 * 500_000).reshape(-1, 3)
    for row in rows:
        share = np.mean(drawn @ row / np.linalg.norm(row) >= 0.39 * 2**30)
        assert share == pytest.approx(math.erfc(0.39 / math.sqrt(2)) / 2, abs=0.004)


def test_the_gain_is_the_mean_of_what_is_kept():
    answer = half_space(Fraction(2))
    drawn = np.random.default_rng(1).normal(0, 1, 400_000)
    kept = drawn[(drawn >= answer.threshold) | (np.random.default_rng(2).random(400_000) < answer.outside / WORD)]
    assert kept.mean() == pytest.approx(answer.gain, abs=0.01)


@pytest.mark.parametrize("epsilon", ["0.001", "100"])
def test_an_epsilon_that_cannot_be_served_is_named(epsilon):
    with pytest.raises(ArgumentError, match=r"epsilon must lie between 0.02 and 16, got"):
        half_space(Fraction(epsilon))


# --- devices -------------------------------------------------------------------------------------------------------


def all_tasks(budget, few):
    """Play a collection; return each of its tasks and the fleet's messages for it."""
    rows, asked = rows_for(), analyzer(budget=budget, few=few)
    fleet = Fleet(rows, seeded(4))
    while not asked.done:
        document = asked.document(LATER)
        lines = fleet.answers(asked.task)
        yield document, asked.task, lines
        for block in lines:
            asked.receive_lines(block)
        asked.close()


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_device_sends_the_bytes_that_the_fleet_sends(budget, few, ledger):
    """Every user, every question: one at a time in whole numbers, and all at once in arrays."""
    rows = rows_for()
    for document, task, lines in all_tasks(budget, few):
        sent = {bytes(line) for block in lines for line in block}
        alone = {
            device(ledger, user, rows[user].tolist(), budget, coins=SeededCoins(4, user)).answer(document)
            for user in range(len(rows))
            if is_asked(task, user)
        }
        assert alone == sent
        assert len({len(message) for message in sent}) <= 1


def test_a_device_takes_neither_numpy_nor_numba():
    code = "import sys, dpmean.trust.client; print(any(name in sys.modules for name in ('numpy', 'numba')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def asked_user(task, start=0):
    return next(user for user in itertools.count(start) if is_asked(task, user))


def test_a_device_answers_once_and_repeats_itself(fast_folder):
    asked = analyzer()
    user = asked_user(asked.task)
    ledger = DeviceLedger(fast_folder / "ledger", clock=clock)
    client = Client(user, [1.0, 2.0, 3.0], ledger.account("me", "rows", Zcdp(0.75)), PUBLIC)
    message = client.answer(asked.document(LATER))
    assert all(client.answer(asked.document(LATER)) == message for _ in range(5))
    ledger.close()
    again = DeviceLedger(fast_folder / "ledger", clock=clock)  # after a restart
    account = again.account("me", "rows", Zcdp(0.75))
    restarted = Client(user, [1.0, 2.0, 3.0], account, PUBLIC)
    assert restarted.answer(asked.document(LATER)) == message
    assert account.left == (Fraction(1, 4), 0)
    for changes in ({"round": 3}, {"thresholds": [1] * len(asked.task.thresholds)}):
        with pytest.raises(OverspendError, match="answers it only once"):
            restarted.answer(signed(msgspec.structs.replace(asked.task, **changes)))
    other = msgspec.structs.replace(asked.task, collection="ab" * 32)
    with pytest.raises(OverspendError, match=r"would cost rho = 0.5 .*, and rho = 0.25 is left of rho = 0.75"):
        restarted.answer(signed(other))
    again.close()


def test_a_device_remembers_before_it_speaks(fast_folder):
    asked = analyzer()
    user = asked_user(asked.task)
    ledger = DeviceLedger(fast_folder / "ledger", clock=clock)
    client = Client(user, [1.0, 2.0, 3.0], ledger.account("me", "rows", Zcdp(0.5)), PUBLIC)
    document = asked.document(LATER)
    ledger.close()
    with pytest.raises(LedgerError, match=r"cannot be used.*Nothing was sent"):
        client.answer(document)
    again = DeviceLedger(fast_folder / "ledger", clock=clock)
    assert not again.account("me", "rows", Zcdp(0.5)).parts
    again.close()


def test_what_is_no_number_answers_as_the_centre_would(ledger):
    asked = analyzer()
    user = asked_user(asked.task)
    rows = ([None, 1.0, 2.0], [10**400, 0, 0], ["x", 0, 0], [0.0, 0.0, 0.0])
    answers = {
        device(ledger, user, row, Zcdp(0.5), coins=SeededCoins(2, user)).answer(asked.document(LATER)) for row in rows
    }
    assert len(answers) == 1


def test_a_setup_that_makes_no_sense_is_refused():
    for changes in ({"name": "xyz"}, {"users": 0}, {"d": 5000}, {"reach": 0.0}):
        arguments = {"name": NAME, "users": 10, "d": 2, "reach": 1.0, "budget": Zcdp(1), **changes}
        with pytest.raises(ArgumentError):
            setup_for(**arguments, few_rounds=False)


def test_a_device_without_entropy_says_nothing(monkeypatch, ledger):
    def broken(_):
        raise OSError("no device")

    asked = analyzer()
    client = device(ledger, asked_user(asked.task), [1.0, 2.0, 3.0], Zcdp(0.5))
    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(dpmean.EntropyError, match="nothing was released"):
        client.answer(asked.document(LATER))
    assert not client.account.parts


def test_a_device_that_is_not_asked_says_nothing(ledger):
    asked = analyzer()
    user = next(user for user in itertools.count() if not is_asked(asked.task, user))
    client = device(ledger, user, [1.0, 2.0, 3.0], Zcdp(0.5))
    assert client.answer(asked.document(LATER)) is None
    assert not client.account.parts


def vector_task(budget=None):
    asked = analyzer(budget=budget)
    while asked.task.question != "vector":
        asked.close()
    return asked.task


@pytest.mark.parametrize(
    ("task", "budget", "error", "words"),
    [
        ({"version": 1}, Zcdp(0.5), ArgumentError, "this task is of version 1 of the wire format, and only version 2"),
        ({"d": 4}, Zcdp(0.5), ArgumentError, "rows of 4 columns, this one has 3"),
        ({}, Zcdp(0.4), OverspendError, "would cost rho = 0.5 .*, and rho = 0.4 is left"),
        ({}, PureDp(9), OverspendError, "would cost rho = 0.5 .*, and the budget of this device is epsilon = 9"),
        ({"lie": "1000"}, Zcdp(0.5), OverspendError, "more than the task says"),
        ({"lie": "0"}, Zcdp(0.5), OverspendError, "more than the task says"),
        ({"lie": "-5"}, Zcdp(0.5), ArgumentError, "its lie cannot be right"),
        ({"lie": "1e3"}, Zcdp(0.5), ArgumentError, "its lie cannot be right"),
        ({"name": "short"}, Zcdp(0.5), ArgumentError, "its name cannot be right"),
        ({"round": 500}, Zcdp(0.5), ArgumentError, "its round cannot be right"),
        ({"tickets": (5, 2)}, Zcdp(0.5), ArgumentError, "its tickets cannot be right"),
        ({"step": -2000}, Zcdp(0.5), ArgumentError, "its step cannot be right"),
        ({"reach": 0}, Zcdp(0.5), ArgumentError, "its reach cannot be right"),
        ({"centre": [1]}, Zcdp(0.5), ArgumentError, "its centre cannot be right"),
        ({"signs": [1, 1, 1]}, Zcdp(0.5), ArgumentError, "its signs cannot be right"),
        ({"signs": [1, 1, 1, 7]}, Zcdp(0.5), ArgumentError, "its signs cannot be right"),
        ({"thresholds": [1]}, Zcdp(0.5), ArgumentError, "its thresholds cannot be right"),
        ({"thresholds": [1 << 80] * 4}, Zcdp(0.5), ArgumentError, "its numbers cannot be right"),
        ({"threshold": math.inf}, Zcdp(0.5), ArgumentError, "not a task"),
        ({"question": "median tree", "thresholds": [1, 2]}, Zcdp(0.5), ArgumentError, "its cells cannot be right"),
        ({"budget": "rho 0"}, Zcdp(0.5), ArgumentError, "a budget is written"),
        ({"budget": "delta 3"}, Zcdp(0.5), ArgumentError, "a budget is written"),
        ({"budget": "rho 1e9000000"}, Zcdp(0.5), ArgumentError, "a budget is written"),
    ],
)
def test_a_device_refuses_what_it_should(task, budget, error, words, ledger):
    document = signed(msgspec.structs.replace(analyzer().task, **task))
    with pytest.raises(error, match=words):
        device(ledger, asked_user(analyzer().task), [1.0, 2.0, 3.0], budget).answer(document)


def test_a_device_refuses_a_greedy_half_space_and_what_is_no_task(ledger):
    task = vector_task(PureDp(1))
    for changes in ({"outside": "5"}, {"threshold": 4.0}, {"threshold": 2.1}):
        with pytest.raises(OverspendError, match="more than the task says"):
            device(ledger, 0, [1.0, 2.0, 3.0], PureDp(1)).answer(signed(msgspec.structs.replace(task, **changes)))
    for changes in ({"threshold": -1.0}, {"radius": 0}, {"centre": []}, {"centre": [0] * 4}, {"outside": "x"}):
        with pytest.raises(ArgumentError, match="cannot be right"):
            device(ledger, 0, [1.0, 2.0, 3.0], PureDp(1)).answer(signed(msgspec.structs.replace(task, **changes)))
    other = publish(IDENTITY, "task", msgspec.json.encode(task).replace(b'"d"', b'"D"'))
    for document in (b"{}", b"[1]", b"{", other):
        with pytest.raises(ArgumentError, match="this is not a task"):
            device(ledger, 0, [1.0, 2.0, 3.0], PureDp(1)).answer(document)


@pytest.mark.parametrize("row", [[math.nan, 0, 0], [math.inf, 1, 1], [1.0, "?", 0]])
@pytest.mark.parametrize("budget", [Zcdp(0.5), PureDp(1)], ids=str)
def test_an_unusable_row_answers_as_the_centre_would(row, budget, ledger):
    task = vector_task(budget)
    user = asked_user(task)
    unit = 2.0**task.step
    centre = [c * unit for c in task.centre]
    messages = [
        device(ledger, user, values, budget, coins=SeededCoins(9, user)).answer(signed(task))
        for values in (row, centre)
    ]
    assert messages[0] == messages[1]


def test_what_a_device_draws_itself_has_the_law_of_the_fleet(ledger):
    """System coins: the share of ones, and the spread of vectors, are those of the randomizer."""
    task = analyzer(users=20_000).task
    bits = []
    for user in range(20_000):
        if is_asked(task, user):
            bits.append(device(ledger, user, [50.0] * 3, Zcdp(0.5), coins=SystemCoins()).answer(signed(task))[-1])
    rows = lattice_numpy.on_grid(np.full((20_000, 3), 50.0), task.step, task.reach, task.centre)
    users = np.array([user for user in range(20_000) if is_asked(task, user)])
    truth = simulation.bits(task, users, rows[users])
    lied = np.mean(np.array(bits) != truth)
    q = int(task.lie) / WORD
    assert abs(lied - q) < 5 * math.sqrt(q * (1 - q) / len(bits))


@given(st.integers(0, 255), st.integers(0, 10**6))
def test_tree_bits_are_the_same_one_by_one_and_all_at_once(cell, user):
    task = analyzer(few=True, users=10).task
    task = msgspec.structs.replace(task, thresholds=list(range(255)))
    places = tree_places(task, np.array([user]))
    level = int(places[0]).bit_length() - 1
    block, half = cell >> (8 - level), cell >> (8 - level - 1) & 1
    expected = 1 ^ half ^ (((int(places[0]) - (1 << level)) & block).bit_count() & 1)
    assert tree_bit(cell, 256, task.name, user) == expected


@given(st.lists(st.integers(-(2**25), 2**25), min_size=3, max_size=3), st.integers(1, 2**25))
def test_clipped_rows_are_never_longer_than_the_radius(row, radius):
    rows = np.array([row])
    short = simulation.clipped(rows, np.einsum("ij,ij->i", rows, rows), radius)[0]
    assert sum(int(x) ** 2 for x in short) <= radius**2
    length = math.sqrt(sum(x * x for x in row))
    if length > radius:
        assert np.allclose(short, np.array(row) * radius / length, atol=2)


# --- searches ------------------------------------------------------------------------------------------------------


def test_a_tree_tells_the_shares_and_how_well_it_knows_them():
    """Bits of 400 000 users about a known law: shares come back within what is stated."""
    generator = np.random.default_rng(1)
    task = msgspec.structs.replace(analyzer(few=True, users=400_000).task, thresholds=list(range(63)))
    users = np.arange(400_000)
    cells = np.minimum(generator.geometric(0.1, len(users)) - 1, 63)
    truth = np.array([tree_bit(int(cells[user]), 64, NAME, user) for user in range(20_000)])
    lie = 0.25
    told = truth ^ (generator.random(20_000) < lie)
    ones, zeros = np.zeros((1, 64), dtype=np.int64), np.zeros((1, 64), dtype=np.int64)
    places = tree_places(task, users[:20_000])
    np.add.at(ones[0], places, told)
    np.add.at(zeros[0], places, 1 - told)
    shares, std = shares_from_tree(ones, zeros, lie)
    exact = np.cumsum(np.bincount(cells[:20_000], minlength=64)) / 20_000
    assert np.abs(shares[0] - exact).max() < 5 * std[0] + 0.02
    assert 0.01 < std[0] < 0.1


# --- the analyzer --------------------------------------------------------------------------------------------------


def message_for(ledger, asked, sender=None, **changes):
    user = asked_user(asked.task) if sender is None else sender
    document = asked.document(LATER)
    message = device(ledger, user, [1.0, 2.0, 3.0], Zcdp(0.5), coins=SeededCoins(1, user)).answer(document)
    parts = dict(zip(("version", "task", "user", "body"), msgspec.msgpack.decode(message), strict=True))
    return msgspec.msgpack.encode([*{**parts, **changes}.values()])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": 1}, "another version"),
        ({"task": bytes(32)}, "another task"),
        ({"task": bytes(8)}, "another task"),
        ({"user": (10**9).to_bytes(8)}, "an unknown user"),
        ({"user": bytes(7)}, "an unknown user"),
        ({"body": b""}, "a body of the wrong length"),
        ({"body": b"\1\1"}, "a body of the wrong length"),
        ({"body": b"\2"}, "an impossible answer"),
        ({"body": "text"}, "malformed"),
        ({"user": "1"}, "malformed"),
    ],
)
def test_messages_that_cannot_be_right_are_rejected_with_a_reason_and_counted(changes, reason, ledger):
    asked = analyzer()
    assert asked.receive(message_for(ledger, asked, **changes)) == (Outcome.REJECTED, reason)
    assert asked.outcomes == {f"rejected: {reason}": 1}
    assert asked.tally.sum() == 0


def test_messages_are_counted_once_in_any_order_and_not_after_their_round(ledger):
    asked = analyzer()
    users = [user for user in range(400) if is_asked(asked.task, user)]
    messages = [message_for(ledger, asked, user) for user in users]
    for message in [*reversed(messages), *messages]:
        asked.receive(message)
    assert asked.outcomes == {"accepted": len(users), "duplicate": len(users)}
    assert asked.tally.sum() == len(users)
    stranger = next(user for user in range(400) if user not in users)
    strange = message_for(ledger, asked, users[0], user=stranger.to_bytes(8))
    assert asked.receive(strange) == (Outcome.REJECTED, "a user who was not asked")
    asked.close()
    assert asked.receive(messages[0]) == (Outcome.REJECTED, "a closed round")
    for garbage in (b"", b"\xff" * 30, messages[0][:-1], messages[0] + b"x", b"\x95" + bytes(40)):
        assert asked.receive(garbage)[0] is Outcome.REJECTED


@pytest.mark.parametrize("bulk", [False, True])
def test_another_answer_of_the_same_user_is_a_conflict(ledger, bulk):
    """One that is the same is a duplicate. Also after a restart, and when all come at once."""
    asked = analyzer()
    users = [user for user in range(400) if is_asked(asked.task, user)][:3]
    messages = [message_for(ledger, asked, user) for user in users]
    others = [message[:-1] + bytes([message[-1] ^ 1]) for message in messages]

    def receive(*several):
        if bulk:
            asked.receive_lines(np.array([list(one) for one in several], dtype=np.uint8))
        else:
            for one in several:
                asked.receive(one)

    receive(messages[0], others[0], messages[0], messages[1], others[1])
    conflict = "conflict: another answer of the same user"
    assert asked.outcomes == {"accepted": 2, "duplicate": 1, conflict: 2}
    asked = LocalAnalyzer.resume(asked.save(), IDENTITY)
    receive(others[1], messages[1], messages[2])
    assert asked.outcomes == {"accepted": 3, "duplicate": 2, conflict: 3}
    assert asked.tally.sum() == 3


def test_nobody_can_show_different_tasks(ledger):
    """Who was shown another task of the same round is not mixed in."""
    asked = analyzer()
    asked.document(LATER)
    user = asked_user(asked.task)
    strange = signed(msgspec.structs.replace(asked.task, thresholds=[7] * len(asked.task.thresholds)))
    message = device(ledger, user, [1.0, 2.0, 3.0], Zcdp(0.5)).answer(strange)
    assert asked.receive(message) == (Outcome.REJECTED, "another task")


def test_a_task_is_signed_by_the_analyzer_that_a_device_knows(ledger):
    asked = analyzer()
    user, document = asked_user(asked.task), asked.document(LATER)
    stranger = Client(user, [1.0, 2.0, 3.0], ledger.account("known", "rows", Zcdp(0.5)), identity_of(bytes(32)))
    with pytest.raises(ArgumentError, match="this task was not signed by the analyzer with the public key"):
        stranger.answer(document)
    with pytest.raises(ArgumentError, match="this task is not signed"):
        device(ledger, user, [1.0, 2.0, 3.0], Zcdp(0.5)).answer(document.partition(b"\n")[0])
    with pytest.raises(ArgumentError, match="the public key of this identity is not the analyzer of the setup"):
        LocalAnalyzer(asked.setup, bytes(32))
    with pytest.raises(ArgumentError, match="this collection can only be played in one process"):
        LocalAnalyzer(setup_for(NAME, 400, 3, 10.0, Zcdp(0.5), few_rounds=False)).document(LATER)


def test_a_task_has_one_document_and_a_deadline(ledger):
    asked = analyzer()
    document = asked.document(LATER)
    assert asked.document(LATER) == document
    assert LocalAnalyzer.resume(asked.save(), IDENTITY).document(LATER) == document
    with pytest.raises(ArgumentError, match=f"it closes at {LATER}, and not at {LATER + 1}"):
        asked.document(LATER + 1)
    for never in (0, -5, 1 << 40):
        with pytest.raises(ArgumentError, match="closes must be a time in seconds since 1970"):
            analyzer().document(never)
    late = device(ledger, asked_user(asked.task), [1.0, 2.0, 3.0], Zcdp(0.5))
    with pytest.raises(ArgumentError, match="this task closed 9 seconds ago"):
        late.answer(signed(msgspec.structs.replace(asked.task, closes=clock() - 9)))
    assert not late.account.parts


def test_many_lines_are_judged_like_single_messages():
    asked, other = analyzer(users=2000), analyzer(users=2000)
    rows = rows_for(users=2000)
    (lines,) = Fleet(rows, seeded(4)).answers(asked.task)
    broken = lines.copy()
    broken[0, 0] ^= 1
    broken[1, -1] = 2
    broken[2] = broken[3]
    broken[4], broken[5] = broken[6], broken[6]
    broken[4, -1] = 2  # a corrupt copy before the good one
    asked.receive_lines(broken)
    for line in broken:
        other.receive(bytes(line))
    assert asked.outcomes == other.outcomes
    assert np.array_equal(asked.tally, other.tally)
    assert asked.outcomes["duplicate"] == 2
    asked.receive_lines(np.zeros((3, 5), dtype=np.uint8))
    assert asked.outcomes["rejected: malformed"] == 4


@pytest.mark.parametrize("few", [False, True])
def test_an_analyzer_that_is_killed_anywhere_goes_on_to_the_same_result(few):
    rows, fleet = rows_for(), Fleet(rows_for(), seeded(4))
    steady = analyzer(few=few)
    expected = fleet.play(steady)
    shaky = analyzer(few=few)
    while not shaky.done:
        for block in Fleet(rows, seeded(4)).answers(shaky.task):
            for part in np.array_split(block, 3):
                shaky.receive_lines(part)
                shaky = LocalAnalyzer.resume(shaky.save(), IDENTITY)
        shaky.close()
        shaky = LocalAnalyzer.resume(shaky.save(), IDENTITY)
    assert np.array_equal(shaky.estimate.mean, expected.mean)
    assert shaky.outcomes == steady.outcomes
    assert shaky.estimate.receipts == expected.receipts
    with pytest.raises(ArgumentError, match="is complete"):
        shaky.close()
    assert shaky.receive(b"late") == (Outcome.REJECTED, "the collection is complete")
    before = shaky.save()
    shaky.receive_lines(Fleet(rows, seeded(4)).answers(shaky.task)[0])
    assert np.array_equal(
        LocalAnalyzer.resume(shaky.save(), IDENTITY).estimate.mean, LocalAnalyzer.resume(before, IDENTITY).estimate.mean
    )
    with pytest.raises(ArgumentError, match="nothing left to ask"):
        shaky.document(LATER)


def test_what_was_not_saved_by_an_analyzer_is_refused():
    saved = analyzer().save()
    for broken in (b"", saved[:-3], b"\x80", msgspec.msgpack.encode({"setup": 1})):
        with pytest.raises(ArgumentError, match="not a saved analyzer"):
            LocalAnalyzer.resume(broken, IDENTITY)


def play(rows, budget, reach, *, drop=0.0, cheat=None, seed=5, few=False):
    """Play a collection in which some users stay silent, and others send what they like."""
    asked = LocalAnalyzer(setup_for(NAME, len(rows), rows.shape[1], reach, budget, few_rounds=few))
    fleet, generator = Fleet(rows, seeded(seed)), np.random.default_rng(seed)
    silent, bad = generator.random(len(rows)) < drop, generator.random(len(rows)) < (0.1 if cheat else 0)
    while not asked.done:
        _, user_at, body_at = header(asked.task)
        for lines in fleet.answers(asked.task):
            users = np.ascontiguousarray(lines[:, user_at : user_at + 8]).view(">u8")[:, 0].astype(np.int64)
            if cheat:
                cheat(asked.task, lines, bad[users], body_at)
            asked.receive_lines(lines[~silent[users]])
        asked.close()
    return asked


def test_users_who_stay_silent_are_missed_and_counted():
    rows = np.random.default_rng(1).normal(5, 1, (40_000, 4))
    asked = play(rows, Zcdp(0.5), 40.0, drop=0.3)
    assert np.linalg.norm(asked.estimate.mean - 5) < 0.3
    answered = int(asked.answered.sum())
    assert 27_000 < answered < 29_000
    assert f"{answered} of 40000 users were heard in 33 rounds" in asked.estimate.receipts[0].asked


def test_if_nobody_answers_there_is_no_mean(ledger):
    asked = analyzer()
    while asked.task.question != "vector":
        asked.close()
    saved = asked.save()
    for _ in range(2):
        with pytest.raises(ArgumentError, match="nobody has answered the last round"):
            asked.close()
    assert LocalAnalyzer.resume(saved, IDENTITY).task == asked.task
    user = asked_user(asked.task)
    asked.receive(device(ledger, user, [1.0, 2.0, 3.0], Zcdp(0.5)).answer(asked.document(LATER)))
    asked.close()
    assert asked.done


def garbage(task, lines, bad, body_at):
    """Send bodies of random bytes."""
    del task
    lines[bad, body_at:] = np.random.default_rng(0).integers(0, 256, (int(bad.sum()), lines.shape[1] - body_at))


def worst(task, lines, bad, body_at):
    """Send the largest vector that is legal, and a bit that is always 0."""
    if task.question != "vector":
        lines[bad, body_at:] = 0
        return
    value = task.radius + 12 * int(task.radius * math.sqrt(2 / 0.5))
    largest = np.full((int(bad.sum()), task.d), value, dtype=">i8")
    lines[bad, body_at:] = largest.view(np.uint8).reshape(-1, 8 * task.d)


def test_a_tenth_of_users_who_send_garbage_hardly_matters_and_the_worst_is_bounded():
    """Random bytes are impossible answers, nearly always; the largest legal ones move the mean by 2.5 radii."""
    rows = np.random.default_rng(1).normal(5, 1, (40_000, 4))
    calm = play(rows, Zcdp(0.5), 40.0, cheat=garbage)
    assert np.linalg.norm(calm.estimate.mean - 5) < 0.3
    assert calm.outcomes["rejected: an impossible answer"] > 3000
    moved = play(rows, Zcdp(0.5), 40.0, cheat=worst)
    assert 1 < np.linalg.norm(moved.estimate.mean - 5) / (moved.estimate.radius * 2) < 3


# --- dpmean.mean -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [{"rho": 0.5}, {"epsilon": 1.0}, {"epsilon": 6.0, "delta": 1e-9}], ids=str)
@pytest.mark.parametrize("rounds", ["adaptive", "few"])
def test_the_mean_of_many_devices(budget, rounds):
    rows = np.random.default_rng(0).normal(5, 1, (60_000, 4))
    release = dpmean.mean(rows, trust="local", norm_bound=40.0, rounds=rounds, seed=3, **budget)
    assert np.linalg.norm(release.mean - 5) < 0.25
    assert release.trust == "local"
    assert release.settings.collection.rounds == (33 if rounds == "adaptive" else 3)
    assert release.settings.collection.answered == 60_000
    assert 49 < release.settings.collection.bytes_per_user < 83
    assert dpmean.Release.from_json(release.to_json()).mean.tolist() == release.mean.tolist()
    shown = str(release)
    assert ("epsilon = 1, pure" in shown) == (budget == {"epsilon": 1.0})
    errors = (release.mean - rows.mean(axis=0)) / release.noise_std
    assert np.sqrt(np.mean(errors**2)) < (2.5 if rounds == "adaptive" else 5)  # a rough centre leaves some bias


def test_a_played_collection_says_that_rows_were_seen():
    release = dpmean.mean(np.zeros((30_000, 2)), trust="local", rho=0.5, norm_bound=1.0, seed=3)
    assert release.settings.collection.played_in_one_process is True
    for text in (str(release), release.explain()):
        assert "played in one process, which saw all rows" in " ".join(text.split())
        assert "each device randomized its own answer" not in " ".join(text.split())
    apart = replace(release.settings.collection, played_in_one_process=False)
    told = replace(release, settings=replace(release.settings, collection=apart))
    assert "each device randomized its own answer" in " ".join(str(told).split())
    words = "each device randomized its own answer, only messages were added up"
    assert words in " ".join(told.explain().split())


@pytest.mark.parametrize("budget", [{"rho": 0.5}, {"epsilon": 1.0}], ids=str)
def test_rows_on_the_bound_are_within_it(budget):
    generator = np.random.default_rng(1)
    corners = (generator.random((60_000, 3)) < [0.9, 0.2, 0.6]).astype(float)
    release = dpmean.mean(corners, trust="local", bounds=(0, 1), seed=3, **budget)
    assert np.linalg.norm(release.mean - [0.9, 0.2, 0.6]) < 0.1
    sphere = generator.normal(1, 1, (60_000, 8))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    release = dpmean.mean(sphere, trust="local", norm_bound=1.0, seed=3, **budget)
    assert np.linalg.norm(release.mean - sphere.mean(axis=0)) < 0.1


def test_a_device_is_clamped_to_the_bounds_of_its_columns():
    release = dpmean.mean(np.full((30_000, 2), 1.3), trust="local", rho=0.5, bounds=(0, 1), seed=3)
    assert np.allclose(release.mean, 1.0, atol=0.02)


def test_a_pure_release_has_that_epsilon_and_no_error_bound():
    release = dpmean.mean(np.zeros((30_000, 2)), trust="local", epsilon=1.0, norm_bound=1.0, seed=3)
    assert release.epsilon(1e-9) == 1.0
    with pytest.raises(ArgumentError, match="no error bound in the local model"):
        release.error_bound()


def test_bounds_of_columns_work_too_and_a_seed_repeats_the_release():
    rows = np.random.default_rng(0).normal([40, 3000], [10, 500], (50_000, 2))
    arguments = {"trust": "local", "rho": 0.5, "bounds": ([0, 0], [130, 10000]), "seed": 3}
    release = dpmean.mean(rows, **arguments)
    assert np.all(np.abs(release.mean - [40, 3000]) < 6 * release.noise_std)
    assert np.array_equal(release.mean, dpmean.mean(rows, **arguments).mean)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"trust": "shuffled"}, 'trust must be "central", "local" or "shuffle", got'),
        ({"rounds": "some"}, 'rounds must be "adaptive" or "few"'),
        ({"method": "refined"}, 'in the local model method must be "shifted"'),
        ({"sigma_min": 1.0}, "sigma_min is for the central model"),
        ({"rho": None, "epsilon": 100.0}, r"epsilon must lie between 0.02 and 16"),
        ({"rho": None}, "budget is missing"),
        ({"nan": "drop"}, 'give nan="impute", not nan="drop"'),
        ({"nan": "skip"}, 'nan must be "raise", "impute" or "drop"'),
        ({"allow_few_rows": 1}, "allow_few_rows must be True or False, got 1"),
        ({"trust": "central", "rounds": "few"}, "rounds is for the local and the shuffle model"),
        ({"norm_bound": None}, "exactly one of norm_bound and bounds"),
    ],
)
def test_arguments_are_checked(arguments, words):
    rows = np.zeros((1000, 2))
    with pytest.raises((ValueError, TypeError), match=words):
        dpmean.mean(rows, **{"trust": "local", "rho": 0.5, "norm_bound": 1.0, **arguments})


def test_too_few_users_are_told_how_many_would_do():
    rows = np.zeros((10_000, 64))
    with pytest.raises(
        dpmean.TooFewRowsError, match=r"the local model: at least [0-9]+ are needed, [0-9]+ are rec"
    ) as caught:
        dpmean.mean(rows, trust="local", rho=0.5, norm_bound=1.0)
    assert 10_000 < caught.value.rows_needed < 40_000


# --- the division of users -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("few", [False, True])
def test_users_are_divided_within_reason(budget, few):
    for users in (1000, 10**5, 10**7):
        for d in (1, 8, 100):
            division = divide(users, d, budget, few_rounds=few)
            assert 0 < division.for_medians <= 0.35
            assert 0.02 <= division.for_radius <= 0.15
            assert 0 < division.clipped <= 0.5
    few_clipped, many_clipped = (divide(n, 8, budget, few_rounds=few).clipped for n in (10**6, 10**8))
    assert many_clipped < few_clipped / 5


def test_the_expected_error_is_about_what_happens():
    for d in (2, 8):
        errors = []
        for trial in range(8):
            rows = np.random.default_rng(trial).normal(5, 1, (50_000, d))
            release = dpmean.mean(rows, trust="local", rho=0.5, norm_bound=20 * math.sqrt(d), seed=trial)
            errors.append(np.linalg.norm(release.mean - rows.mean(axis=0)))
        predicted = expected_error(50_000, d, Zcdp(0.5), few_rounds=False) * math.sqrt(d)
        assert 0.6 < np.mean(errors) / predicted < 1.5


def test_more_budget_or_fewer_columns_need_fewer_users():
    needs = [users_needed(d, budget, few_rounds=False) for d, budget in ((8, Zcdp(0.5)), (8, Zcdp(2)), (4, Zcdp(0.5)))]
    assert needs[0] > needs[1]
    assert needs[0] > needs[2]
    assert all(risky < fine for fine, risky in needs)
    assert noise_share(8, PureDp(1), 100) > noise_share(8, PureDp(2), 100)


# --- vectors that other languages can replay -------------------------------------------------------------------------


class Scripted:
    """Coins that were written down."""

    def __init__(self, entry):
        self.entry = entry

    def word(self, step):
        return int(self.entry["words"][step])

    def gaussians(self, step, variance, count):
        assert str(variance) == self.entry["variance"]
        assert count == len(self.entry["gaussians"][step])
        return [int(x) for x in self.entry["gaussians"][step]]


def test_vectors_on_disk_are_answered_to_the_letter(ledger):
    vectors = json.loads(VECTORS.read_text())
    private, public = bytes.fromhex(vectors["analyzer"]["private"]), vectors["analyzer"]["public"]
    assert identity_of(private) == public == PUBLIC
    assert len(vectors["answers"]) == 24
    for entry in vectors["answers"]:
        document = entry["document"].encode()
        budget = read_budget(json.loads(document.partition(b"\n")[0])["budget"])
        client = device(ledger, entry["user"], entry["row"], budget, coins=Scripted(entry))
        assert client.answer(document).hex() == entry["message"]
    bad = vectors["bad messages"]
    asked = LocalAnalyzer(msgspec.convert(bad["setup"], Setup), private)
    assert asked.document(bad["closes"]) == bad["task"].encode()
    for entry in bad["messages"]:
        outcome, reason = asked.receive(bytes.fromhex(entry["message"]))
        assert f"{outcome}: {reason}".rstrip(": ") == entry["outcome"]
    assert len(vectors["bad documents"]) == 9
    for entry in vectors["bad documents"]:
        with pytest.raises(ArgumentError, match=r"this task (is of version 1|is not signed|was not signed)"):
            device(ledger, 0, [1.0, 2.0, 3.0], Zcdp(0.5)).answer(entry["document"].encode())


def test_budgets_are_written_and_read():
    for budget in BUDGETS:
        assert read_budget(write_budget(budget)) == budget
    assert isinstance(analyzer().task, Task)


def test_the_plan_says_what_to_expect_and_how_many_users_it_takes():
    fine = dpmean.plan(100_000, 8, epsilon=1.0, trust="local")
    assert str(fine).startswith("100000 rows in 8 dimensions, epsilon = 1, local model: enough rows")
    hopeless = dpmean.plan(10_000, 64, rho=0.5, trust="local")
    assert "too few rows" in str(hopeless)
    assert f"{hopeless.rows_needed} rows are recommended" in str(hopeless)
    assert dpmean.plan(10_000, 64, rho=hopeless.budget_needed * 1.2, trust="local").verdict < hopeless.verdict
    assert dpmean.plan(100_000, 8, rho=0.5, trust="local", rounds="few").error > 0
    with pytest.raises(ArgumentError, match="trust must be"):
        dpmean.plan(10, 2, rho=1, trust="shuffled")


# --- peers -----------------------------------------------------------------------------------------------------------


def test_peers_of_the_local_model_have_the_errors_they_are_known_for():
    """The guide's order: ours by far, then KnownVar, then UnkVar, which loses its way in many columns."""
    errors = {}
    for trial in range(4):
        rows = np.random.default_rng(trial).normal(5, 1, (60_000, 8))
        for name, call in {
            "local": lambda x, **more: dpmean.mean(x, trust="local", **more),
            "known": baselines.known_variance,
            "unknown": baselines.unknown_variance,
        }.items():
            release = call(rows, rho=0.5, norm_bound=57.0, seed=trial)
            errors.setdefault(name, []).append(np.linalg.norm(release.mean - rows.mean(axis=0)))
            assert release.rho == Fraction(1, 2)
            assert release.trust == "local"
    local_, known, unknown = (float(np.mean(errors[name])) for name in ("local", "known", "unknown"))
    assert known > 4 * local_
    assert unknown > 4 * local_
    assert known == pytest.approx(0.76, rel=0.35)


def test_peers_of_the_local_model_check_their_arguments():
    rows = np.zeros((100, 2))
    with pytest.raises(ValueError, match="sigma must be positive"):
        baselines.known_variance(rows, rho=0.5, norm_bound=1.0, sigma=0)
    with pytest.raises(ValueError, match="sigma_min must not exceed sigma_max"):
        baselines.unknown_variance(rows, rho=0.5, norm_bound=1.0, sigma_min=3.0, sigma_max=1.0)
    with pytest.raises(ValueError, match="sigma=1e-09 is too small for a bound of 1"):
        baselines.known_variance(rows, rho=0.5, norm_bound=1.0, sigma=1e-9)
    with pytest.raises(ValueError, match="step is for the central model"):
        baselines.known_variance(rows, rho=0.5, norm_bound=1.0, step=0.5)
    with pytest.raises(TypeError, match="takes no argument bounds"):
        baselines.known_variance(rows, rho=0.5, norm_bound=1.0, bounds=(0, 1))


def test_bits_and_values_of_peers_are_hidden_by_what_each_column_pays():
    """Flipped bits have the lies of a d-th of the budget; values get noise for the width of their interval."""
    rows = np.zeros((1000, 4))
    noise = RecordingNoise(seeded(1))
    devices = gaboardi.Devices(rows, 10.0, Zcdp(2), noise)
    assert devices.each == Zcdp(Fraction(1, 2))
    devices.mean(np.arange(500), np.zeros(4), np.ones(4), 2.0**-10)
    limit = math.floor((2 + math.sqrt(2 * math.log(1000))) * 2**10)
    assert [variance for _, _, variance, _ in noise.log] == [Fraction((2 * limit) ** 2)] * 4
    assert len({step for step, *_ in noise.log}) == 4


def test_a_device_that_several_threads_ask_at_once_answers_one_of_them(ledger):
    budget = PureDp(1)
    rules = half_space(budget.epsilon)
    public = {"centre": [0] * 64, "radius": 1 << 20, "threshold": rules.threshold, "outside": str(rules.outside)}
    tasks = [
        signed(Task(2, "ab" * 32, NAME, 0, number, "vector", (0, 1 << 32), "epsilon 1", 64, -20, 1 << 30, **public))
        for number in range(4)
    ]
    for user in range(10):
        client, answers = device(ledger, user, [0.5] * 64, budget), []

        def ask(document, client=client, answers=answers):
            with contextlib.suppress(OverspendError):
                answers.append(client.answer(document))

        threads = [threading.Thread(target=ask, args=(task,)) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 1
