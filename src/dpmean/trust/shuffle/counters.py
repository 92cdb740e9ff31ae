"""Blanket counters: shuffled bucket numbers are counts plus Poisson noise, and counts tell where quantiles are.

The interface of a counter, as an analyzer sees it: a tally of buckets goes in, cumulative counts come out, with the
standard deviation of their noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.queries.queries import Floats, Ints
from dpmean.trust.devices.hashing import Lines
from dpmean.trust.shuffle.schema import BUCKET_BYTES, Counters

SLACK, SIGHT, CROWDED = 5.0, 2.5, 0.2
"""Rows are clearly there if they are five times the noise, and seen in the cells ahead if they are 2.5 times. A cell
with more than a fifth of all rows may hold them at one point: the radius then is its end."""


def tally(stage: Counters, lines: Lines) -> Ints:
    """Count messages by bucket; those that name no bucket are left out."""
    numbers = np.ascontiguousarray(lines[:, :BUCKET_BYTES]).view(">u4")[:, 0].astype(np.int64)
    return np.bincount(numbers[numbers < stage.buckets], minlength=stage.buckets).astype(np.int64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Noisy numbers of clients by cell: one line of cells for each level, the finest last.

    ``blanket`` is the mean, and the variance, of the noise on every bucket.
    """

    stage: Counters
    tally: Ints
    blanket: float

    def at_most(self) -> Floats:
        """Return for each line how many clients lie in the cells up to each one."""
        stage, lines = self.stage, self.tally.reshape(self.stage.lines, -1).astype(np.float64) - self.blanket
        total = np.zeros((stage.lines, stage.cells))
        cells, done = np.arange(stage.cells), np.zeros(stage.cells, dtype=np.int64)
        for level in sorted(stage.levels, reverse=True):
            before = np.concatenate((np.zeros((stage.lines, 1)), np.cumsum(self._at(lines, level), axis=1)), axis=1)
            upto = (cells + 1) >> level  # whole buckets of this level that end here or before
            total += before[:, upto] - before[:, done >> level]
            done = upto << level
        return total

    def _at(self, lines: Floats, level: int) -> Floats:
        start = 0
        for other in self.stage.levels:
            if other == level:
                return lines[:, start : start + self.stage.at_level(level)]
            start += self.stage.at_level(other)
        raise AssertionError("there is no such level")


def interpolated(at_most: Floats, ranks: Floats) -> tuple[Ints, Floats]:
    """Return the cell of each line in which a rank is reached, and how far in.

    Noisy counts do not only rise; halving ends at a cell up to which enough clients lie, and not up to the one before.
    """
    lines = np.arange(len(at_most))
    low, high = np.zeros(len(at_most), dtype=np.int64), np.full(len(at_most), at_most.shape[1] - 1)
    while np.any(low < high):
        middle = (low + high) // 2
        enough = at_most[lines, middle] >= ranks
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
    before = np.where(high > 0, at_most[lines, np.maximum(high - 1, 0)], 0.0)
    inside = np.maximum(at_most[lines, high] - before, 1.0)
    return high, np.clip((ranks - before) / inside, 0.0, 1.0)


def tail_radius(counts: Counts, ladder: Ints, least: float, clients: int, ahead: int) -> int:
    """Return a radius beyond which about ``least`` rows lie, or as few as noise lets us see.

    ``ladder[k]`` is the end of cell k. Halving finds where the number of rows beyond rises clearly above noise; it
    asks few questions, so that noise seldom leads astray, and sees rows that are far beyond all others. From there on
    the radius grows as long as rows are seen in the cells just ahead, where there is less noise than in all that lies
    beyond; noise then leads astray by a step or two.
    """
    rows = counts.tally.astype(np.float64) - counts.blanket
    beyond = np.cumsum(rows[::-1])[::-1] - rows
    noise = np.sqrt(counts.blanket * np.arange(len(rows) - 1, -1, -1))
    clear = np.maximum(least, np.minimum(SLACK * noise, clients / 3))  # if there are few clients, noise must do
    low, high = -1, len(ladder) - 1  # beyond ladder[low] many rows lie, beyond ladder[high] few
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond[middle] > clear[middle] else (low, middle)
    if low < 0:
        return int(ladder[0])
    padded = np.concatenate((np.cumsum(rows), np.full(ahead, rows.sum())))
    near = padded[ahead:] - padded[:-ahead]  # rows in the cells that follow each
    std = math.sqrt(ahead * counts.blanket)
    wanted = max(least, SIGHT * std)
    while low < len(ladder) - 2 and near[low + 1] > wanted:
        low += 1
    if rows[low + 1] > CROWDED * clients:
        return int(ladder[low + 1])
    few, many = max(float(near[low + 1]) - std, 1.0), max(float(near[low]), 1.0)
    part = math.log(many / wanted) / math.log(many / few) if many > max(few, wanted) else 0.0
    return round(float(ladder[low]) * math.exp(min(part, 1.0) * math.log(ladder[low + 1] / ladder[low])))
