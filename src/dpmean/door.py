"""The door: every argument is read and checked here, once; what is refused is told its value and the cure."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmean.account import Ledger
from dpmean.accountant import zcdp_that_implies
from dpmean.budget import ApproxDp, Number, PureDp, Zcdp, positive
from dpmean.coins import PublicCoins
from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.estimators.clipped import FAILURE
from dpmean.frame import Frame
from dpmean.grid import as_power, finest_step, power_of_two_at_most
from dpmean.neighbours import Neighbours
from dpmean.noise.entropy import entropy
from dpmean.noise.source import SecureNoise, SeededNoise, secure, seeded
from dpmean.rows.source import InMemory, elsewhere
from dpmean.rows.streamed import Source
from dpmean.trust.randomizers import MOST_COLUMNS, half_space
from dpmean.types import Floats

LARGEST_EPSILON = 20
"""In the shuffle model."""
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


def read_budget(rho: Number | None, epsilon: Number | None, delta: Number | None) -> Zcdp:
    """Read the budget as zCDP: given as rho, or as epsilon and delta."""
    budget = _given_budget(rho, epsilon, delta)
    if not _RHO_RANGE[0] <= budget.rho <= _RHO_RANGE[1]:
        asked = f"epsilon={epsilon} and delta={delta}, that is " if rho is None else ""
        cure = "raise it" if budget.rho < 1 else "lower it"
        raise ArgumentError(f"rho must lie between 1e-12 and 1e12, got {asked}{float(budget.rho):g}: {cure}")
    return budget


def _given_budget(rho: Number | None, epsilon: Number | None, delta: Number | None) -> Zcdp:
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


def read_local_budget(rho: Number | None, epsilon: Number | None, delta: Number | None) -> Zcdp | PureDp:
    """Read the budget of one user in the local model: rho, or epsilon alone, or epsilon and delta."""
    if rho is None and epsilon is not None and delta is None:
        budget = PureDp(epsilon)
        half_space(budget.epsilon)  # knows which epsilons it can serve
        return budget
    return read_budget(rho, epsilon, delta)


def read_shuffle_budget(rho: Number | None, epsilon: Number | None, delta: Number | None) -> ApproxDp:
    """Read the budget of one user in the shuffle model: epsilon and delta."""
    if rho is not None:
        raise ArgumentError(
            f"the shuffle model needs epsilon and delta, got rho={rho}: give epsilon=1.0, delta=1e-9, say"
        )
    if epsilon is None or delta is None:
        raise ArgumentError(
            f"the shuffle model needs epsilon and delta, got {epsilon} and {delta}: give epsilon=1.0, delta=1e-9, say"
        )
    budget = ApproxDp(epsilon, delta)
    if not Fraction(1, 100) <= budget.epsilon <= LARGEST_EPSILON:
        raise ArgumentError(f"in the shuffle model epsilon must lie between 0.01 and {LARGEST_EPSILON}, got {epsilon}")
    if not Fraction(1, 10**30) <= budget.delta <= Fraction(1, 100):
        raise ArgumentError(f"in the shuffle model delta must lie between 1e-30 and 0.01, got {delta}")
    return budget


def read_rounds(rounds: str) -> bool:
    """Read whether there should be few rounds."""
    if rounds not in ("adaptive", "few"):
        raise ArgumentError(f'rounds must be "adaptive" or "few", got {rounds!r}')
    return rounds == "few"


def read_columns(d: int, trust: str) -> None:
    """Refuse more columns than devices can answer about."""
    if d > MOST_COLUMNS:
        raise ArgumentError(f"the {trust} model takes at most {MOST_COLUMNS} columns, got {d}")


def read_honest(honest: Number) -> Fraction:
    """Read which part of the users is honest."""
    part = positive(honest, "honest")
    if not Fraction(1, 2) <= part <= 1:
        raise ArgumentError(f"honest must lie between 0.5 and 1 (it is the part of the users that are), got {honest}")
    return part


def read_rows(
    X: Any, columns: Sequence[str] | None = None, vector_column: str | None = None, *, fewest: int = 1
) -> Source:
    """Read where the rows are: files, a cluster, a GPU, or memory; of a table, which columns."""
    source = elsewhere(X, columns, vector_column)
    return InMemory(read_array(X, fewest=fewest)) if source is None else source


def read_array(X: ArrayLike, *, fewest: int = 1) -> NDArray[Any]:
    """Read the rows as a two-dimensional array of numbers, without copying them; so many at least."""
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
            f"X must have shape (n, d), or (n,) for one dimension, got {array.ndim} dimensions: "
            "flatten each row with X.reshape(len(X), -1), say"
        )
    if len(array) < fewest or not array.shape[1]:
        raise DataError(f"X is empty: got shape {array.shape}, need at least one row and one column")
    return array


def read_nan(nan: str) -> bool:
    """Read what to do about values that are not finite: whether the public centre takes their place."""
    if not isinstance(nan, str) or nan not in ("raise", "impute"):
        raise ArgumentError(
            f'nan must be "raise" or "impute", got {nan!r} (dropping rows would change n, which is public)'
        )
    return nan == "impute"


def read_nan_of_columns(nan: str | Mapping[str, str], names: tuple[str, ...] | None, d: int) -> NDArray[np.bool_]:
    """Read the same column by column: in which of them every value must be finite."""
    if not isinstance(nan, Mapping):
        return np.full(d, not read_nan(nan))
    if names is None:
        raise ArgumentError('nan={...} is for columns that have names, which these do not: give "raise" or "impute"')
    for name in nan:
        if name not in names:
            raise ArgumentError(f"nan: there is no column {name!r}: there are {', '.join(names[:20])}")
    return np.array([not read_nan(nan.get(name, "raise")) for name in names])


def read_neighbours(neighbours: str) -> Neighbours:
    """Read which pairs of data sets are to be hard to tell apart."""
    try:
        return Neighbours(neighbours)
    except ValueError:
        raise ArgumentError(
            f'neighbours must be "{Neighbours.REPLACE_ONE}" (the number of rows is public) or '
            f'"{Neighbours.ADD_OR_REMOVE_ONE}" (it is private), got {neighbours!r}'
        ) from None


Bounds = tuple[ArrayLike, ArrayLike] | Mapping[str, tuple[float, float]]
"""Lower and upper bounds, or those of each column by name."""


def read_frame(
    d: int,
    norm_bound: float | None,
    bounds: Bounds | None,
    *,
    impute: bool,
    names: tuple[str, ...] | None = None,
) -> Frame:
    """Read the bound on the rows."""
    if norm_bound is None and bounds is not None:
        return _box(d, _by_name(bounds, names) if isinstance(bounds, Mapping) else bounds, impute=impute)
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


def columns_bounded(
    X: Any, columns: Sequence[str] | None, vector_column: str | None, bounds: Bounds | None
) -> Sequence[str] | None:
    """Return the columns of a table to use: those with bounds, if nobody said otherwise."""
    if columns is not None or vector_column is not None or not isinstance(bounds, Mapping):
        return columns
    tabular = isinstance(X, str | os.PathLike) and not str(X).endswith(".npy")
    return list(bounds) if tabular or hasattr(X, "columns") else None


def check_ledger(ledger: object) -> None:
    """Insist that a ledger is one."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise ArgumentTypeError(
            f'ledger must be a dpmean.Ledger, got {ledger!r}: give dpmean.Ledger("b.json", rho=1.0)'
        )


def _by_name(bounds: Mapping[str, tuple[float, float]], names: tuple[str, ...] | None) -> tuple[ArrayLike, ArrayLike]:
    """Return the bounds of columns in the order in which these come."""
    if names is None:
        raise ArgumentError("bounds={...} is for columns that have names, which these do not: give (lower, upper)")
    for name in names:
        if name not in bounds:
            raise ArgumentError(f"bounds: column {name!r} has none: give its lower and upper bound, or leave it out")
    sides = [bounds[name] for name in names]
    if not all(isinstance(side, tuple | list) and len(side) == 2 for side in sides):
        raise ArgumentError('bounds: give (lower, upper) for every column, {"age": (0, 130), ...}')
    return [side[0] for side in sides], [side[1] for side in sides]


def _box(d: int, bounds: tuple[ArrayLike, ArrayLike], *, impute: bool) -> Frame:
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise ArgumentError(
            f"bounds must be (lower, upper), each one number or one per column, got {bounds!r}: "
            "if you have one pair per column, pass bounds=tuple(zip(*pairs))"
        ) from None
    if d == 2 and isinstance(bounds, list) and all(isinstance(side, list | tuple) for side in bounds):
        raise ArgumentError(
            f"bounds={bounds!r} may be (lower, upper) or one pair per column, which for two columns cannot be told: "
            "pass a tuple of (lower, upper), that is tuple(zip(*pairs)) if you have pairs"
        )
    low, high = _side(d, lower, "lower"), _side(d, upper, "upper")
    narrow = np.flatnonzero(high / 2 - low / 2 < 1 / _LARGEST)
    if len(narrow):
        j = narrow[0]
        cure = "swap them" if low[j] > high[j] else "move them apart, or leave the column out"
        raise ArgumentError(
            f"bounds must have lower < upper in every column, got ({low[j]:g}, {high[j]:g}) in column {j}: {cure}"
        )
    return Frame.within_box(low, high, impute=impute)


def _side(d: int, side: ArrayLike, name: str) -> Floats:
    try:
        given = np.asarray(side)
    except ValueError:
        raise ArgumentError(f"bounds: {name} must be a number or {d} numbers, got {side!r}") from None
    if given.dtype.kind not in "fiu":
        raise ArgumentTypeError(f"bounds: {name} must be a number or {d} numbers, got {side!r}")
    values = given.astype(np.float64)
    if values.shape not in ((), (d,)):
        raise ArgumentError(f"bounds: {name} must be one number or one per column (d={d}), got shape {values.shape}")
    if not np.all(np.abs(values) <= _LARGEST):  # catches NaN too
        raise ArgumentError(f"bounds: {name} must be finite numbers of at most 2^500, got {side!r}")
    return np.broadcast_to(values, (d,)).copy()


def statistical_setting(n: int, frame: Frame, sigma_min: float | None, sigma_max: float | None) -> tuple[Frame, float]:
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


def read_step(step: float | None, finest: float) -> float:
    """Read the step of the grid, or take the power of two below the finest that is of use."""
    if step is None:
        return power_of_two_at_most(finest)
    wanted = positive(step, "step")
    value = float(wanted)
    rounded = isinstance(step, Rational | Decimal) and Fraction(value) != wanted
    if math.frexp(value)[0] != 0.5 or rounded:
        raise ArgumentError(f"step must be a power of two, got {step}: {as_power(power_of_two_at_most(value))} is one")
    return value


def read_randomness(seed: int | None) -> tuple[SecureNoise | SeededNoise, PublicCoins]:
    """Return the private noise and the public coins."""
    if seed is None:
        return secure(), PublicCoins(entropy(16).hex())
    try:
        number = operator.index(seed)
    except TypeError:
        kind = type(seed).__name__
        raise ArgumentTypeError(f"seed must be a whole number, got {seed!r} of type {kind}") from None
    return seeded(number), PublicCoins(f"seed {number}")
