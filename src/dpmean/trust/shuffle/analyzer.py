"""The analyzer of the shuffle model: asks in rounds, sees shuffled messages only, and decodes counts and sums.

The protocol is a generator that yields rounds and is sent tallies, as in the local model; what must survive a crash is
the collection and the tallies of closed rounds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar, final

import msgspec
import numpy as np

from dpmean.errors import ArgumentError, DataError
from dpmean.ledger import Neighbours, Receipt, Release
from dpmean.rotation import hadamard
from dpmean.trust.schema import COORDINATE
from dpmean.trust.search import WeighedSearch
from dpmean.trust.shuffle import counters, secure_sum
from dpmean.trust.shuffle.costs import stage_costs
from dpmean.trust.shuffle.counters import Counts
from dpmean.trust.shuffle.design import CELLS, CLIP, HALVINGS, LINE_BITS, OCTAVES, Design
from dpmean.trust.shuffle.encoder import signs, twice_inner
from dpmean.trust.shuffle.schema import (
    VERSION,
    Collection,
    Counters,
    Delivery,
    Round,
    Stage,
    Sums,
    bytes_sent,
    check_collection,
    digest_of,
    messages_sent,
    read_budget,
    write_budget,
)
from dpmean.trust.shuffle.seal import public_of, unseal
from dpmean.trust.wire import Lines, hashed_all
from dpmean.types import Estimate, Floats, Ints
from dpmean.version import __version__

_GRID_BITS = 28
_Stage = TypeVar("_Stage", Counters, Sums)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What a round told: counts by bucket, or sums of shares by pack, and how many clients were heard."""

    clients: int
    numbers: Ints


def collection_for(design: Design, name: str, reach: float, key: str = "") -> Collection:
    """Return the public document of a collection; its name is 16 hexadecimal digits, as secrets.token_hex(8) gives."""
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
class Analyzer:
    """Plays its part of one collection."""

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
        self._signs = np.array(signs(collection.name, 1 << (collection.d - 1).bit_length()), dtype=np.float64)
        self._protocol = self._play()
        self.round = next(self._protocol)

    # --- the protocol ------------------------------------------------------------------------------------------

    def _play(self) -> Generator[Round, Tally, Estimate]:
        """Find a centre, then a radius, then the mean."""
        c = self.collection
        match c.variant:
            case "mean":
                centre = yield from self._coarse([], c.reach)
            case "twice":
                centre = yield from self._coarse([], c.reach)
                radius = yield from self._radius(centre)
                centre = yield from self._coarse(centre, radius)
            case "two":
                centre = yield from self._two_rounds()
            case "tree":
                centre = yield from self._tree()
            case "binary":
                centre = yield from self._halving()
        radius = yield from self._radius(centre)
        mean, std = yield from self._sum(centre, radius)
        unit = math.ldexp(1.0, c.step)
        return Estimate(
            mean=mean * unit,
            noise_std=std * unit,
            centre=np.array(centre, dtype=np.float64) * unit,
            radius=radius * unit,
            receipts=self._receipts(),
        )

    def _coarse(self, centre: list[int], radius: int) -> Generator[Round, Tally, list[int]]:
        """Take a rough mean for a centre."""
        mean, _ = yield from self._sum(centre, radius)
        return self._within_reach(mean)

    def _sum(self, centre: list[int], radius: int) -> Generator[Round, Tally, tuple[Floats, float]]:
        """Return the mean of rows that are clipped around a centre, and the noise on each number of it."""
        c, stage = self.collection, self._stage(Sums)
        tally = yield self._ask(centre=centre, radius=radius)
        unit = 2 * radius / (twice_inner(stage.radius, c.d) * tally.clients)
        std = math.sqrt(stage.variance * tally.clients / c.honest) * unit
        return np.array(centre or [0] * c.d, dtype=np.float64) + tally.numbers * unit, std

    def _radius(self, centre: list[int]) -> Generator[Round, Tally, int]:
        """Choose a radius beyond which few rows lie."""
        stage, last = self._stage(Counters), self.collection.stages[-1]
        ladder = self._ladder(stage.cells)
        if not isinstance(last, Sums):
            raise AssertionError("the last round is a sum")
        tally = yield self._ask(centre=centre, lows=[0], widths=[1], gaps=ladder[:-1].tolist())
        rho = 2 * last.radius**2 / last.variance
        least = CLIP * math.sqrt(2 * self.collection.d / rho)
        ahead = max(1, (stage.cells - 1) // (2 * OCTAVES))  # half an octave
        return counters.tail_radius(self._counts(stage, tally), ladder, least, tally.clients, ahead)

    def _two_rounds(self) -> Generator[Round, Tally, list[int]]:
        """Find the middle of each line in two rounds: 32 cells across it, then as many around the quartiles."""
        far, stage = self._farthest(), self._stage(Counters)
        lows, widths = np.full(stage.lines, -far), np.full(stage.lines, -(-2 * far // (CELLS - 2)))
        gaps = np.arange(CELLS - 1)
        for _ in range(2):
            tally = yield self._ask(lows=lows.tolist(), widths=widths.tolist(), gaps=gaps.tolist())
            (low, below), (high, above) = self._quartiles(stage, tally)
            middles = lows + (low + below + high + above - 2) / 2 * widths  # cell 0 ends at the start of the line
            first, last = np.maximum(low, 1) - 1, np.minimum(high, CELLS - 2) + 1
            lows, widths = lows + (first - 1) * widths, -(-(last - first + 1) * widths // (CELLS - 2))
        return self._turned_back(middles)

    def _tree(self) -> Generator[Round, Tally, list[int]]:
        """Find the middle of each line in one round, with coarse and fine cells at once."""
        far, stage = self._farthest(), self._stage(Counters)
        width, gaps = -(-2 * far // stage.cells), list(range(1, stage.cells))
        tally = yield self._ask(lows=[-far] * stage.lines, widths=[width] * stage.lines, gaps=gaps)
        (low, below), (high, above) = self._quartiles(stage, tally)
        return self._turned_back(-far + (low + below + high + above) / 2 * width)

    def _quartiles(self, stage: Counters, tally: Tally) -> list[tuple[Ints, Floats]]:
        """Return the cells of both quartiles, and how far in; where counts are too noisy for that, twice the median.

        Halfway between quartiles is a better centre than the median: it lies between two clusters, not in one of them.
        """
        counts, half = self._counts(stage, tally), self._half(tally)
        noise = math.sqrt(counts.blanket * stage.per_line / (2 * len(stage.levels)))
        aside = 0.5 if 8 * noise < half.min() else 0.0
        return [counters.interpolated(counts.at_most(), half * part) for part in (1 - aside, 1 + aside)]

    def _halving(self) -> Generator[Round, Tally, list[int]]:
        """Find medians by asking, round after round, on which side of a point rows lie."""
        far, stage = self._farthest(), self._stage(Counters)
        line = (np.arange(1 << LINE_BITS) - (1 << LINE_BITS - 1) + 1) * -(-far // (1 << LINE_BITS - 1))
        search = WeighedSearch(stage.lines, len(line), 0.5)
        for _ in range(HALVINGS):
            middle = search.middle
            tally = yield self._ask(lows=line[middle].tolist(), widths=[1] * stage.lines, gaps=[0])
            counts = self._counts(stage, tally)
            pairs = counts.tally.reshape(stage.lines, 2).astype(np.float64)
            users = 2 * self._half(tally)
            shares = 0.5 + (pairs[:, 0] - pairs[:, 1]) / (2 * np.maximum(users, 1))
            std = np.sqrt(counts.blanket / 2 + users / 4) / np.maximum(users, 1)
            search.learn(middle, shares, std)
        return self._turned_back(line[search.answer])

    def _turned_back(self, medians: Ints | Floats) -> list[int]:
        """Turn rotated medians back."""
        width = len(self._signs)
        return self._within_reach((self._signs * hadamard(medians.astype(np.float64)) / width)[: self.collection.d])

    def _within_reach(self, centre: Floats) -> list[int]:
        shorter = min(1.0, self.collection.reach / max(float(np.linalg.norm(centre)), 1.0))
        return [round(x) for x in (centre * shorter).tolist()]

    def _farthest(self) -> int:
        """How far from zero a rotated mean can be: sqrt(2 ln(40 width)) times the reach, nearly always (Lemma 3.4)."""
        width = len(self._signs)
        return math.ceil(self.collection.reach * min(math.sqrt(width), math.sqrt(2 * math.log(40 * width))))

    def _ladder(self, cells: int) -> Ints:
        """Return radii to choose from, up to twice the reach."""
        numbers = np.arange(cells)
        octaves = (numbers + 1 - cells) * (OCTAVES / (cells - 1))
        radii = np.ceil(2 * self.collection.reach * np.exp2(octaves)).astype(np.int64)
        return np.maximum.accumulate(radii - numbers) + numbers  # the smallest ones, one by one

    def _counts(self, stage: Counters, tally: Tally) -> Counts:
        return Counts(stage, tally.numbers, stage.blanket * tally.clients / self.collection.honest)

    def _half(self, tally: Tally) -> Floats:
        """Half the clients of each line, as many as the public hash assigns to it and as a share were heard."""
        c, lines = self.collection, len(self._signs)
        assigned = (hashed_all(c.name, np.arange(c.users), COORDINATE) % np.uint64(lines)).astype(np.int64)
        return np.bincount(assigned, minlength=lines).astype(np.float64) * (tally.clients / c.users / 2)

    def _stage(self, kind: type[_Stage]) -> _Stage:
        stage = self.collection.stages[len(self.closed)]
        if not isinstance(stage, kind):
            raise ArgumentError(f"round {len(self.closed)} is not what the variant {self.collection.variant} asks")
        return stage

    def _ask(
        self,
        centre: list[int] | None = None,
        lows: list[int] | None = None,
        widths: list[int] | None = None,
        gaps: list[int] | None = None,
        radius: int = 0,
    ) -> Round:
        cells = (lows or [], widths or [], gaps or [])
        return Round(VERSION, self.collection.name, len(self.closed), *cells, centre or [], radius)

    def _receipts(self) -> tuple[Receipt, ...]:
        """Return what each round cost; split sums are paid for with the last one."""
        c = self.collection
        budget = read_budget(c.budget)
        costs = stage_costs(c.stages, c.d, c.honest, budget.delta)
        receipts = []
        for number, (stage, cost, tally) in enumerate(zip(c.stages, costs, self.closed, strict=True)):
            if isinstance(stage, Counters):
                asked = f"{stage.buckets} counts of {tally.clients} clients, each in {len(stage.levels)}"
                mechanism = f"Poisson of mean {stage.blanket} on each, from {c.honest} honest clients alone"
            else:
                length = self.asked[number].radius * math.ldexp(1.0, c.step)
                asked = f"sum of the rows of {tally.clients} clients, clipped to {length:.4g}, or {stage.radius} units"
                mechanism = (
                    f"Skellam of std {math.sqrt(stage.variance):.4g} units, from {c.honest} honest clients alone"
                )
            finds = "mean" if number == len(c.stages) - 1 else "radius" if _finds_radius(stage) else "centre"
            receipts.append(Receipt(f"{finds} {number}", asked, mechanism, cost))
        return tuple(receipts)

    # --- rounds and messages -----------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether there is an estimate."""
        return self.estimate is not None

    def release(self, **public: Any) -> Release:
        """Return the estimate as a release, with everything that may be published about the collection."""
        if self.estimate is None:
            raise ArgumentError(f"the collection is not complete: round {self.round.round} is open")
        c, found = self.collection, self.estimate
        return Release(
            mean=found.mean,
            noise_std=np.full(c.d, found.noise_std),
            centre=found.centre,
            radius=found.radius,
            receipts=found.receipts,
            n=self.closed[-1].clients,
            d=c.d,
            method="shifted",
            trust="shuffle",
            neighbours=Neighbours.REPLACE_ONE,
            seeded=False,
            public={**self.traffic(), "bound": {"reach": math.ldexp(c.reach, c.step)}, "dpmean": __version__, **public},
        )

    def traffic(self) -> dict[str, Any]:
        """Return what a release says about a collection."""
        c = self.collection
        return {
            "delta": float(read_budget(c.budget).delta),
            "step": math.ldexp(1.0, c.step),
            "rounds": len(c.stages),
            "variant": c.variant,
            "honest": c.honest,
            "messages_per_user": sum(messages_sent(stage, c.honest) for stage in c.stages),
            "bytes_per_user": sum(bytes_sent(stage, c.honest, sealed=False) for stage in c.stages),
            "sealed_bytes_per_user": sum(bytes_sent(stage, c.honest, sealed=True) for stage in c.stages),
            "answered": self.closed[-1].clients,
        }

    def document(self) -> bytes:
        """Return the open round as clients read it."""
        if self.done:
            raise ArgumentError("this collection is complete: there is nothing left to ask")
        return msgspec.json.encode(self.round)

    def receive(self, delivery: bytes) -> None:
        """Take in what the shuffler hands on, and close the round; refuse what is not that, or cannot be decoded."""
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
            messages = unseal(read.messages, self._private, self._digest, read.round)
        legal = [message for message in messages if message is not None and len(message) == stage.size]
        self.outcomes["accepted"] += len(legal)
        self.outcomes["rejected"] += len(messages) - len(legal)
        lines = np.frombuffer(b"".join(legal), dtype=np.uint8).reshape(-1, stage.size)
        self.close(read.clients, decoded(c, stage, lines, read.clients))

    def close(self, clients: int, numbers: Ints) -> None:
        """End the open round with what it told: counts by bucket, or the numbers of a sum."""
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
            self.estimate = end.value

    # --- what survives -----------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """Return everything that must survive, but for the private key; ``resume`` goes on from there."""
        closed = [[tally.clients, tally.numbers.tolist()] for tally in self.closed]
        state = {"version": VERSION, "collection": self.collection, "closed": closed, "outcomes": dict(self.outcomes)}
        return msgspec.msgpack.encode(state)

    @staticmethod
    def resume(saved: bytes, private: bytes = b"") -> Analyzer:
        """Go on where ``save`` was called."""
        try:
            state = msgspec.msgpack.decode(saved)
            if state["version"] != VERSION:
                raise ValueError(f"it is of version {state['version']}")
            analyzer = Analyzer(msgspec.convert(state["collection"], Collection), private)
            for clients, numbers in state["closed"]:
                analyzer.close(clients, np.array(numbers, dtype=np.int64))
            analyzer.outcomes.update(state["outcomes"])
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArgumentError(f"this is not a saved analyzer: {error}") from None
        return analyzer


def decoded(collection: Collection, stage: Stage, lines: Lines, clients: int) -> Ints:
    """Return what shuffled messages tell: counts by bucket, or the numbers of a sum."""
    if isinstance(stage, Counters):
        return counters.tally(stage, lines)
    if len(lines) != clients * stage.packs * stage.shares:
        needed = clients * stage.packs * stage.shares
        raise DataError(
            f"{len(lines)} shares could be read, and {needed} are needed: some are missing, or there are too many, and "
            "the sum cannot be told. Have the shuffler hand on the same round again"
        )
    return secure_sum.decoded(collection, stage, secure_sum.tally(stage, lines), clients)


def _finds_radius(stage: Stage) -> bool:
    return isinstance(stage, Counters) and stage.about == "radius"
