"""The estimators of the central model, by name."""

from __future__ import annotations

from collections.abc import Callable

from dpmean.errors import ArgumentError
from dpmean.estimators.clipped import ClippedMean
from dpmean.estimators.feasibility import Estimator
from dpmean.estimators.refined.estimator import RefinedMean
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid

Build = Callable[[Grid, PublicCoins], Estimator]
"""How an estimator is made."""
ESTIMATORS: dict[str, Callable[[Grid, PublicCoins, bool], Estimator]] = {
    "refined": RefinedMean,
    "shifted": ShiftedClippedMean,
    "clipped": ClippedMean,
}
"""Each takes a grid, public randomness, and whether to read the rows once instead of twice."""


def find_estimator(method: str | None, passes: int) -> Build:
    """Return the estimator of a name, which reads all rows so many times."""
    method = "refined" if method is None else method
    if not isinstance(method, str) or method not in ESTIMATORS:
        raise ArgumentError(f"method must be one of {', '.join(ESTIMATORS)}, got {method!r}")
    if isinstance(passes, bool) or passes not in (1, 2):
        raise ArgumentError(f"passes must be 1 or 2, got {passes!r}")
    make = ESTIMATORS[method]
    return lambda grid, coins: make(grid, coins, passes == 1)
