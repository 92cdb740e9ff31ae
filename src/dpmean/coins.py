"""Coin flips that everyone may see: the signs of the rotation, and which rows find the centre."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.types import Floats, Ints


@final
@dataclass(frozen=True, slots=True)
class PublicCoins:
    """Public randomness, a function of a short key that a release may print; privacy never rests on it."""

    key: str

    def _words(self, purpose: str) -> Callable[[int], NDArray[np.uint64]]:
        digest = hashlib.blake2b(f"{self.key}/{purpose}".encode(), digest_size=16).digest()
        return np.random.Philox(key=np.frombuffer(digest, dtype=np.uint64)).random_raw

    def digest(self) -> str:
        """Return 16 hexadecimal digits that stand for these coins: the name of a collection."""
        return hashlib.blake2b(f"{self.key}/name".encode(), digest_size=8).hexdigest()

    def signs(self, count: int) -> Floats:
        """Return fair signs, +1 or -1 (the diagonal D of section 3.3)."""
        bits = np.unpackbits(self._words("signs")(-(-count // 64)).view(np.uint8), count=count)
        return np.where(bits == 1, 1.0, -1.0)

    def sample(self, n: int, size: int) -> Ints:
        """Return ``size`` different positions among n, in order; it depends on nothing but n and size."""
        return np.sort(self.order(n, size))

    def order(self, n: int, size: int) -> Ints:
        """Return the same positions in a random order."""
        words = self._words("sample")
        if 2 * size > n:
            return np.argsort(words(n), kind="stable")[:size].astype(np.int64)
        drawn = np.empty(0, dtype=np.int64)
        while True:
            more = words(size if len(drawn) else size + size * size // n + 64)
            drawn = np.append(drawn, ((more >> np.uint64(11)).astype(np.float64) * (n / 2**53)).astype(np.int64))
            chosen = drawn[_first_times(drawn)]
            if len(chosen) >= size:
                return chosen[:size]


def _first_times(values: Ints) -> NDArray[np.bool_]:
    """Return where a value occurs for the first time; hardly any occurs twice."""
    ordered = np.sort(values)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    first = np.ones(len(values), dtype=np.bool_)
    seen: set[int] = set()
    for place in np.flatnonzero(np.isin(values, twice)).tolist():
        value = int(values[place])
        first[place] = value not in seen
        seen.add(value)
    return first
