"""Reference curves for plots: theoretical values for a cell."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpmean.estimators.clipped import FAILURE
from dpmean.experiments.figures import Cell
from dpmean.numerics.noisy_search import questions, rank_error


def optimality_ratio(cell: Cell) -> float:
    """Return sqrt(d / rho): the multiple of w(D) / n below which no mechanism stays on all data (Theorem 4.2)."""
    return math.sqrt(cell.d / cell.rho)


def one(cell: Cell) -> float:  # noqa: ARG001  one signature for all
    """Return 1, the error w(D) / n in its own unit: no mechanism is much better on both of two neighbours."""
    return 1.0


def rank_error_bound(cell: Cell) -> float:
    """Return the rank error that is exceeded with probability at most 0.1 (Theorem 3.1)."""
    asked = questions(int(cell["u"]))
    return rank_error(math.sqrt(asked / (2 * cell.rho)), asked, FAILURE)


def rank_lower_bound(cell: Cell) -> float:
    """Return the rank error that any mechanism has on some data with probability 1/3 (Corollary 4.1, with constants).

    Otherwise the median of n = 2 tau copies of one point would be found with probability 2/3, and reveal at least
    (2/3) ln u - ln 2 nats about it (Fano); but zCDP allows at most n^2 rho.
    """
    return math.sqrt(max(0.0, 2 / 3 * math.log(cell["u"]) - math.log(2)) / cell.rho) / 2


REFERENCES: dict[str, Callable[[Cell], float]] = {
    "sqrt(d / rho)": optimality_ratio,
    "lower bound w(D) / n": one,
    "rank error, 90 % (Theorem 3.1)": rank_error_bound,
    "lower bound (Corollary 4.1)": rank_lower_bound,
}
