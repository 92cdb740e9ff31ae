"""Kinds of rows to measure accuracy on: a name, and a function of (generator, n, d, options)."""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from bench.problem import Floats

Generator = np.random.Generator


class MissingDataError(Exception):
    """A data set is not there; the message says where it is looked for."""


def gaussian(g: Generator, n: int, d: int, mu: float = 5.0) -> Floats:
    """Draw independent unit normals."""
    return g.normal(mu, 1, (n, d))


def stretched(g: Generator, n: int, d: int, kappa: float = 10.0, mu: float = 5.0) -> Floats:
    """Draw normals whose covariance has random axes and eigenvalues from 1 to kappa."""
    axes = np.linalg.qr(g.normal(size=(d, d)))[0]
    rows: Floats = mu + (g.normal(size=(n, d)) * np.sqrt(g.uniform(1, kappa, d))) @ axes.T
    return rows


def clusters(g: Generator, n: int, d: int, share: float = 0.1, gap: float = 10.0) -> Floats:
    """Draw normals, a share of which sits ``gap`` away in every coordinate."""
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
    rows = gaussian(g, n, d)
    rows[0] = 40.0
    return rows


def steps(g: Generator, n: int, d: int) -> Floats:
    """Return the rows i * (1, ..., 1) for i = 1 to n, in random order (figure 9)."""
    return g.permutation(np.arange(1.0, n + 1))[:, np.newaxis] * np.ones(d)


def digits(_: Generator, n: int, d: int) -> Floats:
    """Return scikit-learn's handwritten digits."""
    images: Floats = load_digits().data
    return images[:n, :d]


@cache
def _mnist(digit: int) -> Floats:
    folder = Path(os.environ.get("DPMEAN_MNIST", "mnist"))
    try:
        images = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())
        labels = gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes())
    except OSError as error:
        raise MissingDataError(f"set DPMEAN_MNIST to the folder of train-images-idx3-ubyte.gz ({error})") from None
    pixels = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784)
    chosen: Floats = pixels[np.frombuffer(labels, np.uint8, offset=8) == digit] / 255.0
    return chosen


def mnist(_: Generator, n: int, d: int, digit: int = 0) -> Floats:
    """Return the first training images of one digit, from 0 to 1 (figure 7)."""
    return _mnist(digit)[:n, :d]


KINDS: dict[str, Callable[..., Floats]] = {
    "gaussian": gaussian,
    "stretched": stretched,
    "clusters": clusters,
    "three clusters": three_clusters,
    "autoregressive": autoregressive,
    "outlier": outlier,
    "steps": steps,
    "digits": digits,
    "mnist": mnist,
    "laplace": lambda g, n, d: g.laplace(5, 1, (n, d)),
    "student": lambda g, n, d: g.standard_t(2, (n, d)) + 5,
    "lognormal": lambda g, n, d: g.lognormal(0, 1, (n, d)),
    "gamma": lambda g, n, d: g.gamma(0.5, 1, (n, d)) + 3,
    "exponential": lambda g, n, d: g.exponential(1, (n, d)) + 5,
    "cube": lambda g, n, d: g.random((n, d)) + 3,
    "two points": lambda g, n, d, share=0.5: np.where(g.random((n, d)) < share, 4.0, 2.0),
    "sparse": lambda g, n, d, share=0.05: (g.random((n, d)) < share).astype(float),
}
