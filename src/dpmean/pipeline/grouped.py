"""One private mean per group."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpmean.arguments.bounds import Bounds, columns_bounded
from dpmean.arguments.choices import read_neighbours, read_randomness
from dpmean.arguments.request import Arguments, Asked, read_arguments
from dpmean.arguments.rows import read_array
from dpmean.enums import Newlines, Sizes, read_name
from dpmean.errors import ArgumentError, TooFewRowsError, TooFewRowsWarning
from dpmean.estimators.registry import Build, find_estimator
from dpmean.ledger.entries import relation_of
from dpmean.ledger.ledger import Ledger
from dpmean.pipeline.central import Books, run
from dpmean.privacy.budgets import Number
from dpmean.privacy.neighbours import Neighbours
from dpmean.release.grouped import MOVED, GroupedRelease, Refusal
from dpmean.release.release import Release
from dpmean.rows.tables.keys import written_labels
from dpmean.rows.tables.table import Key, open_table
from dpmean.rows.tables.table import groups as rows_of_groups
from dpmean.trust.central.costs import COUNT_SHARES


def mean_by(
    X: Any,
    *,
    by: Key,
    groups: Sequence[Any],
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    norm_bound: float | None = None,
    bounds: Bounds | None = None,
    method: str | None = None,
    columns: Sequence[str] | None = None,
    vector_column: str | None = None,
    newlines: str = "records",
    privacy_unit: Key | None = None,
    sizes: str = "private",
    neighbours: str | None = None,
    nan: str | Mapping[str, str] = "raise",
    ledger: Ledger | None = None,
    seed: int | None = None,
    allow_few_rows: bool = False,
) -> GroupedRelease:
    """Release the mean of each group of rows under differential privacy.

    A row, or a person, is in one group, so every group gets the whole budget and all of them together cost it once.
    Groups that are too small get no number but a reason. Rows of groups that are not listed are left out, and nothing
    tells whether there are any.

    Args:
        X: Files, a data frame or an array. The columns that are used are held in memory.
        by: The column that names the group, or one label per row.
        groups: The labels of the groups, listed by you. Labels found in the data would tell who is there.
        rho: The privacy budget of all groups together, in zCDP. Give either ``rho`` or ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, in place of ``rho``. It needs a ``delta``.
        delta: The delta that belongs to ``epsilon``. It should be well below one over the number of rows.
        norm_bound: A bound on the l2 norm of every row. Give either ``norm_bound`` or ``bounds``.
        bounds: Bounds on the columns, as for ``dpmean.mean``.
        method: The estimator, as for ``dpmean.mean``.
        columns: The columns to use. By default all others are used.
        vector_column: The column that holds vectors, in place of ``columns``.
        newlines: How line breaks in a CSV file are read, as for ``dpmean.mean``.
        privacy_unit: The column that says whose row it is, or one key per row. A person then counts once, in one of the
            listed groups. For a person with rows in several groups a public hash of the key chooses one, and rows in
            the others are left out.
        sizes: Whether the sizes of groups are protected. With ``"private"`` they are told with noise, which costs a
            small part of the budget, and whether a row is there at all is protected. With ``"public"`` they are told
            exactly: who is in which group is then public, and only what they contributed is protected.
        neighbours: Which data sets are neighbours. By default add-or-remove-one, and ``"replace-one"`` where sizes are
            public. With private sizes and ``"replace-one"`` a row may also move to another group: that costs up to four
            times as much, so every group gets a quarter of the budget.
        nan: What to do with values that are NaN or infinite, as for ``dpmean.mean``.
        ledger: A ``dpmean.Ledger`` that pays for the release. The cost is taken from its budget before the release is
            returned.
        seed: A seed that makes the noise reproducible, for experiments only. A seeded release protects nobody.
        allow_few_rows: Whether to give groups a number where they have too few rows to expect a useful one. The release
            of such a group says so.

    Returns:
        A ``GroupedRelease``: for every label a ``Release``, or a ``Refusal`` with its reason.

    """
    build, labels = find_estimator(method, 2), _labels(groups)
    counted, records = read_name(Sizes, sizes, "sizes"), read_name(Newlines, newlines, "newlines")
    relation = _relation(counted, neighbours)
    arguments = read_arguments(
        rho=rho,
        epsilon=epsilon,
        delta=delta,
        norm_bound=norm_bound,
        bounds=bounds,
        nan=nan,
        neighbours=relation,
        ledger=ledger,
        seed=seed,
        allow_few_rows=allow_few_rows,
    )
    arguments.check_ledger()
    each = _of_each_group(arguments, counted)
    columns = columns_bounded(X, columns, vector_column, bounds)
    _, coins = read_randomness(arguments.seed)
    read = partial(read_array, fewest=each.fewest)
    table = open_table(X, columns, vector_column, by, privacy_unit, read=read, newlines=records)
    name, sources = rows_of_groups(table, by, labels, privacy_unit, each.finite, coins.key)
    asked = {
        label: replace(each, seed=_seed(arguments.seed, label)).of(source)
        for label, source in zip(labels, sources, strict=True)
    }
    unit = sources[0].unit
    books = Books(arguments.ledger, arguments.budget, relation_of(relation, counted, name), unit)
    books.check()
    found = books.charged(lambda: _ask(build, asked, books), "the sizes of groups, without a mean")
    release = GroupedRelease(
        name,
        found,
        counted,
        relation,
        seeded=arguments.seed is not None,
        delta=1e-6 if delta is None else float(delta),
        coins=coins.key,
        unit=unit,
    )
    if arguments.ledger is not None and release.rho:
        arguments.ledger.record(release, asked=arguments.budget)
    return release


def _of_each_group(arguments: Arguments, sizes: Sizes) -> Arguments:
    """Return what is asked of every group, whose release is not recorded by itself."""
    if sizes is Sizes.PUBLIC:
        return replace(arguments, ledger=None, delta=None)
    moves = arguments.neighbours is Neighbours.REPLACE_ONE
    budget = arguments.budget.share(1, MOVED) if moves else arguments.budget
    return replace(arguments, budget=budget, neighbours=Neighbours.ADD_OR_REMOVE_ONE, ledger=None, delta=None)


def _ask(build: Build, asked: Mapping[Any, Asked], books: Books) -> dict[Any, Release | Refusal]:
    """Release the mean of each group, or say why not."""
    for_number = books.asked.share(COUNT_SHARES[0], sum(COUNT_SHARES))
    found: dict[Any, Release | Refusal] = {}
    for label, one in asked.items():
        if one.source.shape[0] < one.arguments.fewest:
            found[label] = Refusal("it has no rows")
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TooFewRowsWarning)  # the release of the group says so
                found[label] = run(build, one, counted=lambda: books.pay(for_number))
        except TooFewRowsError as error:
            found[label] = Refusal(_reason(str(error)), error.receipts, error.rows_needed)
    return found


def _labels(groups: Sequence[Any]) -> list[Any]:
    if isinstance(groups, str | bytes | Mapping) or not hasattr(groups, "__iter__"):
        raise ArgumentError(f"groups must be several labels, got {groups!r}: give a list")
    labels = [key.item() if isinstance(key, np.number | np.bool_ | np.str_) else key for key in groups]
    if not labels:
        raise ArgumentError("groups is empty: list the labels of the groups, all that may occur")
    written_labels(labels)
    for label in labels:
        if isinstance(label, float) and not math.isfinite(label):
            raise ArgumentError(f"groups: {label!r} is not a finite number: leave it out")
        if isinstance(label, str) and label.encode("utf-8", "replace").decode() != label:
            raise ArgumentError(f"groups: {label!r} is not text that can be written as UTF-8: leave it out")
    return labels


def _relation(sizes: Sizes, neighbours: str | None) -> Neighbours:
    if neighbours is None and sizes is Sizes.PUBLIC:
        return Neighbours.REPLACE_ONE
    relation = read_neighbours(neighbours)
    if sizes is Sizes.PUBLIC and relation is Neighbours.ADD_OR_REMOVE_ONE:
        raise ArgumentError(f'sizes="public" tells who is there: give neighbours="replace-one", not {neighbours!r}')
    return relation


def _reason(words: str) -> str:
    """Return the first sentence: the cures are for whoever asks, not for readers."""
    return words.partition(". Use")[0]


def _seed(seed: int | None, label: Any) -> int | None:
    """Return a seed of a group's own: known noise too must differ between groups."""
    if seed is None:
        return None
    return int.from_bytes(hashlib.blake2b(f"{seed}/{label!r}".encode(), digest_size=8).digest())
