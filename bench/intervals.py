"""Coverage of confidence intervals for several kinds of rows: ``python -m bench.intervals [--rho 0.5] [--runs 200]``.

For each kind and number of rows, over all columns: the coverage of population intervals for the mean of the
distribution; that of the textbook interval, mean +- t s / sqrt(n), which is not private; that of intervals for the mean
of these rows; and the length of population intervals divided by that of the textbook interval.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import dpmean

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]
KINDS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda g, shape: g.normal(3, 1, shape), 3.0),
    "Laplace": (lambda g, shape: g.laplace(0, 1, shape), 0.0),
    "uniform": (lambda g, shape: g.random(shape), 0.5),
    "gamma, shape 2": (lambda g, shape: g.gamma(2, 1, shape), 2.0),
    "exponential": (lambda g, shape: g.exponential(1, shape), 1.0),
    "log-normal, sigma 0.5": (lambda g, shape: g.lognormal(0, 0.5, shape), math.exp(0.125)),
    "log-normal, sigma 1": (lambda g, shape: g.lognormal(0, 1, shape), math.exp(0.5)),
    "0/1, 30 % ones": (lambda g, shape: np.asarray(g.random(shape) < 0.3, dtype=np.float64), 0.3),
    "Poisson, mean 3": (lambda g, shape: np.asarray(g.poisson(3, shape), dtype=np.float64), 3.0),
}
"""Kinds of rows, and the mean of each."""
SIZES = (200, 1000, 4000, 20_000)
DIMENSIONS = (1, 4, 16)


def mixed(generator: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return rows with columns of different kinds, and their means."""
    n, d = shape
    kinds = [pair for name, pair in KINDS.items() if name != "log-normal, sigma 1"]
    columns = [kinds[j % len(kinds)] for j in range(d)]
    return np.hstack([draw(generator, (n, 1)) for draw, _ in columns]), np.array([mean for _, mean in columns])


def rows_of(kind: str, generator: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return rows of a kind, and the means of their distribution."""
    if kind == "mixed columns":
        return mixed(generator, shape)
    draw, mean = KINDS[kind]
    return draw(generator, shape), np.full(shape[1], mean)


def measure(kind: str, n: int, d: int, rho: float, runs: int) -> Floats | None:
    """Return the three coverages and the relative length; None if there are too few rows."""
    found = np.zeros(4)
    for run in range(runs):
        rows, truth = rows_of(kind, np.random.default_rng([7, run]), (n, d))
        neighbours = ("add-or-remove-one", "replace-one")[run % 2]
        try:
            release = dpmean.mean(rows, rho=rho, norm_bound=300.0, population=True, neighbours=neighbours, seed=run)
        except dpmean.TooFewRowsError:
            return None
        if release.settings.few_rows:
            return None
        told, own, mean = release.interval(of="population"), release.interval(), rows.mean(axis=0)
        textbook = stats.t.ppf(0.975, n - 1) * np.maximum(rows.std(axis=0, ddof=1), 1e-9) / math.sqrt(n)
        held = (told.lower <= truth) & (truth <= told.upper), np.abs(mean - truth) <= textbook
        found += [*(one.mean() for one in held), ((own.lower <= mean) & (mean <= own.upper)).mean(), 0]
        found[3] += np.median((told.upper - told.lower) / 2 / textbook)
    return found / runs


def main() -> None:
    """Print the table for a budget."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rho", type=float, default=0.5)
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"rho = {given.rho:g}, {given.runs} runs of each setting, half of each neighbour relation")
    print("| rows | n | d | of a population | textbook | of these rows | length |\n|---|---|---|---|---|---|---|")
    for kind in (*KINDS, "mixed columns"):
        for n in SIZES:
            for d in DIMENSIONS:
                if n * d <= 80_000 and (found := measure(kind, n, d, given.rho, given.runs)) is not None:
                    shares = " | ".join(f"{100 * share:.1f} %" for share in found[:3])
                    print(f"| {kind} | {n} | {d} | {shares} | {found[3]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
