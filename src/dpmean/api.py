"""The functions that a user calls: the mean of rows, the means of groups, and what to expect of either.

This is one file because every argument is explained where it is. What a function needs is imported when it is called,
so that whoever plans loads no compiler.
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


_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


def _knows_arguments(function: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """Say of an argument that there is not which one may be meant; the signature stays as it is for all tools."""

    @functools.wraps(function)
    def call(*args: _Given.args, **given: _Given.kwargs) -> _Answer:
        _check_names(function.__name__, given)
        return function(*args, **given)

    return call


def _check_names(function: str, given: dict[str, Any]) -> None:
    """Refuse names of arguments that a function does not have."""
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
        cure = f"help(dpmean.{function}) lists those that there are"
    raise ArgumentTypeError(f"{function}() has no argument {unknown!r}: {cure}")


def _names_of(function: Any) -> tuple[str, ...]:
    """Return the names of the arguments of a function that knows them."""
    code = function.__wrapped__.__code__
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


@_knows_arguments
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

    Neighbouring data sets have one row more or less, and the number of rows is private, unless you say otherwise.
    Nothing needs tuning: the centre and the clipping radius are found privately, and the error follows the spread of
    the rows, not the bound.

    Args:
        X: The rows: an (n, d) array, or an (n,) array for one column. It is neither changed nor copied as a whole.
            Names of files (.npy, Parquet, Arrow, CSV), data frames (pandas, polars, also lazy, pyarrow and others),
            sparse matrices of SciPy, PyTorch tensors, DuckDB relations, Hugging Face datasets, Dask arrays and data
            frames, and Spark data frames are read where they are, and give the same release.
        rho: The privacy budget in zero-concentrated differential privacy (zCDP). Smaller is stronger: at delta = 1e-6,
            0.5 is epsilon = 5.2, and 0.024 is epsilon = 1. Give either ``rho`` or ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, in place of ``rho``. It needs a ``delta``,
            except in the local model, where ``epsilon`` alone is pure differential privacy.
        delta: The delta that belongs to ``epsilon``. It should be well below 1/n.
        norm_bound: A bound on the l2 norm of every row, known without looking at the rows. Longer rows are clipped to
            it. Use it when all columns share a unit (pixels, embeddings): what counts is the error of all together, and
            noise follows the scales of the columns where that makes it smaller. In the central model it may be as large
            as a million times the spread, the typical distance of a row from the mean. Give either ``norm_bound`` or
            ``bounds``.
        bounds: Bounds on the columns, in place of ``norm_bound``: ``(lower, upper)``, each one number or one number per
            column, or ``{"age": (0, 130), ...}``. Rows outside are clipped to the bounds. Use it for columns that have
            units of their own: where there are enough rows to find their scales, each is as accurate as its own values
            allow, in its own standard deviations, however loose its range is. Noise is in proportion to the ranges if
            there are too few rows, with ``shape="round"``, with other methods than ``"refined"``, and in the local and
            the shuffle model.
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
        columns: The columns of a table to use: several names, or one. By default all of them are used.
        vector_column: The column of a table that holds vectors, in place of ``columns``.
        sep: What stands between the columns of a CSV file: ``";"``, ``"|"``, or a tab. By default the first line tells,
            together with the names that you give, and a ``FormatWarning`` says what was assumed. Rows are never asked.
        decimal: The mark before decimals in a CSV file: ``"."``, the default, or ``","``.
        encoding: How the text of a CSV file is encoded: ``"utf-8"``, ``"utf-16"``, ``"latin-1"``, ``"cp1252"`` or
            another one with one byte per character. By default a byte order mark tells; without one it is UTF-8.
        quotechar: What stands around the fields of a CSV file that hold the separator. It is doubled within them.
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
        step: The resolution of the answer, a power of two. With ``bounds`` it is in multiples of half a range.
        nan: What to do with values that are NaN or infinite. ``"raise"`` refuses them. ``"drop"`` leaves out the rows
            that have one, as if they were not there; the number of rows must be private for that, as it is by default.
            ``"impute"`` puts zero, or the middle of the bounds, in their place. With ``{"income": "impute", "crp":
            10.0, ...}`` each column has a choice of its own, or a public value to count as, which must not come from
            the rows; columns that are not named refuse missing values, and columns without names are counted from 0. Of
            one person's rows, missing values are left out of the mean, and the choice is about what is missing in all
            of them. In the local and the shuffle model a device always answers: such a row counts as the centre.
        count_values: Whether to tell how many rows have a value in each column: ``release.value_counts``, with noise,
            for a 25th of the budget. With it, the release can tell by how much imputing may have moved the mean.
        shape: Whether noise follows the scales of the columns, that is, how widely each varies. With ``"auto"``, the
            default, method refined asks for the scales, privately and for a small part of the budget, where there are
            enough rows; ``release.scales`` has them. With ``"round"`` it does not ask. If you know the scales, give
            them: one positive number per column, about its standard deviation, or ``{"age": 18.0, ...}``. They must not
            come from looking at the rows, and they cost nothing.
        population: Whether to ask for the variances of the columns, for 1 to 10 % of the budget: then
            ``release.interval(of="population")`` and ``release.std`` are there. Method refined in the central model
            does.
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


@_knows_arguments
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

    A row, or a person, is in one group, so every group gets the whole budget and all of them together cost it once;
    where a person may count in k groups, each gets a k-th of it.
    Groups that are too small get no number but a reason. Rows of groups that are not listed are left out, and nothing
    tells whether there are any.

    Args:
        X: Files, a data frame, a DuckDB relation, a Hugging Face dataset, an array or a tensor on a CPU. The columns
            that are used are held in memory.
        by: The column that names the group, or one label per row. With several columns, ``["clinic", "sex"]``, groups
            are combinations of their values.
        groups: The labels of the groups, listed by you. Labels found in the data would tell who is there. With several
            columns a label is a tuple, ``("North", "f")``; ``list(itertools.product(clinics, sexes))`` lists all.
        rho: The privacy budget of all groups together, in zCDP. Give either ``rho`` or ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, in place of ``rho``. It needs a ``delta``.
        delta: The delta that belongs to ``epsilon``. It should be well below one over the number of rows.
        norm_bound: A bound on the l2 norm of every row. Give either ``norm_bound`` or ``bounds``.
        bounds: Bounds on the columns, as for ``dpmean.mean``.
        method: The estimator, as for ``dpmean.mean``.
        columns: The columns to use: several names, or one. By default all others are used.
        vector_column: The column that holds vectors, in place of ``columns``.
        sep: What stands between the columns of a CSV file, as for ``dpmean.mean``.
        decimal: The mark before decimals in a CSV file, as for ``dpmean.mean``.
        encoding: How the text of a CSV file is encoded, as for ``dpmean.mean``.
        quotechar: What stands around fields in a CSV file, as for ``dpmean.mean``.
        newlines: How line breaks in a CSV file are read, as for ``dpmean.mean``.
        privacy_unit: The column that says whose row it is, or one key per row. A person then counts in
            ``contributions`` of the listed groups at most, in each with the mean of that person's rows in it. For a
            person with rows in more groups a public hash of the key chooses, and rows in the others are left out.
        contributions: In how many groups one person counts at most; it needs a ``privacy_unit``. By default that is
            one. With k, every group gets a k-th of the budget, as what one person's groups cost adds up.
        sizes: Whether the sizes of groups are protected. With ``"private"`` they are told with noise, which costs a
            small part of the budget, and whether a row is there at all is protected. With ``"public"`` they are told
            exactly: who is in which group is then public, and only what they contributed is protected.
        neighbours: Which data sets are neighbours. By default add-or-remove-one, and ``"replace-one"`` where sizes are
            public. With private sizes and ``"replace-one"`` a row may also move to another group: that costs up to four
            times as much, so every group gets a quarter of the budget.
        nan: What to do with values that are NaN or infinite, as for ``dpmean.mean``. To leave rows out, sizes must be
            private.
        count_values: Whether to tell how many rows of each group have a value in each column, as for ``dpmean.mean``.
        shape: Whether noise follows the scales of the columns, as for ``dpmean.mean``. Every group is asked for scales
            of its own; scales that you give hold for all groups.
        population: Whether to ask for the variances of the columns in each group, as for ``dpmean.mean``.
        ledger: A ``dpmean.Ledger`` that pays for the release. The cost is taken from its budget before the release is
            returned.
        seed: A seed that makes the noise reproducible, for experiments only. A seeded release protects nobody.
        allow_few_rows: Whether to give groups a number where they have too few rows to expect a useful one. The release
            of such a group says so.

    Returns:
        A ``GroupedRelease``: for every label a ``Release``, or a ``Refusal`` with its reason.

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


@_knows_arguments
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
    """Tell what the mean of n rows in d dimensions would be worth, or what it takes to be worth so much.

    Of the number of rows, the budget and the error give two, and you are told the third. No data are touched.

    Args:
        n: The number of rows that there will be, or of persons if you will give a ``privacy_unit``. Leave it out to be
            told how many an ``error`` takes.
        d: The number of columns.
        error: The error that privacy may add to the mean (root mean square). By default that is the l2 norm in spreads,
            where a spread is the typical distance of a row from the mean; with ``scale`` it is the error of one column
            in its own unit. Leave out the budget, or else ``n``, to be told the smallest that promises it.
        rho: The privacy budget in zCDP. Give either ``rho`` or ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, in place of ``rho``. It needs a ``delta``,
            except in the local model.
        delta: The delta that belongs to ``epsilon``. It should be well below 1/n. Beside ``error`` and ``n`` it asks
            for the epsilon at this delta; without it you are told rho in the central model, and the epsilon of pure
            differential privacy in the local model.
        scale: The standard deviation that you expect of a column, in its unit, such as 18 years. All errors are then
            those of one such column, in this unit.
        rows: What the rows look like, in the central model. ``"normal"`` is the default. Columns may be ``"uniform"``,
            ``"binary"``, ``"mostly zero"``, ``"laplace"`` (exponential tails on both sides), ``"skewed"`` (one such
            tail), ``"lognormal"`` (a longer one), ``"correlated"`` (images, successive measurements), or have
            ``"heavy tails"`` (an infinite variance). Rows may be in ``"clusters"``, or nearly all in one and some in a
            ``"small cluster"``, or on a ``"line"``.
        trust: The trust model: ``"central"`` (the refined mean), ``"local"`` or ``"shuffle"``.
        rounds: The rounds of the local and the shuffle model: ``"adaptive"`` or ``"few"``.
        honest: The share of users in the shuffle model that take part and tell nobody what they sent.
        neighbours: Which data sets are neighbours. By default add-or-remove-one in the central model: the number of
            rows is private. With ``"replace-one"``, the default in the other models, it is public.
        shape: Whether noise is to follow the scales of columns, as for ``dpmean.mean``. With ``"auto"`` the outlook
            tells whether scales will be asked for, with either kind of bound, and what that costs. With a list of
            scales it predicts the error for columns of these scales that share a unit (``norm_bound``). With
            ``bounds`` leave them out: there the error is in each column's own standard deviations, whatever these are.
        contributions: In how many groups one person will count at most, as for ``dpmean.mean_by``. With k, a group gets
            a k-th of the budget. Then ``n`` is the number of persons in one group, and the error is that of its mean.
        count_values: Whether values will be counted, as for ``dpmean.mean``. That takes a 25th of the budget.
        population: Whether intervals of a population will be asked for, as for ``dpmean.mean``. That takes some 1 %
            of the budget, and 10 % at most: ``Outlook.variances`` says how much.
        groups: The sizes of the groups that ``dpmean.mean_by`` will be asked about, in place of ``n``: how many rows,
            or persons, you expect in each. The outlook says for each whether these are enough, and which budget the
            smallest needs. It must not come from the rows themselves, unless it is for the holder of the data only.

    Returns:
        An ``Outlook``: print it, or read its numbers. Its ``goal`` has what an ``error`` takes.

    Raises:
        ValueError: when an argument cannot be used, or the error is out of reach.
        TypeError: when an argument has an unusable type.

    Example:
        >>> import dpmean
        >>> print(dpmean.plan(4000, 128, rho=0.5))
        4000 rows in 128 dimensions, rho = 0.5: enough rows
          privacy adds an error of 0.00319 spreads (l2 norm, for rows that look normal)
          the sampling error is 0.0158 spreads; privacy adds 0.2 times that
          finding the scales of columns costs up to 2.6 % of the budget with norm_bound,
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
    from dpmean.pipeline.goals import Wish, find_budget, find_rows, outlook_for, with_groups

    sizes = read_group_sizes(groups, n)
    n = min(sizes) if sizes else None if n is None else read_integer(n, "n")
    if d is None:
        raise ArgumentError("d is missing: give the number of columns, d=8, say")
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
    wish = Wish(wanted or 0.0, unit, columns, expected)
    if n is None:
        return find_rows(wish, terms)
    found = find_budget(wish, n, terms) if question is Question.BUDGET else outlook_for(wish, n, terms)
    return with_groups(found, wish, sizes, terms) if sizes else found
