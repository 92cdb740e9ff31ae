"""Run an estimator for a user: read the arguments, ask, and put the answer back into the user's units."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmean.budget import Number
from dpmean.coins import PublicCoins
from dpmean.door import (
    read_array,
    read_budget,
    read_columns,
    read_frame,
    read_honest,
    read_local_budget,
    read_nan,
    read_randomness,
    read_rounds,
    read_rows,
    read_shuffle_budget,
    read_step,
    statistical_setting,
)
from dpmean.errors import ArgumentError, ArgumentTypeError, TooFewRowsError, TooFewRowsWarning
from dpmean.estimators.enough import Need, Planned, Verdict
from dpmean.frame import Frame
from dpmean.grid import Grid
from dpmean.ledger import Neighbours, Release, total_cost
from dpmean.rows.counted import CountedRows
from dpmean.rows.streamed import Source
from dpmean.trust.analyzer import Analyzer, setup_for
from dpmean.trust.division import users_needed
from dpmean.trust.local import Fleet
from dpmean.trust.shuffle.analyzer import Analyzer as ShuffleAnalyzer
from dpmean.trust.shuffle.analyzer import collection_for
from dpmean.trust.shuffle.crowd import Crowd
from dpmean.trust.shuffle.design import clients_needed, design
from dpmean.types import Estimate, Floats
from dpmean.version import __version__


class Basics(TypedDict, total=False):
    """What every way to a mean understands; ``dpmean.mean`` explains it."""

    rho: Number | None
    epsilon: Number | None
    delta: Number | None
    step: float | None
    nan: str
    seed: int | None


class Common(Basics, total=False):
    """And what most of them understand: bounds."""

    norm_bound: float | None
    bounds: tuple[ArrayLike, ArrayLike] | None
    sigma_min: float | None
    sigma_max: float | None


class Devices(TypedDict, total=False):
    """What is understood where every row is a device."""

    rho: Number | None
    epsilon: Number | None
    delta: Number | None
    norm_bound: float | None
    bounds: tuple[ArrayLike, ArrayLike] | None
    nan: str
    rounds: str
    seed: int | None
    allow_few_rows: bool


def run(
    build: Callable[[Grid, PublicCoins], Planned],
    X: ArrayLike | Source,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    norm_bound: float | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    sigma_min: float | None = None,
    sigma_max: float | None = None,
    step: float | None = None,
    nan: str = "raise",
    seed: int | None = None,
    allow_few_rows: bool = False,
) -> Release:
    """Release the mean of the rows of ``X`` with the estimator that ``build`` makes for a grid."""
    budget = read_budget(rho, epsilon, delta)
    source = read_rows(X)
    n, d = source.shape
    frame = read_frame(d, norm_bound, bounds, impute=read_nan(nan))
    frame, finest = statistical_setting(n, frame, sigma_min, sigma_max)
    grid = Grid(read_step(step, finest), frame.reach, d)

    noise, coins = read_randomness(seed)
    estimator = build(grid, coins)
    setting = f"d={d}, rho={float(budget.rho):.4g} and method {estimator.name}"
    few_rows = _check_rows(estimator.rows_needed(budget), n, setting, allow_few_rows=allow_few_rows)
    _check_delta(delta, n)

    rows = CountedRows(source.rows(frame))
    estimate = estimator(rows, budget, noise)
    total_cost(estimate.receipts, budget)
    return _in_user_units(
        estimate,
        frame,
        n=n,
        method=estimator.name,
        trust=estimator.trust.name,
        seeded=noise.seeded,
        public={
            "bound": _bound(frame, norm_bound),
            "step": grid.step,
            "coins": coins.key,
            "passes": rows.passes,
            "sample": rows.sampled,
            **_remarks(delta, few_rows=few_rows),
        },
    )


def run_local(
    X: ArrayLike,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    norm_bound: float | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    nan: str = "impute",
    rounds: str = "adaptive",
    seed: int | None = None,
    allow_few_rows: bool = False,
) -> Release:
    """Release the mean of the rows of ``X`` in the local model: every row a device that sends one message."""
    budget = read_local_budget(rho, epsilon, delta)
    few = read_rounds(rounds)
    array, frame = _read_devices(X, norm_bound, bounds, nan, "local")
    n, d = array.shape
    noise, coins = read_randomness(seed)
    need = Need(*users_needed(d, budget, few_rounds=few))
    few_rows = _check_rows(need, n, f"d={d}, {budget} and the local model", allow_few_rows=allow_few_rows)
    _check_delta(delta, n)

    fleet = Fleet(_rows_of_devices(array, frame), noise)
    setup = setup_for(coins.digest(), n, d, frame.reach, budget, few_rounds=few)
    analyzer = Analyzer(setup)
    estimate = fleet.play(analyzer)
    return _in_user_units(
        estimate,
        frame,
        n=n,
        method="shifted",
        trust="local",
        seeded=noise.seeded,
        public={
            "bound": _bound(frame, norm_bound),
            "step": math.ldexp(1.0, analyzer.step),
            "coins": coins.key,
            "rounds": len(analyzer.closed),
            "messages_per_user": 1,
            "bytes_per_user": fleet.bytes / max(fleet.messages, 1),
            "answered": int(analyzer.answered.sum()),
            **_remarks(delta, few_rows=few_rows),
        },
    )


def run_shuffle(
    X: ArrayLike,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    norm_bound: float | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    nan: str = "impute",
    rounds: str = "adaptive",
    honest: Number = 0.8,
    fidelity: str = "totals",
    seed: int | None = None,
    allow_few_rows: bool = False,
) -> Release:
    """Release the mean of the rows of ``X`` in the shuffle model: every row a client whose messages are mixed."""
    budget, part = read_shuffle_budget(rho, epsilon, delta), read_honest(honest)
    few = read_rounds(rounds)
    if fidelity not in ("totals", "messages"):
        raise ArgumentError(f'fidelity must be "totals" or "messages", got {fidelity!r}')
    array, frame = _read_devices(X, norm_bound, bounds, nan, "shuffle")
    n, d = array.shape
    noise, coins = read_randomness(seed)
    need = Need(*clients_needed(d, budget, part))
    few_rows = _check_rows(need, n, f"d={d}, {budget} and the shuffle model", allow_few_rows=allow_few_rows)
    _check_delta(delta, n)

    plan = design(n, d, budget, part, few_rounds=few)
    analyzer = ShuffleAnalyzer(collection_for(plan, coins.digest(), frame.reach))
    crowd = Crowd(_rows_of_devices(array, frame), noise, totals=fidelity == "totals")
    estimate = crowd.play(analyzer)
    return _in_user_units(
        estimate,
        frame,
        n=n,
        method="shifted",
        trust="shuffle",
        seeded=noise.seeded,
        public={
            **analyzer.traffic(),
            "bound": _bound(frame, norm_bound),
            "coins": coins.key,
            "fidelity": fidelity,
            "played_in_one_process": True,
            **_remarks(delta, few_rows=few_rows),
        },
    )


def _read_devices(
    X: ArrayLike, norm_bound: float | None, bounds: tuple[ArrayLike, ArrayLike] | None, nan: str, trust: str
) -> tuple[NDArray[Any], Frame]:
    """Read rows that are devices, and their bound; a device answers whatever it holds."""
    array = read_array(X)
    read_nan(nan)
    frame = read_frame(array.shape[1], norm_bound, bounds, impute=True)
    read_columns(array.shape[1], trust)
    return array, frame


def _check_delta(delta: Number | None, n: int) -> None:
    if delta is not None and delta * n >= 1:
        warnings.warn(f"delta={delta} is not below 1/n: a release could publish whole rows", stacklevel=4)


def _rows_of_devices(array: NDArray[Any], frame: Frame) -> Floats:
    """Return rows as devices hold them, in working units; a device knows the bounds of its columns."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows: Floats = (array.astype(np.float64) - frame.middle) / frame.scale
        return rows if frame.lower is None else np.clip(rows, -1.0, 1.0)


def _in_user_units(
    estimate: Estimate, frame: Frame, *, n: int, method: str, trust: str, seeded: bool, public: dict[str, Any]
) -> Release:
    """Put an estimate back into the user's units."""
    unit = float(frame.scale[0])
    same = bool(np.all(frame.scale == unit))
    length = unit if same else 1.0
    radius_unit = estimate.radius_unit or ("" if same else " half-widths of the bounds")
    return Release(
        mean=frame.to_user(estimate.mean),
        noise_std=frame.scale * estimate.noise_std,
        centre=frame.to_user(estimate.centre),
        radius=estimate.radius * length,
        receipts=estimate.receipts,
        n=n,
        d=frame.d,
        method=method,
        trust=trust,
        neighbours=Neighbours.REPLACE_ONE,
        seeded=seeded,
        public={
            **public,
            "dpmean": __version__,
            **({"radius_unit": radius_unit} if radius_unit else {}),
            **({"note": estimate.note} if estimate.note else {}),
        },
        found=estimate.found and estimate.found.times(length),
    )


def _remarks(delta: Number | None, *, few_rows: bool) -> dict[str, Any]:
    return {**({} if delta is None else {"delta": float(delta)}), **({"few_rows": True} if few_rows else {})}


def _check_rows(need: Need, n: int, setting: str, *, allow_few_rows: bool) -> bool:
    """Return whether there are so few rows that the answer is unreliable; refuse that unless it is allowed."""
    if not isinstance(allow_few_rows, bool | np.bool_):
        raise ArgumentTypeError(f"allow_few_rows must be True or False, got {allow_few_rows!r}")
    fine, risky = math.ceil(need.fine), math.ceil(need.risky)
    verdict = need.verdict(n)
    if verdict is Verdict.FINE:
        return False
    if verdict is Verdict.RISKY:
        warnings.warn(
            f"{n} rows are few for {setting}: expect a larger error than usual. {fine} would do well.",
            TooFewRowsWarning,
            stacklevel=4,
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
        stacklevel=4,
    )
    return True


def _bound(frame: Frame, norm_bound: float | None) -> dict[str, Any]:
    """Return the bound as the release keeps it."""
    if frame.lower is not None and frame.upper is not None:
        return {"lower": frame.lower.tolist(), "upper": frame.upper.tolist()}
    return {"norm_bound": float(norm_bound or 0), "reach": frame.reach}
