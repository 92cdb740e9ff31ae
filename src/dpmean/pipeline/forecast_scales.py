"""What the scales of columns will cost, or gain if they are given: from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpmean.arguments.shape import Scales
from dpmean.enums import Shaping
from dpmean.errors import ArgumentError, plural
from dpmean.estimators.refined import plan as planner
from dpmean.estimators.refined.columns import Terms, rows_for_octaves
from dpmean.estimators.refined.directions import ROUNDS, SHARE, enough_rows
from dpmean.pipeline.outlook import ScalesOutlook
from dpmean.privacy.budgets import Zcdp

_GUARDS = 2
"""So many questions tell whether noise that follows the scales pays."""
_LEVELS, _NOISE, _MOST = 10, 0.08, 0.05
"""For the medians of columns: questions for each, the noise on a count in rows, and the most of the budget."""


def forecast_scales(n: int, d: int, budget: Zcdp, left: Zcdp, shaping: Scales) -> ScalesOutlook | None:
    """Tell whether scales will be asked for, if ``left`` of a budget is left for the mean, or what given ones gain."""
    if not isinstance(shaping, Shaping):
        gain = _gain(shaping, d)
        return ScalesOutlook(None, None, gain) if d > 1 else None
    if shaping is Shaping.ROUND or d == 1:
        return None
    part = float(left.rho / budget.rho)
    norm, box = _with_norm_bound(n, d, left), _with_bounds(n, d, left)
    return ScalesOutlook(None if norm is None else part * norm, None if box is None else part * box)


def _with_norm_bound(n: int, d: int, left: Zcdp) -> float | None:
    rho = float(left.rho)
    return (ROUNDS + _GUARDS) * SHARE if enough_rows(planner.rows_to_locate(n, d, rho), d, rho) else None


def _with_bounds(n: int, d: int, left: Zcdp) -> float | None:
    rho = float(left.rho)
    some = planner.rows_to_locate(n, d, rho)
    drawn = n if some == n else max(some, rows_for_octaves(n, d, rho))
    terms = Terms.of(left.rho, drawn // 2, d)
    if terms is None:
        return None
    return float(terms.cost / left.rho) + min(d * _LEVELS / 2 / (_NOISE * some) ** 2 / rho, _MOST)


def _gain(shaping: tuple[float, ...] | Mapping[str, float], d: int) -> float:
    """Return what noise that follows these scales is in multiples of even noise, if columns share a unit."""
    scales = list(shaping.values()) if isinstance(shaping, Mapping) else list(shaping)
    if len(scales) != d:
        raise ArgumentError(f"shape must hold one scale for each of {plural(d, 'column')}, got {len(scales)}")
    length = math.hypot(*scales)
    return sum(scale / length for scale in scales) / math.sqrt(d)
