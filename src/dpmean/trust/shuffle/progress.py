"""The rounds of one collection: what was asked, what each round told, and the estimate in the end.

The protocol is a generator that yields rounds and is sent tallies, as in the local model; what must survive a crash is
the collection and the tallies of closed rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import msgspec
import numpy as np

from dpmean.enums import Trust
from dpmean.errors import ArgumentError
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.queries import Ints
from dpmean.release.estimate import Estimate
from dpmean.release.release import Release
from dpmean.release.settings import CollectionSettings, NormBound, Settings
from dpmean.trust.devices.signatures import VERSION, digest_of
from dpmean.trust.shuffle.amounts import read_budget, write_budget
from dpmean.trust.shuffle.checks import check_collection
from dpmean.trust.shuffle.design import Design
from dpmean.trust.shuffle.invitation import unit_of
from dpmean.trust.shuffle.protocol import Protocol, Result, Tally
from dpmean.trust.shuffle.receipts import receipts_of
from dpmean.trust.shuffle.schema import Collection, Round
from dpmean.trust.shuffle.sizes import traffic_of
from dpmean.version import __version__


def played_collection(design: Design, name: str, reach: float) -> Collection:
    """Return a collection that is played in one process: everybody answers, and nothing is signed or sealed.

    Args:
        design: The rounds, as ``design`` returns them.
        name: The name of the collection: 16 hexadecimal digits.
        reach: A bound on the l2 norm of every row.

    """
    colluding = str(Fraction(design.users - design.honest, design.users))
    terms = (name, design.d, *unit_of(reach, design.d), write_budget(design.budget), "0", colluding)
    return Collection(VERSION, *terms, design.users, design.variant, design.stages)


@final
class Rounds:
    """The rounds of one collection. ``round`` is open; ``estimate`` is there when all are closed."""

    def __init__(self, collection: Collection) -> None:
        check_collection(collection)
        self.collection = collection
        self.digest = digest_of(msgspec.json.encode(collection))
        self.asked: list[Round] = []
        self.closed: list[Tally] = []
        self.estimate: Estimate | None = None
        self._protocol = Protocol(collection).play()
        self.round = self._bound(next(self._protocol))

    def _bound(self, asked: Round) -> Round:
        return msgspec.structs.replace(asked, collection=self.digest.hex())

    @property
    def done(self) -> bool:
        """Whether there is an estimate."""
        return self.estimate is not None

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
            self.round = self._bound(self._protocol.send(tally))
        except StopIteration as end:
            self.estimate = self._estimate(end.value)

    def _estimate(self, found: Result) -> Estimate:
        unit = math.ldexp(1.0, self.collection.step)
        return Estimate(
            mean=found.mean * unit,
            noise_std=found.std * unit,
            centre=found.centre * unit,
            radius=found.radius * unit,
            receipts=receipts_of(self.collection, self.asked, self.closed),
        )

    def release(self, coins: str | None, columns: str | Sequence[str] | None, note: str) -> Release:
        """Return the estimate as a release, with everything that may be published about the collection."""
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
