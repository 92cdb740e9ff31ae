"""The methods of the experiments: how they are called, and how their answers are measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

import dpmean
from dpmean import baselines
from dpmean.errors import TooFewRowsError
from dpmean.experiments.data import Sample
from dpmean.experiments.figures import SIGMA_MIN, Cell, Figure
from dpmean.noise.source import seeded
from dpmean.numerics.noisy_search import search
from dpmean.privacy.budgets import Zcdp
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Coordinates, Floats
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.costs import count_variance
from dpmean.trust.central.noisy_counter import NoisyCounter

TOO_FEW_ROWS = "too few rows"
"""The note for cells where ``dpmean.mean`` refuses by default."""
NEIGHBOURS = "replace-one"
"""The neighbour relation of all experiments, as in the paper and for all baselines: n is public."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """An answer, a note about problems, and the number of messages per user."""

    mean: Floats
    note: str = ""
    messages: float = 0.0


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """The rows of one trial, and their cell."""

    figure: Figure
    sample: Sample
    cell: Cell

    @property
    def rows(self) -> Floats:
        """The rows."""
        return self.sample.rows

    @cached_property
    def truth(self) -> Floats:
        """The true mean, of the distribution or of the rows, from which errors are measured."""
        if self.figure.statistical and self.sample.mean is not None:
            return self.sample.mean
        mean: Floats = self.rows.mean(axis=0)
        return mean

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of all private methods."""
        budget = {name: self.cell[name] for name in ("rho", "epsilon", "delta") if name in self.cell.parameters}
        return {**budget, "norm_bound": self.cell.norm_bound}

    @property
    def sigmas(self) -> dict[str, float]:
        """Additional arguments in the statistical setting."""
        return {"sigma_min": self.cell.parameters.get("sigma_min", SIGMA_MIN), "sigma_max": self.cell["bound"]}

    def measure(self, answer: Answer) -> dict[str, float]:
        """Return the errors of an answer, and other measures."""
        mean = answer.mean
        if self.figure.measure == "rank":
            return {"rank": rank_error(np.rint(self.rows[:, 0] * self.cell["u"]), float(mean[0]) * self.cell["u"])}
        error = mean - self.truth
        found = {"l2": float(np.linalg.norm(error)), "messages": answer.messages}
        if "mahalanobis" in self.figure.measures and self.sample.whitening is not None:
            found["mahalanobis"] = float(np.linalg.norm(error @ self.sample.whitening))
        if "rows" in self.figure.measures:
            found["rows"] = float(np.linalg.norm(mean - self.rows.mean(axis=0)))
        if "diameter" in self.figure.measures:
            found["diameter"] = found["l2"] * len(self.rows) / self.diameter
        return {name: found[name] for name in self.figure.measures}

    @cached_property
    def diameter(self) -> float:
        """w(D)."""
        return diameter(self.rows)


def non_private(problem: Problem, seed: int) -> Answer:  # noqa: ARG001  one signature for all
    """Return the mean of the rows."""
    return Answer(problem.rows.mean(axis=0))


def mean(problem: Problem, seed: int, **options: Any) -> Answer:
    """Return the release of ``dpmean.mean``; if it refuses because of few rows, allow them, and add a note."""
    with_sigmas = problem.figure.statistical and options.get("trust", "central") == "central"
    more = {
        **problem.arguments,
        **(problem.sigmas if with_sigmas else {}),
        **options,
        "seed": seed,
        "neighbours": NEIGHBOURS,
    }
    if options.get("trust") == "local" and "epsilon" in more:
        del more["delta"]  # pure differential privacy is the better choice there
    note = ""
    try:
        release = dpmean.mean(problem.rows, **more)
    except TooFewRowsError:
        release, note = dpmean.mean(problem.rows, **more, allow_few_rows=True), TOO_FEW_ROWS
    collection = release.settings.collection
    return Answer(release.mean, note, 0.0 if collection is None else float(collection.messages_per_user))


def _make_call(name: str, *, sigmas: bool | None = None) -> Callable[..., Answer]:
    """Return a function that calls a baseline; ``sigmas`` says whether to pass bounds on standard deviations.

    None: only in the statistical setting.
    """

    def call(problem: Problem, seed: int, **options: Any) -> Answer:
        with_sigmas = problem.figure.statistical if sigmas is None else sigmas
        more = {**problem.arguments, **(problem.sigmas if with_sigmas else {})}
        release: dpmean.Release = getattr(baselines, name)(problem.rows, **more, **options, seed=seed)
        return Answer(release.mean, release.settings.note)

    return call


def clip_at_exact_quantile(problem: Problem, seed: int, quantile: float | None = None) -> Answer:
    """Clip around zero at an exact quantile of the norms, by default the paper's; the whole budget goes into noise."""
    n, d, rho = len(problem.rows), problem.cell.d, problem.cell.rho
    rank = n - math.sqrt(2 * d / rho) if quantile is None else quantile * n
    return Answer(clip_at_rank(problem.rows, np.zeros(d), rank, rho, np.random.default_rng(seed)))


def clip_at_rank(rows: Floats, centre: Floats, rank: float, rho: float, generator: np.random.Generator) -> Floats:
    """Clip around a centre at the distance of a given rank, and add noise in floats. Not private."""
    n, d = rows.shape
    around = np.any(centre)
    lengths = np.linalg.norm(rows - centre if around else rows, axis=1)
    radius = float(np.partition(lengths, max(1, int(rank)) - 1)[max(1, int(rank)) - 1])
    weights = radius / np.maximum(lengths, radius) if radius > 0 else np.zeros(n)
    clipped = (weights @ rows) / n + centre * (1 - float(weights.mean()))
    noisy: Floats = clipped + generator.normal(0, 2 * radius / (n * math.sqrt(2 * rho)), d)
    return noisy


def oracle(rows: Floats, rho: float, generator: np.random.Generator) -> Floats:
    """Clip around the exact mean at the distance that balances bias and noise, and add noise. Not private."""
    n, d = rows.shape
    return clip_at_rank(rows, rows.mean(axis=0), n - math.sqrt(2 * d / rho), rho, generator)


def private_median(problem: Problem, seed: int) -> Answer:
    """Search for the median of numbers from 0 to 1 on a line of u points (PrivQuant)."""
    u = int(problem.cell["u"])
    line = Coordinates(signs=np.ones(1), step=1 / u, first=0, size=1, low=0.0, spacing=1.0, points=u)
    rows = MemoryRows(problem.rows, Domain.within_norm(1, 1.0, impute=False))
    variance = count_variance(u, 1, Zcdp(problem.cell.rho).rho)
    counter = NoisyCounter(rows.answer(line), u, variance, seeded(seed), "median")
    return Answer(search(counter, rank=rows.n / 2) / u)


CALLS: dict[str, Callable[..., Answer]] = {
    "non_private": non_private,
    "mean": mean,
    "gaussian_mechanism": _make_call("gaussian_mechanism"),
    "quantile_clipping": _make_call("quantile_clipping"),
    "adaptive_clipping": _make_call("adaptive_clipping"),
    "coinpress_mean": _make_call("coinpress_mean", sigmas=False),
    "coinpress_covariance_mean": _make_call("coinpress_covariance_mean", sigmas=True),
    "plan_mean": _make_call("plan_mean"),
    "known_variance": _make_call("known_variance", sigmas=False),
    "unknown_variance": _make_call("unknown_variance", sigmas=True),
    "clip_at_exact_quantile": clip_at_exact_quantile,
    "private_median": private_median,
}


def diameter(rows: Floats) -> float:
    """Return w(D), the largest distance between two rows."""
    around = rows - rows.mean(axis=0)
    squares = np.einsum("ij,ij->i", around, around)
    largest = 0.0
    for start in range(0, len(around), 1000):
        block = slice(start, start + 1000)
        pairs = squares[block, np.newaxis] + squares[start:] - 2 * around[block] @ around[start:].T
        largest = max(largest, float(pairs.max()))
    return math.sqrt(largest)


def rank_error(numbers: Floats, answer: float) -> float:
    """Return the distance of an answer from the median in ranks; equal numbers have all of their ranks."""
    below, up_to = np.count_nonzero(numbers < answer), np.count_nonzero(numbers <= answer)
    return max(0.0, below - len(numbers) / 2, len(numbers) / 2 - up_to)
