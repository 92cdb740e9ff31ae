"""Run an estimator for a user: ask what its arguments say, and put the answer back into the user's units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypedDict, TypeVar, final

from dpmean.arguments.bounds import Bounds
from dpmean.arguments.choices import read_randomness
from dpmean.arguments.request import Asked
from dpmean.enums import Trust
from dpmean.errors import display_name
from dpmean.estimators.registry import Build
from dpmean.ledger.ledger import Ledger
from dpmean.pipeline.assemble import bound_of, check_rows, in_user_units, warn
from dpmean.privacy.budgets import Number, Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt, total_cost
from dpmean.queries.domain import Domain
from dpmean.queries.protocols import Noise, Rows
from dpmean.release.release import Release
from dpmean.release.settings import Settings
from dpmean.rows.engine import Source
from dpmean.rows.opening import InMemory
from dpmean.rows.pass_counter import CountedRows
from dpmean.rows.permutation import shuffled
from dpmean.rows.private_size import UncountedRows
from dpmean.trust.central.costs import COUNT_SHARES, split
from dpmean.trust.central.curator import Curator, count_rows

Curate = Callable[[Rows, Zcdp, Noise, Neighbours], Any]
"""How a curator is given rows, a budget and noise."""
_Found = TypeVar("_Found")


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
    bounds: Bounds | None
    sigma_min: float | None
    sigma_max: float | None


def run(
    build: Build,
    asked: Asked,
    counted: Callable[[], None] | None = None,
    curate: Curate = Curator,
) -> Release:
    """Release the mean of rows with the estimator that ``build`` makes for a grid.

    ``counted`` is told when a private number of rows has been drawn. Every argument was read before: from here on,
    what goes wrong is about rows.
    """
    given, source, neighbours = asked.arguments, asked.source, asked.arguments.neighbours
    books = Books(given.ledger, given.budget, str(given.neighbours), unit_of(source))
    books.check()
    noise, coins = read_randomness(given.seed)
    number = _number(source, neighbours, given.budget, noise)
    if number.paid:
        books.pay(total_cost(number.paid))
        if counted is not None:
            counted()

    def ask() -> tuple[Release, str]:
        domain, grid = asked.setting.at(number.n)
        estimator = build(grid, coins)
        setting = f"d={domain.d}, rho={float(given.budget.rho):.4g} and method {estimator.name}"
        need, allowed = estimator.rows_needed(number.left, neighbours), given.allow_few_rows
        few_rows = check_rows(need, number.n, number.words, setting, allow_few_rows=allowed, paid=number.paid)

        rows = CountedRows(_seen(source, replace(domain, strict=asked.strict), number, noise))
        estimate = estimator(curate(rows, number.left, noise, neighbours))
        estimate = replace(estimate, receipts=(*number.paid, *estimate.receipts))
        total_cost(estimate.receipts, given.budget)
        release = in_user_units(
            estimate,
            domain,
            n=number.n,
            number_std=number.std,
            method=estimator.name,
            trust=Trust.CENTRAL,
            neighbours=neighbours,
            seeded=noise.seeded,
            settings=_settings(asked, domain, rows, step=grid.step, coins=coins.key, few_rows=bool(few_rows)),
        )
        return release, few_rows

    release, few_rows = books.charged(ask, "the number of rows, without a mean")
    if not number.paid:  # a number that was paid for is told after that was recorded
        warn(few_rows, given.delta, number.n)
    if given.ledger is not None:
        given.ledger.record(release, asked=given.budget)
    if number.paid:
        warn(few_rows, given.delta, number.n)
    return release


@final
@dataclass(slots=True)
class Books:
    """The ledger that a call pays from, if there is one, what it asks for, whom that is about, and what was drawn."""

    ledger: Ledger | None
    asked: Zcdp
    neighbours: str
    unit: str | None
    paid: Zcdp | None = None

    def pay(self, cost: Zcdp) -> None:
        """Remember what was drawn, before anybody can have seen it."""
        self.paid = cost

    def check(self) -> None:
        """Refuse what would be refused in the end, before anything is drawn."""
        if self.ledger is not None:
            self.ledger.check(self.asked, neighbours=self.neighbours, unit=self.unit)

    def charged(self, work: Callable[[], _Found], what: str) -> _Found:
        """Do some work; if anything goes wrong, take what was drawn so far from the ledger, since that may tell of it.

        Outside of any handler: were the ledger to refuse, its error must not carry the other one along.
        """
        failed = None
        try:
            return work()
        except BaseException as error:
            failed = error
        if self.ledger is not None and self.paid is not None:
            self.ledger.charge(self.paid, what, neighbours=self.neighbours, unit=self.unit, asked=self.asked)
        raise failed


def _seen(source: Source, domain: Domain, number: _Number, noise: Noise) -> Rows:
    """Return the rows as an estimator may see them: persons in a secret order, and a private number hidden."""
    rows = source.rows(domain)
    if unit_of(source) is not None:
        rows = rows.take(shuffled(rows.n, noise, "persons"))
    return UncountedRows(rows, number.n, noise) if number.paid else rows


def _settings(asked: Asked, domain: Domain, rows: CountedRows, *, step: float, coins: str, few_rows: bool) -> Settings:
    """Return the public choices of a run, once rows were read."""
    given, source = asked.arguments, asked.source
    return Settings(
        bound=bound_of(domain, given.norm_bound),
        step=step,
        coins=coins,
        passes=rows.passes,
        sample=rows.sampled,
        columns=source.names,
        privacy_unit=unit_of(source),
        imputed=_imputed(source, domain, asked.strict),
        delta=None if given.delta is None else float(given.delta),
        few_rows=few_rows,
    )


def _imputed(source: Source, domain: Domain, strict: tuple[int, ...]) -> bool | tuple[str, ...]:
    """Return where missing values were made up: the names of columns, or True for all that have no names."""
    if not domain.impute or source.names is None:
        return domain.impute
    return tuple(name for j, name in enumerate(source.names) if j not in strict)


def unit_of(source: Source) -> str | None:
    """Return what all rows of one person are known by; None if every row is protected for itself."""
    return source.unit if isinstance(source, InMemory) else None


@final
@dataclass(frozen=True, slots=True)
class _Number:
    """How many rows there are, as everybody may know, what it cost to know, and what is left of the budget."""

    n: int
    words: str
    paid: tuple[Receipt, ...]
    left: Zcdp
    std: float = 0.0


def _number(source: Source, neighbours: Neighbours, budget: Zcdp, noise: Noise) -> _Number:
    n, unit = source.shape[0], unit_of(source)
    what = "rows" if unit is None else f"persons ({display_name(unit)})"
    if neighbours is Neighbours.REPLACE_ONE:
        return _Number(n, f"{n} {what}", (), budget)
    for_count, left = split(budget, *COUNT_SHARES)
    about, receipt = count_rows(n, for_count, noise, "number")
    return _Number(about, f"about {about} {what}", (receipt,), left, math.sqrt(1 / (2 * for_count.rho)))
