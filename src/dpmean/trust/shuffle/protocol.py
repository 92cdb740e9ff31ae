"""The protocol of the shuffle model, as a generator that yields rounds and is sent what they told."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar, final

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.numerics.rotation import hadamard
from dpmean.queries.queries import Floats, Ints
from dpmean.trust.devices.search import WeighedSearch, farthest, ladder_up_to
from dpmean.trust.devices.signatures import VERSION
from dpmean.trust.shuffle import counters
from dpmean.trust.shuffle.counters import Counts
from dpmean.trust.shuffle.design import CLIP
from dpmean.trust.shuffle.encoder import signs, twice_inner
from dpmean.trust.shuffle.schema import Collection, Counters, Round, Sums
from dpmean.trust.shuffle.stages import CELLS, HALVINGS, LINE_BITS, OCTAVES

_Stage = TypeVar("_Stage", Counters, Sums)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What a round told: counts by bucket, or the numbers of a sum, and how many clients were heard."""

    clients: int
    numbers: Ints


@final
@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What all rounds told, in units of the grid: the mean, the noise on each number of it, centre and radius."""

    mean: Floats
    std: float
    centre: Floats
    radius: int


@final
class Protocol:
    """Asks the rounds of one collection; each may depend on what earlier ones told.

    The rounds name no collection yet, and no time until which they take answers.
    """

    def __init__(self, collection: Collection) -> None:
        _check_kinds(collection)
        self.collection = collection
        self._number = 0
        self._signs = np.array(signs(collection.name, 1 << (collection.d - 1).bit_length()), dtype=np.float64)

    def play(self) -> Generator[Round, Tally, Result]:
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
        return Result(mean, std, np.array(centre, dtype=np.float64), radius)

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
        per_octave = (stage.cells - 1) / OCTAVES
        ladder = ladder_up_to(2 * self.collection.reach, stage.cells, per_octave)
        if not isinstance(last, Sums):
            raise AssertionError("the last round is a sum")
        tally = yield self._ask(centre=centre, lows=[0], widths=[1], gaps=ladder[:-1].tolist())
        rho = 2 * last.radius**2 / last.variance
        least = CLIP * math.sqrt(2 * self.collection.d / rho)
        ahead = max(1, int(per_octave / 2))
        return counters.tail_radius(self._counts(stage, tally), ladder, least, tally.clients, ahead)

    def _two_rounds(self) -> Generator[Round, Tally, list[int]]:
        """Find the middle of each line in two rounds: 32 cells across it, then as many around the quartiles."""
        far, stage = farthest(self.collection.reach, len(self._signs)), self._stage(Counters)
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
        far, stage = farthest(self.collection.reach, len(self._signs)), self._stage(Counters)
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
        far, stage = farthest(self.collection.reach, len(self._signs)), self._stage(Counters)
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

    def _counts(self, stage: Counters, tally: Tally) -> Counts:
        return Counts(stage, tally.numbers, stage.blanket * tally.clients / self.collection.honest)

    def _half(self, tally: Tally) -> Floats:
        """Half the clients of each line: a public hash of their numbers assigns as many to each, about."""
        return np.full(len(self._signs), tally.clients / len(self._signs) / 2)

    def _stage(self, kind: type[_Stage]) -> _Stage:
        stage = self.collection.stages[self._number]
        if not isinstance(stage, kind):
            raise ArgumentError(f"round {self._number} is not what the variant {self.collection.variant} asks")
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
        self._number += 1
        return Round(VERSION, "", self._number - 1, 0, *cells, centre or [], radius)


def _check_kinds(collection: Collection) -> None:
    """Refuse rounds that are not those of the variant, before anybody answers one."""
    variant = collection.variant
    for_centre = {"mean": ["sum"], "twice": ["sum", "radius", "sum"], "two": ["median"] * 2, "tree": ["median"]}
    right = [*for_centre.get(variant, ["median"] * HALVINGS), "radius", "sum"]
    found = [stage.about if isinstance(stage, Counters) else "sum" for stage in collection.stages]
    if found != right:
        raise ArgumentError(f"the rounds of variant {variant} are {', '.join(right)}; these are {', '.join(found)}")
