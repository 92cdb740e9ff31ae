"""A request: all arguments, read and checked before a row is read, noise is drawn or a ledger is charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dpmean.arguments.bounds import Bound, Bounds, Setting, read_bound, read_sigmas, read_step
from dpmean.arguments.choices import read_flag, read_ledger, read_seed
from dpmean.arguments.dialect import read_dialect
from dpmean.arguments.groups import Groups
from dpmean.arguments.missing import MissingValues, NanArgument, read_missing
from dpmean.arguments.selection import read_key, read_selection
from dpmean.arguments.shape import (
    GivenScales,
    ShapeArgument,
    check_scales,
    order_scales,
    read_shape,
)
from dpmean.arguments.terms import Terms, check_options, read_terms
from dpmean.enums import Shaping
from dpmean.errors import ArgumentError, DataError, describe
from dpmean.estimators.refined.shape import EXTREME, OrderedScales, takes_shape
from dpmean.estimators.registry import Build, check_shape, find_estimator
from dpmean.ledger.entries import relation_of
from dpmean.ledger.ledger import Ledger
from dpmean.privacy.budgets import ApproxDp, Number, PureDp, Zcdp
from dpmean.rows.engine import Source
from dpmean.rows.registry import Selection
from dpmean.rows.tables.combinations import SeveralColumns
from dpmean.rows.tables.keyed_table import Key, names_of
from dpmean.trust.registry import TrustModel

SMALLEST_TO_COUNT = Fraction(1, 10**6)
"""The smallest budget at which a noisy number of rows is useful."""
_LEAST = PureDp(Fraction(1, 10**9))
"""A tiny cost that stands for a curve, whose price is not known yet: only the kind of the ledger is checked."""
_MOST_ROWS = 2**63
"""An upper bound on the number of rows, exact or noisy."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All arguments of a mean. What they say about columns is checked by ``of`` when the columns are known."""

    terms: Terms
    selection: Selection
    """Which columns of the input to use."""
    privacy_unit: Key | None
    build: Build
    """Makes the estimator; collections from devices have their own."""
    bound: Bound
    sigmas: tuple[float, float] | None
    step: float | None
    missing: MissingValues
    count_values: bool
    """Whether to release the number of values in each column."""
    shape: GivenScales
    groups: Groups | None
    ledger: Ledger | None
    seed: int | None
    allow_few_rows: bool
    population: bool

    @property
    def fewest(self) -> int:
        """The minimum number of rows: a private number may be zero."""
        return 0 if self.terms.private_size else 1

    def check_ledger(self) -> None:
        """Refuse a cost that the ledger cannot pay, or neighbours that it is not for, before any row is read."""
        if self.ledger is None:
            return
        unit, groups = self.privacy_unit, self.groups
        by = None if groups is None else groups.by
        name = by.names if isinstance(by, SeveralColumns) else by if isinstance(by, str) else "group"
        relation = relation_of(self.terms.neighbours, None if groups is None else groups.sizes, name)
        person = unit if unit is None or isinstance(unit, str) else "privacy_unit"
        budget = self.terms.budget
        curve = isinstance(budget, ApproxDp) and isinstance(self.ledger.budget, ApproxDp)
        cost = _LEAST if curve else budget  # the price of a curve in epsilon and delta is known at the end
        self.ledger.check(cost, neighbours=relation, unit=person)

    def finite(self, names: tuple[str, ...] | None, d: int) -> np.typing.NDArray[np.bool_]:
        """Return the columns in which every value must be finite."""
        return self.missing.finite(names, d)

    def of(self, source: Source) -> Job:
        """Check the arguments against the columns of these rows."""
        n, d = source.shape
        if not d:
            raise DataError("X has no columns: give at least one column of numbers")
        domain = self.missing.through(self.bound.domain(d, source.names), source.names)
        setting = Setting(domain, self.sigmas, self.step)
        scales = order_scales(self.shape, source.names, d)
        for number in (1, _MOST_ROWS) if self.terms.private_size else (max(n, 1),):
            widest, _ = setting.at(number)  # everything is monotone in it, so all numbers in between are accepted too
            check_scales(scales, widest, source.names)
            if self.population and not (takes_shape(widest) and (widest.ball or 1.0) >= 1 / EXTREME):
                raise ArgumentError(
                    "population=True needs bounds between 2^-400 and 2^400, because the squares of other numbers are "
                    "not exact: use another unit"
                )
        return Job(self, source, setting, scales)


@final
@dataclass(frozen=True, slots=True)
class Job:
    """A request and its rows. Code that draws noise gets a job, and no unchecked argument."""

    request: Request
    source: Source
    setting: Setting
    shaping: OrderedScales = Shaping.AUTO


def read_request(
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
    groups: Groups | None = None,
    ledger: Ledger | None = None,
    seed: int | None = None,
    allow_few_rows: bool = False,
    population: bool = False,
) -> Request:
    """Read the arguments of ``dpmean.mean``, which explains them, or of ``dpmean.mean_by``, which has groups."""
    terms = read_terms(
        trust=trust,
        rho=rho,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        rounds=rounds,
        honest=honest,
        fidelity=fidelity,
        sizes=None if groups is None else groups.sizes,
    )
    population, shaping = read_flag(population, "population"), read_shape(shape)
    build = _read_method(terms.model, method, passes, population=population)
    given: dict[str, Any] = {"privacy_unit": privacy_unit, "sigma_min": sigma_min, "sigma_max": sigma_max, "step": step}
    counts = read_flag(count_values, "count_values")
    given |= {"groups": groups, "passes": None if passes == 2 else passes}
    given |= {"count_values": counts or None, "population": population or None}
    check_options(terms.model, {**given, "shape": None if shaping is Shaping.AUTO else shaping})
    missing = read_missing(nan, terms.model)
    missing.check_sizes(None if groups is None else groups.sizes, private_size=terms.private_size)
    check_shape(method, shaping)
    _check_counting_budget(terms, 1 if groups is None else groups.contributions)
    _check_keys(groups, privacy_unit)
    dialect = read_dialect(sep, decimal, encoding, quotechar, newlines)
    return Request(
        terms=terms,
        selection=read_selection(columns, vector_column, dialect),
        privacy_unit=None if privacy_unit is None else read_key(privacy_unit, "privacy_unit"),
        build=build,
        bound=read_bound(norm_bound, bounds),
        sigmas=read_sigmas(sigma_min, sigma_max, bounds),
        step=read_step(step),
        missing=missing,
        count_values=counts,
        shape=shaping,
        groups=groups,
        ledger=read_ledger(ledger, seed),
        seed=read_seed(seed),
        allow_few_rows=read_flag(allow_few_rows, "allow_few_rows"),
        population=population,
    )


def _read_method(model: TrustModel, method: str | None, passes: int, *, population: bool) -> Build:
    if model.methods and method not in (None, *model.methods):
        only = " or ".join(f'"{name}"' for name in model.methods)
        raise ArgumentError(
            f"in the {model.name} model method must be {only}, got {describe(method)}: leave method out"
        )
    return find_estimator(method, passes, population=population)


def _check_keys(groups: Groups | None, privacy_unit: Key | None) -> None:
    """Refuse the same column for groups and for persons: every group would be one person."""
    if groups is None:
        return
    if privacy_unit is None:
        if groups.contributions > 1:
            raise ArgumentError(
                f"contributions={groups.contributions} needs a column that identifies the person of each row: give "
                'privacy_unit="patient", for example, or leave contributions out'
            )
        return
    by = groups.by
    named = isinstance(privacy_unit, str)
    if by is privacy_unit or (named and privacy_unit in names_of(by)):
        which = f" {privacy_unit!r}" if named else ""
        raise ArgumentError(
            f"by and privacy_unit are the same column{which}, and every group would be one person: give the column "
            "that identifies persons as privacy_unit, or leave it out"
        )


def _check_counting_budget(terms: Terms, contributions: int) -> None:
    """Refuse a budget that is too small to count a private number of rows in each group of one person."""
    least = SMALLEST_TO_COUNT * contributions
    if terms.private_size and isinstance(terms.budget, Zcdp) and terms.budget.rho < least:
        of_groups = f" and contributions={contributions}" * (contributions > 1)
        raise ArgumentError(
            f"rho must be at least {float(least):g} if the number of rows is private{of_groups}, got "
            f'{float(terms.budget.rho):g}: raise it, or give neighbours="replace-one" if that number is public'
        )
