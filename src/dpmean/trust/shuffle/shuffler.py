"""The shuffler: collects whole batches, forgets whose they were, and hands their messages on in random order, once.

It reads nothing: messages are sealed to the analyzer. What it must not do is talk to the analyzer about batches. What
has been accepted is in a journal before the client is told so, and what has been handed on stays what it was: a
shuffler that is restarted accepts no batch twice, and never hands on two sets of messages that differ. Envelopes that
occur twice would tell the analyzer which ones came together, so a batch with a key or a tag that was seen before is
refused.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import final

import msgspec

from dpmean.errors import ArgumentError, DataError
from dpmean.trust.devices.randomness import SystemCoins
from dpmean.trust.devices.signatures import VERSION, digest_of, fault_of, read_content, read_signed
from dpmean.trust.local.schema import Outcome
from dpmean.trust.shuffle.checks import check_collection, check_invited, check_round, read_extension
from dpmean.trust.shuffle.delivery import signed_delivery
from dpmean.trust.shuffle.enrollment import Enrollment
from dpmean.trust.shuffle.journal import Journal
from dpmean.trust.shuffle.messages import Batch
from dpmean.trust.shuffle.schema import Collection, Round
from dpmean.trust.shuffle.seal import marks_of
from dpmean.trust.shuffle.sizes import SEAL_BYTES, fewest_messages, most_messages
from dpmean.trust.shuffle.work import check_work

_UNSURE = "the journal could not be written, and may differ from what is in memory: start this shuffler again from it"
_CLOSED = "this shuffler was closed: start another one from its journal"
_FORKED = "this shuffler belongs to the process that started it, and this is another one: let that process do the work"


@final
class Shuffler:
    """Shuffles one round of a collection. Threads may share a shuffler.

    It keeps every message, and 32 bytes of each envelope in a set.

    Args:
        collection: The collection, as the analyzer published it.
        asked: The round, as the analyzer published it.
        enrollment: Who has checked in; it must be closed.
        journal: The file that survives a crash. Without one, a shuffler that dies must not be started again.
        clock: What tells the time, in seconds since 1970.

    """

    def __init__(
        self,
        collection: bytes,
        asked: bytes,
        enrollment: Enrollment,
        journal: Path | str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        analyzer = enrollment.invitation.analyzer
        content = read_signed(collection, "collection", analyzer)
        self.collection = read_content(content, Collection, "collection")
        check_collection(self.collection)
        check_invited(self.collection, enrollment.invitation, enrollment.digest)
        check_work(self.collection)
        if not enrollment.closed or enrollment.users != self.collection.users:
            raise ArgumentError(
                f"the collection has {self.collection.users} users, and {enrollment.users} have checked in"
                f"{'' if enrollment.closed else ' so far: close the enrollment'}"
            )
        asked_content = read_signed(asked, "round", analyzer)
        self.round = read_content(asked_content, Round, "round")
        self._stage = check_round(self.collection, digest_of(content), self.round)
        self.closed = False
        self.closes = self.round.closes
        self._enrollment, self._clock = enrollment, clock
        self._stopped = ""  # why nothing is done any more
        self._process = os.getpid()  # a fork would share the lock of the journal
        self._alone = threading.RLock()  # one at a time: what is on disk is what is in memory
        self._digest = digest_of(asked_content)
        self._digests: dict[int, bytes] = {}
        self._messages: list[bytes] = []
        self._marks: set[bytes] = set()
        self._journal: Journal | None = None
        if journal is not None:
            self._journal = Journal(Path(journal), self._digest)
            try:
                self._replay(self._journal)
            except BaseException:
                self.close()
                raise

    def extend(self, extension: bytes) -> None:
        """Take batches until a later time; an extension to an earlier time changes nothing.

        Args:
            extension: The document by which the analyzer says so.

        """
        closes = read_extension(extension, self.collection.analyzer, self._digest)
        with self._alone:
            self.closes = max(self.closes, closes)

    @property
    def clients(self) -> int:
        """How many clients' batches were accepted."""
        return len(self._digests)

    def receive(self, batch: bytes) -> tuple[Outcome, str]:
        """Take in the batch of a client, whole or not at all; return what became of it, and why.

        Args:
            batch: The batch, as a client returned it.

        """
        with self._alone:
            self._check_running()
            return self._receive(batch)

    def _receive(self, batch: bytes) -> tuple[Outcome, str]:
        try:
            read = msgspec.msgpack.decode(batch, type=Batch)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Outcome.REJECTED, fault_of(batch)
        user, digest = int.from_bytes(read.user), digest_of(batch)
        reason = self._fault(read)
        if reason:
            return Outcome.REJECTED, reason
        if user in self._digests:
            again = self._digests[user] == digest
            return (Outcome.DUPLICATE, "") if again else (Outcome.CONFLICT, "another batch of the same client")
        if self.closed:
            return Outcome.REJECTED, "a closed round"
        if self._clock() > self.closes:
            return Outcome.REJECTED, "after the deadline"
        marks = marks_of(read.messages)
        if len(marks) < 2 * len(read.messages) or not self._marks.isdisjoint(marks):
            return Outcome.REJECTED, "an envelope whose key or tag was used before"
        self._stopped = _UNSURE
        if self._journal is not None:
            self._journal.append(batch)
        self._accept(user, digest, read.messages)
        self._stopped = ""
        return Outcome.ACCEPTED, ""

    def _fault(self, batch: Batch) -> str:
        """Return what is wrong with a batch, from its outside."""
        stage = self._stage
        if batch.version != VERSION:
            return "another version"
        if batch.round != self._digest:
            return "another round"
        if len(batch.user) != 8 or int.from_bytes(batch.user) not in self._enrollment:
            return "a user who has not checked in"
        if not fewest_messages(stage) <= len(batch.messages) <= most_messages(self.collection, stage):
            return "a number of messages that no honest client sends"
        if any(len(message) != stage.size + SEAL_BYTES for message in batch.messages):
            return "a message of the wrong length"
        return ""

    def _accept(self, user: int, digest: bytes, messages: list[bytes]) -> None:
        self._digests[user] = digest
        self._messages += messages
        self._marks |= marks_of(messages)

    def hand_on(self) -> bytes:
        """Close the round and return its messages in random order, with the number of clients; refuse too few.

        Asked again, it returns the same messages, in another order.
        """
        with self._alone:
            self._check_running()
            return self._hand_on()

    def _hand_on(self) -> bytes:
        c = self.collection
        if self.clients < c.quorum:
            raise ArgumentError(
                f"{self.clients} of {c.users} clients have answered, and {c.quorum} are needed, since {c.silent} may "
                f"be silent: wait for {c.quorum - self.clients} more, have the analyzer extend the round, or end the "
                "collection"
            )
        if not self.closed:
            self._stopped = _UNSURE
            if self._journal is not None:
                self._journal.end()
            self.closed = True
            self._stopped = ""
        mixed = permuted(self._messages)
        return signed_delivery(self._enrollment.identity, self._digest, c.users, self.clients, mixed)

    def _replay(self, journal: Journal) -> None:
        """Take in what was accepted before."""
        for entry in journal.entries():
            if entry is None:
                self.closed = True
                continue
            batch = msgspec.msgpack.decode(entry, type=Batch)
            self._accept(int.from_bytes(batch.user), digest_of(entry), batch.messages)

    def _check_running(self) -> None:
        if os.getpid() != self._process:
            raise DataError(_FORKED)
        if self._stopped:
            raise DataError(self._stopped)

    def close(self) -> None:
        """Let go of the journal; this shuffler does nothing any more."""
        with self._alone:
            self._stopped = _CLOSED
            if self._journal is not None:
                self._journal.close()


def permuted(messages: list[bytes]) -> list[bytes]:
    """Return messages in a uniformly random order (Fisher and Yates, with the operating system's entropy)."""
    mixed, coins = list(messages), SystemCoins()
    for i in range(len(mixed) - 1, 0, -1):
        (j,) = coins.below("order", i + 1, 1)
        mixed[i], mixed[j] = mixed[j], mixed[i]
    return mixed
