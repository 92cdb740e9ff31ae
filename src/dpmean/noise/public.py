"""Public randomness: the signs of the rotation, and the positions of the rows that find the centre."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.noise.jit import compiled
from dpmean.queries.queries import Floats, Ints

_MULTIPLIER = 0x9E3779B1  # an odd hash multiplier: it spreads neighbouring values over a table


@final
@dataclass(frozen=True, slots=True)
class PublicCoins:
    """Public randomness, a function of a short key that a release may print; privacy never depends on it."""

    key: str

    def _words(self, purpose: str) -> Callable[[int], NDArray[np.uint64]]:
        digest = hashlib.blake2b(f"{self.key}/{purpose}".encode(), digest_size=16).digest()
        return np.random.Philox(key=np.frombuffer(digest, dtype=np.uint64)).random_raw

    def digest(self) -> str:
        """Return 16 hexadecimal digits derived from the key: the name of a collection."""
        return hashlib.blake2b(f"{self.key}/name".encode(), digest_size=8).hexdigest()

    def signs(self, count: int) -> Floats:
        """Return fair signs, +1 or -1 (the diagonal D of section 3.3)."""
        bits = np.unpackbits(self._words("signs")(-(-count // 64)).view(np.uint8), count=count)
        return np.where(bits == 1, 1.0, -1.0)

    def sample(self, n: int, size: int) -> Ints:
        """Return ``size`` distinct positions among n, in ascending order; they depend on the key, n and size only."""
        return np.sort(self.order(n, size))

    def order(self, n: int, size: int) -> Ints:
        """Return the same positions in a random order."""
        words = self._words("sample")
        if 2 * size > n or n == 0:
            return np.argsort(words(n), kind="stable")[:size].astype(np.int64)
        drawn = words(size + size * size // n + 64)
        while True:
            chosen = _different(drawn, n / 2**53)
            if len(chosen) >= size:
                return chosen[:size]
            drawn = np.append(drawn, words(size))


@compiled
def _different(words: NDArray[np.uint64], scale: float) -> Ints:
    """Map words to positions, and return the distinct ones in order of first appearance; a hash table finds repeats."""
    mask = 1
    while mask < 2 * len(words):
        mask *= 2
    table = np.full(mask, -1, dtype=np.int64)
    mask -= 1
    found, count = np.empty(len(words), dtype=np.int64), 0
    for word in words:
        value = np.int64(np.float64(word >> np.uint64(11)) * scale)
        place = (value * _MULTIPLIER >> 20) & mask
        while table[place] != -1 and table[place] != value:
            place = (place + 1) & mask
        if table[place] == -1:
            table[place] = value
            found[count] = value
            count += 1
    return found[:count]
