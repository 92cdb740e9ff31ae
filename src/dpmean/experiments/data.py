"""Kinds of rows for experiments: for each name, a function of (generator, n, d, options)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from dpmean.experiments import mnist
from dpmean.experiments.tables import TABLES, table
from dpmean.queries.queries import Floats

Generator = np.random.Generator


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows with the mean of their distribution, and the matrix that makes their covariance the identity, if known."""

    rows: Floats
    mean: Floats | None = None
    whitening: Floats | None = None


def draw(kind: str, generator: Generator, n: int, d: int, **options: float) -> Sample:
    """Draw rows of a kind."""
    if kind in FIXED:
        return _fixed(kind, n, d, tuple(options.items()))
    drawn = KINDS[kind](generator, n, d, **options)
    return drawn if isinstance(drawn, Sample) else Sample(drawn)


@lru_cache(maxsize=1)
def _fixed(kind: str, n: int, d: int, options: tuple[tuple[str, float], ...]) -> Sample:
    """Make rows that are the same in every trial, and keep the last ones."""
    return Sample(FIXED[kind](n, d, **dict(options)))


def gaussian(g: Generator, n: int, d: int, mu: float = 5.0) -> Sample:
    """Draw independent unit normals."""
    rows = g.standard_normal((n, d))
    rows += mu
    return Sample(rows, np.full(d, float(mu)))


def stretched(g: Generator, n: int, d: int, kappa: float = 10.0, mu: float = 5.0) -> Sample:
    """Draw normals whose covariance has random axes and eigenvalues from 1 to kappa."""
    axes = np.linalg.qr(g.normal(size=(d, d)))[0]
    drawn = g.normal(size=(n, d))
    stds = np.sqrt(g.uniform(1, kappa, d))
    return Sample(mu + (drawn * stds) @ axes.T, np.full(d, float(mu)), axes / stds)


def skewed(g: Generator, n: int, d: int, skew: float = 1.0, mu: float = 5.0) -> Sample:
    """Draw independent normals; column j has standard deviation j^-skew."""
    stds = np.arange(1.0, d + 1) ** -skew
    return Sample(mu + g.standard_normal((n, d)) * stds, np.full(d, float(mu)), np.diag(1 / stds))


def scattered(g: Generator, n: int, d: int, width: float = 1.0) -> Floats:
    """Draw normals of a given standard deviation, around a point far from zero."""
    return 5.0 + width * g.standard_normal((n, d))


def clusters(g: Generator, n: int, d: int, share: float = 0.1, gap: float = 10.0) -> Floats:
    """Draw normals, a share of which is ``gap`` away in every coordinate."""
    return g.normal(5, 1, (n, d)) + gap * (g.random((n, 1)) < share)


def three_clusters(g: Generator, n: int, d: int) -> Floats:
    """Draw normals around three points on a line in a random direction."""
    return g.normal(5, 1, (n, d)) + 6 * g.integers(0, 3, (n, 1)) * np.sign(g.normal(size=(1, d)))


def autoregressive(g: Generator, n: int, d: int, phi: float = 0.9) -> Floats:
    """Draw normals whose neighbouring coordinates are correlated."""
    rows = g.normal(size=(n, d))
    for j in range(1, d):
        rows[:, j] = phi * rows[:, j - 1] + math.sqrt(1 - phi**2) * rows[:, j]
    return rows + 5


def outlier(g: Generator, n: int, d: int) -> Floats:
    """Draw normals and a single row far away."""
    rows = g.normal(5, 1, (n, d))
    rows[0] = 40.0
    return rows


def plan_gaussian(g: Generator, n: int, d: int, alpha: float = 1.0) -> Floats:
    """Draw PLAN's Gaussian B: independent normals; column j of d has variance (d / j)^alpha."""
    return 10 + g.standard_normal((n, d)) * (d / np.arange(1.0, d + 1)) ** (alpha / 2)


def lognormal_scales(g: Generator, n: int, d: int, sigma: float = 1.0) -> Floats:
    """Draw normals whose standard deviations are lognormal, new in each trial."""
    return 5 + g.lognormal(0, sigma, d) * g.standard_normal((n, d))


def exponential_scales(g: Generator, n: int, d: int, low: float = 0.1, high: float = 4.0) -> Floats:
    """Draw exponential columns whose scales form a geometric series."""
    return g.exponential(1, (n, d)) * np.geomspace(low, high, d)


def half_sparse(g: Generator, n: int, d: int, share: float = 0.02) -> Floats:
    """Draw normals; every other column is zero instead, except for a share of exponential values."""
    rows = g.normal(5, 1, (n, d))
    half = rows[:, ::2]
    half[:] = g.exponential(1, half.shape) * (g.random(half.shape) < share)
    return rows


def two_scales(g: Generator, n: int, d: int, share: float = 0.2, factor: float = 30.0) -> Floats:
    """Draw normals; the first columns, a share of all, have ``factor`` times the standard deviation of the others."""
    wide = np.arange(d) < math.ceil(share * d)
    return 5 + g.standard_normal((n, d)) * np.where(wide, factor, 1.0)


def geometric_scales(g: Generator, n: int, d: int, decay: float = 0.9) -> Floats:
    """Draw normals; column j has standard deviation decay^j."""
    return 5 + g.standard_normal((n, d)) * decay ** np.arange(d)


def student_scales(g: Generator, n: int, d: int, freedom: float = 3.0) -> Floats:
    """Draw Student's t with scales from 0.1 to 10 in a geometric series."""
    return 5 + g.standard_t(freedom, (n, d)) * np.geomspace(0.1, 10, d)


def steps(n: int, d: int) -> Floats:
    """Return the rows i * (1, ..., 1) for i = 1 to n."""
    return np.arange(1.0, n + 1)[:, np.newaxis] * np.ones(d)


def digits(n: int, d: int) -> Floats:
    """Return scikit-learn's handwritten digits."""
    from sklearn.datasets import load_digits

    images: Floats = load_digits().data
    return images[:n, :d]


def breast_cancer(n: int, d: int) -> Floats:
    """Return scikit-learn's breast cancer data unscaled: columns range from fractions to thousands."""
    from sklearn.datasets import load_breast_cancer

    rows: Floats = load_breast_cancer().data
    return rows[:n, :d]


KINDS: dict[str, Callable[..., Floats | Sample]] = {
    "gaussian": gaussian,
    "stretched": stretched,
    "skewed": skewed,
    "scattered": scattered,
    "clusters": clusters,
    "three clusters": three_clusters,
    "autoregressive": autoregressive,
    "outlier": outlier,
    "laplace": lambda g, n, d: g.laplace(5, 1, (n, d)),
    "student": lambda g, n, d: g.standard_t(2, (n, d)) + 5,
    "lognormal": lambda g, n, d: g.lognormal(0, 1, (n, d)),
    "gamma": lambda g, n, d: g.gamma(0.5, 1, (n, d)) + 3,
    "exponential": lambda g, n, d: g.exponential(1, (n, d)) + 5,
    "cube": lambda g, n, d: g.random((n, d)) + 3,
    "two points": lambda g, n, d, share=0.5: np.where(g.random((n, d)) < share, 4.0, 2.0),
    "sparse": lambda g, n, d, share=0.05: (g.random((n, d)) < share).astype(float),
    "numbers": lambda g, n, d: g.random((n, d)),
    "plan gaussian": plan_gaussian,
    "lognormal scales": lognormal_scales,
    "exponential scales": exponential_scales,
    "half sparse": half_sparse,
    "two scales": two_scales,
    "geometric scales": geometric_scales,
    "student scales": student_scales,
    **{kind: table(kind) for kind in TABLES},
}
FIXED: dict[str, Callable[..., Floats]] = {
    "digits": digits,
    "breast cancer": breast_cancer,
    "mnist": lambda n, d, digit=0: mnist.images(int(digit))[:n, :d],
    "steps": steps,
}
