"""Margins of error: quantiles of the sum of noise and bias."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.queries.queries import Floats

_MANY = 1000  # with more degrees of freedom, Wilson and Hilferty's formula is accurate to four digits


def normal_quantile(confidence: float) -> float:
    """Return a quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(confidence)


def check_confidence(confidence: float) -> None:
    """Refuse a confidence level that is not between 0 and 1."""
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise ArgumentError(f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}")


@lru_cache(maxsize=256)
def length_quantile(d: float, confidence: float) -> float:
    """Return a quantile of the norm of a standard normal vector in d dimensions.

    ``d`` need not be an integer: the squared norm has the chi-squared distribution with d degrees of freedom.
    """
    check_confidence(confidence)
    spread = 2 / (9 * d)
    guess = d * max(1 - spread + normal_quantile(confidence) * math.sqrt(spread), 1e-9) ** 3
    if d > _MANY:
        return math.sqrt(guess)
    low, high = 0.0, 2 * guess + 40
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _below(d / 2, middle / 2) < confidence else (low, middle)
    return math.sqrt(high)


def uneven_length_quantile(stds: Floats, confidence: float, means: Floats | None = None) -> float:
    """Return a quantile of the norm of a normal vector with the given standard deviations.

    If they differ, or the vector is not centred, the squared norm is approximated by a shifted and scaled chi-squared
    variable with the same mean, variance and skewness (Buckley and Eagleson 1988).
    """
    least, most = float(stds.min()), float(stds.max())
    if least == most and means is None:
        return most * length_quantile(len(stds), confidence)
    squares, away = (stds / most) ** 2, 0.0 if means is None else (means / most) ** 2
    mean, variance, skewness = (
        float(np.sum(squares**power + power * away * squares ** (power - 1))) for power in (1, 2, 3)
    )
    degrees = variance**3 / skewness**2
    beyond = length_quantile(degrees, confidence) ** 2 - degrees
    return most * math.sqrt(max(mean + beyond * math.sqrt(variance / degrees), 0.0))


def _below(shape: float, x: float) -> float:
    """Return the probability that a gamma variable of this shape is at most x (its series around 0)."""
    if x <= 0:
        return 0.0
    term = total = 1.0
    k = shape
    while term > 1e-16 * total:
        k += 1
        term *= x / k
        total += term
    return total * math.exp(shape * math.log(x) - x - math.lgamma(shape + 1))


def tail_bias(n: int, spread: float, ceiling: float, pressure: float) -> float:
    """Return how far rows beyond the ceiling may move the mean, in ceilings, if their number falls like a power law.

    About a quarter of the rows are beyond the spread, and ``pressure / index`` rows beyond the ceiling: the choice of
    the ceiling balances one more row against ``1 / pressure`` of its logarithm. ``index`` is the exponent of the power
    law between the two. Such rows exceed the ceiling by ``1 / (index - 1)`` ceilings on average.
    """
    if pressure <= 0:
        return 0.0
    index = 3.0
    for _ in range(20):
        fall = math.log(max(n * index / (4 * pressure), 1.0))
        index = max(1.5, fall / max(math.log(ceiling / spread), 1e-3)) if spread > 0 else 1.5
    return pressure / (index * (index - 1) * n)


def error_quantile(noise_stds: Floats, bias: float, bias_std: float, confidence: float) -> float:
    """Return a bound on the norm of noise plus bias that holds with at least the given probability.

    The bias is known up to noise of its own. Its direction is unknown: that of the largest noise is assumed.
    """
    check_confidence(confidence)
    most = int(np.argmax(noise_stds))
    total = math.hypot(float(noise_stds[most]), bias_std)
    bias = max(bias, 0.0)
    if len(noise_stds) == 1:
        return _absolute_quantile(bias, total, confidence)
    if bias == bias_std == 0 or total == 0:
        return math.hypot(uneven_length_quantile(noise_stds, confidence), bias)
    stds, means = noise_stds.astype(np.float64), np.zeros(len(noise_stds))
    stds[most], means[most] = total, bias
    return uneven_length_quantile(stds, confidence, means)


def _absolute_quantile(mean: float, std: float, confidence: float) -> float:
    """Return a quantile of the absolute value of a normal variable."""
    if std == 0:
        return mean
    normal, low, high = NormalDist(mean, std), mean, mean + std * normal_quantile((1 + confidence) / 2)
    if mean == 0:
        return high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if normal.cdf(middle) - normal.cdf(-middle) < confidence else (low, middle)
    return high


def error_quantiles(noise_stds: Floats, bias: float, bias_std: float, confidence: float) -> Floats:
    """Return such a bound for each column separately."""
    known = {std: error_quantile(np.array([std]), bias, bias_std, confidence) for std in set(noise_stds.tolist())}
    return np.array([known[std] for std in noise_stds.tolist()])
