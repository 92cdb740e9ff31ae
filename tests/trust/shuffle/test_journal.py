"""The journal of a shuffled round: no damage opens a closed round again, or changes what it hands on."""

import itertools
import os
import subprocess
import sys
import threading
from fractions import Fraction
from hashlib import blake2b

import msgspec
import pytest

from dpmean import ArgumentError, DataError
from dpmean.trust.devices.signatures import VERSION
from dpmean.trust.local.schema import Outcome
from dpmean.trust.shuffle.messages import Batch, Delivery
from dpmean.trust.shuffle.schema import Counters, Round
from tests.support.shuffle_parts import KEYS, LATER, SHUFFLER, SMALL, Play, digest_in, invitation, signed_round

STAGE = Counters("radius", 1, 4, (0,), 1)
ASKED = Round(VERSION, "", 0, LATER, lows=[0], widths=[1], gaps=[1, 2, 3], centre=[0])


@pytest.fixture(scope="module")
def play(shared_folder):
    """Three of five users are enough: the journal has some nine hundred bytes."""
    return Play(shared_folder, users=5, d=1, stages=[STAGE], silent=Fraction(2, 5), colluding=Fraction(1, 5))


@pytest.fixture(scope="module")
def asked(play):
    return signed_round(msgspec.structs.replace(ASKED, collection=digest_in(play.document).hex()))


@pytest.fixture(scope="module")
def shuffle(play, asked):
    """A shuffler, with a journal or without."""
    return lambda path=None: play.shuffler(asked, path)


@pytest.fixture(scope="module")
def batch(asked):
    """The batch of a user."""
    return lambda user: msgspec.msgpack.encode(
        Batch(VERSION, digest_in(asked), user.to_bytes(8), [bytes([user + 1]) * 52])
    )


def marker_of(path):
    return path.with_name(path.name + ".closed")


def handed_on(shuffler):
    return sorted(msgspec.msgpack.decode(shuffler.hand_on(), type=Delivery).messages)


@pytest.fixture
def round_of_three(fast_folder, batch, shuffle):
    """Return the path of a closed round's journal, its bytes, where each entry ends, and what was handed on."""
    path = fast_folder / "round"
    shuffler = shuffle(path)
    ends = [path.stat().st_size]
    for user in range(3):
        assert shuffler.receive(batch(user)) == (Outcome.ACCEPTED, "")
        ends.append(path.stat().st_size)
    messages = handed_on(shuffler)
    ends.append(path.stat().st_size)
    shuffler.close()
    return path, path.read_bytes(), ends, messages


def assert_refused(path, shuffle):
    before = path.read_bytes() if path.exists() else b""
    with pytest.raises(
        DataError,
        match=r"is damaged|is not (the journal of this round|a journal of a shuffler)|was written by an older",
    ):
        shuffle(path)
    assert path.read_bytes() == before


def test_no_flipped_bit_opens_a_closed_round(round_of_three, shuffle):
    """Every bit of both files; and of the journal alone, as if the second file had been lost too."""
    path, good, _, _ = round_of_three
    marker = marker_of(path).read_bytes()
    for file, content in ((path, good), (marker_of(path), marker)):
        for at, bit in itertools.product(range(len(content)), range(8)):
            bad = bytearray(content)
            bad[at] ^= 1 << bit
            file.write_bytes(bad)
            assert_refused(path, shuffle)
        file.write_bytes(content)
    marker_of(path).unlink()
    for at, bit in itertools.product(range(len(good)), range(8)):
        bad = bytearray(good)
        bad[at] ^= 1 << bit
        path.write_bytes(bad)
        assert_refused(path, shuffle)


def test_no_cut_opens_a_round_that_was_handed_on(round_of_three, shuffle):
    path, good, _, messages = round_of_three
    marker = marker_of(path).read_bytes()
    for end in range(len(good)):
        path.write_bytes(good[:end])
        assert_refused(path, shuffle)
    path.unlink()
    with pytest.raises(DataError, match="is damaged"):
        shuffle(path)
    path.write_bytes(good + b"\0")
    assert_refused(path, shuffle)
    path.write_bytes(good)
    for end in range(len(marker)):
        marker_of(path).write_bytes(marker[:end])
        assert_refused(path, shuffle)
    marker_of(path).write_bytes(marker)
    again = shuffle(path)
    assert again.closed
    assert handed_on(again) == messages
    again.close()


def test_a_process_that_dies_anywhere_goes_on_where_it_was(round_of_three, batch, shuffle):
    """Nothing was handed on before the second file was there; an entry that was cut off was never acknowledged."""
    path, good, ends, messages = round_of_three
    marker = marker_of(path).read_bytes()
    for end in range(len(good) + 1):
        marker_of(path).unlink(missing_ok=True)
        path.write_bytes(good[:end])
        shuffler = shuffle(path)
        assert shuffler.clients == sum(end >= at for at in ends[1:4])
        assert shuffler.closed == (end == len(good))
        assert marker_of(path).exists() == shuffler.closed
        assert shuffler.receive(batch(0))[0] is (Outcome.DUPLICATE if end >= ends[1] else Outcome.ACCEPTED)
        if not shuffler.closed:
            for user in (1, 2):
                shuffler.receive(batch(user))
        assert handed_on(shuffler) == messages
        shuffler.close()
        assert path.read_bytes() == good
        assert marker_of(path).read_bytes() == marker


def test_entries_stay_where_they_are(round_of_three, tmp_path, batch, shuffle):
    """None can be swapped, repeated, taken out or taken from another journal, in a closed round or an open one."""
    path, good, ends, _ = round_of_three
    title, *entries = [good[start:end] for start, end in itertools.pairwise([0, *ends])]
    other = shuffle(tmp_path / "other")
    other.receive(batch(3))
    other.close()
    foreign = (tmp_path / "other").read_bytes()[ends[0] :]
    one, two, three, end = entries
    wrong = [
        [two, one, three, end],
        [one, three, two, end],
        [one, one, two, three, end],
        [one, two, three, three, end],
        [one, two, three, end, end],
        [one, two, three, end, foreign],
        [two, three, end],
        [one, three, end],
        [one, two, end],
        [end],
        [foreign, two, three, end],
        [one, two, three, foreign, end],
    ]
    for order in wrong:
        path.write_bytes(title + b"".join(order))
        assert_refused(path, shuffle)
    marker_of(path).unlink()
    for order in wrong:
        path.write_bytes(title + b"".join(order))
        assert_refused(path, shuffle)


@pytest.mark.parametrize("version", [1, 2])
def test_a_journal_of_an_older_format_is_refused_with_a_word(tmp_path, shuffle, version):
    path, title = tmp_path / "round", f"dpmean shuffle journal {version} ".encode() + bytes(34)
    if version == 1:
        title = len(title).to_bytes(8) + blake2b(title, digest_size=16).digest() + title
    path.write_bytes(title)
    with pytest.raises(DataError, match=r"was written by an older dpmean.*finish this round with that version"):
        shuffle(path)
    assert path.read_bytes() == title


@pytest.mark.parametrize("journal", [True, False])
def test_a_shuffler_that_was_closed_does_nothing(tmp_path, journal, batch, shuffle):
    shuffler = shuffle(tmp_path / "round" if journal else None)
    for user in range(3):
        shuffler.receive(batch(user))
    shuffler.close()
    shuffler.close()
    for refused in (lambda: shuffler.receive(batch(3)), shuffler.hand_on):
        with pytest.raises(DataError, match="this shuffler was closed: start another one from its journal"):
            refused()


def test_a_round_that_is_too_small_stays_open(tmp_path, shuffle):
    path = tmp_path / "round"
    shuffler = shuffle(path)
    with pytest.raises(ArgumentError, match="wait for 3 more"):
        shuffler.hand_on()
    shuffler.close()
    assert not marker_of(path).exists()


@pytest.mark.parametrize("journal", [True, False])
def test_a_forked_shuffler_does_nothing(tmp_path, journal, batch, shuffle):
    """It has the lock of the one it was copied from: both could hand on a round."""
    shuffler = shuffle(tmp_path / "round" if journal else None)
    for user in range(3):
        shuffler.receive(batch(user))
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            for refused in (lambda: shuffler.receive(batch(3)), shuffler.hand_on):
                try:
                    refused()
                except DataError as error:
                    os.write(writer, f"{error}\n".encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as told:
        assert told.read().count("belongs to the process that started it") == 2
    assert shuffler.receive(batch(4)) == (Outcome.ACCEPTED, "")
    assert len(handed_on(shuffler)) == 4
    shuffler.close()


@pytest.mark.parametrize("change", ["deleted", "moved", "replaced"])
def test_a_journal_that_is_not_in_its_place_is_not_written(tmp_path, change, batch, shuffle):
    path = tmp_path / "round"
    first = shuffle(path)
    for user in range(3):
        first.receive(batch(user))
    path.rename(tmp_path / "elsewhere")
    if change == "deleted":
        (tmp_path / "elsewhere").unlink()
    second = shuffle(path) if change == "replaced" else None
    with pytest.raises(DataError, match="deleted, moved or replaced while a shuffler used it"):
        first.hand_on()
    with pytest.raises(DataError, match="could not be written"):
        first.hand_on()
    assert not marker_of(path).exists()
    first.close()
    if second is not None:
        for user in (0, 1, 3):
            second.receive(batch(user))
        assert len(handed_on(second)) == 3
        second.close()


@pytest.mark.parametrize("last", [2, 3])
def test_a_round_is_closed_once_whoever_closes_it(round_of_three, last, batch, shuffle):
    """If another shuffler closes it at the same time, only the same messages are handed on."""
    path, _, _, messages = round_of_three
    said = marker_of(path).read_bytes()
    path.unlink()
    marker_of(path).unlink()
    shuffler = shuffle(path)
    for user in (0, 1, last):
        shuffler.receive(batch(user))
    marker_of(path).write_bytes(said)
    if last == 2:
        assert handed_on(shuffler) == messages
    else:
        with pytest.raises(DataError, match=r"does not end as round\.closed says"):
            shuffler.hand_on()
    shuffler.close()
    assert marker_of(path).read_bytes() == said
    assert sorted(file.name for file in path.parent.iterdir()) == ["round", "round.closed"]


def test_both_files_stay_together_whatever_the_working_directory(tmp_path, monkeypatch, batch, shuffle):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "link").symlink_to(tmp_path / "here" / "linked")
    for name, real in (("round", "round"), (tmp_path / "link", "linked")):
        monkeypatch.chdir(tmp_path / "here")
        shuffler = shuffle(name)
        monkeypatch.chdir(tmp_path / "there")
        for user in range(3):
            shuffler.receive(batch(user))
        shuffler.hand_on()
        shuffler.close()
        assert marker_of(tmp_path / "here" / real).exists()
    assert not list((tmp_path / "there").iterdir())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["here", "link", "there"]


def test_without_locks_there_is_no_journal(tmp_path):
    """As on Windows, where two shufflers could use one file."""
    program = """
import sys
from dpmean.trust.shuffle.enrollment import Enrollment
sys.modules["fcntl"] = None
Enrollment(sys.stdin.buffer.read(), sys.argv[1], bytes.fromhex(sys.argv[2]), sys.argv[3])
"""
    command = [sys.executable, "-c", program, KEYS.public, SHUFFLER.hex(), str(tmp_path / "check-ins")]
    ran = subprocess.run(command, input=invitation(), capture_output=True, check=False)
    assert b"ArgumentError: a journal needs file locks of a POSIX system" in ran.stderr
    assert not list(tmp_path.iterdir())


def test_threads_may_share_a_shuffler(tmp_path, fast_folder):
    """Four threads hand in every batch, each in its own order: one of them is told that it was accepted."""
    play = Play(fast_folder)
    asked = play.analyzer().document(LATER)
    batches = play.batches(asked)
    shuffler = play.shuffler(asked, tmp_path / "round")
    told = [[] for _ in range(4)]

    def hand_in(number):
        for one in batches[30 * number :] + batches[: 30 * number]:
            told[number].append(shuffler.receive(one)[0])

    threads = [threading.Thread(target=hand_in, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcomes = list(itertools.chain(*told))
    assert outcomes.count(Outcome.ACCEPTED) == SMALL
    assert outcomes.count(Outcome.DUPLICATE) == 3 * SMALL
    shuffler.close()
    again = play.shuffler(asked, tmp_path / "round")
    assert again.clients == SMALL
    again.close()
