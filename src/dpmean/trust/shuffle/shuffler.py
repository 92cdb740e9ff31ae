"""The shuffler: collects whole batches, forgets whose they were, and hands their messages on in random order, once.

It reads nothing: messages are sealed to the analyzer. What it must not do is talk to the analyzer about batches. What
has been accepted is in a journal before the client is told so, and what has been handed on stays what it was: a
shuffler that is restarted accepts no batch twice, and never hands on two sets of messages that differ.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, final

import msgspec

from dpmean.errors import ArgumentError, DataError
from dpmean.noise.entropy import entropy
from dpmean.trust.shuffle.schema import (
    SEAL_BYTES,
    VERSION,
    Batch,
    Collection,
    Delivery,
    check_collection,
    fewest_messages,
    most_messages,
)

_CLOSED = b"closed"


class Outcome(StrEnum):
    """What became of a batch."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"


@final
class Shuffler:
    """Shuffles one round of a collection; ``journal`` names a file that survives."""

    def __init__(self, collection: bytes, number: int, journal: Path | None = None) -> None:
        try:
            self.collection = msgspec.json.decode(collection, type=Collection)
        except msgspec.DecodeError as error:
            raise ArgumentError(f"this is not a collection: {error}") from None
        check_collection(self.collection)
        if not 0 <= number < len(self.collection.stages):
            raise ArgumentError(
                f"the collection has {len(self.collection.stages)} rounds, and none has number {number}"
            )
        self.number = number
        self.closed = False
        self._digests: dict[int, bytes] = {}
        self._messages: list[bytes] = []
        self._file: BinaryIO | None = None
        if journal is not None:
            self._resume(journal)

    @property
    def clients(self) -> int:
        """How many clients' batches were accepted."""
        return len(self._digests)

    def receive(self, batch: bytes) -> tuple[Outcome, str]:
        """Take in the batch of a client, whole or not at all; return what became of it, and why."""
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
        if batch.name != bytes.fromhex(self.collection.name):
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
        """Close the round and return its messages in random order, with the number of clients; refuse if they are few.

        Asked again, it returns the same messages, in another order.
        """
        if self.clients < self.collection.quorum:
            raise ArgumentError(
                f"{self.clients} clients have been accepted, and {self.collection.quorum} are needed: "
                f"{self.collection.honest} honest ones, and as many as may tell what they sent"
            )
        if not self.closed:
            self._write(_CLOSED)
            self.closed = True
        mixed = permuted(self._messages)
        name = bytes.fromhex(self.collection.name)
        return msgspec.msgpack.encode(Delivery(VERSION, name, self.number, self.clients, mixed))

    # --- the journal: entries of a length, a digest and bytes, each on disk before it counts ---------------------

    def _resume(self, path: Path) -> None:
        whole = 0
        if path.exists():
            for end, entry in _entries(path.read_bytes()):
                whole = end
                if entry == _CLOSED:
                    self.closed = True
                    continue
                batch = msgspec.msgpack.decode(entry, type=Batch)
                if self._fault(batch):
                    raise DataError("the journal is that of another round, collection or version")
                self._accept(int.from_bytes(batch.user), blake2b(entry, digest_size=16).digest(), batch.messages)
        self._file = path.open("ab")
        self._file.truncate(whole)  # an entry that was cut off was never acknowledged

    def _write(self, entry: bytes) -> None:
        if self._file is None:
            return
        self._file.write(len(entry).to_bytes(8) + blake2b(entry, digest_size=16).digest() + entry)
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the journal."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _entries(journal: bytes) -> Iterator[tuple[int, bytes]]:
    """Return the whole entries of a journal, and where each ends."""
    at = 0
    while at + 24 <= len(journal):
        end = at + 24 + int.from_bytes(journal[at : at + 8])
        entry = journal[at + 24 : end]
        if end > len(journal) or blake2b(entry, digest_size=16).digest() != journal[at + 8 : at + 24]:
            return
        yield end, entry
        at = end


def permuted(messages: list[bytes]) -> list[bytes]:
    """Return messages in a uniformly random order (Fisher and Yates, with the operating system's entropy)."""
    mixed = list(messages)
    for i in range(len(mixed) - 1, 0, -1):
        j = _below(i + 1)
        mixed[i], mixed[j] = mixed[j], mixed[i]
    return mixed


def _below(limit: int) -> int:
    """Draw uniformly from 0, ..., limit - 1: 128 bits, and again in the rare case that they would not be fair."""
    fair = (1 << 128) // limit * limit
    while True:
        drawn = int.from_bytes(entropy(16))
        if drawn < fair:
            return drawn % limit
