"""Where is a quantile? Searches that live on noisy shares alone, and forgive them.

A plain binary search never returns from a wrong turn: with noise of 0.2 on a share, one comparison in two hundred takes
one even where all rows lie on one side, and the search ends anywhere. Weights on all points, moved by every answer in
proportion to what it tells, do return.
"""

from __future__ import annotations

import math
from typing import final

import numpy as np

from dpmean.queries.queries import Floats, Ints

_CLEAR = 0.2
"""How far shares are taken to be from the rank at points that do not matter."""
_MOST = 8.0
"""No answer moves weights by more than a factor exp(8)."""


@final
class WeighedSearch:
    """Searches ``size`` lines of ``points`` points each for the first with a share above ``rank`` at or below it."""

    def __init__(self, size: int, points: int, rank: float) -> None:
        self.rank = rank
        self._logs = np.zeros((size, points))
        self._heard: list[tuple[Ints, Floats, Floats]] = []

    @property
    def answer(self) -> Ints:
        """Of all points that were asked about, the one whose share is nearest to the rank.

        Shares rise along a line, so each is averaged with its neighbours until they do (isotonic regression). The
        middle of the weights may lie where nobody was asked.
        """
        points, shares, weights = (np.stack(part, axis=1) for part in zip(*self._heard, strict=True))
        found = np.empty(len(points), dtype=np.int64)
        for line in range(len(points)):
            order = np.argsort(points[line], kind="stable")
            distance = np.abs(_rising(shares[line, order], weights[line, order]) - self.rank)
            nearest = np.flatnonzero(distance <= distance.min() + 1e-12)
            found[line] = points[line, order[nearest[len(nearest) // 2]]]
        return found

    @property
    def middle(self) -> Ints:
        """The point that halves the weight of each line: what to ask about next."""
        weights = np.cumsum(np.exp(self._logs - self._logs.max(axis=1, keepdims=True)), axis=1)
        found: Ints = (weights < weights[:, -1:] / 2).sum(axis=1)
        return found

    def learn(self, asked: Ints, shares: Floats, std: Floats) -> None:
        """Take in the noisy shares at or below the points that were asked about; an infinite std tells nothing."""
        self._heard.append((asked, shares, 1 / std**2))
        told = np.clip((shares - self.rank) * 2 * _CLEAR / std**2, -_MOST, _MOST) / 2
        below = np.arange(self._logs.shape[1]) <= asked[:, np.newaxis]
        self._logs += np.where(below, told[:, np.newaxis], -told[:, np.newaxis])


def farthest(reach: int, width: int) -> int:
    """How far from zero a rotated mean can be: sqrt(2 ln(40 width)) times the reach, nearly always (Lemma 3.4)."""
    return math.ceil(reach * min(math.sqrt(width), math.sqrt(2 * math.log(40 * width))))


def ladder_up_to(top: int, points: int, per_octave: float) -> Ints:
    """Return radii to choose from, so many to an octave, the last of them at the top."""
    numbers = np.arange(points)
    radii = np.ceil(top * np.exp2((numbers + 1 - points) / per_octave)).astype(np.int64)
    return np.maximum.accumulate(radii - numbers) + numbers  # the smallest ones, one by one


def _rising(values: Floats, weights: Floats) -> Floats:
    """Return the rising sequence that is nearest to some values, by weighted squares."""
    means: list[float] = []
    sums: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), np.maximum(weights, 1e-12).tolist(), strict=True):
        means.append(value)
        sums.append(weight)
        sizes.append(1)
        while len(means) > 1 and means[-2] >= means[-1]:
            total = sums[-2] + sums[-1]
            means[-2:] = [(means[-2] * sums[-2] + means[-1] * sums[-1]) / total]
            sums[-2:] = [total]
            sizes[-2:] = [sizes[-2] + sizes[-1]]
    return np.repeat(means, sizes)


def halved(shares: Floats, rank: float) -> Ints:
    """Return, for each line, where halving it ends: a point whose share (at or below it) exceeds the rank.

    Noisy shares do not only rise; the first one above the rank may be anywhere.
    """
    lines = np.arange(len(shares))
    low, high = np.zeros(len(shares), dtype=np.int64), np.full(len(shares), shares.shape[1] - 1)
    while np.any(low < high):
        middle = (low + high) // 2
        above = shares[lines, middle] > rank
        low, high = np.where(above, low, np.minimum(middle + 1, high)), np.where(above, middle, high)
    return high


def shares_from_tree(ones: Ints, zeros: Ints, lie: float) -> tuple[Floats, Floats]:
    """Turn flipped bits about a tree into shares at or below every cell, and the standard deviation of one.

    ``ones[line, 2^level + pattern]`` counts the bits 1 of the users of a level and a pattern. A Hadamard transform
    over the patterns of a level estimates, for each block, what lies in its left half minus what lies in its right.
    """
    size, cells = ones.shape
    depth = (cells - 1).bit_length()
    keep = 1 - 2 * lie
    masses = np.ones((size, 1))
    variance = np.zeros(size)
    for level in range(depth):
        blocks = 1 << level
        told = (ones - zeros)[:, blocks : 2 * blocks].astype(np.float64)
        users = np.maximum((ones + zeros)[:, blocks : 2 * blocks].sum(axis=1, keepdims=True), 1)
        signs = 1 - 2 * (_parities(blocks))
        differences = told @ signs / (keep * users)
        left = (masses + differences) / 2
        masses = np.stack((left, masses - left), axis=2).reshape(size, 2 * blocks)
        variance += 1 / (4 * keep**2 * users[:, 0])
    return np.cumsum(masses, axis=1), np.sqrt(variance)


def _parities(count: int) -> Ints:
    """Return the parity of the bits that two numbers share, for all pairs below ``count``."""
    numbers = np.arange(count)
    shared: Ints = np.bitwise_count(numbers[:, np.newaxis] & numbers).astype(np.int64) & 1
    return shared
