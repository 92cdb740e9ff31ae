"""Goodness of fit for the discrete Gaussian: one test that must pass on the right law and fail on a wrong one."""

import math
from fractions import Fraction

import numpy as np
from scipy import stats


def cdf(variance, upto):
    """Return P[X <= x] of the discrete Gaussian for each x of ``upto`` (sums of the definition)."""
    std = math.sqrt(variance)
    if std < 200:
        reach = math.ceil(12 * std) + 2
        support = np.arange(-reach, reach + 1)
        weights = np.exp(-(support.astype(float) ** 2) / (2 * float(variance)))
        cumulative = np.cumsum(weights) / weights.sum()
        return cumulative[np.clip(np.asarray(upto) + reach, 0, 2 * reach)]
    # Beyond 200 the sums equal the integral to more digits than a float has (Poisson summation: exp(-2 pi^2 v));
    # with the midpoint correction the cumulative sums agree to O(1 / v^1.5), far below any sampling error here.
    return stats.norm.cdf((np.asarray(upto, dtype=float) + 0.5) / std)


def p_value(samples, variance):
    """Return the p-value of a chi-squared test on about 40 equally likely bins."""
    variance = Fraction(variance)
    wanted = np.linspace(0.025, 0.975, 39)
    std = math.sqrt(variance)
    edges = np.unique(np.floor(stats.norm.ppf(wanted) * std).astype(np.int64))
    probabilities = np.diff(np.concatenate(([0.0], cdf(variance, edges), [1.0])))
    counts = np.histogram(samples, bins=np.concatenate(([-np.inf], edges + 0.5, [np.inf])))[0]
    keep = probabilities * len(samples) > 5
    observed = np.append(counts[keep], counts[~keep].sum())
    expected = np.append(probabilities[keep], probabilities[~keep].sum()) * len(samples)
    if expected[-1] == 0:
        observed, expected = observed[:-1], expected[:-1]
    statistic = ((observed - expected) ** 2 / np.maximum(expected, 1e-9)).sum()
    return float(stats.chi2.sf(statistic, len(observed) - 1)) if len(observed) > 1 else 1.0
