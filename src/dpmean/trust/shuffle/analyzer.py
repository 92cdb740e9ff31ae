"""The analyzer of the shuffle model: asks in rounds, sees shuffled messages only, and decodes counts and sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import final

import msgspec
import numpy as np

from dpmean.errors import ArgumentError, DataError
from dpmean.release.estimate import Estimate
from dpmean.release.release import Release
from dpmean.release.settings import CollectionSettings
from dpmean.trust.devices.signatures import (
    VERSION,
    digest_of,
    publish,
)
from dpmean.trust.shuffle.checks import check_invited
from dpmean.trust.shuffle.decoder import decoded
from dpmean.trust.shuffle.delivery import check_readable, read_delivery
from dpmean.trust.shuffle.invitation import AnalyzerKeys
from dpmean.trust.shuffle.invitation import collection_for as collection_for  # its place in version 0.1.0
from dpmean.trust.shuffle.progress import Rounds
from dpmean.trust.shuffle.schema import Collection, End, Extension, Invitation, Round
from dpmean.trust.shuffle.seal import marks_of, unseal


@final
class ShuffleAnalyzer:
    """The analyzer of one collection in the shuffle model: it asks in rounds, and decodes what a shuffler hands on.

    ``published`` is the collection as everybody reads it.

    Args:
        collection: The collection, as ``collection_for`` returns it.
        keys: The keys of the analyzer, those that it invited with.

    """

    def __init__(self, collection: Collection, keys: AnalyzerKeys) -> None:
        if collection.analyzer != keys.public or collection.key != keys.key:
            raise ArgumentError("these keys are not those of the collection: give the ones that it was made with")
        invitation = _invitation(collection)
        check_invited(collection, invitation, digest_of(msgspec.json.encode(invitation)))
        self._rounds = Rounds(collection)
        self._keys = keys
        self._ended = False
        self.outcomes: Counter[str] = Counter()
        self.published = publish(keys.identity, "collection", msgspec.json.encode(collection))

    # --- rounds and messages -----------------------------------------------------------------------------------

    @property
    def collection(self) -> Collection:
        """The collection."""
        return self._rounds.collection

    @property
    def round(self) -> Round:
        """The open round."""
        return self._rounds.round

    @property
    def estimate(self) -> Estimate | None:
        """The estimate, when all rounds are closed."""
        return self._rounds.estimate

    @property
    def done(self) -> bool:
        """Whether there is an estimate."""
        return self._rounds.done

    def document(self, closes: int) -> bytes:
        """Return the open round as clients read it; the same one until the round is closed.

        Args:
            closes: Until when the round takes answers, in seconds since 1970.

        """
        self._check_open()
        asked = self._rounds.round
        if not 0 < closes <= self.collection.expires:
            raise ArgumentError(
                f"closes must be a time in seconds since 1970, before the collection expires at "
                f"{self.collection.expires}, got {closes}"
            )
        if asked.closes not in (0, closes):
            raise ArgumentError(
                f"this round has been published: it closes at {asked.closes}, and not at {closes}. Clients that have "
                "answered would answer no other one: extend it"
            )
        self._rounds.round = msgspec.structs.replace(asked, closes=closes)
        return publish(self._keys.identity, "round", msgspec.json.encode(self._rounds.round))

    def extend(self, closes: int) -> bytes:
        """Return a document that lets the open round take answers until another time.

        Clients that have answered do nothing.

        Args:
            closes: Until when the round takes answers, in seconds since 1970.

        """
        self._check_published()
        if not 0 < closes <= self.collection.expires:
            raise ArgumentError(f"the collection expires at {self.collection.expires}: closes cannot be {closes}")
        extension = Extension(VERSION, self._digest.hex(), closes)
        return publish(self._keys.identity, "extension", msgspec.json.encode(extension))

    def end(self) -> bytes:
        """End the collection, with or without a result, and return a document that tells clients.

        Nothing more can be asked. A client gets back what it has reserved for rounds that it has not answered.
        """
        self._ended = True
        end = End(VERSION, self._rounds.digest.hex())
        return publish(self._keys.identity, "end", msgspec.json.encode(end))

    def receive(self, delivery: bytes) -> None:
        """Take in what the shuffler hands on, and close the round; refuse what is not that, or cannot be decoded.

        Args:
            delivery: What ``Shuffler.hand_on`` returned.

        """
        self._check_published()
        c, digest = self.collection, self._digest
        stage = c.stages[self.round.round]
        read = read_delivery(delivery, c, digest, stage)
        if len(marks_of(read.messages)) < 2 * len(read.messages):
            raise DataError(
                "two envelopes of this delivery have one key or tag: a batch was copied, and the shuffler let it "
                "pass. Nothing was opened; start the collection anew, with a shuffler that refuses copies"
            )
        messages = unseal(read.messages, self._keys.opening, digest)
        legal = [message for message in messages if message is not None and len(message) == stage.size]
        check_readable(len(messages) - len(legal), c, stage)
        lines = np.frombuffer(b"".join(legal), dtype=np.uint8).reshape(-1, stage.size)
        self._rounds.close(read.clients, decoded(c, stage, lines, read.clients))
        self.outcomes["accepted"] += len(legal)
        self.outcomes["rejected"] += len(messages) - len(legal)

    @property
    def _digest(self) -> bytes:
        return digest_of(msgspec.json.encode(self.round))

    def _check_open(self) -> None:
        if self.done:
            raise ArgumentError("this collection is complete: there is nothing left to ask")
        if self._ended:
            raise ArgumentError("this collection was ended: invite to another one")

    def _check_published(self) -> None:
        self._check_open()
        if not self.round.closes:
            raise ArgumentError(f"round {self.round.round} has not been published: call document first")

    # --- the result --------------------------------------------------------------------------------------------

    def release(
        self, *, coins: str | None = None, columns: str | Sequence[str] | None = None, note: str = ""
    ) -> Release:
        """Return the estimate as a release, with everything that may be published about the collection.

        Args:
            coins: Public coins, ``secrets.token_hex(16)``, by which a ledger knows the release when it is recorded
                again. By default it is charged every time.
            columns: The names of the columns; of one column, its name.
            note: What went wrong on the way, as far as others may know.

        """
        return self._rounds.release(coins, columns, note)

    def traffic(self) -> CollectionSettings:
        """Return what a release says about a collection."""
        return self._rounds.traffic()

    # --- what survives -----------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """Return everything that must survive, but for the private keys; ``resume`` goes on from there."""
        rounds = self._rounds
        closed = [
            [asked.closes, tally.clients, tally.numbers.tolist()]
            for asked, tally in zip(rounds.asked, rounds.closed, strict=True)
        ]
        facts = {"closes": self.round.closes, "ended": self._ended, "outcomes": dict(self.outcomes)}
        return msgspec.msgpack.encode({"version": VERSION, "collection": self.collection, "closed": closed, **facts})

    @staticmethod
    def resume(saved: bytes, keys: AnalyzerKeys) -> ShuffleAnalyzer:
        """Go on where ``save`` was called.

        Args:
            saved: What ``save`` returned.
            keys: The keys of the analyzer.

        """
        try:
            state = msgspec.msgpack.decode(saved)
            if state["version"] != VERSION:
                raise ValueError(f"it is of version {state['version']}")
            analyzer = ShuffleAnalyzer(msgspec.convert(state["collection"], Collection), keys)
            rounds = analyzer._rounds
            for closes, clients, numbers in [*state["closed"], (state["closes"], None, None)]:
                rounds.round = msgspec.structs.replace(rounds.round, closes=msgspec.convert(closes, int))
                if clients is not None:
                    rounds.close(clients, np.array(numbers, dtype=np.int64))
            analyzer._ended = msgspec.convert(state["ended"], bool)
            analyzer.outcomes.update(state["outcomes"])
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArgumentError(f"this is not a saved analyzer: {error}") from None
        return analyzer


def _invitation(collection: Collection) -> Invitation:
    """Return the invitation that a collection contains."""
    return Invitation(**{name: getattr(collection, name) for name in Invitation.__struct_fields__})


Analyzer = ShuffleAnalyzer
"""Its name in version 0.1.0."""
