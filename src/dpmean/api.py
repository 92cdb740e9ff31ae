"""The functions for users: the mean of rows, the means of groups, and a plan for either.

They share one file because every argument is explained here. Each function imports what it needs when it is called,
so that a plan loads no compiler.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from dpmean.arguments.bounds import Bounds
    from dpmean.arguments.missing import NanArgument
    from dpmean.arguments.shape import ShapeArgument
    from dpmean.ledger.ledger import Ledger
    from dpmean.pipeline.outlook import Outlook
    from dpmean.privacy.budgets import Number
    from dpmean.release.grouped import GroupedRelease
    from dpmean.release.release import Release
    from dpmean.rows.tables.keyed_table import Key


_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def _suggest_names(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Suggest a name for an unknown argument; tools still see the signature of the function."""

    @functools.wraps(function)
    def call(*args: _Parameters.args, **given: _Parameters.kwargs) -> _Result:
        _check_names(function.__name__, given)
        return function(*args, **given)

    return call


def _check_names(function: str, given: dict[str, Any]) -> None:
    """Refuse names of arguments that the function does not have."""
    takes = {one.__name__: _names_of(one) for one in (mean, mean_by, plan)}
    unknown = next((name for name in given if name not in takes[function]), None)
    if unknown is None:
        return
    from difflib import get_close_matches

    from dpmean.errors import ArgumentTypeError

    word = unknown.lower()
    longer = [name for name in takes[function] if name.startswith(word)]
    if others := [f"dpmean.{other}" for other, names in takes.items() if unknown in names]:
        cure = f"{' and '.join(others)} {'take' if len(others) > 1 else 'takes'} it"
    elif near := longer or get_close_matches(word, takes[function], n=1):
        cure = f"did you mean {near[0]!r}?"
    else:
        cure = f"help(dpmean.{function}) lists its arguments"
    raise ArgumentTypeError(f"{function}() has no argument {unknown!r}: {cure}")


def _names_of(function: Any) -> tuple[str, ...]:
    """Return the names of the arguments of a public function."""
    code = function.__wrapped__.__code__
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


@_suggest_names
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
    columns: str | Sequence[str] | None = None,
    vector_column: str | None = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    quotechar: str = '"',
    newlines: str = "records",
    privacy_unit: Key | None = None,
    neighbours: str | None = None,
    passes: int = 2,
    sigma_min: float | None = None,
    sigma_max: float | None = None,
    step: float | None = None,
    nan: NanArgument = "raise",
    count_values: bool = False,
    shape: ShapeArgument = "auto",
    population: bool = False,
    ledger: Ledger | None = None,
    seed: int | None = None,
    allow_few_rows: bool = False,
) -> Release:
    """Release the mean of the rows of ``X`` under differential privacy.

    By default neighbouring datasets differ in one added or removed row, and the number of rows is private.
    Nothing needs tuning: the centre and the clipping radius are found privately, and the error depends on the spread of
    the rows, not on the bound.

    Args:
        X: The rows: an (n, d) array, or an (n,) array for one column. It is not changed, and not copied as a whole.
            ``X`` may also be the name of a file or several (.npy, Parquet, Arrow, CSV), a data frame (pandas, polars
            including lazy frames, pyarrow and others), a SciPy sparse matrix, a PyTorch tensor, a DuckDB relation, a
            Hugging Face dataset, a Dask array or data frame, or a Spark data frame. Rows are read where they are. All
            kinds of input give the same release.
        rho: The privacy budget in zero-concentrated differential privacy (zCDP). A smaller budget protects more: at
            delta = 1e-6, rho = 0.5 corresponds to epsilon = 5.2, and rho = 0.024 to epsilon = 1. Give either ``rho`` or
            ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, instead of ``rho``. It needs a ``delta``,
            except in the local model, where ``epsilon`` alone means pure differential privacy.
        delta: The delta of ``epsilon``. It should be well below 1/n.
        norm_bound: An upper bound on the l2 norm of every row, known without looking at the rows. Longer rows
            (outliers) are clipped to it. Use it when all columns have the same unit (pixels, embeddings) and their
            total error matters: the noise follows the scales of the columns only where that makes the total error
            smaller. In the central model the bound may be a million times the spread, which is the typical distance of
            a row from the mean. Give either ``norm_bound`` or ``bounds``.
        bounds: Bounds on the columns, instead of ``norm_bound``: ``(lower, upper)``, each one number or one number per
            column, or ``{"age": (0, 130), ...}``. Values outside are clipped to the bounds. Use it when columns have
            different units. With enough rows the scales of the columns are found privately, and the error of a column
            depends on its standard deviation, however loose its bounds are. It depends on the width of the bounds if
            there are too few rows, with ``shape="round"``, with methods other than ``"refined"``, and in the local and
            the shuffle model.
        method: The estimator. ``"refined"``, the default, refines the centre and the radius step by step and is the
            most accurate. ``"shifted"`` and ``"clipped"`` are the methods of the paper: the first clips around private
            medians, the second around zero or the middle of the bounds. The local and the shuffle model support
            ``"shifted"`` only.
        trust: The trust model: who sees the rows. With ``"central"`` the process that calls this function sees them.
            With ``"local"`` every row is a device that sends one randomized message, and only these messages are seen;
            the bound should be at most a hundred times too large. With ``"shuffle"`` every row is a client, and its
            messages are mixed with those of all other clients before anybody reads them; the budget is ``epsilon`` and
            ``delta``, and the error is close to that of the central model.
        rounds: The number of rounds in the local and the shuffle model. ``"adaptive"`` is more accurate and takes 33
            rounds in the local model, and 3 to 16 in the shuffle model. ``"few"`` takes 3 rounds.
        honest: The share of users in the shuffle model who follow the protocol and reveal to nobody what they sent.
            Their noise alone is enough for the guarantee.
        fidelity: How the shuffle model is simulated. ``"totals"`` draws the sum of all messages. ``"messages"`` creates
            and mixes every message. Both give the same distribution.
        columns: The columns of a table to average: one name, or several. By default all columns.
        vector_column: The column of a table that holds vectors, instead of ``columns``.
        sep: The separator between the columns of a CSV file: ``","``, ``";"``, ``"|"`` or a tab. By default it is
            inferred from the first line and from the column names that you give, and a ``FormatWarning`` says what was
            assumed. It is never inferred from rows.
        decimal: The decimal mark in a CSV file: ``"."``, the default, or ``","``.
        encoding: The text encoding of a CSV file: ``"utf-8"``, ``"utf-16"``, ``"latin-1"``, ``"cp1252"`` or another
            one with one byte per character. By default a byte order mark decides; a file without one is read as UTF-8.
        quotechar: The quote character of a CSV file. It is written twice inside a quoted field.
        newlines: How line breaks in a CSV file are read. With ``"records"``, the default, every line is one record, so
            that nothing in one line can change how another is read. With ``"quoted"``, a line break inside a quoted
            field belongs to the field (RFC 4180). Use it for files that were written by a conforming program.
        privacy_unit: The column that identifies the person of each row, or one key per row. All rows of one person are
            then protected together: they are averaged to one vector per person, and ``n`` is the number of persons. By
            default every row is protected by itself.
        neighbours: Which datasets are neighbours. With ``"add-or-remove-one"``, the default in the central model, they
            differ in one added or removed row (or person), the number of rows is private, and ``release.n`` is a noisy
            count. With ``"replace-one"`` they differ in the values of one row, and the number of rows is public. The
            local and the shuffle model support ``"replace-one"`` only.
        passes: The maximum number of passes over all rows, after a small sample: 2 or 1. With one pass, the mean is
            slightly less accurate, because the clipping radius is chosen from a fixed list. Every
            pass over files or a cluster takes time.
        sigma_min: A lower bound on the standard deviation in any direction, for independent rows from one distribution.
            It needs ``sigma_max``, and ``norm_bound`` then bounds the mean of the distribution (section 3.4 of the
            paper).
        sigma_max: An upper bound on the standard deviation in any direction. It needs ``sigma_min``.
        step: The resolution of the mean, a power of two. With ``bounds`` it is in units of half the width of the bounds
            of a column.
        nan: What to do with missing values (NaN) and infinite values. ``"raise"``, the default, refuses them.
            ``"drop"`` leaves out the rows that have one; the number of rows must be private, as it is by default.
            ``"impute"`` replaces them with zero, or with the middle of the bounds. ``{"income": "impute", "crp": 10.0,
            ...}`` makes a choice for each column. A number replaces the missing values of its column; it must be
            public, and not computed from the rows. Columns that are not listed refuse missing values. Columns without
            names are numbered from 0. With a ``privacy_unit``, the mean of a person's rows ignores missing values, and
            ``nan`` applies where a person has no value in a column. In the local and the shuffle model a row with a
            missing value counts as the centre, because every device has to answer.
        count_values: Whether to release a noisy number of values for each column, ``release.value_counts``, for 4 % of
            the budget. The release can then say how far imputed values may have moved the mean.
        shape: Whether the noise follows the scales of the columns, that is, how much each column varies. With
            ``"auto"``, the default, method ``"refined"`` finds the scales privately if there are enough rows, for a
            small part of the budget; they are in ``release.scales``. With ``"round"`` it does not. If you know the
            scales, give them, and they cost nothing: one positive number per column, roughly its standard deviation, or
            ``{"age": 18.0, ...}``. They must not be computed from the rows.
        population: Whether to release the variances of the columns too, for 1 to 10 % of the budget.
            ``release.interval(of="population")`` and ``release.std`` need them. It requires method ``"refined"`` in the
            central model.
        ledger: A ``dpmean.Ledger`` that pays for the release. The cost is taken from its budget before the release is
            returned.
        seed: A seed that makes the noise reproducible, for experiments only. A seeded release protects nobody.
        allow_few_rows: Whether to continue if there are too few rows for a useful mean. By default that is an error.

    Returns:
        A ``Release``: the mean, its standard errors and confidence intervals, and a receipt for every query. All of it
        may be published.

    Raises:
        ValueError: if an argument or the rows cannot be used. Nothing is released. ``TooFewRowsError``,
            ``OverspendError`` and ``DataError`` are of this type.
        TypeError: if an argument or the rows have the wrong type. Nothing is released.

    Example:
        >>> import numpy as np, dpmean
        >>> rows = np.random.default_rng(0).normal(5, 1, (4000, 100))
        >>> release = dpmean.mean(rows, rho=0.5, norm_bound=500.0, seed=1)
        >>> bool(abs(release.mean - 5).max() < 0.2)
        True

    """
    from dpmean.arguments.request import read_request
    from dpmean.pipeline.dispatch import run

    request = read_request(
        rho=rho,
        epsilon=epsilon,
        delta=delta,
        norm_bound=norm_bound,
        bounds=bounds,
        method=method,
        trust=trust,
        rounds=rounds,
        honest=honest,
        fidelity=fidelity,
        columns=columns,
        vector_column=vector_column,
        sep=sep,
        decimal=decimal,
        encoding=encoding,
        quotechar=quotechar,
        newlines=newlines,
        privacy_unit=privacy_unit,
        neighbours=neighbours,
        passes=passes,
        sigma_min=sigma_min,
        sigma_max=sigma_max,
        step=step,
        nan=nan,
        count_values=count_values,
        shape=shape,
        population=population,
        ledger=ledger,
        seed=seed,
        allow_few_rows=allow_few_rows,
    )
    return run(X, request)


@_suggest_names
def mean_by(
    X: Any,
    *,
    by: Key | Sequence[str],
    groups: Sequence[Any],
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    norm_bound: float | None = None,
    bounds: Bounds | None = None,
    method: str | None = None,
    columns: str | Sequence[str] | None = None,
    vector_column: str | None = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    quotechar: str = '"',
    newlines: str = "records",
    privacy_unit: Key | None = None,
    contributions: int = 1,
    sizes: str = "private",
    neighbours: str | None = None,
    nan: NanArgument = "raise",
    count_values: bool = False,
    shape: ShapeArgument = "auto",
    population: bool = False,
    ledger: Ledger | None = None,
    seed: int | None = None,
    allow_few_rows: bool = False,
) -> GroupedRelease:
    """Release the mean of each group of rows under differential privacy.

    Every row, or person, is in one group. Therefore every group gets the whole budget, and all groups together cost it
    once. If a person may be in k groups, every group gets a k-th of the budget. A group that is too small gets no mean,
    but a reason. Rows of groups that are not listed are left out, and nothing reveals whether there are any.

    Args:
        X: Files, a data frame, a DuckDB relation, a Hugging Face dataset, or an array or a tensor on a CPU. The columns
            in use are held in memory.
        by: The column with the group of each row, or one label per row. With several columns, ``["clinic", "sex"]``,
            groups are combinations of their values.
        groups: The labels of the groups, listed by you. They must not come from the rows: that would reveal who is in
            the dataset. With several columns a label is a tuple, ``("North", "f")``;
            ``list(itertools.product(clinics, sexes))`` lists all combinations.
        rho: The privacy budget of all groups together, in zCDP. Give either ``rho`` or ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, instead of ``rho``. It needs a ``delta``.
        delta: The delta of ``epsilon``. It should be well below 1/n.
        norm_bound: An upper bound on the l2 norm of every row. Give either ``norm_bound`` or ``bounds``.
        bounds: Bounds on the columns, as for ``dpmean.mean``.
        method: The estimator, as for ``dpmean.mean``.
        columns: The columns to average: one name, or several. By default all columns that have no other use.
        vector_column: The column that holds vectors, instead of ``columns``.
        sep: The separator between the columns of a CSV file, as for ``dpmean.mean``.
        decimal: The decimal mark in a CSV file, as for ``dpmean.mean``.
        encoding: The text encoding of a CSV file, as for ``dpmean.mean``.
        quotechar: The quote character of a CSV file, as for ``dpmean.mean``.
        newlines: How line breaks in a CSV file are read, as for ``dpmean.mean``.
        privacy_unit: The column that identifies the person of each row, or one key per row. By default every row is
            protected by itself. With a privacy unit, a person counts in at most ``contributions`` of the listed
            groups, and in each of them with the mean of their rows there. If a person has rows in more groups, a public
            hash of the key selects the groups, and the rows in other groups are left out.
        contributions: The maximum number of groups in which one person counts. The default is 1; more need a
            ``privacy_unit``. With k, every group gets a k-th of the budget, because the costs of one person's groups
            add up.
        sizes: Whether the number of rows in each group is protected. With ``"private"``, the default, it is released
            with noise for a small part of the budget, and whether a row is in the dataset is protected. With
            ``"public"`` it is released exactly: it is then public who is in which group, and only the values of their
            rows are protected.
        neighbours: Which datasets are neighbours. The default is ``"add-or-remove-one"``, or ``"replace-one"`` if sizes
            are public. With private sizes and ``"replace-one"`` a row may also move to another group. That costs up to
            four times as much, so every group gets a quarter of the budget.
        nan: What to do with missing values (NaN) and infinite values, as for ``dpmean.mean``. ``"drop"`` needs private
            sizes.
        count_values: Whether to release a noisy number of values for each column of each group, as for ``dpmean.mean``.
        shape: Whether the noise follows the scales of the columns, as for ``dpmean.mean``. The scales are found for
            each group; scales that you give are used for all groups.
        population: Whether to release the variances of the columns in each group too, as for ``dpmean.mean``.
        ledger: A ``dpmean.Ledger`` that pays for the release. The cost is taken from its budget before the release is
            returned.
        seed: A seed that makes the noise reproducible, for experiments only. A seeded release protects nobody.
        allow_few_rows: Whether to release a mean of groups with too few rows for a useful one. The release of such a
            group says so.

    Returns:
        A ``GroupedRelease``: for every label a ``Release``, or a ``Refusal`` with its reason.

    Raises:
        ValueError: if an argument or the rows cannot be used. Nothing is released. A group with too few rows is a
            ``Refusal``, not an error.
        TypeError: if an argument or the rows have the wrong type. Nothing is released.

    Example:
        >>> import numpy as np, dpmean
        >>> rows, clinics = np.random.default_rng(0).normal(5, 1, (4000, 2)), ["A", "B"] * 2000
        >>> means = dpmean.mean_by(rows, by=clinics, groups=["A", "B"], rho=0.5, norm_bound=100.0, seed=1)
        >>> bool(abs(means["A"].mean - 5).max() < 0.2)
        True

    """
    from dpmean.arguments.groups import read_groups
    from dpmean.arguments.request import read_request
    from dpmean.pipeline.grouped import run_groups

    request = read_request(
        rho=rho,
        epsilon=epsilon,
        delta=delta,
        norm_bound=norm_bound,
        bounds=bounds,
        method=method,
        columns=columns,
        vector_column=vector_column,
        sep=sep,
        decimal=decimal,
        encoding=encoding,
        quotechar=quotechar,
        newlines=newlines,
        privacy_unit=privacy_unit,
        neighbours=neighbours,
        nan=nan,
        count_values=count_values,
        shape=shape,
        population=population,
        groups=read_groups(by, groups, sizes, contributions),
        ledger=ledger,
        seed=seed,
        allow_few_rows=allow_few_rows,
    )
    return run_groups(X, request)


@_suggest_names
def plan(
    n: int | None = None,
    d: int | None = None,
    *,
    error: Number | None = None,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    scale: Number | None = None,
    rows: str = "normal",
    trust: str = "central",
    rounds: str = "adaptive",
    honest: Number = 0.8,
    neighbours: str | None = None,
    shape: ShapeArgument = "auto",
    contributions: int = 1,
    count_values: bool = False,
    population: bool = False,
    groups: Sequence[int] | None = None,
) -> Outlook:
    """Predict the error of a private mean, or find the budget or the number of rows for a given error.

    Give two of these three: the number of rows, the budget, the error. The third is computed. No data is read.

    Args:
        n: The number of rows that you expect, or of persons if you will give a ``privacy_unit``. Leave it out to find
            the number that an ``error`` requires.
        d: The number of columns.
        error: The error that privacy may add to the mean (root mean square). By default it is the l2 norm in units of
            the spread, which is the typical distance of a row from the mean. With ``scale`` it is the error of one
            column in the unit of that column. Leave out the budget, or ``n``, to find the smallest one for this error.
        rho: The privacy budget in zCDP. Give either ``rho`` or ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, instead of ``rho``. It needs a ``delta``,
            except in the local model.
        delta: The delta of ``epsilon``. It should be well below 1/n. With ``error`` and ``n``, the answer is the
            epsilon at this delta. Without a delta, the answer is rho in the central model, and the epsilon of pure
            differential privacy in the local model.
        scale: The standard deviation that you expect of a column, in its own unit, such as 18 years. All errors are
            then errors of one such column, in this unit.
        rows: What the rows look like, in the central model. ``"normal"`` is the default. Columns may be ``"uniform"``,
            ``"binary"``, ``"mostly zero"``, ``"laplace"`` (exponential tails on both sides), ``"skewed"`` (one such
            tail), ``"lognormal"`` (a longer one), ``"correlated"`` (images, successive measurements), or have
            ``"heavy tails"`` (an infinite variance). Rows may be in ``"clusters"``, mostly in one cluster with a few in
            a ``"small cluster"``, or on a ``"line"``.
        trust: The trust model: ``"central"`` (with method ``"refined"``), ``"local"`` or ``"shuffle"``.
        rounds: The number of rounds in the local and the shuffle model: ``"adaptive"`` or ``"few"``.
        honest: The share of users in the shuffle model who follow the protocol and reveal to nobody what they sent.
        neighbours: Which datasets are neighbours. With ``"add-or-remove-one"``, the default in the central model, the
            number of rows is private. With ``"replace-one"``, the default in the other models, it is public.
        shape: Whether the noise will follow the scales of the columns, as for ``dpmean.mean``. With ``"auto"`` the
            outlook says whether scales will be found, with either kind of bound, and what that costs. With a list of
            scales it predicts the error for columns of these scales that have the same unit (``norm_bound``). With
            ``bounds`` leave them out: the error is then in standard deviations of each column, whatever these are.
        contributions: The maximum number of groups in which one person will count, as for ``dpmean.mean_by``. With k, a
            group gets a k-th of the budget. ``n`` is then the number of persons in one group, and the error is that of
            its mean.
        count_values: Whether values will be counted, as for ``dpmean.mean``. That takes 4 % of the budget.
        population: Whether variances will be released, as for ``dpmean.mean``. That takes about 1 % of the budget, and
            at most 10 %: ``Outlook.variances`` says how much.
        groups: The number of rows, or persons, that you expect in each group of ``dpmean.mean_by``, instead of ``n``.
            The outlook says for each group whether they are enough, and which budget the smallest group needs. Do not
            compute these numbers from the rows, unless only the holder of the data sees the outlook.

    Returns:
        An ``Outlook``: print it, or read its numbers. Its ``goal`` has the budget or the number of rows for an
            ``error``.

    Raises:
        ValueError: if an argument cannot be used, or if the error cannot be reached.
        TypeError: if an argument has the wrong type.

    Example:
        >>> import dpmean
        >>> print(dpmean.plan(4000, 128, rho=0.5))
        4000 rows in 128 dimensions, rho = 0.5: enough rows
          privacy adds an error of 0.00319 spreads (l2 norm, for rows that look normal)
          the sampling error is 0.0158 spreads; privacy adds 0.2 times that
          finding the scales of columns takes up to 2.6 % of the budget with norm_bound,
            about 6.6 % with bounds
        >>> dpmean.plan(4000, 128, error=0.01).goal.amount
        0.05241

    """
    from dpmean.arguments.choices import read_integer
    from dpmean.arguments.questions import (
        check_groups,
        read_expected,
        read_group_sizes,
        read_length,
        read_open_terms,
        read_question,
    )
    from dpmean.arguments.terms import read_terms
    from dpmean.enums import Question
    from dpmean.errors import ArgumentError
    from dpmean.pipeline.goals import RequestedError, add_groups, find_budget, find_rows, outlook_for

    sizes = read_group_sizes(groups, n)
    n = min(sizes) if sizes else None if n is None else read_integer(n, "n")
    if d is None:
        raise ArgumentError("d is missing: give the number of columns, for example d=8")
    columns, wanted, unit = read_integer(d, "d"), read_length(error, "error"), read_length(scale, "scale")
    question = read_question(n, error, rho, epsilon, delta)
    choices: dict[str, Any] = {"trust": trust, "neighbours": neighbours, "rounds": rounds, "honest": honest}
    if question is Question.BUDGET:
        terms = read_open_terms(delta, **choices)
    else:
        terms = read_terms(rho=rho, epsilon=epsilon, delta=delta, **choices)
    check_groups(sizes, terms)
    asked: dict[str, Any] = {"contributions": contributions, "count_values": count_values, "population": population}
    expected = read_expected(shape, rows, scale, columns, terms, **asked)
    wish = RequestedError(wanted or 0.0, unit, columns, expected)
    if n is None:
        return find_rows(wish, terms)
    found = find_budget(wish, n, terms) if question is Question.BUDGET else outlook_for(wish, n, terms)
    return add_groups(found, wish, sizes, terms) if sizes else found
