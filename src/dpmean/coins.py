"""Coin flips that everyone may see: the signs of the rotation, and which rows find the centre."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.types import Floats, Ints


@final
@dataclass(frozen=True, slots=True)
class PublicCoins:
    """Public randomness, a function of a short key that a release may print; privacy never rests on it."""

    key: str

    def _generator(self, purpose: str) -> np.random.Generator:
        digest = hashlib.blake2b(f"{self.key}/{purpose}".encode(), digest_size=16).digest()
        return np.random.Generator(np.random.Philox(key=np.frombuffer(digest, dtype=np.uint64)))

    def signs(self, count: int) -> Floats:
        """Return fair signs, +1 or -1 (the diagonal D of section 3.3)."""
        return self._generator("signs").choice(np.array([-1.0, 1.0]), count)

    def sample(self, n: int, size: int) -> Ints:
        """Return ``size`` different positions among n, in order; it depends on nothing but n and size."""
        chosen = self._generator("sample").choice(n, size, replace=False, shuffle=False)
        return np.sort(chosen).astype(np.int64)
