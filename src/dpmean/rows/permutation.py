"""Secret random orders and samples of rows: drawn like noise, and never shown."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpmean.queries.interfaces import Noise
from dpmean.queries.queries import Ints

_FURTHEST = 256  # the largest number of rows that one word can skip
_AT_ONCE = 1 << 20  # words drawn at a time, to use little memory


def draw_order(n: int, noise: Noise, step: str) -> Ints:
    """Return n positions in a random order; all orders are equally likely."""
    attempt = 0
    while True:
        words = noise.at(f"{step}, try {attempt}" if attempt else step).words(n)
        order: Ints = np.argsort(words, kind="stable")
        if np.all(words[order[1:]] != words[order[:-1]]):  # equal words would keep their old order
            return order
        attempt += 1


def draw_sample(n: int, share: Fraction, noise: Noise, step: str) -> Ints:
    """Return the positions of a random sample of n rows, ascending: each row with probability ``share``, independently.

    Rows are decided from the first to the last. A uniform real number V gives the number of rows to skip before the
    next one is taken: at least k if V < (1 - share)^k, for k up to ``_FURTHEST``. If ``_FURTHEST`` rows are skipped,
    the next real number continues from there. One word of V is drawn; more bits follow if that word does not decide.
    So each row is taken independently, with exactly the right probability, and rows added at the end change nothing
    for the rows before them.
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
            passed[i] = _count_skipped(int(words[i]), share, noise, f"{step}, word {drawn + i}")
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


def _count_skipped(word: int, share: Fraction, noise: Noise, step: str) -> int:
    """Return the number of rows that a real number skips; a word is its first 64 bits, and more are drawn as needed."""
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
