"""The estimators of the central model, with their names, descriptions and constructors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from dpmean.enums import Shaping
from dpmean.errors import ArgumentError, describe
from dpmean.estimators.clipped import ClippedMean
from dpmean.estimators.feasibility import Estimator
from dpmean.estimators.refined.estimator import RefinedMean
from dpmean.estimators.refined.shape import OrderedScales
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid

Build = Callable[[Grid, PublicCoins, OrderedScales], Estimator]
"""A function that makes the estimator of a request from a grid, public randomness, and the shape of rows."""


@final
@dataclass(frozen=True, slots=True)
class Method:
    """An estimator of the mean, by its name."""

    words: str
    """A description for users who choose one."""
    make: Callable[..., Estimator]
    """Its constructor, from a grid, public randomness, and whether to read the rows once instead of twice."""
    shapes: bool = False
    """Whether its noise can follow the scales of columns, and it can find the variances of columns."""


DEFAULT = "refined"
ESTIMATORS: dict[str, Method] = {
    "refined": Method("(the default) refines centre and radius step by step", RefinedMean, shapes=True),
    "shifted": Method("clips around private medians, as in the paper", ShiftedClippedMean),
    "clipped": Method("clips around zero or the middle of the bounds", ClippedMean),
}
"""Every method by its name."""


def find_estimator(method: str | None, passes: int, *, population: bool = False) -> Build:
    """Return the constructor of a named estimator that reads all rows once or twice."""
    method = DEFAULT if method is None else method
    if not isinstance(method, str) or method not in ESTIMATORS:
        known = "; ".join(f"{name} {entry.words}" for name, entry in ESTIMATORS.items())
        raise ArgumentError(f"method must be one of {', '.join(ESTIMATORS)}, got {describe(method)}: {known}")
    if type(passes) is not int or passes not in (1, 2):
        raise ArgumentError(f"passes must be 1 or 2, got {describe(passes)}")
    entry, one_pass = ESTIMATORS[method], passes == 1
    if population and not entry.shapes:
        able = ", ".join(f'"{known}"' for known, other in ESTIMATORS.items() if other.shapes)
        raise ArgumentError(f'population=True is for method {able}, got method="{method}": leave one of them out')

    def build(grid: Grid, coins: PublicCoins, shaping: OrderedScales) -> Estimator:
        if not entry.shapes:
            return entry.make(grid, coins, one_pass)
        return entry.make(grid, coins, one_pass, shaping, population)

    return build


def check_shape(method: str | None, shaping: object) -> None:
    """Refuse ``shape`` for a method whose noise cannot follow scales."""
    name = DEFAULT if method is None else method
    if shaping is not Shaping.AUTO and not ESTIMATORS[name].shapes:
        able = ", ".join(f'"{known}"' for known, entry in ESTIMATORS.items() if entry.shapes)
        raise ArgumentError(f'shape is for method {able}, got method="{name}": leave shape out')
