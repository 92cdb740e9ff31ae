"""Forecast of the cost of finding the scales of columns, or of the gain from given ones, from public numbers only."""

from __future__ import annotations

from collections.abc import Callable

from dpmean.enums import Shaping
from dpmean.estimators.refined import columns, directions
from dpmean.estimators.refined import plan as planner
from dpmean.estimators.refined.shape import OrderedScales
from dpmean.pipeline.outlook import ScalesOutlook
from dpmean.privacy.budgets import Zcdp

_MOST_ROWS = 1 << 60


def forecast_scales(
    n: int, d: int, budget: Zcdp, left: Callable[[int], Zcdp], shaping: OrderedScales, gain: float
) -> ScalesOutlook | None:
    """Forecast whether scales will be found, or the gain from given ones; ``left(n)`` is the budget for the mean."""
    if shaping is Shaping.ROUND or d == 1:
        return None
    if not isinstance(shaping, Shaping):
        return ScalesOutlook(None, None, gain)
    part = float(left(n).rho / budget.rho)
    norm, box = _with_norm_bound(n, d, left(n)), _with_bounds(n, d, left(n))
    return ScalesOutlook(
        None if norm is None else part * norm,
        None if box is None else part * box,
        rows_norm_bound=_from_on(lambda rows: _with_norm_bound(rows, d, left(rows)) is not None),
        rows_bounds=_from_on(lambda rows: _with_bounds(rows, d, left(rows)) is not None),
    )


def _from_on(enough: Callable[[int], bool]) -> int:
    """Return the smallest number of rows that is enough."""
    low, high = 1, 2
    while not enough(high) and high < _MOST_ROWS:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _with_norm_bound(n: int, d: int, left: Zcdp) -> float | None:
    rho = float(left.rho)
    some = planner.rows_to_locate(n, d, rho)
    return directions.most_to_pay(some, rho) if directions.enough_rows(some, d, rho) else None


def _with_bounds(n: int, d: int, left: Zcdp) -> float | None:
    rho = float(left.rho)
    some = planner.rows_to_locate(n, d, rho)
    drawn = n if some == n else columns.rows_for_octaves(n, d, rho, some)
    return columns.usual_cost(left.rho, drawn, some, d)
