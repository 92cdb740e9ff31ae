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
from hashlib import blake2b
from pathlib import Path
from typing import final

import msgspec

from dpmean.errors import ArgumentError, DataError
from dpmean.trust.devices.randomness import SystemCoins
from dpmean.trust.local.schema import Outcome, read_document
from dpmean.trust.shuffle.checks import check_collection, check_work
from dpmean.trust.shuffle.journal import Journal
from dpmean.trust.shuffle.schema import VERSION, Batch, Collection, Delivery, digest_of
from dpmean.trust.shuffle.seal import marks_of
from dpmean.trust.shuffle.sizes import SEAL_BYTES, fewest_messages, most_messages

_UNSURE = "the journal could not be written, and may differ from what is in memory: start this shuffler again from it"
_CLOSED = "this shuffler was closed: start another one from its journal"
_FORKED = "this shuffler belongs to the process that started it, and this is another one: let that process do the work"


@final
class Shuffler:
    """Shuffles one round of a collection. Threads may share a shuffler.

    It keeps every message, and 32 bytes of each envelope in a set.

    Args:
        collection: The collection, as the analyzer published it.
        number: The number of the round.
        journal: The file that survives a crash. Without one, a shuffler that dies must not be started again.

    """

    def __init__(self, collection: bytes, number: int, journal: Path | str | None = None) -> None:
        self.collection = read_document(collection, Collection, "collection")
        check_collection(self.collection)
        check_work(self.collection)
        if not 0 <= number < len(self.collection.stages):
            raise ArgumentError(
                f"the collection has {len(self.collection.stages)} rounds, and none has number {number}"
            )
        self.number = number
        self.closed = False
        self._stopped = ""  # why nothing is done any more
        self._process = os.getpid()  # a fork would share the lock of the journal
        self._alone = threading.RLock()  # one at a time: what is on disk is what is in memory
        self._digest = digest_of(collection)
        self._digests: dict[int, bytes] = {}
        self._messages: list[bytes] = []
        self._marks: set[bytes] = set()
        self._journal: Journal | None = None
        if journal is not None:
            self._journal = Journal(Path(journal), self._digest + number.to_bytes(2))
            try:
                self._replay(self._journal)
            except BaseException:
                self.close()
                raise

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
            return Outcome.REJECTED, "malformed"
        user, digest = int.from_bytes(read.user), _digest(batch)
        reason = self._fault(read)
        if reason:
            return Outcome.REJECTED, reason
        if user in self._digests:
            again = self._digests[user] == digest
            return (Outcome.DUPLICATE, "") if again else (Outcome.REJECTED, "another batch of the same client")
        if self.closed:
            return Outcome.REJECTED, "a closed round"
        if self.collection.key:
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
        stage = self.collection.stages[self.number]
        size = stage.size + (SEAL_BYTES if self.collection.key else 0)
        if batch.version != VERSION:
            return "another version"
        if batch.collection != self._digest:
            return "another collection"
        if batch.round != self.number:
            return "another round"
        if len(batch.user) != 8 or int.from_bytes(batch.user) >= self.collection.users:
            return "an unknown user"
        if not fewest_messages(stage) <= len(batch.messages) <= most_messages(self.collection, stage):
            return "a number of messages that no honest client sends"
        if any(len(message) != size for message in batch.messages):
            return "a message of the wrong length"
        return ""

    def _accept(self, user: int, digest: bytes, messages: list[bytes]) -> None:
        self._digests[user] = digest
        self._messages += messages
        if self.collection.key:
            self._marks |= marks_of(messages)

    def hand_on(self) -> bytes:
        """Close the round and return its messages in random order, with the number of clients; refuse too few.

        Asked again, it returns the same messages, in another order.
        """
        with self._alone:
            self._check_running()
            return self._hand_on()

    def _hand_on(self) -> bytes:
        if self.clients < self.collection.quorum:
            raise ArgumentError(
                f"{self.clients} clients have been accepted, and {self.collection.quorum} are needed "
                f"({self.collection.honest} honest ones, and as many as may tell what they sent): "
                f"wait for {self.collection.quorum - self.clients} more"
            )
        if not self.closed:
            self._stopped = _UNSURE
            if self._journal is not None:
                self._journal.end()
            self.closed = True
            self._stopped = ""
        mixed = permuted(self._messages)
        return msgspec.msgpack.encode(Delivery(VERSION, self._digest, self.number, self.clients, mixed))

    def _replay(self, journal: Journal) -> None:
        """Take in what was accepted before."""
        for entry in journal.entries():
            if entry is None:
                self.closed = True
                continue
            batch = msgspec.msgpack.decode(entry, type=Batch)
            self._accept(int.from_bytes(batch.user), _digest(entry), batch.messages)

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


def _digest(batch: bytes) -> bytes:
    return blake2b(batch, digest_size=16).digest()


def permuted(messages: list[bytes]) -> list[bytes]:
    """Return messages in a uniformly random order (Fisher and Yates, with the operating system's entropy)."""
    mixed, coins = list(messages), SystemCoins()
    for i in range(len(mixed) - 1, 0, -1):
        (j,) = coins.below("order", i + 1, 1)
        mixed[i], mixed[j] = mixed[j], mixed[i]
    return mixed
