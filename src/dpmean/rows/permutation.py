"""Places that nobody knows: drawn like noise, and never shown."""

from __future__ import annotations

import numpy as np

from dpmean.queries.protocols import Noise
from dpmean.queries.queries import Ints


def shuffled(n: int, noise: Noise, step: str) -> Ints:
    """Return all of n positions in a random order, all orders being equally likely."""
    attempt = 0
    while True:
        words = noise.at(f"{step}, try {attempt}" if attempt else step).words(n)
        order: Ints = np.argsort(words, kind="stable")
        if np.all(words[order[1:]] != words[order[:-1]]):  # equal ones would keep the order they had
            return order
        attempt += 1
