"""Rows that write down every question put to them, so that the same questions can be put to other rows."""

from dataclasses import dataclass, field

import numpy as np

from dpmean.queries.queries import (
    Ball,
    BallSquares,
    Bins,
    Columns,
    Coordinates,
    Distances,
    Octaves,
    Pairs,
    Shells,
    Sides,
    Squares,
)
from dpmean.queries.totals import Histogram
from dpmean.rows.memory import MemoryRows


@dataclass(frozen=True)
class Asked:
    """A question to the rows at some positions, or to all of them, through a domain, or as they are seen already."""

    positions: object

    def of(self, rows):
        """Return the rows that are asked, of all rows."""
        rows = rows if self.positions is None else rows.take(self.positions)
        return rows if self.domain is None else rows.through(self.domain)


@dataclass(frozen=True)
class Counted(Asked):
    view: object
    index: object
    domain: object = None

    def ask(self, rows):
        return self.of(rows).answer(self.view).count_at_most(self.index)


@dataclass(frozen=True)
class Histogrammed(Asked):
    view: object
    domain: object = None

    def ask(self, rows):
        return self.of(rows).answer(self.view).counts


@dataclass(frozen=True)
class Shelled(Asked):
    shells: object
    domain: object = None

    def ask(self, rows):
        return self.of(rows).answer(self.shells)


@dataclass(frozen=True)
class Binned(Asked):
    bins: object
    domain: object = None

    def ask(self, rows):
        return self.of(rows).answer(self.bins)


@dataclass(frozen=True)
class Summed(Asked):
    ball: object
    domain: object = None

    def ask(self, rows):
        return self.of(rows).answer(self.ball)


@dataclass(frozen=True)
class SquaredInBall(Asked):
    squares: object
    domain: object = None

    def ask(self, rows):
        return self.of(rows).answer(self.squares)


@dataclass(frozen=True)
class Squared(Asked):
    squares: object
    domain: object = None

    def ask(self, rows):
        return self.of(rows).answer(self.squares)


@dataclass(frozen=True)
class Octaved(Asked):
    octaves: object
    domain: object = None

    def ask(self, rows):
        return self.of(rows).answer(self.octaves)


@dataclass(frozen=True)
class Recorder:
    rows: MemoryRows
    log: list = field(default_factory=list)
    positions: object = None

    @property
    def n(self):
        return self.rows.n

    @property
    def d(self):
        return self.rows.d

    @property
    def domain(self):
        return self.rows.domain

    def through(self, domain):
        return Recorder(self.rows.through(domain), self.log, self.positions)

    def take(self, positions):
        places = positions if self.positions is None else self.positions[positions]
        return Recorder(self.rows.take(positions), self.log, places)

    def collect(self):
        return self

    def answer(self, query):
        total = self.rows.answer(query)
        if isinstance(query, Coordinates | Columns):
            return RecordedTally(total, query, self)
        self.log.append(RECORDS[type(query)](self.positions, query, self.domain))
        return RecordedHistogram(total, query, self) if isinstance(total, Histogram) else total


RECORDS = {
    Distances: Histogrammed,
    Sides: Histogrammed,
    Pairs: Histogrammed,
    Ball: Summed,
    BallSquares: SquaredInBall,
    Shells: Shelled,
    Bins: Binned,
    Squares: Squared,
    Octaves: Octaved,
}


@dataclass(frozen=True)
class RecordedTally:
    tally: object
    view: object
    recorder: Recorder

    def count_at_most(self, index):
        self.recorder.log.append(Counted(self.recorder.positions, self.view, np.array(index), self.recorder.domain))
        return self.tally.count_at_most(index)


class RecordedHistogram(RecordedTally):
    """All of it is written down when it is asked for, and counts of single points again, one by one."""

    @property
    def counts(self):
        return self.tally.counts

    @property
    def points(self):
        return self.tally.points


@dataclass(frozen=True)
class RecordingNoise:
    """Noise that writes down every draw: (step, start, variance, count), every choice: (step, exponents, unit), and
    every secret order or coin: (step, count)."""

    noise: object
    log: list = field(default_factory=list)
    choices: list = field(default_factory=list)
    secrets: list = field(default_factory=list)
    step: str = ""
    start: int = 0

    @property
    def seeded(self):
        return self.noise.seeded

    def at(self, step, start=0):
        return RecordingNoise(self.noise, self.log, self.choices, self.secrets, step, start)

    def gaussian(self, variance, count):
        self.log.append((self.step, self.start, variance, count))
        return self.noise.at(self.step, self.start).gaussian(variance, count)

    def words(self, count):
        self.secrets.append((self.step, count))
        return self.noise.at(self.step, self.start).words(count)

    def choose(self, exponents, unit):
        self.choices.append((self.step, exponents, unit))
        return self.noise.at(self.step, self.start).choose(exponents, unit)
