"""Features of images from a small network that nobody trained: one convolution with random filters, ReLU, pooling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bench.problem import Floats

_BLOCK = 2000
"""How many images are taken at a time: their patches are 25 times as large as they are."""


@final
@dataclass(frozen=True, slots=True)
class RandomNetwork:
    """Random filters on patches of square images, ReLU, and the mean over squares of pixels.

    It is fixed by its seed and learns nothing, so it costs no privacy: what it makes of an image depends on this image
    alone.
    """

    side: int
    """Images have side x side pixels."""
    patch: int
    """Filters have patch x patch weights, which sum to zero."""
    pool: int
    """Means are over pool x pool places."""
    filters: int
    seed: int = 0

    def features(self, images: Floats) -> Floats:
        """Return a row of features for each image, a row of side x side pixels."""
        weights = np.random.default_rng(self.seed).standard_normal((self.patch**2, self.filters))
        weights -= weights.mean(axis=0)
        blocks = (images[start : start + _BLOCK] for start in range(0, len(images), _BLOCK))
        return np.concatenate([self._of_block(block, weights) for block in blocks])

    def _of_block(self, images: Floats, weights: Floats) -> Floats:
        squares = images.reshape(-1, self.side, self.side)
        patches = np.lib.stride_tricks.sliding_window_view(squares, (self.patch, self.patch), axis=(1, 2))
        answers = np.maximum(patches.reshape(-1, self.patch**2) @ weights, 0.0)
        places = (self.side - self.patch + 1) // self.pool
        pooled = answers.reshape(-1, places, self.pool, places, self.pool, self.filters).mean(axis=(2, 4))
        rows: Floats = pooled.reshape(len(images), -1)
        return rows


DIGITS = RandomNetwork(side=8, patch=3, pool=2, filters=32)
MNIST = RandomNetwork(side=28, patch=5, pool=4, filters=16)
