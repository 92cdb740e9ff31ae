"""Distances of rows from their mean, in spreads, if their columns are independent with the same distribution.

A ``Law`` is the distribution of one column, with mean 0 and variance 1. The squared distance is a sum over the columns,
so its distribution is a convolution, which is computed on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np

from dpmean.numerics.error_quantiles import length_quantile
from dpmean.queries.queries import Floats

_POINTS = 1 << 14
_MANY = 4096
"""With more columns than this, distances vary around one spread by a part that falls with the root of their number."""
_LEAST = 1e-9
"""Smaller probabilities are treated as this one."""
_WINDOW = np.exp(np.linspace(-1.2, 1.2, 13))
"""Factors for probabilities over which quantiles are averaged, to smooth the steps of a discrete distribution."""
_STEPS = 2.0 ** (-np.arange(17) / 8)
"""Radii at which to clip, from the distance at which rows end to a quarter of it."""

_LARGEST = 3.5
"""The approximate largest of many draws of ``STUDENT``, divided by the root of their number."""

Tail = Callable[[Floats], Floats]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """The distribution of one column: the probabilities to exceed a distance above its mean, and below it."""

    above: Tail
    below: Tail
    skewness: float = 0.0
    farthest: float = 0.0
    """The largest distance from its mean, if the two sides differ."""
    heavy: float = 0.0
    """If the variance is infinite: a row exceeds a large distance r with this probability divided by r squared."""


def _symmetric(both: Tail) -> Law:
    def half(far: Floats) -> Floats:
        return both(far) / 2

    return Law(half, half)


def _normal_tail(x: Floats) -> Floats:
    """Return the probability that a standard normal exceeds x."""
    return np.asarray(np.frompyfunc(math.erfc, 1, 1)(x / math.sqrt(2)), dtype=float) / 2


_LOG_MEAN, _LOG_STD = math.exp(0.5), math.sqrt((math.e - 1) * math.e)


def _lognormal_below(far: Floats) -> Floats:
    left = np.maximum(_LOG_MEAN - far * _LOG_STD, 1e-300)
    return _normal_tail(-np.log(left))


def points(values: tuple[float, ...], weights: tuple[float, ...]) -> Law:
    """Return the distribution of a few values, standardised to mean 0 and variance 1."""
    raw, parts = np.array(values), np.array(weights) / sum(weights)
    centred = raw - raw @ parts
    places = centred / math.sqrt(centred**2 @ parts)

    def above(far: Floats) -> Floats:
        return np.asarray((places[:, np.newaxis] >= np.ravel(far) - 1e-12).T @ parts).reshape(np.shape(far))

    def below(far: Floats) -> Floats:
        return np.asarray((-places[:, np.newaxis] >= np.ravel(far) - 1e-12).T @ parts).reshape(np.shape(far))

    return Law(above, below, float(places**3 @ parts), float(np.abs(places).max()))


NORMAL = _symmetric(lambda far: 2 * _normal_tail(far))
UNIFORM = _symmetric(lambda far: np.maximum(1 - far / math.sqrt(3), 0.0))
LAPLACE = _symmetric(lambda far: np.exp(-math.sqrt(2) * far))
EXPONENTIAL = Law(lambda far: np.exp(-1 - far), lambda far: 1 - np.exp(-np.maximum(1 - far, 0.0)), 2.0)
LOGNORMAL = Law(
    lambda far: _normal_tail(np.log(_LOG_MEAN + far * _LOG_STD)), _lognormal_below, (math.e + 2) * math.sqrt(math.e - 1)
)
STUDENT = replace(_symmetric(lambda far: 1 - far / np.sqrt(2 + far**2)), heavy=1.0)
"""Student's t with 2 degrees of freedom. It is not standardised, as its variance is infinite: see ``student_std``."""


def student_std(draws: int) -> float:
    """Return the approximate standard deviation of a number of draws of ``STUDENT``, which grows with the number.

    The largest draw is about the root of their number, so draws are taken to be limited to a few times this.
    """
    most = _LARGEST * math.sqrt(draws)
    return math.sqrt(2 * (math.asinh(most / math.sqrt(2)) - most / math.sqrt(2 + most**2)))


def distance_quantile(law: Law, d: int, beyond: float) -> float:
    """Return the distance in spreads that rows of d columns exceed with a probability of ``beyond``."""
    beyond = min(max(beyond, _LEAST), 0.5)
    if law is NORMAL:
        return length_quantile(d, 1 - beyond) / math.sqrt(d)
    if d > _MANY:
        return max(1 + (distance_quantile(law, _MANY, beyond) - 1) * math.sqrt(_MANY / d), 1.0)
    found = [_quantile(law, d, min(max(beyond * factor, _LEAST), 0.9)) for factor in _WINDOW]
    return math.exp(math.fsum(map(math.log, found)) / len(found))


def half_width(law: Law, beyond: float) -> float:
    """Return the half-width of the interval that one column leaves with this probability, half of it on each side."""
    each = min(max(beyond, _LEAST), 0.5) * _WINDOW / 2
    total = np.zeros(len(each))
    for tail in (law.above, law.below):
        low, high = np.full(len(each), 1e-9), np.full(len(each), 1e15)
        for _ in range(64):
            middle = np.sqrt(low * high)
            rare = tail(middle) < each
            low, high = np.where(rare, low, middle), np.where(rare, middle, high)
        total += high
    return math.exp(float(np.mean(np.log(total / 2))))


@lru_cache(maxsize=256)
def _quantile(law: Law, d: int, beyond: float) -> float:
    step, survival = _survival(law, d, math.floor(math.log10(beyond)))
    above = int(np.argmax(survival < beyond))
    low, high = (max(float(survival[k]), 1e-300) for k in (above - 1, above))
    part = math.log(low / beyond) / math.log(low / high) if low > high else 0.5
    return math.sqrt((max(above - 1.5 + part, 0.5)) * step / d)


@lru_cache(maxsize=128)
def _survival(law: Law, d: int, decade: int) -> tuple[float, Floats]:
    """Return the step of a grid of squared distances, and the probability to be in each cell or beyond it.

    The probability beyond the grid is far below ``10^decade``.
    """
    low, high = 1e-3, 1e30
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        rare = d * float(_outside(law, np.array([math.sqrt(middle)]))[0]) < 10.0 ** (decade - 2)
        low, high = (low, middle) if rare else (middle, high)
    step = 2 * (high + 2 * d) / _POINTS
    edges = np.sqrt(np.maximum(np.arange(_POINTS + 1) - 0.5, 0.0) * step)
    beyond = _outside(law, edges)
    beyond[0] = 1.0
    sums = np.fft.irfft(np.fft.rfft(beyond[:-1] - beyond[1:], 2 * _POINTS) ** d)
    return step, 1 - sums.sum() + np.cumsum(sums[::-1])[::-1]


def _outside(law: Law, far: Floats) -> Floats:
    return np.minimum(law.above(far) + law.below(far), 1.0)


def best_error(law: Law, directions: int, d: int, n: int, noise: float, beyond: float) -> float:
    """Return the smallest error, in spreads, over the radii at which n rows may be clipped.

    ``noise`` is that on the mean of rows in a unit ball. Clipping at a radius shrinks a shift of the rows by a known
    factor, which is corrected for. Two errors remain: the mean of the parts that were cut off is not zero in a sample,
    nor in a skewed distribution.
    """
    end = distance_quantile(law, directions, beyond)
    beyond = min(max(beyond, _LEAST), 0.5)
    far, sums = _sums(law, directions, math.floor(math.log10(beyond)))
    radii = end * _STEPS
    inverse, count, length, square, cube, total = *sums[:, np.searchsorted(far, 1.02 * radii)], sums[3, 0]
    if law.heavy:
        beyond_grid = 2 * law.heavy * math.log(_LARGEST * math.sqrt(n) / far[-1])
        square, total = square + beyond_grid, total + beyond_grid
    shown = 1 - count + (1 - 1 / d) * radii * inverse
    scaled = radii / shown
    cut = square - 2 * scaled * length + scaled**2 * count
    sampling = np.maximum(cut, 0.0) / n + (1 - 1 / shown) ** 2 * (total - square) / n
    bias = _pull(law, radii) if directions == 1 else law.skewness * radii * cube / (2 * directions)
    return float(np.min(np.sqrt((noise * scaled) ** 2 + sampling + (bias / shown) ** 2)))


@lru_cache(maxsize=128)
def _sums(law: Law, directions: int, decade: int) -> tuple[Floats, Floats]:
    """Return distances on a grid, and the sums from each one on of probabilities times powers of the distance."""
    columns = min(directions, _MANY)
    step, survival = _survival(law, columns, decade)
    mass = np.maximum(survival - np.append(survival[1:], 0.0), 0.0)[: len(survival) // 2]
    far = np.sqrt((np.arange(len(mass)) + 1e-3) * step / columns)
    if directions > columns:
        far = np.maximum(1 + (far - 1) * math.sqrt(columns / directions), 1e-3)
    powers = np.array([mass * far**power for power in (-1, 0, 1, 2, -3)])
    sums = np.cumsum(powers[:, ::-1], axis=1)[:, ::-1]
    return far, np.append(sums, np.zeros((len(powers), 1)), axis=1)


def _pull(law: Law, radii: Floats) -> Floats:
    """Return by how much clipping one column at each of these distances moves its mean."""
    inner = 1.02 * radii
    far = inner + np.linspace(0, 1, 200)[:, np.newaxis] * np.maximum(law.farthest - inner, 0.0)
    return np.asarray(np.abs(np.trapezoid(law.above(far) - law.below(far), far, axis=0)))
