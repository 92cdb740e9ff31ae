"""Check-ins: who takes part is counted by the shuffler, before the number of users is fixed."""

import os
import threading

import msgspec
import pytest

from dpmean import ArgumentError, DataError
from dpmean.trust.devices.signatures import new_identity, sign
from dpmean.trust.local.schema import Outcome
from dpmean.trust.shuffle.enrollment import Enrollment
from dpmean.trust.shuffle.invitation import collection_for
from dpmean.trust.shuffle.messages import Roll
from tests.support.shuffle_parts import KEYS, LATER, NOW, SHUFFLER, changed, check_in, clock, digest_in, invitation


@pytest.fixture(scope="module")
def invited():
    return invitation()


def enrollment(invited, journal=None, **more):
    return Enrollment(invited, KEYS.public, SHUFFLER, journal, **{"clock": clock, **more})


def test_users_check_in_once(invited):
    one = enrollment(invited)
    assert one.receive(check_in(invited, 5)) == (Outcome.ACCEPTED, "")
    assert one.receive(check_in(invited, 5)) == (Outcome.DUPLICATE, "")
    assert one.receive(check_in(invited, (1 << 64) - 1)) == (Outcome.ACCEPTED, "")
    digest = digest_in(invited)
    for message, reason in (
        (b"", "malformed"),
        (b"\xff", "malformed"),
        (msgspec.msgpack.encode([1, digest, bytes(8)]), "another version"),
        (msgspec.msgpack.encode([2, bytes(32), bytes(8)]), "another invitation"),
        (msgspec.msgpack.encode([2, digest, bytes(7)]), "an unknown user"),
        (msgspec.msgpack.encode([2, digest, bytes(8), 0]), "malformed"),
    ):
        assert one.receive(message) == (Outcome.REJECTED, reason)
    assert one.users == 2
    assert 5 in one
    assert 6 not in one
    first = one.close()
    assert one.close() == first
    assert one.receive(check_in(invited, 6)) == (Outcome.REJECTED, "the enrollment is closed")
    assert one.receive(check_in(invited, 5)) == (Outcome.DUPLICATE, "")
    assert msgspec.msgpack.decode(first, type=Roll).users == 2


def test_nobody_checks_in_after_the_deadline(invited):
    time = [NOW]
    one = enrollment(invited, clock=lambda: time[0])
    one.receive(check_in(invited, 1))
    time[0] = LATER + 1
    assert one.receive(check_in(invited, 2)) == (Outcome.REJECTED, "the enrollment is closed")
    assert one.receive(check_in(invited, 1)) == (Outcome.DUPLICATE, "")


def test_check_ins_survive_a_crash_and_a_closed_enrollment_stays_closed(invited, tmp_path):
    one = enrollment(invited, tmp_path / "check-ins")
    for user in range(30):
        one.receive(check_in(invited, user))
    with pytest.raises(ArgumentError, match="in use by another shuffler"):
        enrollment(invited, tmp_path / "check-ins")
    one.let_go()
    with pytest.raises(DataError, match="was let go: start another one from its journal"):
        one.receive(check_in(invited, 30))
    again = enrollment(invited, tmp_path / "check-ins")
    assert again.users == 30
    assert again.receive(check_in(invited, 3)) == (Outcome.DUPLICATE, "")
    roll = again.close()
    again.let_go()
    third = enrollment(invited, tmp_path / "check-ins")
    assert third.receive(check_in(invited, 31)) == (Outcome.REJECTED, "the enrollment is closed")
    assert third.close() == roll
    third.let_go()
    other = invitation(name="ff" * 8)
    with pytest.raises(DataError, match="is not the journal of this round"):
        enrollment(other, tmp_path / "check-ins")


def test_an_enrollment_that_cannot_write_stops(invited, tmp_path, monkeypatch):
    one = enrollment(invited, tmp_path / "check-ins")
    one.receive(check_in(invited, 1))

    def broken(_):
        raise OSError("input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", broken)
        with pytest.raises(OSError, match="input/output"):
            one.receive(check_in(invited, 2))
    for refused in (lambda: one.receive(check_in(invited, 2)), one.close):
        with pytest.raises(DataError, match="could not be written"):
            refused()
    one.let_go()


def test_a_forked_enrollment_does_nothing(invited):
    one = enrollment(invited)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            one.receive(check_in(invited, 1))
        except DataError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as told:
        assert "belongs to the process that started it" in told.read()


def test_threads_may_share_an_enrollment(invited, tmp_path):
    one, outcomes = enrollment(invited, tmp_path / "check-ins"), []

    def hand_in():
        outcomes.extend(one.receive(check_in(invited, user))[0] for user in range(50))

    threads = [threading.Thread(target=hand_in) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(Outcome.ACCEPTED) == one.users == 50
    one.let_go()
    again = enrollment(invited, tmp_path / "check-ins")
    assert again.users == 50
    again.let_go()


def test_a_shuffler_counts_for_invitations_that_name_it(invited):
    other = new_identity()
    with pytest.raises(ArgumentError, match="the invitation names another shuffler"):
        Enrollment(invited, KEYS.public, other[0])
    with pytest.raises(ArgumentError, match="was not signed by the analyzer"):
        Enrollment(invited, other[1], SHUFFLER)
    with pytest.raises(ArgumentError, match="names another analyzer than the one that has signed it"):
        enrollment(changed(invited, "invitation", analyzer=other[1]))
    with pytest.raises(ArgumentError, match="at least 30% must be left"):
        enrollment(changed(invited, "invitation", silent="7/10"))


def test_a_collection_is_for_as_many_as_the_shuffler_has_signed(invited):
    one = enrollment(invited)
    for user in range(60):
        one.receive(check_in(invited, user))
    roll = msgspec.msgpack.decode(one.close(), type=Roll)
    public = collection_for(invited, msgspec.msgpack.encode(roll), few_rounds=True)
    assert public.users == 60
    assert len(public.stages) == 3
    for changes, words in (
        ({"users": 61}, "was not signed by the shuffler"),
        ({"signature": bytes(64)}, "was not signed by the shuffler"),
        ({"signature": sign(KEYS.identity, "roll", b"")}, "was not signed by the shuffler"),
        ({"invitation": bytes(32)}, "belongs to another invitation"),
        ({"version": 1}, "another version: this roll is of version 1"),
    ):
        with pytest.raises(DataError, match=words):
            collection_for(invited, msgspec.msgpack.encode(msgspec.structs.replace(roll, **changes)))
    few = enrollment(invited)
    with pytest.raises(ArgumentError, match="split sums need at least 19 honest users, got 0: invite more"):
        collection_for(invited, few.close())
