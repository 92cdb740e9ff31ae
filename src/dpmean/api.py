"""The front door: pick the parts, run the estimator, put the answer back into the user's units."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpmean import __version__
from dpmean.budget import Number, Zcdp
from dpmean.coins import PublicCoins
from dpmean.door import read_array, read_budget, read_frame, read_randomness, read_step, statistical_setting
from dpmean.errors import ArgumentError, ArgumentTypeError, TooFewRowsError, TooFewRowsWarning
from dpmean.estimators.clipped import ClippedMean
from dpmean.estimators.enough import Planned, Verdict
from dpmean.estimators.refined import RefinedMean
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.frame import Frame
from dpmean.grid import Grid
from dpmean.ledger import Neighbours, Release, total_cost
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central import Central

_METHODS: dict[str, Callable[[Grid, PublicCoins], Planned]] = {
    "refined": RefinedMean,
    "shifted": lambda grid, coins: ShiftedClippedMean(grid, Central(), coins),
    "clipped": lambda grid, coins: ClippedMean(grid, Central()),  # noqa: ARG005  one signature for all
}


def mean(
    X: ArrayLike,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    norm_bound: float | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    method: str = "refined",
    sigma_min: float | None = None,
    sigma_max: float | None = None,
    step: float | None = None,
    nan: str = "raise",
    seed: int | None = None,
    allow_few_rows: bool = False,
) -> Release:
    """Release the mean of the rows of ``X`` under differential privacy.

    Neighbouring data sets replace one row; the number of rows is public. Nothing needs tuning: the centre and the
    clipping radius are found privately, and the error follows the spread of the rows, not the bound.

    Args:
        X: the rows, an (n, d) array, or (n,) for one dimension. It is neither changed nor copied whole.
        rho: the privacy budget in zero-concentrated differential privacy (zCDP), smaller is stronger: 0.5 is
            epsilon = 5.2, and 0.024 is epsilon = 1, at delta = 1e-6. Or else
        epsilon: the budget in approximate differential privacy, together with
        delta: which should be well below 1/n.
        norm_bound: a bound on the l2 norm of every row, as loose as you like. All columns get the same noise, so use
            it when they share a unit (pixels, embeddings). Or else
        bounds: ``(lower, upper)``, each one number or one per column. Each column gets noise in proportion to its
            range: all ranges may be loose by the same factor for free, but one that is a thousand times looser than
            the others gets a thousand times the noise. Rows outside are clipped to the bound.
        method: ``"refined"`` (centre and radius are refined step by step: the most accurate), or the paper's
            ``"shifted"`` (clips around private medians) and ``"clipped"`` (around zero, or the middle of the bounds).
        sigma_min: for independent rows from one distribution, a lower bound on the standard deviation in any
            direction, and
        sigma_max: an upper one; ``norm_bound`` then bounds the *mean* of the distribution (section 3.4 of the paper).
        step: the resolution of the answer, a power of two (in half-widths when ``bounds`` are given).
        nan: ``"raise"``, or ``"impute"`` to put zero, or the middle of the bounds, wherever a value is NaN or infinite.
        seed: makes the noise reproducible and the release worthless as protection; for experiments only.
        allow_few_rows: go on where the rule says that there are too few rows to expect a useful answer.

    Returns:
        A ``Release``: the mean, the noise in it, and the receipts of everything that was asked. All of it may be
        published.

    Raises:
        ValueError: when an argument or the rows cannot be used; nothing is released then.
        TypeError: when an argument or the rows have an unusable type.

    Example:
        >>> import numpy as np, dpmean
        >>> rows = np.random.default_rng(0).normal(5, 1, (4000, 100))
        >>> release = dpmean.mean(rows, rho=0.5, norm_bound=500.0, seed=1)
        >>> bool(abs(release.mean - 5).max() < 0.2)
        True

    """
    budget = read_budget(rho, epsilon, delta)
    if not isinstance(allow_few_rows, bool | np.bool_):
        raise ArgumentTypeError(f"allow_few_rows must be True or False, got {allow_few_rows!r}")
    array = read_array(X)
    n, d = array.shape
    if nan not in ("raise", "impute"):
        raise ArgumentError(
            f'nan must be "raise" or "impute", got {nan!r} (dropping rows would change n, which is public)'
        )
    frame = read_frame(d, norm_bound, bounds, impute=nan == "impute")
    frame, finest = statistical_setting(n, frame, sigma_min, sigma_max)
    grid = Grid(read_step(step, finest), frame.reach, d)

    noise, coins = read_randomness(seed)
    if not isinstance(method, str) or method not in _METHODS:
        raise ArgumentError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    estimator = _METHODS[method](grid, coins)
    few_rows = _check_rows(estimator, n, d, budget, allow_few_rows=allow_few_rows)
    if delta is not None and delta * n >= 1:
        warnings.warn(f"delta={delta} is not below 1/n: a release could publish whole rows", stacklevel=2)

    estimate = estimator(MemoryRows(array, frame), budget, noise)
    total_cost(estimate.receipts, budget)
    unit = float(frame.scale[0])
    same = bool(np.all(frame.scale == unit))
    return Release(
        mean=frame.to_user(estimate.mean),
        noise_std=frame.scale * estimate.noise_std,
        centre=frame.to_user(estimate.centre),
        radius=estimate.radius * (unit if same else 1.0),
        receipts=estimate.receipts,
        n=n,
        d=d,
        method=estimator.name,
        trust=estimator.trust.name,
        neighbours=Neighbours.REPLACE_ONE,
        seeded=noise.seeded,
        public={
            "bound": _bound(frame, norm_bound),
            "step": grid.step,
            "coins": coins.key,
            "dpmean": __version__,
            **({} if same else {"radius_unit": " half-widths of the bounds"}),
            **({} if delta is None else {"delta": float(delta)}),
            **({"few_rows": True} if few_rows else {}),
        },
        found=estimate.found and estimate.found.times(unit if same else 1.0),
    )


def _check_rows(estimator: Planned, n: int, d: int, budget: Zcdp, *, allow_few_rows: bool) -> bool:
    """Return whether there are so few rows that the answer is unreliable; refuse that unless it is allowed."""
    need = estimator.rows_needed(budget)
    fine, risky = math.ceil(need.fine), math.ceil(need.risky)
    verdict = need.verdict(n)
    if verdict is Verdict.FINE:
        return False
    setting = f"d={d}, rho={float(budget.rho):.4g} and method {estimator.name}"
    if verdict is Verdict.RISKY:
        warnings.warn(
            f"{n} rows are few for {setting}: expect a larger error than usual. {fine} would do well.",
            TooFewRowsWarning,
            stacklevel=3,
        )
        return True
    if not allow_few_rows:
        raise TooFewRowsError(
            f"{n} rows are too few for {setting}: {risky} would do, {fine} would do well. Use more rows "
            "(rows are people, columns are what is measured) or a larger budget, or go on at your own risk with "
            "allow_few_rows=True",
            rows_needed=risky,
        )
    warnings.warn(
        f"{n} rows are too few for {setting}: the answer may be far off, whatever noise_std says.",
        TooFewRowsWarning,
        stacklevel=3,
    )
    return True


def _bound(frame: Frame, norm_bound: float | None) -> dict[str, Any]:
    """Return the bound as the release keeps it."""
    if frame.lower is not None and frame.upper is not None:
        return {"lower": frame.lower.tolist(), "upper": frame.upper.tolist()}
    return {"norm_bound": float(norm_bound or 0), "reach": frame.reach}
