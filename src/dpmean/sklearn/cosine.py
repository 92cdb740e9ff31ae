"""The cosine metric: rows of length 1, and the directions of private centroids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmean.numerics.error_quantiles import uneven_length_quantile
from dpmean.queries.queries import Floats
from dpmean.release.release import Release

UNIT_LENGTH = 1.0
"""The norm bound of rows of length 1, known without looking at any row."""
NO_DIRECTION = "its mean cannot be distinguished from noise, so it has no direction"
_SURE = 0.99
"""The probability with which noise alone is shorter than a mean that has a direction."""
_SHORTEST = 0.5
"""The least squared length of a mean over that of its noise: of five, the best for images in classes of uneven size."""


def unit_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows at length 1, each scaled by its own length alone; rows of zeros stay zero.

    A row is first divided by its largest absolute value, so that squares neither overflow nor underflow. The copy is in
    C order: the sum of a row is then over adjacent numbers, and does not depend on the number of other rows. It is in
    double precision, whatever the type of the array: in a list, the type of one row may decide the type of all.
    """
    scaled = np.array(rows, dtype=np.float64, order="C")
    _divide(scaled, np.maximum(scaled.max(axis=1, initial=0), -scaled.min(axis=1, initial=0)))
    _divide(scaled, np.sqrt(np.square(scaled).sum(axis=1)))
    return scaled


def _divide(rows: NDArray[Any], lengths: NDArray[Any]) -> None:
    rows /= np.where(lengths > 0, lengths, 1)[:, np.newaxis]


def direction(release: Release) -> tuple[Floats, bool]:
    """Return a mean of unit rows divided by its length, and whether it can be distinguished from noise.

    Noise makes a mean longer: it adds the sum of its variances, which are public, to the squared length. Divided by the
    length without this share, the product with a unit row estimates the cosine to the exact mean. Divided by its own
    length it would be too small, most of all for classes with few rows. If little more than noise is left, the length
    is too uncertain, and a length that is too small would win rows of other classes: ``_SHORTEST`` is the limit.
    """
    stds = np.broadcast_to(release.noise_std, release.mean.shape)
    longest = uneven_length_quantile(stds, _SURE)
    squared, share = float(np.square(release.mean).sum()), float(np.square(stds).sum())
    length = math.sqrt(max(squared - share, _SHORTEST * share))
    return (release.mean / length if length > 0 else release.mean), squared > longest**2
