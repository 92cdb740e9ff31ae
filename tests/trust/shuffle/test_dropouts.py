"""Dropouts: 15, 30 and 45 % of the clients stay away from every round, as declared; rounds are extended, or end."""

import math
from fractions import Fraction

import numpy as np
import pytest
from bench.dropouts import BUDGET, estimate

from dpmean import ArgumentError
from dpmean.trust.devices.spending import State
from dpmean.trust.local.schema import Outcome
from dpmean.trust.shuffle.costs import cost_of_rounds
from dpmean.trust.shuffle.design import calibrated
from tests.support.shuffle_parts import BUDGET as SMALL_BUDGET
from tests.support.shuffle_parts import KEYS, LATER, NOW, NoCoins, Play, changed

DECLARED = {0.15: Fraction(1, 5), 0.30: Fraction(7, 20), 0.45: Fraction(1, 2)}


@pytest.mark.parametrize("dropouts", DECLARED)
def test_a_collection_with_dropouts_has_the_error_that_is_stated(dropouts):
    """Noise is calibrated to those who are left: the error is that of the design, to the mean of those who answered.

    The rows that are missing cost nothing more, and twice the error would be noticed.
    """
    users, d = 20_000, 4
    rows = np.random.default_rng(1).normal(5, 1, (users, d))
    plan = calibrated("mean", users, d, BUDGET, Fraction(9, 10) - DECLARED[dropouts])
    stated = plan.error(20.0) * math.sqrt(d) / math.sqrt(1 - dropouts)
    errors = []
    for seed in range(5):
        found, answered = estimate(rows, 20 * math.sqrt(d), dropouts, DECLARED[dropouts], seed)
        errors.append(np.linalg.norm(found - answered))
    assert 0.5 < np.mean(errors) / stated < 1.5


@pytest.mark.parametrize("dropouts", DECLARED)
def test_a_collection_of_messages_with_dropouts(dropouts, fast_folder):
    """Others stay away in each round; each client pays for the rounds that it has answered."""
    users, generator = 120, np.random.default_rng(2)
    play = Play(fast_folder, users=users, silent=DECLARED[dropouts])
    clients = [play.client(user, coins=NoCoins(user, average=True)) for user in range(users)]
    analyzer, away = play.analyzer(), round(users * dropouts)
    while not analyzer.done:
        asked = analyzer.document(LATER)
        shuffler = play.shuffler(asked)
        for user in generator.permutation(users)[away:]:
            assert shuffler.receive(clients[user].encode(asked)) == (Outcome.ACCEPTED, "")
        analyzer.receive(shuffler.hand_on())
    assert analyzer.release().n == users - away
    assert np.linalg.norm(analyzer.estimate.mean - 5) < 0.5
    left = {part.rounds: part for part in (client.account.parts[0] for client in clients)}
    assert len(left) > 4
    for rounds, part in left.items():
        paid = cost_of_rounds(play.public, rounds) if rounds else None
        assert part.paid == ((paid.epsilon, paid.delta) if paid else (0, 0))


def test_more_dropouts_than_declared_extend_the_round_or_end_the_collection(fast_folder):
    """Nothing is handed on below the quorum. Later answers complete the round; earlier ones stay what they were."""
    time_now = [NOW]
    play = Play(fast_folder, silent=Fraction(1, 5), now=lambda: time_now[0])
    analyzer = play.analyzer()
    asked = analyzer.document(NOW + 60)
    shuffler = play.shuffler(asked, fast_folder / "round-0")
    clients = [play.client(user) for user in range(100)]
    batches = [client.encode(asked) for client in clients[:90]]
    for batch in batches:
        assert shuffler.receive(batch) == (Outcome.ACCEPTED, "")
    time_now[0] = NOW + 61
    with pytest.raises(
        ArgumentError,
        match=r"90 of 120 clients have answered, and 96 are needed, since 1/5 may be silent: wait for 6 more, have the "
        r"analyzer extend the round, or end the collection",
    ):
        shuffler.hand_on()
    late = [client.encode(asked, analyzer.extend(NOW + 120)) for client in clients[90:]]
    assert shuffler.receive(late[0]) == (Outcome.REJECTED, "after the deadline")
    assert shuffler.receive(batches[0]) == (Outcome.DUPLICATE, "")
    shuffler.extend(analyzer.extend(NOW + 120))
    for batch in late:
        assert shuffler.receive(batch) == (Outcome.ACCEPTED, "")
    time_now[0] = NOW + 121
    analyzer.receive(shuffler.hand_on())
    assert analyzer.round.round == 1
    shuffler.close()

    again = analyzer.document(NOW + 180)
    few = [client.encode(again) for client in clients[:5]]  # nobody else comes: the collection is ended
    assert all(few)
    end = analyzer.end()
    for refused in (lambda: analyzer.document(LATER), lambda: analyzer.extend(LATER), lambda: analyzer.receive(b"?")):
        with pytest.raises(ArgumentError, match="this collection was ended: invite to another one"):
            refused()
    with pytest.raises(ArgumentError, match="this collection was ended"):
        type(analyzer).resume(analyzer.save(), KEYS).document(LATER)
    for client in clients:
        client.end(end)
    both, one = cost_of_rounds(play.public, [0, 1]), cost_of_rounds(play.public, [0])
    assert clients[0].account.left == (SMALL_BUDGET.epsilon - both.epsilon, 0)
    assert clients[99].account.left == (SMALL_BUDGET.epsilon - one.epsilon, 0)
    assert clients[99].account.parts[0].state is State.ENDED
    with pytest.raises(ArgumentError, match="is over: this device sends nothing more to it"):
        clients[50].encode(again)


def test_an_extension_is_for_one_round_of_one_analyzer(fast_folder):
    play = Play(fast_folder)
    analyzer = play.analyzer()
    asked = analyzer.document(LATER - 5)
    shuffler, longer = play.shuffler(asked), analyzer.extend(LATER)
    for extension, words in (
        (changed(longer, "extension", round="00" * 32), "belongs to another round"),
        (longer.replace(str(LATER).encode(), str(LATER + 1).encode()), "was not signed by the analyzer"),
        (changed(longer, "extension", closes=-1), "belongs to another round"),
        (asked, "was not signed by the analyzer"),
    ):
        with pytest.raises(ArgumentError, match=words):
            shuffler.extend(extension)
    shuffler.extend(longer)
    shuffler.extend(analyzer.extend(LATER - 1))  # extensions may arrive in any order, and again
    assert shuffler.closes == LATER
    with pytest.raises(ArgumentError, match=f"the collection expires at {LATER}: closes cannot be {LATER + 1}"):
        analyzer.extend(LATER + 1)
