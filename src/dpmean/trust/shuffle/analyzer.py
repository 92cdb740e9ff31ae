"""The analyzer of the shuffle model: asks in rounds, sees shuffled messages only, and decodes counts and sums.

The protocol is a generator that yields rounds and is sent tallies, as in the local model; what must survive a crash is
the collection and the tallies of closed rounds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import final

import msgspec
import numpy as np

from dpmean.enums import Trust
from dpmean.errors import ArgumentError, DataError
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.queries import Ints
from dpmean.release.estimate import Estimate
from dpmean.release.release import Release
from dpmean.release.settings import CollectionSettings, NormBound, Settings
from dpmean.trust.shuffle.checks import check_collection
from dpmean.trust.shuffle.decoder import decoded
from dpmean.trust.shuffle.design import Design
from dpmean.trust.shuffle.protocol import Protocol, Result, Tally
from dpmean.trust.shuffle.receipts import receipts_of
from dpmean.trust.shuffle.schema import (
    VERSION,
    Collection,
    Delivery,
    Round,
    digest_of,
    read_budget,
    write_budget,
)
from dpmean.trust.shuffle.seal import marks_of, public_of, unseal
from dpmean.trust.shuffle.sizes import traffic_of
from dpmean.version import __version__

_GRID_BITS = 28


def collection_for(design: Design, name: str, reach: float, key: str = "") -> Collection:
    """Return the public document of a collection in the shuffle model.

    Args:
        design: The rounds, as ``design`` returns them.
        name: The name of the collection: 16 hexadecimal digits, drawn at random, as ``secrets.token_hex(8)`` gives.
        reach: A bound on the l2 norm of every row.
        key: The public key of the analyzer, as ``new_key`` returns it. By default messages are not sealed.

    """
    step = math.frexp(reach)[1] - _GRID_BITS
    return Collection(
        version=VERSION,
        name=name,
        users=design.users,
        honest=design.honest,
        quorum=design.quorum,
        d=design.d,
        step=step,
        reach=math.ceil(math.ldexp(reach, -step)) + math.isqrt(design.d) + 1,  # rounding is forgiven
        budget=write_budget(design.budget),
        variant=design.variant,
        stages=design.stages,
        key=key,
    )


@final
class ShuffleAnalyzer:
    """The analyzer of one collection in the shuffle model: it asks in rounds, and decodes what a shuffler hands on.

    ``published`` is the collection as everybody reads it.

    Args:
        collection: The collection, as ``collection_for`` returns it.
        private: The private key of the analyzer, if messages are sealed.

    """

    def __init__(self, collection: Collection, private: bytes = b"") -> None:
        check_collection(collection)
        if collection.key and public_of(private) != collection.key:
            raise ArgumentError(
                "this private key does not open what is sealed for the collection: give the one it was made with"
            )
        self.collection = collection
        self.published = msgspec.json.encode(collection)
        self._digest = digest_of(self.published)
        self.outcomes: Counter[str] = Counter()
        self.asked: list[Round] = []
        self.closed: list[Tally] = []
        self.estimate: Estimate | None = None
        self._private = private
        self._protocol = Protocol(collection).play()
        self.round = next(self._protocol)

    def _estimate(self, found: Result) -> Estimate:
        unit = math.ldexp(1.0, self.collection.step)
        return Estimate(
            mean=found.mean * unit,
            noise_std=found.std * unit,
            centre=found.centre * unit,
            radius=found.radius * unit,
            receipts=receipts_of(self.collection, self.asked, self.closed),
        )

    # --- rounds and messages -----------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether there is an estimate."""
        return self.estimate is not None

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
        if self.estimate is None:
            raise ArgumentError(f"the collection is not complete: round {self.round.round} is open")
        c, found = self.collection, self.estimate
        names = (columns,) if isinstance(columns, str) else columns
        return Release(
            mean=found.mean,
            noise_std=np.full(c.d, found.noise_std),
            centre=found.centre,
            radius=found.radius,
            receipts=found.receipts,
            n=self.closed[-1].clients,
            d=c.d,
            method="shifted",
            trust=Trust.SHUFFLE,
            neighbours=Neighbours.REPLACE_ONE,
            seeded=False,
            settings=Settings(
                bound=NormBound(math.ldexp(c.reach, c.step)),
                step=math.ldexp(1.0, c.step),
                coins=coins,
                collection=self.traffic(),
                columns=None if names is None else tuple(names),
                delta=float(read_budget(c.budget).delta),
                version=__version__,
                note=note,
            ),
        )

    def traffic(self) -> CollectionSettings:
        """Return what a release says about a collection."""
        return traffic_of(self.collection, self.closed[-1].clients)

    def document(self) -> bytes:
        """Return the open round as clients read it."""
        if self.done:
            raise ArgumentError("this collection is complete: there is nothing left to ask")
        return msgspec.json.encode(self.round)

    def receive(self, delivery: bytes) -> None:
        """Take in what the shuffler hands on, and close the round; refuse what is not that, or cannot be decoded.

        Args:
            delivery: What ``Shuffler.hand_on`` returned.

        """
        c = self.collection
        try:
            read = msgspec.msgpack.decode(delivery, type=Delivery)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise DataError("this is not a delivery: it is malformed") from None
        if self.done or read.version != VERSION or read.collection != self._digest or read.round != self.round.round:
            raise DataError("this is not a delivery of the open round")
        stage = c.stages[self.round.round]
        messages: list[bytes | None] = list(read.messages)
        if c.key:
            if len(marks_of(read.messages)) < 2 * len(read.messages):
                raise DataError(
                    "two envelopes of this delivery have one key or tag: a batch was copied, and the shuffler let it "
                    "pass. Nothing was opened; start the collection anew, with a shuffler that refuses copies"
                )
            messages = unseal(read.messages, self._private, self._digest, read.round)
        legal = [message for message in messages if message is not None and len(message) == stage.size]
        lines = np.frombuffer(b"".join(legal), dtype=np.uint8).reshape(-1, stage.size)
        self.close(read.clients, decoded(c, stage, lines, read.clients))
        self.outcomes["accepted"] += len(legal)
        self.outcomes["rejected"] += len(messages) - len(legal)

    def close(self, clients: int, numbers: Ints) -> None:
        """End the open round with what it told.

        Args:
            clients: The number of clients that were heard.
            numbers: Counts by bucket, or the numbers of a sum.

        """
        c = self.collection
        if self.done:
            raise ArgumentError("this collection is complete")
        if not c.quorum <= clients <= c.users:
            raise ArgumentError(f"{clients} clients were heard, and {c.quorum} of {c.users} are needed")
        tally = Tally(clients, numbers)
        self.closed.append(tally)
        self.asked.append(self.round)
        try:
            self.round = self._protocol.send(tally)
        except StopIteration as end:
            self.estimate = self._estimate(end.value)

    # --- what survives -----------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """Return everything that must survive, but for the private key; ``resume`` goes on from there."""
        closed = [[tally.clients, tally.numbers.tolist()] for tally in self.closed]
        state = {"version": VERSION, "collection": self.collection, "closed": closed, "outcomes": dict(self.outcomes)}
        return msgspec.msgpack.encode(state)

    @staticmethod
    def resume(saved: bytes, private: bytes = b"") -> ShuffleAnalyzer:
        """Go on where ``save`` was called.

        Args:
            saved: What ``save`` returned.
            private: The private key of the analyzer, if messages are sealed.

        """
        try:
            state = msgspec.msgpack.decode(saved)
            if state["version"] != VERSION:
                raise ValueError(f"it is of version {state['version']}")
            analyzer = ShuffleAnalyzer(msgspec.convert(state["collection"], Collection), private)
            for clients, numbers in state["closed"]:
                analyzer.close(clients, np.array(numbers, dtype=np.int64))
            analyzer.outcomes.update(state["outcomes"])
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArgumentError(f"this is not a saved analyzer: {error}") from None
        return analyzer


Analyzer = ShuffleAnalyzer
"""Its name in version 0.1.0."""
