"""Errors of the shuffle model, compared with the central and the local model, and its traffic.

``python -m bench.shuffle`` prints the tables of docs/shuffle.md; ``--trials`` is the number of trials per setting.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, final

import numpy as np
from rich.console import Console
from rich.table import Table

import dpmean
from bench.clock import track
from dpmean.noise.source import seeded
from dpmean.queries.queries import Floats
from dpmean.trust.shuffle.design import VARIANTS, Design, calibrated, design
from dpmean.trust.shuffle.progress import Rounds, played_collection
from dpmean.trust.shuffle.simulation import Crowd

_EPSILON, _DELTA = 1.0, 1e-9
_BUDGET, _PARTS = dpmean.ApproxDp(_EPSILON, _DELTA), (Fraction(1), Fraction(4, 5))
_ASKED = {(100_000, 8): 0.0020, (100_000, 64): 0.0115, (10_000, 8): 0.0160, (100_000, 256): 0.040}


def normal(n: int, d: int, generator: np.random.Generator) -> Floats:
    """Return rows with mean 5 and unit variances."""
    return generator.normal(5, 1, (n, d))


def laplace(n: int, d: int, generator: np.random.Generator) -> Floats:
    """Return rows with the same mean and variances, and heavier tails."""
    return generator.laplace(5, 1 / math.sqrt(2), (n, d))


def log_normal(n: int, d: int, generator: np.random.Generator) -> Floats:
    """Return skewed rows."""
    return generator.lognormal(0, 1, (n, d))


def stretched(n: int, d: int, generator: np.random.Generator) -> Floats:
    """Return rows whose covariance has eigenvalues from 1 to 100."""
    turned = np.linalg.qr(generator.normal(size=(d, d)))[0]
    rows: Floats = 5 + (generator.normal(size=(n, d)) * np.sqrt(generator.uniform(1, 100, d))) @ turned.T
    return rows


def two_clusters(n: int, d: int, generator: np.random.Generator) -> Floats:
    """Return rows around 5 and around -5."""
    rows: Floats = generator.normal(size=(n, d)) + 5.0 * generator.choice([-1, 1], (n, 1))
    return rows


_KINDS: dict[str, Callable[[int, int, np.random.Generator], Floats]] = {
    "normal": normal,
    "Laplace": laplace,
    "log-normal": log_normal,
    "kappa = 100": stretched,
    "two clusters": two_clusters,
}


@final
@dataclass(frozen=True, eq=False)
class Setting:
    """Rows of one kind, a bound, and the number of trials."""

    kind: str
    n: int
    d: int
    trials: int
    loose: float = 20.0

    @cached_property
    def rows(self) -> Floats:
        """The rows."""
        return _KINDS[self.kind](self.n, self.d, np.random.default_rng(self.n + self.d))

    @property
    def bound(self) -> float:
        """The bound on norms."""
        return self.loose * math.sqrt(self.d) * (10 if self.kind == "kappa = 100" else 1)

    def shuffled(self, plan: Design) -> float:
        """Return the error of a design."""
        return self._error(partial(self._play, plan))

    def _play(self, plan: Design, seed: int) -> Floats:
        name = np.random.default_rng(seed).bytes(8).hex()
        return Crowd(self.rows, seeded(seed), totals=True).play(Rounds(played_collection(plan, name, self.bound))).mean

    def other(self, **arguments: Any) -> float:
        """Return the error of another method."""
        more = {"epsilon": _EPSILON, "norm_bound": self.bound, "allow_few_rows": True, **arguments}
        more["neighbours"] = "replace-one"  # for all: clients are known to take part
        return self._error(lambda seed: dpmean.mean(self.rows, seed=seed, **more).mean)

    def central(self) -> float:
        """Return the error of the paper's method in the central model."""
        return self.other(delta=_DELTA, method="shifted")

    def _error(self, answer: Callable[[int], Floats]) -> float:
        truth = self.rows.mean(axis=0)
        return float(np.mean([np.linalg.norm(answer(seed) - truth) for seed in range(self.trials)]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.shuffle", description="The shuffle model.")
    parser.add_argument("--trials", type=int, default=20)
    trials = parser.parse_args().trials
    warnings.simplefilter("ignore", dpmean.TooFewRowsWarning)
    console = Console(width=150)
    for table in (asked(trials), kinds(trials), variants(trials), messages()):
        console.print(table)


def asked(trials: int) -> Table:
    """Compare errors with the requirements, for 100 % and 80 % honest clients, and with the local model."""
    budget = f"({_EPSILON:g}, {_DELTA:g})"
    table = _table(
        f"N(5, I), R = 20 sqrt(d), {budget}, error to the mean of the rows, {trials} trials",
        *("n, d", "variant", "required", "honest 1", "honest 0.8", "central shifted", "messages", "bytes", "sealed"),
    )
    for (n, d), limit in track(_ASKED.items(), "asked"):
        setting = Setting("normal", n, d, trials)
        plans = [design(n, d, _BUDGET, part) for part in _PARTS]
        errors = [limit, *(setting.shuffled(plan) for plan in plans), setting.central()]
        traffic = (plans[0].messages, plans[0].bytes(sealed=False), plans[0].bytes(sealed=True))
        table.add_row(f"{n}, {d}", plans[0].variant, *(f"{x:.5f}" for x in errors), *(f"{x:.0f}" for x in traffic))
    local = Setting("normal", 100_000, 8, 5).other(trust="local")
    table.caption = f"the local model at n = 100000, d = 8, pure epsilon = {_EPSILON:g}: {local:.4f}"
    return table


def kinds(trials: int) -> Table:
    """Compare with central shifted on several kinds of rows."""
    sizes = [(100_000, 8), (10_000, 8), (100_000, 64), (100_000, 2)]
    title = f"Error divided by that of central shifted at the same (epsilon, delta), honest 1 and 0.8, {trials} trials"
    table = _table(title, "rows", *(f"{n}, {d}" for n, d in sizes))
    for kind in track(_KINDS, "kinds"):
        cells = []
        for n, d in sizes:
            setting = Setting(kind, n, d, trials)
            central = setting.central()
            ratios = [setting.shuffled(design(n, d, _BUDGET, part)) / central for part in _PARTS]
            cells.append(" ".join(f"{ratio:.2f}" for ratio in ratios))
        table.add_row(kind, *cells)
    return table


def variants(trials: int) -> Table:
    """Compare the variants, also with a bound that is ten times looser."""
    table = _table(f"Variants, N(5, I), honest 1, R = 20 sqrt(d) and 200 sqrt(d), {trials} trials", "n, d", *VARIANTS)
    for n, d in track([(10_000, 8), (100_000, 8), (100_000, 64)], "variants"):
        cells = []
        for variant in VARIANTS:
            plan = calibrated(variant, n, d, _BUDGET, Fraction(1))
            tight, loose = (Setting("normal", n, d, trials, bound).shuffled(plan) for bound in (20, 200))
            cells.append(f"{tight:.5f} {loose:.5f}, {plan.messages:.0f} msg, {plan.bytes(sealed=False) / 1000:.1f} kB")
        table.add_row(f"{n}, {d}", *cells)
    return table


def messages() -> Table:
    """Time complete runs, in which every message is made and mixed."""
    table = _table("Complete runs: every message is made, split and permuted", "n, d", "messages", "seconds")
    for n, d in ((100_000, 8), (100_000, 64)):
        setting = Setting("normal", n, d, 1)
        budget = {"epsilon": _EPSILON, "delta": _DELTA, "norm_bound": setting.bound}
        arguments: Any = {**budget, "trust": "shuffle", "honest": 1}
        dpmean.mean(setting.rows[:10_000], fidelity="messages", allow_few_rows=True, **arguments)  # compiles
        start = time.perf_counter()
        dpmean.mean(setting.rows, fidelity="messages", **arguments)
        sent = design(n, d, _BUDGET, Fraction(1)).messages * n
        table.add_row(f"{n}, {d}", f"{sent / 1e6:.1f} million", f"{time.perf_counter() - start:.1f}")
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column)
    return table


if __name__ == "__main__":
    main()
