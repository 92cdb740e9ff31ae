"""The shuffler: collects whole batches, forgets whose they were, and hands their messages on in random order, once.

It reads nothing: messages are sealed to the analyzer. What it must not do is talk to the analyzer about batches. What
has been accepted is in a journal before the client is told so, and what has been handed on stays what it was: a
shuffler that is restarted accepts no batch twice, and never hands on two sets of messages that differ.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, final

import msgspec

from dpmean.errors import ArgumentError, DataError
from dpmean.trust.coins import SystemCoins
from dpmean.trust.schema import Outcome
from dpmean.trust.shuffle.checks import check_collection
from dpmean.trust.shuffle.schema import VERSION, Batch, Collection, Delivery, digest_of
from dpmean.trust.shuffle.sizes import SEAL_BYTES, fewest_messages, most_messages

_CLOSED = b"closed"
_TITLE, _LONGEST_TITLE = b"dpmean shuffle journal 1 ", 64


@final
class Shuffler:
    """Shuffles one round of a collection; ``journal`` names a file that survives."""

    def __init__(self, collection: bytes, number: int, journal: Path | str | None = None) -> None:
        try:
            self.collection = msgspec.json.decode(collection, type=Collection)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ArgumentError(f"this is not a collection: {error}") from None
        check_collection(self.collection)
        if not 0 <= number < len(self.collection.stages):
            raise ArgumentError(
                f"the collection has {len(self.collection.stages)} rounds, and none has number {number}"
            )
        self.number = number
        self.closed = self._stopped = False
        self._digest = digest_of(collection)
        self._digests: dict[int, bytes] = {}
        self._messages: list[bytes] = []
        self._file: BinaryIO | None = None
        if journal is not None:
            title = _TITLE + self._digest + number.to_bytes(2)
            self._resume(Path(journal), title)

    @property
    def clients(self) -> int:
        """How many clients' batches were accepted."""
        return len(self._digests)

    def receive(self, batch: bytes) -> tuple[Outcome, str]:
        """Take in the batch of a client, whole or not at all; return what became of it, and why."""
        self._check_running()
        try:
            read = msgspec.msgpack.decode(batch, type=Batch)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Outcome.REJECTED, "malformed"
        user, digest = int.from_bytes(read.user), blake2b(batch, digest_size=16).digest()
        reason = self._fault(read)
        if reason:
            return Outcome.REJECTED, reason
        if user in self._digests:
            again = self._digests[user] == digest
            return (Outcome.DUPLICATE, "") if again else (Outcome.REJECTED, "another batch of the same client")
        if self.closed:
            return Outcome.REJECTED, "a closed round"
        self._write(batch)
        self._accept(user, digest, read.messages)
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

    def hand_on(self) -> bytes:
        """Close the round and return its messages in random order, with the number of clients; refuse too few.

        Asked again, it returns the same messages, in another order.
        """
        self._check_running()
        if self.clients < self.collection.quorum:
            raise ArgumentError(
                f"{self.clients} clients have been accepted, and {self.collection.quorum} are needed "
                f"({self.collection.honest} honest ones, and as many as may tell what they sent): "
                f"wait for {self.collection.quorum - self.clients} more"
            )
        if not self.closed:
            self._write(_CLOSED)
            self.closed = True
        mixed = permuted(self._messages)
        return msgspec.msgpack.encode(Delivery(VERSION, self._digest, self.number, self.clients, mixed))

    # --- the journal: entries of a length, a digest and bytes, each on disk before it counts ---------------------

    def _resume(self, path: Path, title: bytes) -> None:
        """Read what was accepted before; a last entry that was cut off was never acknowledged, and is dropped."""
        new = not path.exists()
        self._file = path.open("ab")
        try:
            _lock(self._file)
            if new:
                _keep_folder(path.parent)
            entries, whole = _entries(path.read_bytes())
            if entries and entries[0] != title:
                raise DataError(
                    f"{path} is not the journal of this round: give each round of a collection its own file"
                )
            for entry in entries[1:]:
                self._replay(entry)
        except BaseException:
            self.close()
            raise
        self._file.truncate(whole)
        if not entries:
            self._write(title)

    def _replay(self, entry: bytes) -> None:
        if entry == _CLOSED:
            self.closed = True
            return
        batch, digest = msgspec.msgpack.decode(entry, type=Batch), blake2b(entry, digest_size=16).digest()
        user = int.from_bytes(batch.user)
        if user not in self._digests:
            self._accept(user, digest, batch.messages)
        elif self._digests[user] != digest:
            raise DataError("the journal holds two batches of one client: do not open this round again")

    def _write(self, entry: bytes) -> None:
        if self._file is None:
            return
        self._stopped = True  # whatever goes wrong now, what is on disk and what is in memory may differ
        self._file.write(len(entry).to_bytes(8) + blake2b(entry, digest_size=16).digest() + entry)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._stopped = False

    def _check_running(self) -> None:
        if self._stopped:
            raise DataError("the journal could not be written: start this shuffler again from it")

    def close(self) -> None:
        """Let go of the journal."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _entries(journal: bytes) -> tuple[list[bytes], int]:
    """Return the entries of a journal, and where they end; the last one may be cut off, everything else is damage."""
    entries: list[bytes] = []
    at = 0
    while at + 24 <= len(journal):
        end = at + 24 + int.from_bytes(journal[at : at + 8])
        if not entries and end > at + 24 + _LONGEST_TITLE:
            raise DataError("this file is not a journal of a shuffler: nothing in it was changed")
        entry = journal[at + 24 : end]
        if end > len(journal):
            break
        if blake2b(entry, digest_size=16).digest() != journal[at + 8 : at + 24]:
            raise DataError(
                f"the journal is damaged after {len(entries)} entries: do not open this round again, since it may have "
                "been handed on"
            )
        entries.append(entry)
        at = end
    if not entries and len(journal) >= 24 + _LONGEST_TITLE:
        raise DataError("this file is not a journal of a shuffler: nothing in it was changed")
    return entries, at


def _lock(file: BinaryIO) -> None:
    """Insist on being the only shuffler of a journal; two could hand on sets of messages that differ."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ArgumentError(f"{file.name} is in use by another shuffler") from None


def _keep_folder(folder: Path) -> None:
    """See to it that a new file is still there after a crash."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


def permuted(messages: list[bytes]) -> list[bytes]:
    """Return messages in a uniformly random order (Fisher and Yates, with the operating system's entropy)."""
    mixed, coins = list(messages), SystemCoins()
    for i in range(len(mixed) - 1, 0, -1):
        (j,) = coins.below("order", i + 1, 1)
        mixed[i], mixed[j] = mixed[j], mixed[i]
    return mixed
