"""The libraries of the comparison, for each neighbour relation, and how each is called for the mean."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np

import dpmean
from bench import diffprivlib_mean, opendp_mean
from bench.comparison_rows import Bound
from bench.environments import Ask, Environment
from bench.problem import Floats
from dpmean import baselines

DELTA = 1e-6
REPLACE_ONE, ADD_OR_REMOVE_ONE = "replace-one", "add-or-remove-one"
ROUNDS = (1, 2, 3, 4, 10)
GOOGLE = Environment("google", ("pipeline-dp==0.3.1", "python-dp==1.1.5"), "pipeline_dp, pydp")
TUMULT = Environment("tumult", ("tmlt.analytics==0.21.0",), "tmlt.analytics")
_HERE = Path(__file__).parent
_FOR_BOUNDS = 0.25
_HOLDS = 0.95
_MOST_COLUMNS = 16
"""For more columns PyDP takes a minute to find bounds, and in most settings finds none."""


class RefusedError(Exception):
    """Raised if a library gives no answer, or is not run."""


@final
@dataclass(frozen=True, eq=False)
class Question:
    """The rows, their public bounds, and the budget."""

    rows: Floats
    bound: Bound
    epsilon: float
    seed: int

    @cached_property
    def rho(self) -> float:
        """The zCDP that implies epsilon and delta."""
        return float(dpmean.zcdp_that_implies(dpmean.ApproxDp(self.epsilon, DELTA)).rho)

    @cached_property
    def entered(self) -> Floats:
        """The transformed rows, for libraries that need a bound on the norm."""
        return self.bound.enter(self.rows)

    @property
    def told(self) -> dict[str, Any]:
        """The arguments of our own methods, in the units of `entered`."""
        if self.bound.is_table:
            return {"bounds": (-1.0, 1.0), "rho": self.rho, "seed": self.seed}
        return {"norm_bound": self.bound.ball, "rho": self.rho, "seed": self.seed}


Release = Callable[[Question], Floats]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Peer:
    """A library, and the ways of calling it; for each setting, the best one is reported."""

    name: str
    ways: Mapping[str, Release]
    missing: str = ""


def ours(neighbours: str, question: Question) -> Floats:
    """Call dpmean as its documentation recommends."""
    try:
        release = dpmean.mean(question.entered, neighbours=neighbours, **question.told)
    except dpmean.TooFewRowsError as error:
        raise RefusedError("too few rows") from error
    return question.bound.leave(release.mean)


@cache
def _opendp(n: int | None, d: int, norm: float, rho: float) -> Callable[[Floats], Floats]:
    """Search for the scale of the noise once for every setting."""
    if n is None:
        return opendp_mean.vector_mean_of_unknown_size(d, norm, rho)
    return opendp_mean.vector_mean(n, d, norm, rho)


def opendp(neighbours: str, question: Question) -> Floats:
    """Call OpenDP's mean of an array with a bound on the norm."""
    n, d = question.rows.shape
    release = _opendp(n if neighbours == REPLACE_ONE else None, d, question.bound.ball, question.rho)
    return question.bound.leave(np.asarray(release(question.entered)))


def coinpress(rounds: int, by_column: bool, question: Question) -> Floats:
    """Call COINPRESS with the exact standard deviations, of each column or of all, as it assumes unit variances."""
    variances = question.entered.var(axis=0)
    typical = math.sqrt(variances.mean())
    stds = np.maximum(np.sqrt(variances), 0.01 * typical) if by_column else np.full(len(variances), typical)
    reach = np.linalg.norm(1 / stds) if question.bound.is_table else question.bound.ball / stds.min()
    found = baselines.coinpress_mean(
        question.entered / stds, rho=question.rho, norm_bound=float(reach), rounds=rounds, seed=question.seed
    )
    return question.bound.leave(found.mean * stds)


def plan(question: Question) -> Floats:
    """Call PLAN."""
    return question.bound.leave(baselines.plan_mean(question.entered, **question.told).mean)


def tumult_formula(bounded: bool, question: Question) -> Floats:
    """Compute what Tumult Analytics would release: each average gets its part of rho, half of it for the count.

    Without bounds a quarter finds a power of two that holds 95 % of the absolute values; here it is always found.
    """
    generator, rows, bound = np.random.default_rng([question.seed, 7]), question.rows, question.bound
    n, d = rows.shape
    lower, upper, rho = bound.lower, bound.upper, question.rho / d
    if not bounded:
        upper = 2.0 ** np.ceil(np.log2(np.quantile(np.abs(rows), _HOLDS, axis=0) + 1e-30))
        lower, rho = -upper, (1 - _FOR_BOUNDS) * rho
    middle, std = (lower + upper) / 2, 1 / math.sqrt(rho)
    sums = (np.clip(rows, lower, upper) - middle).sum(axis=0) + (upper - lower) / 2 * generator.normal(0, std, d)
    found: Floats = middle + sums / np.maximum(1, n + generator.normal(0, std, d))
    return found


def _elsewhere(ask: Ask, folder: Path, job: Mapping[str, Any], question: Question) -> Floats:
    """Call a library in its own environment; `entered` says whether it takes vectors."""
    file = folder / "rows.npy"
    entered = bool(job.get("entered"))
    np.save(file, question.entered if entered else question.rows)
    told = {
        "file": str(file),
        "lower": question.bound.lower.tolist(),
        "upper": question.bound.upper.tolist(),
        "norm": question.bound.ball,
        "epsilon": question.epsilon,
        "delta": DELTA,
        "rho": question.rho,
    }
    if job.get("bounded") is False and question.rows.shape[1] > _MOST_COLUMNS:
        raise RefusedError("too slow")
    answer = ask({**told, **job})
    if "problem" in answer:
        raise RefusedError(answer["problem"])
    mean: Floats = np.array(answer["mean"])
    return question.bound.leave(mean) if entered else mean


def _asked(
    stack: ExitStack, environment: Environment, script: Path, ways: Mapping[str, Mapping[str, Any]]
) -> dict[str, Release]:
    """Start a process for a library; it ends with the stack."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    ask = stack.enter_context(environment.worker(script))
    return {way: partial(_elsewhere, ask, folder, job) for way, job in ways.items()}


@contextmanager
def peers(*, install: bool) -> Iterator[dict[str, list[Peer]]]:
    """Return all libraries by neighbour relation; libraries that are not installed are marked."""
    with ExitStack() as stack:

        def library(name: str, environment: Environment, script: str, ways: Mapping[str, Mapping[str, Any]]) -> Peer:
            there = environment.install() if install else environment.installed()
            if not there:
                return Peer(name, {}, missing="could not be installed" if install else "is not installed")
            return Peer(name, _asked(stack, environment, _HERE / script, ways))

        stds = {"one std": False, "stds of columns": True}
        known = {
            f"{rounds} rounds, {how}": partial(coinpress, rounds, by_column)
            for rounds in ROUNDS
            for how, by_column in stds.items()
        }
        given = {"bounds given": True, "bounds found": False}
        google = partial(library, environment=GOOGLE, script="google_worker.py")
        pipeline_dp = {"vector": {"library": "PipelineDP", "entered": True}}
        pydp = {way: {"library": "PyDP", "bounded": bounded} for way, bounded in given.items()}
        tumult_ways = {way: partial(tumult_formula, bounded) for way, bounded in given.items()}
        yield {
            REPLACE_ONE: [
                Peer("dpmean", {"default": partial(ours, REPLACE_ONE)}),
                Peer("OpenDP", {"vector": partial(opendp, REPLACE_ONE)}),
                library("diffprivlib", diffprivlib_mean.ENVIRONMENT, "diffprivlib_worker.py", {"columns": {}}),
                Peer("COINPRESS", known),
                Peer("PLAN", {"default": plan}),
            ],
            ADD_OR_REMOVE_ONE: [
                Peer("dpmean", {"default": partial(ours, ADD_OR_REMOVE_ONE)}),
                Peer("OpenDP", {"vector": partial(opendp, ADD_OR_REMOVE_ONE)}),
                google("PipelineDP", ways=pipeline_dp),
                google("PyDP", ways=pydp),
                Peer("Tumult", tumult_ways),
            ],
        }


@contextmanager
def tumult(*, install: bool) -> Iterator[dict[str, Release]]:
    """Start Tumult Analytics itself, on Spark; yield nothing if it is not installed."""
    with ExitStack() as stack:
        there = TUMULT.install() if install else TUMULT.installed()
        jobs = {"bounds given": {"bounded": True}, "bounds found": {"bounded": False}}
        yield _asked(stack, TUMULT, _HERE / "tumult_worker.py", jobs) if there else {}
