"""Ledgers: what is written stays written, whatever dies; what is left is what may be spent, whoever asks."""

import contextlib
import copy
import json
import math
import os
import pickle
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean import ApproxDp, ArgumentError, Ledger, LedgerError, OverspendError, PureDp, Zcdp
from dpmean.ledger.atomic_file import AtomicFile
from dpmean.ledger.filter import _PARTS, Allowance, allowance_for, epsilon_left, epsilon_spent, fits
from dpmean.ledger.ledger import datasets
from dpmean.privacy.renyi import ORDERS, Renyi, compose, renyi_of
from tests.support.public import REPLACED
from tests.support.spender import PRICE, release

ROOT = Path(__file__).parents[2]
ROWS = np.random.default_rng(4).normal(5, 1, (20_000, 8))


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "budget.json")


def started(*arguments, **more):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.spender", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, **more
    )


def as_in_the_file(file):
    return json.loads(Path(file).read_text())["datasets"]["data"]["entries"]


def identities(coins):
    """Return the ids of releases with these coins."""
    ledger = Ledger(rho=10**6)
    for one in coins:
        ledger.record(release(coins=one))
    return [entry.id for entry in ledger.entries]


@pytest.mark.parametrize("by", ["clinic", "a\nb", "", ("clinic", "sex")])
def test_an_entry_says_that_it_was_of_groups(file, by):
    names = [by] if isinstance(by, str) else [*by]
    table = pd.DataFrame({"x": np.zeros(2000), **{name: np.arange(2000) % 2 for name in names}})
    groups = [0, 1] if isinstance(by, str) else [(0, 0), (1, 1)]
    ledger = Ledger(file, rho=1)
    given = {"columns": ["x"], "bounds": (-1, 1), "rho": 0.5, "ledger": ledger}
    dpmean.mean_by(table, by=by if isinstance(by, str) else names, groups=groups, **given)
    wanted = {"": "''", ("clinic", "sex"): "clinic and sex"}.get(by, by)
    assert Ledger(file).entries[0].what == f"refined, 2 groups by {wanted}"
    assert "\n" not in str(ledger.entries[0])


# --- files ---------------------------------------------------------------------------------------------------


def test_a_ledger_in_a_file_remembers(file):
    first = Ledger(file, rho=1, dataset="patients")
    first.record(release(Fraction(1, 3)))
    first.charge(PureDp(Fraction(1, 2)), "a count,\n by hand")
    again = Ledger(file, dataset="patients")
    assert again.spent == Fraction(1, 3) + Fraction(1, 8)
    assert again.left == 1 - again.spent
    assert again.budget == Zcdp(1)
    assert [entry.what for entry in again.entries] == ["refined", "a count, by hand"]
    assert again.entries[0].cost == Zcdp(Fraction(1, 3))
    assert (again.entries[0].n, again.entries[0].d) == (100, 2)
    assert again.entries[0].when.endswith("Z")
    document = json.loads(Path(file).read_text())
    assert document["format"] == "dpmean.ledger/1"
    assert document["datasets"]["patients"]["budget"] == {"rho": "1"}
    assert document["datasets"]["patients"]["entries"][0]["cost"] == {"rho": "1/3"}
    assert repr(again) == f"<Ledger of patients in {file}: rho = 0.458334 spent, 0.541666 left>"
    assert re.search("largest next release +rho = 0.541666$", str(again), re.MULTILINE)


def test_several_data_sets_have_budgets_of_their_own(file):
    one, other = Ledger(file, rho=1), Ledger(file, epsilon=1, delta=1e-6, dataset="Wörter & more")
    one.record(release())
    assert other.spent == 0
    assert other.left == 1
    assert datasets(file) == ("data", "Wörter & more")
    other.record(release())
    assert len(one.entries) == len(other.entries) == 1


def test_a_data_set_keeps_its_budget(file):
    Ledger(file, rho=1)
    assert Ledger(file, rho=1.0).budget == Zcdp(1)
    with pytest.raises(
        ArgumentError, match=r"the budget of dataset 'data' in .* is rho = 1, got rho = 2: leave the budget out"
    ):
        Ledger(file, rho=2)
    with pytest.raises(ArgumentError, match=r"is rho = 1, got epsilon = 1 and delta = 1e-06"):
        Ledger(file, epsilon=1, delta=1e-6)
    with pytest.raises(
        ArgumentError, match=r"no dataset 'other' in .*, which has 'data': name one of these, or give a bud"
    ):
        Ledger(file, dataset="other")


def test_two_processes_at_once_lose_nothing_and_spend_nothing_twice(file):
    Ledger(file, rho=60 * PRICE)
    workers = [started("spend", file, "45") for _ in range(2)]
    said = [worker.communicate(timeout=120)[0].split("\n") for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    shown = [line.split()[1] for lines in said for line in lines if line.startswith("shown")]
    assert len(shown) == len(set(shown)) == 60
    assert sum(line == "refused" for lines in said for line in lines) == 30
    assert sorted(identities(shown)) == sorted(entry.id for entry in Ledger(file).entries)
    assert Ledger(file).left == 0


def test_threads_at_once_lose_nothing(file):
    for ledger in (Ledger(file, rho=1), Ledger(rho=1)):
        threads = [threading.Thread(target=lambda on=ledger: on.record(release())) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ledger.entries) == 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be killed on the spot")
def test_killed_processes_leave_a_whole_file_with_everything_they_showed(tmp_path):
    worker = started("killed", str(tmp_path), "50")
    figures = json.loads(worker.communicate(timeout=300)[0])
    assert worker.returncode == 0
    assert figures["kills"] == sum(figures["moments"].values()) >= 50
    assert 20 <= figures["shown"] <= figures["recorded"] <= figures["shown"] + figures["kills"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be killed on the spot")
def test_without_locks_something_is_lost_and_that_is_noticed(tmp_path):
    worker = started("killed-without-locks", str(tmp_path), "1000", stderr=subprocess.PIPE)
    said = worker.communicate(timeout=300)[1]
    assert worker.returncode == 1
    assert "AssertionError" in said or "LedgerError" in said


CRASHES = {
    "before anything is written": ("os.fdopen = lambda *a: os._exit(9)", 0),
    "while it is written": ("os.fsync = lambda handle: (os.ftruncate(handle, 40), os._exit(9))", 0),
    "before it takes its place": ("os.replace = lambda *a: os._exit(9)", 0),
    "after it took its place": ("real = os.replace; os.replace = lambda *a: (real(*a), os._exit(9))", 1),
}


@pytest.mark.parametrize("moment", CRASHES)
def test_a_crash_leaves_the_state_before_or_after(file, moment):
    Ledger(file, rho=1)
    fault, written = CRASHES[moment]
    code = (
        f"import os; from tests.support.spender import *; ledger = Ledger({file!r}); {fault}; ledger.record(release())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 9
    assert Path(f"{file}.tmp").exists() == (not written)
    ledger = Ledger(file)
    assert len(ledger.entries) == written
    ledger.record(release())
    assert len(ledger.entries) == written + 1
    assert not Path(f"{file}.tmp").exists()


def test_a_full_disk_leaves_the_old_file(file, monkeypatch):
    ledger = Ledger(file, rho=1)
    ledger.record(release())

    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LedgerError, match=r"cannot write .*budget.json: no space left on device"):
        ledger.record(release())
    monkeypatch.undo()
    assert len(ledger.entries) == 1
    assert not Path(f"{file}.tmp").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_a_folder_that_cannot_be_read_is_noticed_before_anything_is_spent():
    folder = Path(tempfile.mkdtemp())
    try:
        Ledger(folder / "budget.json", rho=1)
        (folder / "budget.json").chmod(0o666)
        (folder / "budget.json.lock").chmod(0o666)
        folder.chmod(0o333)
        with without_rights(), pytest.raises(LedgerError, match="may read and write"):
            Ledger(folder / "budget.json").record(release())
        folder.chmod(0o755)
        assert Ledger(folder / "budget.json").entries == ()
        assert not (folder / "budget.json.tmp").exists()
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_what_is_recorded_again_is_on_the_disk_then(file, monkeypatch):
    ledger, made, synced, real = Ledger(file, rho=1), release(), [], os.fsync

    def fails_for_the_folder(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(5, "Input/output error")
        real(handle)

    monkeypatch.setattr(os, "fsync", fails_for_the_folder)
    for _ in range(2):
        with pytest.raises(LedgerError, match="input/output error"):
            ledger.record(made)
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    ledger.record(made)
    assert synced == [Path(file).stat().st_ino, Path(file).parent.stat().st_ino]
    assert len(ledger.entries) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
def test_a_file_system_without_locks_is_said_in_words(file, monkeypatch):
    import fcntl

    ledger = Ledger(file, rho=1)

    def none(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(
        LedgerError, match=r"cannot lock .*budget.json: no locks available: use a file system with locks"
    ):
        ledger.record(release())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_was_forked_meanwhile_keeps_no_lock(file):
    import fcntl

    vault, (inlet, outlet) = AtomicFile(file), os.pipe()
    children = []

    def fork(_content):
        children.append(os.fork())
        if children[-1] == 0:
            os.read(inlet, 1)
            os._exit(0)
        return b"new"

    vault.change(fork)
    with open(f"{file}.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if the child has it
    os.write(outlet, b"x")
    os.waitpid(children[0], 0)


def test_a_file_with_two_names_is_not_written(file, tmp_path):
    ledger = Ledger(file, rho=1)
    (tmp_path / "other.json").hardlink_to(file)
    with pytest.raises(LedgerError, match="a second hard link"):
        ledger.record(release())
    assert Ledger(file).left == 1
    (tmp_path / "other.json").unlink()
    ledger.record(release())


def test_names_that_look_the_same_are_the_same(file):
    Ledger(file, rho=1, dataset="caf\u00e9").record(release())
    assert Ledger(file, dataset=" cafe\u0301 ").left == 1 - PRICE
    assert datasets(file) == ("caf\u00e9",)


def test_permissions_and_symbolic_links_survive(tmp_path):
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "budget.json", tmp_path / "link.json"
    Ledger(real, rho=1)
    real.chmod(0o640)
    link.symlink_to(real)
    Ledger(link).record(release())
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert len(Ledger(real).entries) == 1
    assert Path(f"{real}.lock").exists()
    assert not Path(f"{link}.lock").exists()


def test_a_relative_name_means_the_same_file_for_good(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("budget.json", rho=1)
    (tmp_path / "elsewhere").mkdir()
    copied = pickle.dumps(ledger)
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.record(release())
    assert len(pickle.loads(copied).entries) == 1  # noqa: S301  our own bytes
    assert list((tmp_path / "elsewhere").iterdir()) == []


HEAD = b'{"format": "dpmean.ledger/1", "datasets": {'


def with_budget(budget):
    return HEAD + b'"data": {"budget": ' + budget + b', "entries": []}}}'


DAMAGED = {
    "empty": b"",
    "cut off": HEAD + b'"data": {"bud',
    "not text": b"\xff\xfe\x00",
    "a list": b"[]",
    "another format": b'{"format": "dpmean.release/1", "mean": [1.5]}',
    "a later format": b'{"format": "dpmean.ledger/2", "datasets": {}}',
    "a field too many": HEAD + b'}, "more": 1}',
    "no budget": HEAD + b'"data": {"entries": []}}}',
    "a float for a fraction": with_budget(b'{"rho": 1.0}'),
    "a negative budget": with_budget(b'{"rho": "-1"}'),
    "no number": with_budget(b'{"rho": "x"}'),
    "one over zero": with_budget(b'{"rho": "1/0"}'),
    "a pure budget": with_budget(b'{"epsilon": "1"}'),
    "a budget twice": with_budget(b'{"rho": "1", "rho": "9"}'),
    "a number without end": with_budget(b'{"rho": "1e-99999999"}'),
    "nested without end": with_budget(b"[" * 100_000 + b"]" * 100_000),
    "not a number": with_budget(b'{"rho": NaN}'),
    "two names alike": with_budget(b'{"rho": "1"}').replace(b'"data"', b'"data "'),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_or_foreign_file_is_refused_and_left_alone(file, kind):
    Path(file).write_bytes(DAMAGED[kind])
    for attempt in (lambda: Ledger(file), lambda: Ledger(file, rho=1), lambda: datasets(file)):
        with pytest.raises(LedgerError, match=r"budget.json is (damaged|empty|not a ledger).*is unchanged"):
            attempt()
    assert Path(file).read_bytes() == DAMAGED[kind]


@pytest.mark.parametrize(
    "edit",
    [
        lambda entries: entries.append(entries[0]),
        lambda entries: entries[0]["cost"].update(rho="3/2"),
        lambda entries: entries[0]["cost"].update(rho="-1"),
        lambda entries: entries[0].update(cost={"epsilon": "1"}),
        lambda entries: entries[0].update(cost={}),
        lambda entries: entries[0].update(cost={"renyi": [1.0], "orders": [2], "delta": "0"}),
        lambda entries: entries[0].update(n="many"),
        lambda entries: entries[0].pop("id"),
    ],
)
def test_an_edited_entry_is_noticed_where_it_makes_no_sense(file, edit):
    Ledger(file, rho=1).record(release())
    document = json.loads(Path(file).read_text())
    edit(document["datasets"]["data"]["entries"])
    Path(file).write_text(json.dumps(document))
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger(file)


def test_a_file_that_is_damaged_later_is_not_overwritten(file):
    ledger = Ledger(file, rho=1)
    Path(file).write_text("gone")
    with pytest.raises(LedgerError, match="damaged"):
        ledger.record(release())
    assert Path(file).read_text() == "gone"
    Path(file).write_bytes(with_budget(b'{"rho": "2"}'))
    with pytest.raises(LedgerError, match=r"dataset 'data' was removed from .*, or its budget was changed"):
        ledger.record(release())
    Path(file).unlink()
    with pytest.raises(LedgerError, match=r"dataset 'data' was removed from .*: restore the file from a backup"):
        ledger.record(release())
    assert not Path(file).exists()


def test_folders_that_are_missing_or_named_by_mistake(tmp_path):
    with pytest.raises(LedgerError, match=r"cannot write .*: the folder .*none does not exist: create it"):
        Ledger(tmp_path / "none" / "budget.json", rho=1)
    with pytest.raises(LedgerError, match="it is a folder: give the name of a file in it"):
        Ledger(tmp_path, rho=1)
    with pytest.raises(LedgerError, match="cannot be the name of a file"):
        Ledger("a\0b", rho=1)
    with pytest.raises(LedgerError, match=r"there is no ledger .*none.json"):
        datasets(tmp_path / "none.json")


@contextlib.contextmanager
def without_rights():
    """Be nobody for a while, if this is root, whom no permission stops."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_missing_permissions_are_said_in_words():
    folder = Path(tempfile.mkdtemp())
    file = folder / "budget.json"
    try:
        Ledger(file, rho=1).record(release())
        folder.chmod(0o555)
        with without_rights():
            ledger = Ledger(file)  # may be read by everybody
            assert ledger.left == 1 - PRICE
            with pytest.raises(
                LedgerError, match=r"cannot write .*: permission denied: make sure that this user may rea"
            ):
                ledger.record(release())
            with pytest.raises(LedgerError, match=r"cannot write .*other.json: permission denied"):
                Ledger(folder / "other.json", rho=1)
        file.chmod(0)
        with without_rights(), pytest.raises(LedgerError, match=r"cannot read .*: make sure that this user may read"):
            Ledger(file)
        assert len(Ledger(file).entries) == 1 if os.geteuid() == 0 else True
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs two users")
def test_two_users_may_share_a_folder():
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o777)
        Ledger(folder / "budget.json", rho=1).record(release())  # its lock is not for others to write
        with without_rights():
            Ledger(folder / "budget.json").record(release())
        assert len(Ledger(folder / "budget.json").entries) == 2
    finally:
        shutil.rmtree(folder)


def test_nothing_about_rows_is_in_the_file(file):
    rows = np.full((5000, 3), 7.25)
    rows[17] = 8.0625
    Ledger(file, rho=1).record(dpmean.mean(rows, rho=0.5, norm_bound=100.0))
    assert "7.25" not in Path(file).read_text()
    assert "8.0625" not in Path(file).read_text()
    (entry,) = as_in_the_file(file)
    assert set(entry) == {"id", "when", "what", "cost", "n", "d", "neighbours"}


# --- what is recorded ----------------------------------------------------------------------------------------


def test_a_release_is_charged_once_however_often_it_is_recorded(file):
    ledger, made = Ledger(file, rho=1), release()
    for same in (made, made, dpmean.Release.from_json(made.to_json()), pickle.loads(pickle.dumps(made))):  # noqa: S301  our own bytes
        ledger.record(same)
    assert ledger.spent == PRICE
    ledger.record(release())  # the same numbers by chance, and other coins
    assert ledger.spent == 2 * PRICE
    for _ in range(2):  # without coins nothing tells two releases apart
        ledger.record(dpmean.Release.from_json(release(coins="none").to_json()))
    assert ledger.spent == 4 * PRICE


def test_a_release_that_was_altered_is_another_one():
    ledger, made = Ledger(rho=1), release()
    ledger.record(made)
    document = json.loads(made.to_json())
    document["receipts"][0]["rho"] = "1/100"
    ledger.record(dpmean.Release.from_json(json.dumps(document)))
    assert ledger.spent == PRICE + Fraction(1, 100)


def test_what_protects_nobody_is_refused(file):
    ledger = Ledger(file, rho=1)
    with pytest.raises(ArgumentError, match="a release with a seed protects nobody"):
        ledger.record(release(seeded=True))
    with pytest.raises(TypeError, match=r"release must be a dpmean.Release or a dpmean.GroupedRelease, got 0.5$"):
        ledger.record(0.5)
    with pytest.raises(
        TypeError, match=r"cost must be a privacy cost, got an object of type float: give dpmean.Zcdp\(0.5\)"
    ):
        ledger.charge(0.5, "a count")
    for words in (" ", "\ud800", 5):
        with pytest.raises(ArgumentError, match="what must be a short printable description"):
            ledger.charge(Zcdp(0.5), words)
    assert ledger.entries == ()


def test_what_overspends_is_refused_and_nothing_is_written(file):
    ledger = Ledger(file, rho=Fraction(1, 2))
    before = Path(file).read_bytes()
    for attempt in (ledger.check, lambda cost: ledger.charge(cost, "x"), lambda cost: ledger.record(release(cost.rho))):
        with pytest.raises(OverspendError, match=r"costs rho = 0.75, and only rho = 0.5 is left"):
            attempt(Zcdp(0.75))
    where = re.escape(
        f"'data' in {file}: this costs rho = 0.500001, and only rho = 0.5 is left: ask for at most rho=0.5"
    )
    with pytest.raises(OverspendError, match=where):
        ledger.check(Zcdp(Fraction(1, 2) + Fraction(1, 10**11)))
    assert Path(file).read_bytes() == before
    ledger.check(Zcdp(0.5))
    ledger.record(release(Fraction(1, 2)))
    assert ledger.left == 0


def test_costs_for_other_neighbours_do_not_add_up(file):
    class Others:
        receipts, cost, seeded, exact, method = release().receipts, Zcdp(PRICE), False, True, "refined"
        neighbours, n, d, columns, identity = "add-or-remove-one", None, 2, ("age", "h\udc80"), None

    ledger = Ledger(file, rho=1)
    ledger.record(Others())
    assert ledger.entries[0].columns == ("age", "h?")
    assert str(ledger.entries[0]) == "refined, 2 columns"
    with pytest.raises(
        ArgumentError, match=r"protects rows \(replace-one\); earlier releases of this dataset protect rows \(add-or"
    ):
        ledger.record(release())


def test_rows_and_persons_do_not_add_up():
    people = {"who": np.repeat(np.arange(4000), 2), "x": np.ones(8000), "y": np.zeros(8000)}
    table = pytest.importorskip("pandas").DataFrame(people)
    for of_persons in (
        dpmean.mean(table, rho=0.1, norm_bound=10.0, privacy_unit="who", **REPLACED),
        dpmean.mean_by(table, rho=0.1, norm_bound=10.0, privacy_unit="who", by="y", groups=[0], sizes="public"),
    ):
        ledger = Ledger(rho=1)
        ledger.record(of_persons)
        assert ledger.entries[0].unit == "who"
        with pytest.raises(
            ArgumentError,
            match=r"protects rows \(replace-one\); earlier releases .* protect who \(replace-one.*\)\. Their",
        ):
            ledger.record(dpmean.mean(table[["x", "y"]], rho=0.1, norm_bound=10.0, **REPLACED))


def test_a_column_may_be_called_rows():
    ledger = Ledger(rho=1)
    made = release()
    ledger.record(replace(made, settings=replace(made.settings, privacy_unit="rows")))
    with pytest.raises(ArgumentError, match=r"protects rows \(replace-one\); earlier .* protect the column 'rows' \("):
        ledger.record(release())


def test_a_group_of_releases_costs_what_it_says():
    class Grouped:
        receipts, cost, seeded, exact, method = release().receipts * 7, Zcdp(PRICE), False, True, "refined"

        identity = "0" * 32

    for ledger in (Ledger(rho=1), Ledger(epsilon=3, delta=1e-6)):
        ledger.record(Grouped())
        ledger.record(Grouped())
        assert [entry.cost for entry in ledger.entries] == [Zcdp(PRICE)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "a new ledger needs a budget: give rho=1.0, for example"),
        ({"rho": 1, "epsilon": 1}, "either rho, or epsilon and delta"),
        ({"epsilon": 1}, "needs epsilon and delta, got epsilon=1 and delta=None"),
        ({"delta": 1e-6}, "needs epsilon and delta, got epsilon=None and delta=1e-06"),
        ({"epsilon": 1e6, "delta": 1e-6}, "must lie between 1e-6 and 1000"),
        ({"rho": -1}, "rho must be positive, got -1"),
        ({"rho": 1, "dataset": ""}, "a name of 1 to 200 printable characters, got ''"),
        ({"rho": 1, "dataset": "a\nb"}, "printable"),
        ({"rho": 1, "dataset": 5}, "a name for the rows, got an object of type int"),
        ({"path": 1.0, "rho": 1}, "path must be the name of a file, got 1.0"),
        ({"path": True}, "rho must be a number, got True"),
    ],
)
def test_arguments_that_cannot_be_used(arguments, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Ledger(**arguments)


def test_a_ledger_in_memory_is_used_as_before_and_cannot_be_copied():
    assert Ledger(1.0).budget == Ledger(rho=1).budget == Zcdp(1)
    assert repr(Ledger(Fraction(1, 5))) == "<Ledger: rho = 0 spent, 0.2 left>"
    ledger = Ledger(rho=1)
    assert copy.copy(ledger) is copy.deepcopy(ledger) is ledger
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(ledger)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_ledger_in_memory_is_not_doubled_by_a_fork():
    ledger = Ledger(rho=1)
    child = os.fork()
    if child == 0:
        try:
            ledger.record(release())
        except ArgumentError as error:
            os._exit(7 if "cannot be used in another process" in str(error) else 8)
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    ledger.record(release())


# --- epsilon and delta ---------------------------------------------------------------------------------------


def test_one_release_may_spend_a_whole_budget_in_every_trust_model():
    budget = {"epsilon": 1.0, "delta": 1e-6}
    for trust, paid in (("central", budget), ("shuffle", budget), ("local", {"epsilon": 1.0})):
        ledger = Ledger(**budget)
        ledger.record(dpmean.mean(ROWS, trust=trust, norm_bound=60.0, **paid))
        assert 0.999 < ledger.spent <= 1
        known = r"(the largest next release may have|only) epsilon = 0.*, at delta = 1e-06: "
        with pytest.raises(OverspendError, match=rf"costs epsilon = 0\.5.*, and {known}"):
            ledger.check(dpmean.zcdp_that_implies(ApproxDp(0.5, 1e-6)))


def test_a_budget_of_rho_takes_no_shuffled_release_and_one_of_epsilon_takes_all_kinds(file):
    shuffled = dpmean.mean(ROWS, trust="shuffle", norm_bound=60.0, epsilon=1.0, delta=1e-9)
    with pytest.raises(
        ArgumentError,
        match=r"has no rho: use a ledger with a budget in epsilon and delta, for example Ledger\(epsilon=3.0",
    ):
        Ledger(rho=1).record(shuffled)
    with pytest.raises(ArgumentError, match="has no rho"):
        Ledger(rho=1).charge(ApproxDp(1, 1e-6), "elsewhere")
    ledger = Ledger(file, epsilon=4, delta=1e-6)
    ledger.record(dpmean.mean(ROWS, norm_bound=60.0, rho=0.05, **REPLACED))
    ledger.record(shuffled)
    ledger.record(dpmean.mean(ROWS, trust="local", norm_bound=60.0, rho=0.2))
    ledger.charge(ApproxDp(0.1, 1e-9), "another library")
    assert [type(entry.cost) for entry in Ledger(file).entries] == [Zcdp, Renyi, Zcdp, ApproxDp]
    assert Ledger(file).entries[1].cost == compose(receipt.cost for receipt in shuffled.receipts)
    assert "shifted, shuffle model, 20000 rows, 8 columns" in str(ledger)
    ledger.record(dpmean.mean(ROWS, norm_bound=60.0, epsilon=ledger.left, delta=1e-6, **REPLACED))
    assert ledger.left < 0.01
    assert ledger.spent <= 4


def test_what_does_not_fit_beside_earlier_costs_is_said():
    ledger = Ledger(epsilon=1, delta=1e-6)
    ledger.charge(PureDp(0.5), "a vote")  # counted as pure, at all orders
    assert ledger.left == Fraction(1, 2)
    with pytest.raises(OverspendError, match="cannot be added to the earlier costs"):
        ledger.check(Zcdp(1e-6))
    ledger.charge(PureDp(0.5), "another vote")
    assert (ledger.spent, ledger.left) == (1, 0)
    with pytest.raises(OverspendError, match="cannot be added to the earlier costs"):
        Ledger(epsilon=1, delta=1e-6).check(ApproxDp(0.1, 1e-3))


costs = st.one_of(
    st.fractions(Fraction(1, 10**4), Fraction(1, 10)).map(Zcdp),
    st.fractions(Fraction(1, 100), Fraction(1, 2)).map(PureDp),
    st.builds(
        lambda rho, rare, far: Renyi(
            tuple(rho * order * (1 + order / 1000) for order in ORDERS), Fraction(rare) / 10**12, far * 1e-12
        ),
        st.floats(1e-4, 0.1),
        st.integers(0, 1000),
        st.integers(0, 10),
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(costs, min_size=1, max_size=6), st.floats(0.2, 8), st.sampled_from([1e-6, 1e-9]))
def test_what_fits_costs_no_more_than_the_budget(paid, epsilon, delta):
    """The order that was fixed is one of those that the conversion may choose from, or lies between two of them."""
    budget = ApproxDp(epsilon, delta)
    if not fits(budget, tuple(paid)):
        assert allowance_for(budget, paid[0]).left(paid) is None
        return
    spent, left = epsilon_spent(budget, tuple(paid)), epsilon_left(budget, tuple(paid))
    assert 0 < spent <= budget.epsilon
    assert 0 <= left <= budget.epsilon
    allowance = allowance_for(budget, paid[0])
    if allowance.order is None:
        assert sum(cost.epsilon for cost in paid) <= budget.epsilon
        return
    at = float(allowance.order)
    assert compose(map(renyi_of, paid)).epsilon(delta) <= budget.epsilon * Fraction(105, 100)
    total = sum(float(allowance.price(cost)[0]) for cost in paid)
    rest = delta - sum(float(allowance.price(cost)[1]) for cost in paid)
    converted = total - (math.log(rest) + math.log(at)) / (at - 1) + math.log1p(-1 / at)
    assert converted <= epsilon * (1 + 1e-9)
    if left > Fraction(1, 1000):
        assert fits(budget, (*paid, dpmean.zcdp_that_implies(ApproxDp(left, delta))))
        much = dpmean.zcdp_that_implies(ApproxDp(left * Fraction(101, 100), delta))
        assert left == budget.epsilon or not fits(budget, (*paid, much))


def delta_of_stopping(epsilons, rho):
    """Return the delta of whoever stops at the best time: after t releases of rho, each, epsilons[t] is promised.

    The privacy loss Z is a walk of normal steps, of mean rho and variance 2 rho. Stopping gains max(0, 1 - e^(epsilon -
    Z)), whose expectation is delta; the most that can be gained from any Z on is found from the last release backwards.
    """
    fine, std = 0.005, math.sqrt(2 * rho)
    loss, half = np.arange(-12, 20, fine), math.ceil(8 * std / fine)
    chances = np.exp(-((fine * np.arange(-half, half + 1) / std) ** 2) / 2)
    later = np.zeros_like(loss)
    for epsilon in reversed(epsilons):
        best = np.maximum(later, 1 - np.exp(float(epsilon) - loss))
        around = np.pad(np.interp(loss + rho, loss, best), half, mode="edge")
        later = np.convolve(around, chances / chances.sum(), mode="valid")
    return float(np.interp(0, loss, later))


@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_what_was_spent_holds_for_whoever_stops_when_they_like(delta):
    rho, ledger, told = Fraction(1, 200), Ledger(epsilon=3, delta=delta), []
    while ledger.left > dpmean.tight_epsilon(Zcdp(rho), delta):
        ledger.charge(Zcdp(rho), "a release")
        told.append(ledger.spent)
    assert delta_of_stopping(told, float(rho)) < 0.7 * delta
    best = [dpmean.tight_epsilon(Zcdp(rho * t), delta) for t in range(1, len(told) + 1)]
    assert delta_of_stopping(best, float(rho)) > 1.7 * delta  # the order that is best for the sum, as it turns out
    assert delta_of_stopping([math.inf] * (len(best) - 1) + best[-1:], float(rho)) < delta  # nobody may choose
    assert told == sorted(told)
    assert max(told) <= 3
    assert f"spent, at delta = {delta:g}, at any time epsilon = 2.9" in " ".join(str(ledger).split())


@settings(max_examples=40, deadline=None)
@given(costs, st.floats(0.2, 8))
def test_as_many_equal_releases_fit_as_any_order_allows(cost, epsilon):
    budget = ApproxDp(epsilon, 1e-6)
    best = 0.0
    for order in ORDERS:
        inside = renyi_of(cost).curve[ORDERS.index(order)]
        for part in _PARTS:
            rest = 1e-6 * float(1 - part)
            allowed = epsilon + (math.log(rest) + math.log(order)) / (order - 1) - math.log1p(-1 / order)
            outside = renyi_of(cost).delta + Fraction((1 + math.exp(epsilon)) * renyi_of(cost).distance)
            share = max(inside / allowed if allowed > 0 else math.inf, float(outside / (Fraction(1, 10**6) * part)))
            best = max(best, 1 / share)
    if isinstance(cost, PureDp) and cost.epsilon < budget.epsilon / 2:
        best *= 0.8  # the rest is for costs of other kinds
    times = min(math.floor(best * (1 - 1e-6)), 50)
    assert times == 0 or fits(budget, (cost,) * times)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("part", [0.01, 0.05, 0.3, 0.49])
@pytest.mark.parametrize("kind", [PureDp, lambda epsilon: ApproxDp(epsilon, 1e-8)], ids=["pure", "approximate"])
def test_what_is_left_fits_after_a_first_cost_that_is_pure_and_small(epsilon, part, kind):
    ledger = Ledger(epsilon=epsilon, delta=1e-6)
    ledger.charge(kind(epsilon * part), "another library")
    assert ledger.left > epsilon * 0.4
    left = dpmean.zcdp_that_implies(ApproxDp(ledger.left, 1e-6))
    ledger.check(left)
    ledger.charge(Zcdp(left.rho * Fraction(999, 1000)), "a release")
    assert "pure costs only" not in str(ledger) + repr(ledger)


def test_what_lies_outside_a_curve_is_paid_for():
    """An event of some probability, and a distance t, which counts (1 + e^epsilon) t."""
    allowance = Allowance(Fraction(2), Fraction(3), Fraction(1, 10**6), Fraction(1))
    curve = tuple(0.01 * order for order in ORDERS)
    rare, far = Fraction(1, 10**9), 2.0**-40
    assert allowance.price(Renyi(curve, rare)) == (Fraction(0.02), rare)
    inside, outside = allowance.price(Renyi(curve, rare, far))
    assert inside == Fraction(0.02)
    assert (1 + math.e) * far <= outside - rare <= (1 + math.e) * far * (1 + 1e-8)
    assert allowance.price(ApproxDp(Fraction(1, 4), rare)) == (Fraction(1, 16), rare)
    assert allowance.price(Zcdp(1)) == (2, 0)
    assert [allowance.share(Zcdp(rho)) for rho in (Fraction(3, 4), Fraction(3, 2), Fraction(9, 4))] == [0.5, 1, 1.5]
    assert allowance.share(Zcdp(Fraction(3, 2) + Fraction(1, 10**30))) > 1
    assert allowance.left([Zcdp(1), PureDp(Fraction(1, 2))]) == (Fraction(3, 4), Fraction(1, 10**6))
    assert allowance.left([Zcdp(1), Zcdp(Fraction(501, 1000))]) is None


def test_pure_costs_are_told_as_what_they_add_up_to():
    budget, costs = ApproxDp(3, 1e-6), (PureDp(2), PureDp(Fraction(1, 2)))
    assert epsilon_spent(budget, costs) == Fraction(5, 2)
    assert epsilon_left(budget, costs) == Fraction(1, 2)
    assert epsilon_spent(budget, ()) == 0
    assert epsilon_left(budget, ()) == 3


def test_where_only_pure_costs_fit_it_is_said():
    ledger = Ledger(epsilon=3, delta=1e-6)
    ledger.charge(PureDp(2), "a vote")
    assert re.search("largest next release, for pure costs only +epsilon = 1$", str(ledger), re.MULTILINE)
    assert "1 left, for pure costs only" in repr(ledger)
    ledger.charge(PureDp(ledger.left), "another vote")


@given(st.floats(1.0, 3000.0), st.fractions(Fraction(1, 1000), 1))
def test_a_curve_between_two_orders_is_bounded_by_its_chord(order, rho):
    """Of zCDP the divergence is rho alpha at every order, and the chord is above it, by little."""
    exact = Zcdp(rho)
    allowance = allowance_for(ApproxDp(1, 1e-6), exact)
    at = replace(allowance, order=Fraction(max(order, 1.001)))
    bound = at.price(renyi_of(exact))
    if order > ORDERS[-1]:
        assert bound is None
        return
    assert bound[0] >= at.price(exact)[0]
    if order >= 10:
        assert bound[0] <= at.price(exact)[0] * Fraction(101, 100)


@given(st.lists(st.fractions(Fraction(1, 100), 1), max_size=8), st.fractions(Fraction(1, 100), 4))
def test_a_budget_of_rho_is_exact(prices, budget):
    ledger, paid = Ledger(rho=budget), Fraction(0)
    for price in prices:
        if paid + price <= budget:
            ledger.charge(Zcdp(price), "x")
            paid += price
        else:
            with pytest.raises(OverspendError):
                ledger.charge(Zcdp(price), "x")
    assert (ledger.spent, ledger.left) == (paid, budget - paid)


def two_columns(n, patients=None):
    rows = np.random.default_rng(n).normal(5, 1, (n, 2))
    return rows, np.arange(n) if patients is None else patients


def test_a_refusal_is_about_the_same_people_as_everything_else(tmp_path):
    """Were it not, counts of rows would be sold at the price of one row to whoever protects persons."""
    ledger = dpmean.Ledger(tmp_path / "budget.json", rho=1.0)
    rows, keys = two_columns(3000)
    shared = {"norm_bound": 60.0, "ledger": ledger, "neighbours": "add-or-remove-one"}
    dpmean.mean(rows, rho=0.1, privacy_unit=keys, **shared)
    for more in ({"rho": 0.1}, {"rho": 0.001}):  # the second has too few rows
        with pytest.raises(ArgumentError, match="Their costs cannot be added"):
            dpmean.mean(rows[:100], **shared, **more)
    with pytest.raises(ArgumentError, match="Their costs cannot be added"):
        dpmean.mean_by(rows, by=keys % 2, groups=[0, 1], rho=0.001, norm_bound=60.0, ledger=ledger)
    assert len(ledger.entries) == 1
    with pytest.raises(dpmean.TooFewRowsError):
        dpmean.mean(rows[:100], rho=0.001, privacy_unit=keys[:100], **shared)
    assert ledger.entries[1].relation == ledger.entries[0].relation


def test_a_number_that_could_not_be_charged_is_not_carried_along(monkeypatch):
    ledger = dpmean.Ledger(rho=1.0)
    check = dpmean.Ledger.check

    def emptied(self, *arguments, **more):
        check(self, *arguments, **more)
        if len(self.entries) == 0 and more:  # another process was faster
            self.charge(dpmean.Zcdp(1), "all of it")

    monkeypatch.setattr(dpmean.Ledger, "check", emptied)
    with pytest.raises(dpmean.OverspendError) as caught:
        dpmean.mean(two_columns(50)[0], rho=0.001, norm_bound=60.0, neighbours="add-or-remove-one", ledger=ledger)
    link, seen = caught.value, []
    while link is not None:
        seen.append(link)
        link = link.__cause__ or link.__context__
    assert not any(isinstance(error, dpmean.TooFewRowsError) for error in seen)


def test_groups_that_fail_after_their_sizes_were_drawn_are_charged():
    ledger, (rows, _) = dpmean.Ledger(rho=1.0), two_columns(3000)
    rows[-1, 0] = np.nan
    with pytest.raises(dpmean.DataError):
        dpmean.mean_by(rows, by=np.arange(3000) // 1500, groups=[0, 1], rho=0.5, norm_bound=60.0, ledger=ledger)
    assert ledger.spent == Fraction(1, 50)


@pytest.mark.parametrize("wrong", [{"bounds": (10, 0)}, {"norm_bound": -1}, {"norm_bound": 9, "nan": "x"}], ids=str)
def test_wrong_arguments_cost_nothing(wrong):
    ledger, (rows, keys) = dpmean.Ledger(rho=1.0), two_columns(3000)
    with pytest.raises(ArgumentError):
        dpmean.mean_by(rows, by=keys % 2, groups=[0, 1], rho=0.5, ledger=ledger, **wrong)
    with pytest.raises(ArgumentError):
        dpmean.mean(rows, rho=0.5, neighbours="add-or-remove-one", ledger=ledger, **wrong)
    assert not ledger.entries


@pytest.mark.parametrize("n", [50, 3000])
def test_the_first_cost_of_an_allowance_does_not_depend_on_an_answer(n):
    """Its order rests on that cost: a refusal costs what was asked for then, and later ones what they are worth."""
    ledger, shared = dpmean.Ledger(epsilon=3.0, delta=1e-6), {"norm_bound": 60.0, "neighbours": "add-or-remove-one"}
    for _ in range(2):
        with contextlib.suppress(dpmean.TooFewRowsError):
            dpmean.mean(two_columns(n)[0], rho=0.01, ledger=ledger, **shared)
    costs = [entry.cost.rho for entry in ledger.entries]
    assert costs == [Fraction(1, 100), Fraction(1, 100) if n == 3000 else Fraction(1, 2500)]


def test_a_ledger_that_was_pickled_is_the_same_one_wherever_it_is_opened(tmp_path, monkeypatch):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        dpmean.Ledger(tmp_path / name / "budget.json", rho=1.0)
    monkeypatch.chdir(tmp_path / "here")
    ledger = dpmean.Ledger("budget.json", rho=1.0)
    ledger.charge(dpmean.Zcdp(1), "all of it")
    monkeypatch.chdir(tmp_path / "there")
    assert pickle.loads(pickle.dumps(ledger)).left == 0  # noqa: S301  our own bytes


@pytest.mark.parametrize(
    ("limit", "beyond"), [(Fraction(1, 10**6), Fraction(99, 10**8)), (1000, Fraction(100001, 100))]
)
def test_the_epsilon_of_a_ledger_may_be_as_small_and_as_large_as_is_said(limit, beyond):
    assert Ledger(epsilon=limit, delta=1e-6).budget == ApproxDp(limit, 1e-6)
    with pytest.raises(ArgumentError, match="between 1e-6 and 1000"):
        Ledger(epsilon=beyond, delta=1e-6)


def test_a_unit_that_is_no_name_is_refused_and_the_file_stays_whole(tmp_path):
    ledger = dpmean.Ledger(tmp_path / "b.json", rho=5)
    for unit in (5, ["a"], b"x"):
        with pytest.raises(dpmean.ArgumentTypeError, match="unit must be the name of a column"):
            ledger.charge(dpmean.Zcdp(Fraction(1, 100)), "x", neighbours="replace-one", unit=unit)
    assert dpmean.Ledger(tmp_path / "b.json", rho=5).entries == ()
