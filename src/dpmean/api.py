"""The front door: check the arguments once, pick the parts, put the answer back into the user's units."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmean import __version__
from dpmean.accountant import zcdp_that_implies
from dpmean.budget import ApproxDp, Number, Zcdp, exact, positive
from dpmean.coins import PublicCoins
from dpmean.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    TooFewRowsError,
    TooFewRowsWarning,
)
from dpmean.estimators.clipped import FAILURE, ClippedMean
from dpmean.estimators.enough import Verdict
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.frame import Frame
from dpmean.grid import Grid, finest_step, power_of_two_at_most
from dpmean.ledger import Neighbours, Release, total_cost
from dpmean.noise.source import SecureNoise, SeededNoise, entropy, secure, seeded
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central import Central
from dpmean.types import Floats

_LARGEST = 2.0**500
_RHO_RANGE = (Fraction(1, 10**12), Fraction(10**12))
_KINDS = {
    "U": "text",
    "S": "bytes",
    "O": "objects",
    "c": "complex numbers",
    "M": "dates",
    "m": "durations",
    "V": "records",
    "T": "text",
}
_STEPS_PER_BOUND = 2.0**28  # the grid of the general setting: finer than any noise, 30 questions or so

_Method = ClippedMean | ShiftedClippedMean
_METHODS: dict[str, Callable[[Grid, PublicCoins], _Method]] = {
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
    method: str = "shifted",
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
        method: ``"shifted"`` (clips around a private centre) or ``"clipped"`` (around zero, or the middle of the
            bounds).
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
    budget = _budget(rho, epsilon, delta)
    if not _RHO_RANGE[0] <= budget.rho <= _RHO_RANGE[1]:
        raise ArgumentError(f"rho must lie between 1e-12 and 1e12, got {float(budget.rho):g}")
    if not isinstance(allow_few_rows, bool | np.bool_):
        raise ArgumentTypeError(f"allow_few_rows must be True or False, got {allow_few_rows!r}")
    array = _array(X)
    n, d = array.shape
    if nan not in ("raise", "impute"):
        raise ArgumentError(
            f'nan must be "raise" or "impute", got {nan!r} (dropping rows would change n, which is public)'
        )
    frame = _frame(d, norm_bound, bounds, impute=nan == "impute")
    frame, finest = _statistical(n, frame, sigma_min, sigma_max)
    grid = Grid(_step(step, finest), frame.reach, d)

    noise, coins = _randomness(seed)
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
            "bound": _bound_in_words(frame, norm_bound),
            "step": grid.step,
            "coins": coins.key,
            "dpmean": __version__,
            **({} if same else {"radius_unit": " half-widths of the bounds"}),
            **({} if delta is None else {"delta": float(delta)}),
            **({"few_rows": True} if few_rows else {}),
        },
    )


def _budget(rho: Number | None, epsilon: Number | None, delta: Number | None) -> Zcdp:
    if rho is not None and (epsilon is not None or delta is not None):
        raise ArgumentError("give either rho, or epsilon and delta, not both")
    if rho is not None:
        return Zcdp(rho)
    if epsilon is None and delta is None:
        raise ArgumentError("a privacy budget is missing: give rho=0.5, say, or epsilon=1.0 and delta=1e-6")
    if epsilon is None:
        raise ArgumentError(f"delta={delta} needs an epsilon beside it: give epsilon=1.0, say")
    if delta is None:
        raise ArgumentError(
            f"epsilon={epsilon} needs a delta beside it in the central model: give delta=1e-6, say, "
            "well below one over the number of rows"
        )
    return zcdp_that_implies(ApproxDp(epsilon, delta))


def _array(X: ArrayLike) -> NDArray[Any]:
    if isinstance(X, np.ma.MaskedArray):
        raise ArgumentTypeError('X is a masked array: pass X.filled(numpy.nan) and nan="impute" instead')
    try:
        array = np.asarray(X)
    except ValueError:
        raise DataError("X must be a rectangular array of numbers: its rows differ in length") from None
    if array.dtype.kind not in "fiub":
        kind = _KINDS.get(array.dtype.kind, "something else")
        raise ArgumentTypeError(
            f"X must hold real numbers, got {kind}: leave out what is not a number, and "
            "convert the rest, with numpy.asarray(X, dtype=float) or frame[columns].astype(float), say"
        )
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise DataError(
            f"X must have shape (n, d), or (n,) for one dimension, got shape {array.shape}: "
            "flatten each row with X.reshape(len(X), -1), say"
        )
    if not array.size:
        raise DataError(f"X is empty: got shape {array.shape}, need at least one row and one column")
    return array


def _frame(d: int, norm_bound: float | None, bounds: tuple[ArrayLike, ArrayLike] | None, *, impute: bool) -> Frame:
    if norm_bound is None and bounds is not None:
        return _box(d, bounds, impute=impute)
    if norm_bound is None:
        raise ArgumentError(
            "exactly one of norm_bound and bounds is needed, since how large a row can be must be known in advance: "
            "give bounds=(0, 130), say, or norm_bound=600.0; it may be loose"
        )
    if bounds is not None:
        raise ArgumentError("exactly one of norm_bound and bounds is needed, got both: leave one out")
    reach = float(positive(norm_bound, "norm_bound"))
    if not 1 / _LARGEST <= reach <= _LARGEST:
        raise ArgumentError(f"norm_bound must lie between 2^-500 and 2^500, got {norm_bound}: change units")
    return Frame.within_norm(d, reach, impute=impute)


def _box(d: int, bounds: tuple[ArrayLike, ArrayLike], *, impute: bool) -> Frame:
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise ArgumentError(
            f"bounds must be (lower, upper), each one number or one per column, got {bounds!r}: "
            "if you have one pair per column, pass bounds=tuple(zip(*pairs))"
        ) from None
    low, high = _side(d, lower, "lower"), _side(d, upper, "upper")
    narrow = np.flatnonzero(high / 2 - low / 2 < 1 / _LARGEST)
    if len(narrow):
        j = narrow[0]
        raise ArgumentError(
            f"bounds must have lower < upper in every column, got ({low[j]:g}, {high[j]:g}) in column {j}: swap them"
        )
    return Frame.within_box(low, high, impute=impute)


def _side(d: int, side: ArrayLike, name: str) -> Floats:
    try:
        given = np.asarray(side)
        values = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(f"bounds: {name} must be a number or {d} numbers, got {side!r}") from None
    if given.dtype.kind not in "fiu":
        raise ArgumentTypeError(f"bounds: {name} must be a number or {d} numbers, got {side!r}")
    if values.shape not in ((), (d,)):
        raise ArgumentError(f"bounds: {name} must be one number or one per column (d={d}), got shape {values.shape}")
    if not np.all(np.abs(values) <= _LARGEST):  # catches NaN too
        raise ArgumentError(f"bounds: {name} must be finite numbers of at most 2^500, got {side!r}")
    return np.broadcast_to(values, (d,)).copy()


def _statistical(n: int, frame: Frame, sigma_min: float | None, sigma_max: float | None) -> tuple[Frame, float]:
    """Return the frame of the rows and the default step, in the general or the statistical setting."""
    if sigma_min is None and sigma_max is None:
        return frame, frame.reach / _STEPS_PER_BOUND
    if sigma_min is None or sigma_max is None:
        raise ArgumentError("the statistical setting needs both sigma_min and sigma_max, or neither")
    if frame.lower is not None:
        raise ArgumentError("the statistical setting needs norm_bound (a bound on the mean), not bounds")
    low, high = float(positive(sigma_min, "sigma_min")), float(positive(sigma_max, "sigma_max"))
    if low > high:
        raise ArgumentError(f"sigma_min must not exceed sigma_max, got {sigma_min} and {sigma_max}")
    reach = frame.reach + 2 * high * math.sqrt(frame.d + math.log(4 * n / FAILURE))
    if reach > _LARGEST:
        raise ArgumentError(f"sigma_max={sigma_max} is too large: change units")
    return Frame.within_norm(frame.d, reach, impute=frame.impute), max(low / math.sqrt(n), finest_step(reach, frame.d))


def _step(step: float | None, finest: float) -> float:
    if step is None:
        return power_of_two_at_most(finest)
    value = float(positive(step, "step"))
    if value == 0 or math.frexp(value)[0] != 0.5 or exact(step, "step") != exact(value, "step"):
        near = power_of_two_at_most(max(value, 2.0**-1000))
        raise ArgumentError(f"step must be a power of two, got {step}: {near:g} is one")
    return value


def _randomness(seed: int | None) -> tuple[SecureNoise | SeededNoise, PublicCoins]:
    if seed is None:
        return secure(), PublicCoins(entropy(16).hex())
    try:
        number = operator.index(seed)
    except TypeError:
        kind = type(seed).__name__
        raise ArgumentTypeError(f"seed must be a whole number, got {seed!r} of type {kind}") from None
    return seeded(number), PublicCoins(f"seed {number}")


def _check_rows(estimator: _Method, n: int, d: int, budget: Zcdp, *, allow_few_rows: bool) -> bool:
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
        return False
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


def _bound_in_words(frame: Frame, norm_bound: float | None) -> dict[str, Any]:
    if frame.lower is not None and frame.upper is not None:
        return {"lower": frame.lower.tolist(), "upper": frame.upper.tolist()}
    return {"norm_bound": float(norm_bound or 0), "reach": frame.reach}
