"""Rows that write down every question put to them, so that the same questions can be put to other rows."""

from dataclasses import dataclass, field

import numpy as np

from dpmean.queries.queries import Ball, Bins, Coordinates, Distances, Pairs, Shells, Sides
from dpmean.queries.totals import Histogram
from dpmean.rows.memory import MemoryRows


@dataclass(frozen=True)
class Counted:
    positions: object
    view: object
    index: object

    def ask(self, rows):
        rows = rows if self.positions is None else rows.take(self.positions)
        return rows.answer(self.view).count_at_most(self.index)


@dataclass(frozen=True)
class Histogrammed:
    positions: object
    view: object

    def ask(self, rows):
        rows = rows if self.positions is None else rows.take(self.positions)
        return rows.answer(self.view).counts


@dataclass(frozen=True)
class Shelled:
    positions: object
    shells: object

    def ask(self, rows):
        rows = rows if self.positions is None else rows.take(self.positions)
        return rows.answer(self.shells)


@dataclass(frozen=True)
class Binned:
    positions: object
    bins: object

    def ask(self, rows):
        return rows.answer(self.bins)


@dataclass(frozen=True)
class Summed:
    positions: object
    ball: object

    def ask(self, rows):
        rows = rows if self.positions is None else rows.take(self.positions)
        return rows.answer(self.ball)


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
        return Recorder(self.rows.take(positions), self.log, positions)

    def held(self):
        return self

    def answer(self, query):
        total = self.rows.answer(query)
        if isinstance(query, Coordinates):
            return RecordedTally(total, query, self)
        self.log.append(RECORDS[type(query)](self.positions, query))
        return RecordedHistogram(total, query, self) if isinstance(total, Histogram) else total


RECORDS = {
    Distances: Histogrammed,
    Sides: Histogrammed,
    Pairs: Histogrammed,
    Ball: Summed,
    Shells: Shelled,
    Bins: Binned,
}


@dataclass(frozen=True)
class RecordedTally:
    tally: object
    view: object
    recorder: Recorder

    def count_at_most(self, index):
        self.recorder.log.append(Counted(self.recorder.positions, self.view, np.array(index)))
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
