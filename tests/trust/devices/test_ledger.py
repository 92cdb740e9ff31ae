"""The ledger of a device: what was joined, sent and is left, whatever fails, and whoever shares the file."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from fractions import Fraction

import msgspec
import pytest

from dpmean import ApproxDp, ArgumentError, OverspendError, PureDp, Zcdp
from dpmean.errors import LedgerError
from dpmean.trust.client import Client
from dpmean.trust.devices.ledger import DeviceLedger
from dpmean.trust.devices.spending import State
from dpmean.trust.local.analyzer import LocalAnalyzer
from dpmean.trust.local.protocol import setup_for
from dpmean.trust.local.schema import is_asked
from dpmean.trust.shuffle.costs import check_cost, cost_of_rounds
from tests.support.shuffle_parts import BUDGET, KEYS, LATER, NOW, Play, changed, clock, invitation, signed_round

BOTH = ApproxDp(16, Fraction(2, 10**6))


def test_who_has_sent_nothing_has_paid_nothing(fast_folder):
    """Exactly: a client that only joined gets all of it back when the collection ends without a result."""
    play = Play(fast_folder)
    client = play.client(0)
    cost = check_cost(play.public)
    assert client.account.left == (BUDGET.epsilon - cost.epsilon, 0)
    (part,) = client.account.parts
    assert (part.state, part.rounds, part.paid) == (State.JOINED, (), (0, 0))
    assert part.reserved == (cost.epsilon, cost.delta)
    client.end(play.analyzer().end())
    assert client.account.left == (BUDGET.epsilon, BUDGET.delta)
    assert client.account.parts[0].state is State.ENDED


@pytest.mark.parametrize("answered", [[0], [1], [0, 1], [0, 1, 2]])
def test_who_has_answered_some_rounds_has_paid_for_these(fast_folder, answered):
    play = Play(fast_folder)
    client, rounds = play.client(0), rounds_of(play)
    for number in answered:
        client.encode(rounds[number])
    paid = cost_of_rounds(play.public, answered)
    (part,) = client.account.parts
    assert part.rounds == tuple(answered)
    assert part.paid == (paid.epsilon, paid.delta)
    assert paid.epsilon <= check_cost(play.public).epsilon
    client.end(play.analyzer().end())
    assert client.account.left == (BUDGET.epsilon - paid.epsilon, BUDGET.delta - paid.delta)
    with pytest.raises(ArgumentError, match="is over: this device sends nothing more to it"):
        client.encode(rounds[answered[0]])
    client.end(play.analyzer().end())  # as often as one likes


def rounds_of(play):
    """A document of each round, as if all rounds before had been closed."""
    first = play.analyzer().round
    found = []
    for number, stage in enumerate(play.public.stages):
        cells = {}
        if hasattr(stage, "cells"):
            cells = {"lows": [0], "widths": [1], "gaps": list(range(1, stage.cells)), "radius": 0}
        found.append(signed_round(msgspec.structs.replace(first, round=number, closes=LATER, **cells)))
    return found


def test_collections_share_the_budget_of_the_same_data(fast_folder):
    """Two fit, a third one does not, and other data of the same person have a budget of their own."""
    plays = []
    for number in range(3):
        folder = fast_folder / str(number)
        folder.mkdir()
        plays.append(Play(folder, name=f"{number:016x}"))
    ledger = DeviceLedger(fast_folder / "ledger", clock=clock)
    account = ledger.account("me", "steps", BOTH)
    client = Client(0, [1.0, 2.0], account, KEYS.public)
    for play in plays[:2]:
        client.check_in(play.invitation)
        client.join(play.document)
    cost = check_cost(plays[0].public)
    assert account.left == (16 - 2 * cost.epsilon, 0)
    with pytest.raises(OverspendError, match=r"would cost epsilon = 8.*epsilon = 0.0032.* is left of epsilon = 16"):
        client.check_in(plays[2].invitation)
    other = Client(0, [1.0, 2.0], ledger.account("me", "sleep", BOTH), KEYS.public)
    other.check_in(plays[2].invitation)
    other.join(plays[2].document)
    sibling = Client(0, [1.0, 2.0], ledger.account("you", "steps", BOTH), KEYS.public)
    sibling.check_in(plays[2].invitation)
    client.end(plays[0].analyzer().end())  # nothing was sent: there is room again
    client.check_in(plays[2].invitation)
    client.join(plays[2].document)
    assert [part.name for part in account.parts] == [f"{number:016x}" for number in range(3)]


def test_who_checks_in_twice_may_join_only_what_is_left(fast_folder):
    """A check-in reserves nothing; joining does."""
    plays = []
    for number in range(2):
        folder = fast_folder / str(number)
        folder.mkdir()
        plays.append(Play(folder, name=f"{number:016x}"))
    ledger = DeviceLedger(fast_folder / "ledger", clock=clock)
    client = Client(0, [1.0, 2.0], ledger.account("me", "steps", BUDGET), KEYS.public)
    for play in plays:
        client.check_in(play.invitation)
    client.join(plays[0].document)
    with pytest.raises(OverspendError, match="decline, or wait until a collection that was joined is over"):
        client.join(plays[1].document)
    assert [part.state for part in client.account.parts] == [State.JOINED, State.CHECKED_IN]


def test_what_has_expired_is_given_back(fast_folder):
    time_now = [NOW]
    play = Play(fast_folder, now=lambda: time_now[0])
    idle, busy = play.client(0), play.client(1)
    asked = play.analyzer().document(LATER)
    batch = busy.encode(asked)
    time_now[0] = LATER - 1
    assert busy.encode(asked) == batch
    time_now[0] = LATER
    assert idle.account.left == (BUDGET.epsilon, BUDGET.delta)
    paid = cost_of_rounds(play.public, [0])
    assert busy.account.left == (BUDGET.epsilon - paid.epsilon, 0)
    for refused in (lambda: idle.encode(asked), lambda: busy.encode(asked), lambda: idle.join(play.document)):
        with pytest.raises(ArgumentError, match="is over: this device sends nothing more to it"):
            refused()
    time_now[0] = NOW  # a clock that is set back opens nothing again
    with pytest.raises(ArgumentError, match="is over: this device sends nothing more to it"):
        idle.encode(asked)


def test_an_extension_lets_a_late_client_answer_and_others_repeat(fast_folder):
    time_now = [NOW]
    play = Play(fast_folder, now=lambda: time_now[0])
    analyzer = play.analyzer()
    asked = analyzer.document(NOW + 60)
    early, late = play.client(0), play.client(1)
    batch = early.encode(asked)
    time_now[0] = NOW + 100
    with pytest.raises(ArgumentError, match="this round closed 40 seconds ago: ask for an extension"):
        late.encode(asked)
    longer = analyzer.extend(NOW + 200)
    other = changed(longer, "extension", round="00" * 32)
    with pytest.raises(ArgumentError, match="this extension belongs to another round"):
        late.encode(asked, other)
    assert late.encode(asked, longer)
    assert early.encode(asked) == early.encode(asked, longer) == batch
    time_now[0] = NOW + 201
    with pytest.raises(ArgumentError, match="this round closed 1 seconds ago"):
        play.client(2).encode(asked, longer)


def test_pure_answers_of_the_local_model_are_paid_from_either_budget(fast_folder):
    setup = setup_for("0" * 16, 50, 2, 10.0, PureDp(1), few_rounds=True, analyzer=KEYS.public)
    analyzer = LocalAnalyzer(setup, KEYS.identity)
    document, ledger = analyzer.document(LATER), DeviceLedger(fast_folder / "ledger", clock=clock)
    budgets = {"pure": PureDp(2), "both": BOTH}
    for user in range(50):
        for data, budget in budgets.items():
            account = ledger.account(f"{user}", data, budget)
            client = Client(user, [1.0, 2.0], account, KEYS.public)
            answered = client.answer(document) is not None
            assert answered == is_asked(analyzer.task, user)
            assert account.left == (budget.epsilon - answered, 0 if data == "pure" else BOTH.delta)
    asked = next(user for user in range(50) if is_asked(analyzer.task, user))
    other = Client(asked, [1.0, 2.0], ledger.account("me", "zcdp", Zcdp(1)), KEYS.public)
    with pytest.raises(OverspendError, match=r"epsilon = 1 \(pure\), and the budget of this device is rho = 1"):
        other.answer(document)


def test_a_file_that_is_something_else_is_left_alone(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("age,height\n" * 500)
    with pytest.raises(LedgerError, match="file is not a database"):
        DeviceLedger(table)
    assert table.read_text() == "age,height\n" * 500
    foreign = sqlite3.connect(tmp_path / "foreign")
    foreign.execute("CREATE TABLE things (x)")
    foreign.commit()
    foreign.close()
    before = (tmp_path / "foreign").read_bytes()
    with pytest.raises(LedgerError, match="is no ledger of a device that this version reads"):
        DeviceLedger(tmp_path / "foreign")
    assert (tmp_path / "foreign").read_bytes() == before
    newer = DeviceLedger(tmp_path / "newer")
    newer._file.write("PRAGMA user_version = 2")
    newer.close()
    with pytest.raises(LedgerError, match=r"that this version reads \(format 2\): nothing was changed"):
        DeviceLedger(tmp_path / "newer")
    with pytest.raises(LedgerError, match="cannot be used: unable to open database file"):
        DeviceLedger(tmp_path / "nowhere" / "ledger")


def test_a_ledger_that_became_empty_is_refused(tmp_path):
    """It would look like that of a device that has spent nothing."""
    path = tmp_path / "ledger"
    DeviceLedger(path).close()
    for size in (0, 1):
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(LedgerError, match=r"is empty: what this device has spent is lost|cannot be used"):
            DeviceLedger(path)
        path.unlink()
        DeviceLedger(path).close()
    assert [file.name for file in tmp_path.iterdir()] == ["ledger"]


def test_a_commit_is_not_undone_by_a_loss_of_power(tmp_path):
    """The folder must be on disk too after the journal is deleted, or the journal comes back and undoes the commit."""
    with DeviceLedger(tmp_path / "ledger") as ledger:
        ledger.account("me", "rows", BUDGET)
        file = ledger._file
        with file.transaction():
            assert (file.read("PRAGMA synchronous"), file.read("PRAGMA journal_mode")) == ([(3,)], [("delete",)])


def test_a_budget_stays_what_it_is(tmp_path):
    with DeviceLedger(tmp_path / "ledger") as ledger:
        ledger.account("me", "steps", Zcdp(1))
        assert ledger.account("me", "steps", Zcdp(1)).left == (1, 0)
        with pytest.raises(LedgerError, match="the account 'me', 'steps' has the budget rho 1, and not rho 2: open it"):
            ledger.account("me", "steps", Zcdp(2))
        with pytest.raises(ArgumentError, match="the budget of an account is Zcdp, PureDp or ApproxDp, got"):
            ledger.account("me", "sleep", 3)
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.account("me", "steps", Zcdp(1))


def test_a_forked_process_opens_its_own(tmp_path):
    ledger = DeviceLedger(tmp_path / "ledger")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            ledger.account("me", "steps", Zcdp(1))
        except LedgerError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as told:
        assert "was opened by another process: open it again in this one" in told.read()


def test_threads_and_processes_share_one_budget(fast_folder):
    """Eight threads with a connection each, as processes have one: a budget for three tasks pays three."""
    tasks = tasks_of(8)
    answers = []

    def ask(task):
        ledger = DeviceLedger(fast_folder / "ledger", clock=clock)
        client = Client(0, [1.0, 2.0], ledger.account("me", "rows", Zcdp(Fraction(3, 2))), KEYS.public)
        try:
            answers.append(client.answer(task))
        except OverspendError:
            answers.append(None)
        ledger.close()

    threads = [threading.Thread(target=ask, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(answer is not None for answer in answers) == 3
    with DeviceLedger(fast_folder / "ledger", clock=clock) as ledger:
        assert ledger.account("me", "rows", Zcdp(Fraction(3, 2))).left == (0, 0)


def tasks_of(count):
    """Tasks of different collections, each of which asks user 0 for half a rho."""
    found = []
    for number in range(count):
        setup = setup_for(f"{number:016x}", 5, 2, 10.0, Zcdp(0.5), few_rounds=True, analyzer=KEYS.public)
        task = LocalAnalyzer(setup, KEYS.identity).document(LATER)
        found.append(changed(task, "task", tickets=[0, 1 << 32]))
    return found


ANSWERING = """
import sys
from fractions import Fraction
from dpmean import OverspendError, Zcdp
from dpmean.trust.client import Client
from dpmean.trust.devices.ledger import DeviceLedger
ledger = DeviceLedger(sys.argv[1], clock=lambda: int(sys.argv[2]))
client = Client(0, [1.0, 2.0], ledger.account("me", "rows", Zcdp(10)), sys.argv[3])
for line in sys.stdin:
    try:
        print(client.answer(bytes.fromhex(line)).hex(), flush=True)
    except OverspendError:
        print("refused", flush=True)
"""


@pytest.mark.slow
def test_a_device_that_is_killed_at_any_moment_has_kept_what_it_sent(fast_folder):
    """Forty tasks of half a rho, a budget for twenty, and a process that is killed again and again while it answers.

    Whatever it has ever shown is repeated to the byte, no task is answered twice in two ways, and twenty are paid.
    """
    tasks, path = tasks_of(40), fast_folder / "ledger"
    command = [sys.executable, "-c", ANSWERING, str(path), str(NOW), KEYS.public]
    shown, generator, kills = {}, random.Random(3), 0
    lines = "".join(f"{task.hex()}\n" for task in tasks).encode()
    for attempt in range(25):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(lines)
            process.stdin.flush()
            first = process.stdout.readline() if attempt % 2 else b""  # it has started
            time.sleep(generator.uniform(0, 0.05) if attempt % 2 else generator.uniform(0.2, 0.6))
            if attempt < 24:
                process.send_signal(signal.SIGKILL)
                kills += 1
            else:
                process.stdin.close()
            told = first + process.stdout.read()
        for number, line in enumerate(told.decode().split("\n")[:-1]):
            if line != "refused":
                assert shown.setdefault(number, line) == line
    assert kills == 24
    assert len(shown) == 20
    with DeviceLedger(path, clock=clock) as ledger:
        account = ledger.account("me", "rows", Zcdp(10))
        assert account.left == (0, 0)
        assert len(account.parts) == 20


def test_an_invitation_that_was_changed_is_another_one(fast_folder):
    ledger = DeviceLedger(fast_folder / "ledger", clock=clock)
    client = Client(0, [1.0, 2.0], ledger.account("me", "rows", BUDGET), KEYS.public)
    assert client.check_in(invitation()) == client.check_in(invitation())
    client.check_in(invitation(closes=LATER - 1))
    assert len(client.account.parts) == 2
    with pytest.raises(ArgumentError, match="has not joined the collection that has ended"):
        client.end(Play(fast_folder).analyzer().end())
