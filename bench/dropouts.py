"""Measure what dropouts cost in the shuffle model: ``python -m bench.dropouts``, some minutes.

In every round other clients stay away. The share that may is declared beforehand, and noise is calibrated to those who
are left, less a tenth who may collude. Prints the table of docs/shuffle.md.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from bench.clock import track
from dpmean import ApproxDp
from dpmean.noise.source import seeded
from dpmean.queries.queries import Floats
from dpmean.trust.shuffle.design import design
from dpmean.trust.shuffle.progress import Rounds, played_collection
from dpmean.trust.shuffle.simulation import Crowd

BUDGET, COLLUDING = ApproxDp(1, Fraction(1, 10**9)), Fraction(1, 10)
DROPOUTS = {Fraction(0): Fraction(1, 20), Fraction(3, 20): Fraction(1, 5)} | {
    Fraction(3, 10): Fraction(7, 20),
    Fraction(9, 20): Fraction(1, 2),
}
"""The share that stays away, and the one that is declared."""


def estimate(
    rows: Floats, bound: float, dropouts: float | Fraction, silent: Fraction, seed: int, budget: ApproxDp = BUDGET
) -> tuple[Floats, Floats]:
    """Return the mean that a collection finds, and the mean of those who answered its last round."""
    users, generator = len(rows), np.random.default_rng(seed)
    plan = design(users, rows.shape[1], budget, 1 - silent - COLLUDING)
    public = played_collection(plan, generator.bytes(8).hex(), bound)
    rounds = Rounds(msgspec.structs.replace(public, silent=str(silent), colluding=str(COLLUDING)))
    answered = rows
    while rounds.estimate is None:
        answered = rows[generator.random(users) >= float(dropouts)]
        numbers = Crowd(answered, seeded(seed), totals=True).answer(rounds.collection, rounds.round)
        rounds.close(len(answered), numbers)
    return rounds.estimate.mean, answered.mean(axis=0)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.dropouts", description="Dropouts in the shuffle model.")
    parser.add_argument("--trials", type=int, default=15)
    trials = parser.parse_args().trials
    title = f"Error to the mean of those who answered last; N(5, I), R = 20 sqrt(d), (1, 1e-9), {trials} trials"
    columns = ("n, d", "stay away", "silent", "honest", "error", "to the mean of all", "messages", "sealed")
    table = Table(*columns, title=title)
    for n, d in track([(100_000, 8), (10_000, 8)], "dropouts"):
        rows = np.random.default_rng(n + d).normal(5, 1, (n, d))
        for dropouts, silent in DROPOUTS.items():
            plan, errors = design(n, d, BUDGET, 1 - silent - COLLUDING), []
            for seed in range(trials):
                found, answered = estimate(rows, 20 * math.sqrt(d), dropouts, silent, seed)
                errors.append([np.linalg.norm(found - answered), np.linalg.norm(found - rows.mean(axis=0))])
            last, whole = np.mean(errors, axis=0)
            shares = (f"{float(x):.0%}" for x in (dropouts, silent, 1 - silent - COLLUDING))
            size = f"{plan.bytes(sealed=True) / 1000:.1f} kB"
            table.add_row(f"{n}, {d}", *shares, f"{last:.4f}", f"{whole:.4f}", f"{plan.messages:.0f}", size)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
