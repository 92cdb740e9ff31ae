"""The front door: the mean of rows, by name of method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dpmean.arguments.bounds import Bounds, columns_bounded
from dpmean.arguments.budgets import read_local_budget, read_shuffle_budget
from dpmean.arguments.choices import read_flag, read_honest, read_ledger, read_neighbours, read_rounds, read_seed
from dpmean.arguments.request import read_arguments
from dpmean.arguments.rows import read_array, read_nan, read_rows
from dpmean.enums import Fidelity, Newlines, Trust, read_name
from dpmean.errors import ArgumentError
from dpmean.estimators.registry import find_estimator
from dpmean.ledger.ledger import Ledger
from dpmean.pipeline.central import run
from dpmean.pipeline.simulation import Devices, run_local, run_shuffle
from dpmean.privacy.budgets import Number
from dpmean.release.release import Release
from dpmean.rows.tables.table import Key, open_table, people


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
    neighbours: str | None = None,
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

    Neighbouring data sets have one row more or less, and the number of rows is private, unless you say otherwise.
    Nothing needs tuning: the centre and the clipping radius are found privately, and the error follows the spread of
    the rows, not the bound.

    Args:
        X: The rows: an (n, d) array, or an (n,) array for one column. It is neither changed nor copied as a whole.
            Names of files (.npy, Parquet, Arrow, CSV), data frames (pandas, polars, pyarrow and others), sparse
            matrices of SciPy, PyTorch tensors, Dask arrays and data frames, and Spark data frames are read where they
            are, and give the same release.
        rho: The privacy budget in zero-concentrated differential privacy (zCDP). Smaller is stronger: at delta = 1e-6,
            0.5 is epsilon = 5.2, and 0.024 is epsilon = 1. Give either ``rho`` or ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, in place of ``rho``. It needs a ``delta``,
            except in the local model, where ``epsilon`` alone is pure differential privacy.
        delta: The delta that belongs to ``epsilon``. It should be well below 1/n.
        norm_bound: A bound on the l2 norm of every row, known without looking at the rows. Longer rows are clipped to
            it. All columns get the same noise, so use it when they share a unit (pixels, embeddings). In the central
            model it may be as large as a million times the spread, the typical distance of a row from the mean. Give
            either ``norm_bound`` or ``bounds``.
        bounds: Bounds on the columns, in place of ``norm_bound``: ``(lower, upper)``, each one number or one number per
            column, or ``{"age": (0, 130), ...}``. Rows outside are clipped to the bounds. Each column gets noise in
            proportion to its range: all ranges may be loose by the same factor at no cost, but one that is a thousand
            times looser than the others gets a thousand times the noise.
        method: The estimator. ``"refined"``, the default, refines centre and radius step by step, and is the most
            accurate. The paper's ``"shifted"`` clips around private medians, and ``"clipped"`` around zero or the
            middle of the bounds. In the local and the shuffle model ``"shifted"`` is the only one.
        trust: Who sees the rows. In the ``"central"`` model the process that calls this function does. In the
            ``"local"`` model every row is a device that sends one randomized message, and only those are seen; give a
            bound that is at most a hundred times too loose. In the ``"shuffle"`` model every row is a client whose
            messages are mixed with those of all others before anybody reads them; the budget is ``epsilon`` and
            ``delta``, and the error is close to that of the central model.
        rounds: The rounds of the local and the shuffle model. ``"adaptive"`` is more accurate, with 33 rounds in the
            local model and 3 to 16 in the shuffle model. ``"few"`` has 3 rounds.
        honest: The share of users in the shuffle model that take part and tell nobody what they sent. Their noise alone
            is enough for the guarantee.
        fidelity: How the shuffle model is simulated. ``"totals"`` draws what all messages add up to, and ``"messages"``
            makes and mixes every message. Both have the same distribution.
        columns: The columns of a table to use. By default all of them are used.
        vector_column: The column of a table that holds vectors, in place of ``columns``.
        newlines: How line breaks in a CSV file are read. With ``"records"``, the default, every line is one record, so
            that nothing in one line can change how another is read. With ``"quoted"``, line breaks within quoted fields
            belong to the field (RFC 4180); use it for files that a conforming program wrote.
        privacy_unit: The column that says whose row it is, or one key per row. All rows of one person are then
            protected together: they enter as one vector, their mean, and ``n`` is the number of persons. By default
            every row is protected by itself.
        neighbours: Which data sets are neighbours. By default add-or-remove-one in the central model: any one row (or
            person) may be there or not, the number of rows is private, and ``release.n`` is a noisy count. With
            ``"replace-one"``, where you declare n public, any one row may be another. In the local and the shuffle
            model n is public, and ``"replace-one"`` is the default and the only one.
        passes: How often all rows are read at most, beside a small sample: 2, or 1. One pass clips at one of 16 radii
            per doubling and is a little less accurate. Every pass over files or a cluster costs time.
        sigma_min: A lower bound on the standard deviation in any direction, for independent rows from one distribution.
            It needs ``sigma_max``, and ``norm_bound`` then bounds the mean of the distribution (section 3.4 of the
            paper).
        sigma_max: An upper bound on the standard deviation in any direction. It needs ``sigma_min``.
        step: The resolution of the answer, a power of two. It is in half-widths if ``bounds`` are given.
        nan: What to do with values that are NaN or infinite. ``"raise"`` refuses them. ``"impute"`` puts zero, or the
            middle of the bounds, in their place, and ``{"income": "impute", ...}`` does so in some columns. Of one
            person's rows, missing values are left out of the mean, and only what is missing in all of them is imputed.
            In the local and the shuffle model a device always answers: such a row counts as the centre.
        ledger: A ``dpmean.Ledger`` that pays for the release. The cost is taken from its budget before the release is
            returned.
        seed: A seed that makes the noise reproducible, for experiments only. A seeded release protects nobody.
        allow_few_rows: Whether to go on where there are too few rows to expect a useful answer. By default that is an
            error.

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
    _check_trust(model, privacy_unit, passes, rounds, honest, fidelity)
    columns = columns_bounded(X, columns, vector_column, bounds)
    if model is not Trust.CENTRAL:
        _refuse(model, method, neighbours, sigma_min=sigma_min, sigma_max=sigma_max, step=step)
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
    build = find_estimator(method, passes)
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


def _check_trust(
    trust: Trust, privacy_unit: Key | None, passes: int, rounds: str, honest: Number, fidelity: str
) -> None:
    """Refuse choices that are for another trust model."""
    if trust is not Trust.CENTRAL and (privacy_unit is not None or passes != 2):
        raise ArgumentError(f"privacy_unit and passes are for the central model, got trust='{trust}': leave them out")
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


def _refuse(trust: Trust, method: str | None, neighbours: str | None, **central: float | None) -> None:
    """Refuse what only the central model knows."""
    read_neighbours(neighbours, trust)
    if method not in (None, "shifted"):
        raise ArgumentError(f'in the {trust} model the method is "shifted", got {method!r}: leave it out')
    for name, value in central.items():
        if value is not None:
            raise ArgumentError(f"{name} is for the central model, got {value}: leave it out")
