"""The front door: the mean of rows, by name of method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dpmean.arguments.bounds import Bounds, columns_bounded
from dpmean.arguments.budgets import read_local_budget, read_shuffle_budget
from dpmean.arguments.choices import read_flag, read_honest, read_ledger, read_rounds, read_seed
from dpmean.arguments.request import read_arguments
from dpmean.arguments.rows import read_array, read_nan, read_rows
from dpmean.enums import Fidelity, Newlines, Trust, read_name
from dpmean.errors import ArgumentError
from dpmean.estimators.clipped import ClippedMean
from dpmean.estimators.refined.estimator import RefinedMean
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.ledger.ledger import Ledger
from dpmean.pipeline.central import Build, run
from dpmean.pipeline.simulation import Devices, run_local, run_shuffle
from dpmean.privacy.budgets import Number
from dpmean.release.release import Release
from dpmean.rows.tables.table import Key, open_table, people

_METHODS: dict[str, Build] = {
    "refined": lambda grid, coins, trust: RefinedMean(grid, coins, trust=trust),
    "shifted": lambda grid, coins, trust: ShiftedClippedMean(grid, trust, coins),
    "clipped": lambda grid, coins, trust: ClippedMean(grid, trust),  # noqa: ARG005  one signature for all
}

_IN_ONE_PASS: dict[str, Build] = {
    "refined": lambda grid, coins, trust: RefinedMean(grid, coins, one_pass=True, trust=trust),
    "shifted": lambda grid, coins, trust: ShiftedClippedMean(grid, trust, coins, one_pass=True),
    "clipped": lambda grid, coins, trust: ClippedMean(grid, trust, one_pass=True),  # noqa: ARG005  one signature for all
}


def mean(
    X: Any,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    norm_bound: float | None = None,
    bounds: Bounds | None = None,
    method: str | None = None,
    trust: str = "central",
    rounds: str = "adaptive",
    honest: Number = 0.8,
    fidelity: str = "totals",
    columns: Sequence[str] | None = None,
    vector_column: str | None = None,
    newlines: str = "records",
    privacy_unit: Key | None = None,
    neighbours: str = "replace-one",
    passes: int = 2,
    sigma_min: float | None = None,
    sigma_max: float | None = None,
    step: float | None = None,
    nan: str | Mapping[str, str] = "raise",
    ledger: Ledger | None = None,
    seed: int | None = None,
    allow_few_rows: bool = False,
) -> Release:
    """Release the mean of the rows of ``X`` under differential privacy.

    Neighbouring data sets replace one row, and the number of rows is public, unless you say otherwise. Nothing needs
    tuning: the centre and the clipping radius are found privately, and the error follows the spread of the rows, not
    the bound.

    Args:
        X: the rows, an (n, d) array, or (n,) for one dimension; it is neither changed nor copied whole. Or the name of
            files (.npy, Parquet, Arrow, CSV), a data frame (pandas, polars, pyarrow and others), a sparse matrix of
            scipy, a tensor of PyTorch, a Dask array or data frame, a Spark data frame: those are read where they are,
            and the release is the same.
        rho: the privacy budget in zero-concentrated differential privacy (zCDP), smaller is stronger: 0.5 is
            epsilon = 5.2, and 0.024 is epsilon = 1, at delta = 1e-6. Or else
        epsilon: the budget in approximate differential privacy, together with
        delta: which should be well below 1/n.
        norm_bound: a bound on the l2 norm of every row; in the central model it may be as large as a million times the
            spread, the typical distance of a row from the mean. All columns get the same noise, so use it when they
            share a unit (pixels, embeddings). Or else
        bounds: ``(lower, upper)``, each one number or one per column, or ``{"age": (0, 130), ...}``. Each column gets
            noise in proportion to its range: all ranges may be loose by the same factor for free, but one that is a
            thousand times looser than the others gets a thousand times the noise. Rows outside are clipped to the
            bound.
        method: ``"refined"`` (the default: centre and radius are refined step by step, the most accurate), or the
            paper's ``"shifted"`` (clips around private medians) and ``"clipped"`` (around zero, or the middle of the
            bounds). In the local and the shuffle model ``"shifted"`` is the only one.
        trust: ``"central"``: the process that calls this sees the rows. ``"local"``: every row is a device of its own
            that sends one randomized message, and only those are seen; the budget is ``rho``, or ``epsilon`` alone for
            pure differential privacy. Rows that are not finite answer as if they were at the centre; give a bound
            that is not more than a hundred times too loose. ``"shuffle"``: every row
            is a client whose messages are mixed with all others' before anybody reads them; almost as accurate as the
            central model. The budget is ``epsilon`` and ``delta``.
        rounds: in the local model, ``"adaptive"`` (33 rounds, more accurate) or ``"few"`` (3); in the shuffle model
            ``"adaptive"`` (what serves best, 3 to 16) or ``"few"`` (3).
        honest: in the shuffle model, the part of the users that take part and tell nobody what they sent. The noise of
            these alone is enough.
        fidelity: in the shuffle model, ``"messages"`` to make and mix every message, or ``"totals"`` to draw what they
            add up to, which has the same law.
        columns: of a table, the columns to use, if not all, or else
        vector_column: the one that holds vectors.
        newlines: of a CSV file, ``"records"`` (the default): every line is one record, so that nothing in one line can
            change how another is read. Or ``"quoted"``: line breaks within quoted fields belong to the field (RFC
            4180), for files that a conforming program wrote.
        privacy_unit: the column that says whose row it is, or one key per row. Everything that one person contributed
            is then protected together: it enters as one vector, the mean of that person's rows, and ``n`` is the
            number of persons. Without it, every row is protected for itself.
        neighbours: ``"replace-one"``: any one row (or person) may be another; how many there are is public. Or
            ``"add-or-remove-one"``: any one may be there or not; how many there are is private, and ``release.n`` is
            a noisy count.
        passes: how often all rows are read at most, beside a small sample: 2, or 1, which clips at one of 16 radii per
            doubling and is a little less accurate. Of rows in files or on a cluster, every pass costs time.
        sigma_min: for independent rows from one distribution, a lower bound on the standard deviation in any
            direction, and
        sigma_max: an upper one; ``norm_bound`` then bounds the *mean* of the distribution (section 3.4 of the paper).
        step: the resolution of the answer, a power of two (in half-widths when ``bounds`` are given).
        nan: ``"raise"``, or ``"impute"`` to put zero, or the middle of the bounds, wherever a value is NaN or infinite;
            or ``{"income": "impute", ...}`` for some columns (others raise). Of one person's rows, values that are
            missing are left out of the mean, and only what is missing in all of them is imputed. In the local and the
            shuffle model a device always answers: such a row counts as the centre.
        ledger: a ``dpmean.Ledger``: what the release costs is taken from its budget before it is shown.
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
    model, records = read_name(Trust, trust, "trust"), read_name(Newlines, newlines, "newlines")
    _check_trust(model, privacy_unit, neighbours, passes, rounds, honest, fidelity)
    columns = columns_bounded(X, columns, vector_column, bounds)
    if model is not Trust.CENTRAL:
        _refuse(model, method, sigma_min=sigma_min, sigma_max=sigma_max, step=step)
        devices = Devices(
            trust=model,
            delta=delta,
            norm_bound=norm_bound,
            bounds=bounds,
            few_rounds=read_rounds(rounds),
            columns=columns,
            vector_column=vector_column,
            newlines=records,
            seed=read_seed(seed),
            allow_few_rows=read_flag(allow_few_rows, "allow_few_rows"),
        )
        _check_nan_of_devices(nan, model)
        book = read_ledger(ledger, seed)
        if model is Trust.LOCAL:
            made = run_local(X, read_local_budget(rho, epsilon, delta), devices)
        else:
            part, played = read_honest(honest), read_name(Fidelity, fidelity, "fidelity")
            made = run_shuffle(X, read_shuffle_budget(rho, epsilon, delta), devices, part, played)
        if book is not None:
            book.record(made)
        return made
    build = method_called(method, passes)
    arguments = read_arguments(
        rho=rho,
        epsilon=epsilon,
        delta=delta,
        norm_bound=norm_bound,
        bounds=bounds,
        sigma_min=sigma_min,
        sigma_max=sigma_max,
        step=step,
        nan=nan,
        neighbours=neighbours,
        ledger=ledger,
        seed=seed,
        allow_few_rows=allow_few_rows,
    )
    arguments.check_ledger()
    if privacy_unit is None:
        rows = read_rows(X, columns, vector_column, fewest=arguments.fewest, newlines=records)
        return run(build, arguments.of(rows))
    read = partial(read_array, fewest=arguments.fewest)
    table = open_table(X, columns, vector_column, privacy_unit, read=read, newlines=records)
    return run(build, arguments.of(people(table, privacy_unit, arguments.finite)))


def method_called(method: str | None, passes: int) -> Build:
    """Return the estimator of a name, which reads all rows so many times."""
    method = "refined" if method is None else method
    if not isinstance(method, str) or method not in _METHODS:
        raise ArgumentError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    if isinstance(passes, bool) or passes not in (1, 2):
        raise ArgumentError(f"passes must be 1 or 2, got {passes!r}")
    return (_METHODS if passes == 2 else _IN_ONE_PASS)[method]


def _check_trust(
    trust: Trust, privacy_unit: Key | None, neighbours: str, passes: int, rounds: str, honest: Number, fidelity: str
) -> None:
    """Refuse choices that are for another trust model."""
    if trust is not Trust.CENTRAL and (privacy_unit is not None or neighbours != "replace-one" or passes != 2):
        raise ArgumentError(f"privacy_unit, neighbours and passes are for the central model, got trust='{trust}'")
    if trust is Trust.CENTRAL and rounds != "adaptive":
        raise ArgumentError(
            f'rounds is for the local and the shuffle model, got {rounds!r}: leave it out, or give trust="local"'
        )
    if trust is not Trust.SHUFFLE and (honest != 0.8 or fidelity != "totals"):
        raise ArgumentError('honest and fidelity are for the shuffle model: leave them out, or give trust="shuffle"')


def _check_nan_of_devices(nan: str | Mapping[str, str], trust: Trust) -> None:
    """Refuse what is said column by column: a device does not tell what it lacks."""
    if isinstance(nan, Mapping):
        raise ArgumentError(f"in the {trust} model a device always answers: leave nan={{...}} out")
    read_nan(nan)


def _refuse(trust: Trust, method: str | None, **central: float | None) -> None:
    """Refuse what only the central model knows."""
    if method not in (None, "shifted"):
        raise ArgumentError(f'in the {trust} model the method is "shifted", got {method!r}: leave it out')
    for name, value in central.items():
        if value is not None:
            raise ArgumentError(f"{name} is for the central model, got {value}: leave it out")
