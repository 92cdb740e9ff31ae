"""Places that nobody knows: drawn like noise, and never shown."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpmean.queries.interfaces import Noise
from dpmean.queries.queries import Ints

_FURTHEST = 256  # rows that one word can pass over
_AT_ONCE = 1 << 20  # words, so that they need little memory


def shuffled(n: int, noise: Noise, step: str) -> Ints:
    """Return all of n positions in a random order, all orders being equally likely."""
    attempt = 0
    while True:
        words = noise.at(f"{step}, try {attempt}" if attempt else step).words(n)
        order: Ints = np.argsort(words, kind="stable")
        if np.all(words[order[1:]] != words[order[:-1]]):  # equal ones would keep the order they had
            return order
        attempt += 1


def sampled(n: int, share: Fraction, noise: Noise, step: str) -> Ints:
    """Return which of n rows are taken, ascending: each with probability ``share``, independently of all others.

    Rows are decided from the first on. A uniform real V, one word of it and more where that does not settle it, tells
    how many rows are passed over before one is taken: at least k if V < (1 - share)^k, for k up to ``_FURTHEST``; if
    so many are passed over, the next real goes on from there. So the next rows come out as any given way with the
    product of their chances. More rows at the end change nothing for those before.
    """
    if not 0 < share < 1:
        return np.arange(n if share >= 1 else 0, dtype=np.int64)
    ascending = np.array(_chances(share)[::-1], dtype=np.uint64)
    found, decided, drawn = [np.empty(0, dtype=np.int64)], 0, 0
    while decided < n:
        left = n - decided
        words = noise.at(step, drawn).words(min(int(left * share) + left // _FURTHEST + 64, _AT_ONCE))
        below = np.searchsorted(ascending, words, side="right")
        passed = len(ascending) - below
        for i in np.flatnonzero((below > 0) & (ascending[below - 1] == words)).tolist():
            passed[i] = _exactly_passed(int(words[i]), share, noise, f"{step}, word {drawn + i}")
        taken = passed < _FURTHEST
        ends = decided + np.cumsum(passed + taken)
        found.append(ends[taken] - 1)
        decided, drawn = int(ends[-1]), drawn + len(words)
    every: Ints = np.concatenate(found)
    return every[: np.searchsorted(every, n)]


def _chances(share: Fraction) -> list[int]:
    """Return ``2^64 (1 - share)^k``, rounded down, for k from 1 to ``_FURTHEST``."""
    above, below, chances = 1 << 64, 1, []
    for _ in range(_FURTHEST):
        above, below = above * (share.denominator - share.numerator), below * share.denominator
        chances.append(above // below)
    return chances


def _exactly_passed(word: int, share: Fraction, noise: Noise, step: str) -> int:
    """Return how many rows a real passes over of which a word is the first 64 bits, drawing more bits as needed."""
    real, bits = word, 64
    for passed in range(_FURTHEST):
        chance = (1 - share) ** (passed + 1)
        while True:  # the real lies in [real, real + 1) / 2^bits
            floor, rest = divmod(chance.numerator << bits, chance.denominator)
            if real != floor or rest == 0:
                break
            real, bits = real << 64 | int(noise.at(step, bits // 64 - 1).words(1)[0]), bits + 64
        if real >= floor:
            return passed
    return _FURTHEST
