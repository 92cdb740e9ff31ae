"""Rows that write down every question put to them, so that the same questions can be put to other rows."""

from dataclasses import dataclass, field

import numpy as np

from dpmean.rows.memory import MemoryRows


@dataclass(frozen=True)
class Counted:
    positions: object
    view: object
    index: object

    def ask(self, rows):
        rows = rows if self.positions is None else rows.take(self.positions)
        return rows.tally(self.view).count_at_most(self.index)


@dataclass(frozen=True)
class Histogrammed:
    positions: object
    view: object

    def ask(self, rows):
        rows = rows if self.positions is None else rows.take(self.positions)
        return rows.histogram(self.view).counts


@dataclass(frozen=True)
class Shelled:
    positions: object
    shells: object

    def ask(self, rows):
        rows = rows if self.positions is None else rows.take(self.positions)
        return rows.add_up_shells(self.shells)


@dataclass(frozen=True)
class Binned:
    positions: object
    bins: object

    def ask(self, rows):
        return rows.add_up_bins(self.bins)


@dataclass(frozen=True)
class Summed:
    positions: object
    ball: object

    def ask(self, rows):
        rows = rows if self.positions is None else rows.take(self.positions)
        return rows.add_up(self.ball)


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

    def take(self, positions):
        return Recorder(self.rows.take(positions), self.log, positions)

    def held(self):
        return self

    def tally(self, view):
        return RecordingTally(self.rows.tally(view), view, self)

    def histogram(self, view):
        self.log.append(Histogrammed(self.positions, view))
        return self.rows.histogram(view)

    def add_up(self, ball):
        self.log.append(Summed(self.positions, ball))
        return self.rows.add_up(ball)

    def add_up_bins(self, bins):
        self.log.append(Binned(self.positions, bins))
        return self.rows.add_up_bins(bins)

    def add_up_shells(self, shells):
        self.log.append(Shelled(self.positions, shells))
        return self.rows.add_up_shells(shells)


@dataclass(frozen=True)
class RecordingTally:
    tally: object
    view: object
    recorder: Recorder

    def count_at_most(self, index):
        self.recorder.log.append(Counted(self.recorder.positions, self.view, np.array(index)))
        return self.tally.count_at_most(index)


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
