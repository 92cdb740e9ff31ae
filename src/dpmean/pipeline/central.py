"""The central model: run an estimator on the rows of a request, or forecast its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

from dpmean.arguments.choices import read_randomness
from dpmean.arguments.questions import ExpectedRows
from dpmean.arguments.request import Job, Request
from dpmean.arguments.terms import Terms
from dpmean.enums import Missing
from dpmean.estimators.refined.estimator import rows_needed
from dpmean.noise.public import PublicCoins
from dpmean.noise.source import SecureNoise, SeededNoise
from dpmean.pipeline.assemble import bound_of, check_rows, in_user_units, make_outlook, warn
from dpmean.pipeline.budget_shares import BudgetShares
from dpmean.pipeline.forecast import RowsAhead, expected_error, rows_to_match
from dpmean.pipeline.opening import open_rows
from dpmean.pipeline.outlook import Outlook, Promise
from dpmean.pipeline.payment import Payment
from dpmean.pipeline.scales_forecast import forecast_scales
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt, total_cost
from dpmean.queries.domain import Domain
from dpmean.queries.interfaces import Noise, Rows
from dpmean.queries.queries import Ints, Present
from dpmean.release.estimate import Estimate
from dpmean.release.release import Release
from dpmean.release.settings import Settings
from dpmean.release.text import number as number_in_words
from dpmean.release.value_counts import ValueCounts
from dpmean.rows.engine import Source
from dpmean.rows.opening import InMemory
from dpmean.rows.pass_counter import PassCounter, Reads
from dpmean.rows.permutation import draw_order
from dpmean.rows.private_size import PrivateSizeRows
from dpmean.trust.central.costs import COUNT_SHARES, left_for_mean, variance_at
from dpmean.trust.central.curator import Curator
from dpmean.trust.central.noisy_counter import count_rows, count_values

_MARGIN = 2
"""A margin for the noise on a private number of rows, in standard deviations, for the recommended minimum."""
Curate = Callable[[Rows, Zcdp, Noise, Neighbours], Any]
"""A function that makes a curator from rows, a budget and noise."""


def run(X: Any, request: Request) -> Release:
    """Release the mean of the rows of ``X``."""
    return run_job(request.of(open_rows(X, request)))


def run_job(job: Job, counted: Callable[[], None] | None = None, curate: Curate = Curator) -> Release:
    """Release the mean of rows with the estimator of a request.

    ``counted`` is called after a private number of rows has been drawn. All arguments were read before, so later errors
    are about rows.
    """
    request, source = job.request, job.source
    budget, neighbours = request.terms.zcdp, request.terms.neighbours
    payment = Payment(request.ledger, budget, str(neighbours), unit_of(source))
    payment.check()
    noise, coins = read_randomness(request.seed)
    number = _number(job, noise)
    if number.paid:
        payment.pay(total_cost(number.paid))
        if counted is not None:
            counted()
    release, few_rows = payment.charged(
        lambda: _ask(job, number, noise, coins, curate), "the number of rows, without a mean"
    )
    delta = request.terms.delta
    if not number.private:  # a noisy number is shown only after its cost has been recorded
        warn(few_rows, delta, number.n)
    if request.ledger is not None:
        request.ledger.record(release, asked=budget)
    if number.private:
        warn(few_rows, delta, number.n)
    return release


def _ask(
    job: Job, number: _Number, noise: SecureNoise | SeededNoise, coins: PublicCoins, curate: Curate
) -> tuple[Release, str]:
    """Return the release of the estimator, and a warning if there are few rows."""
    request, terms = job.request, job.request.terms
    domain, grid = job.setting.at(number.n)
    estimator = request.build(grid, coins, job.shaping)
    setting = f"d={domain.d}, rho={float(request.terms.zcdp.rho):.4g} and method {estimator.name}"
    need, allowed = estimator.rows_needed(number.left, terms.neighbours), request.allow_few_rows
    few_rows = check_rows(need, number.n, number.words, setting, allow_few_rows=allowed, paid=number.paid)

    rows = PassCounter(_prepare_rows(job.source, domain, number, noise), Reads(number.passes))
    estimate = estimator(curate(rows, number.left, noise, terms.neighbours))
    if not isinstance(estimate, Estimate):
        raise TypeError(f"an estimator must return an Estimate, got {type(estimate).__name__} from {estimator.name}")
    values, paid = _values(job, number, noise)
    estimate = replace(estimate, receipts=(*number.paid, *paid, *estimate.receipts))
    total_cost(estimate.receipts, request.terms.zcdp)
    release = in_user_units(
        estimate,
        domain,
        n=number.n,
        number_std=number.std,
        method=estimator.name,
        trust=terms.model.name,
        neighbours=terms.neighbours,
        seeded=noise.seeded,
        settings=_settings(job, domain, rows, step=grid.step, coins=coins.key, few_rows=bool(few_rows)),
        value_counts=values,
    )
    return release, few_rows


def _prepare_rows(source: Source, domain: Domain, number: _Number, noise: Noise) -> Rows:
    """Return the rows for an estimator: persons in a secret order, and a private number of rows hidden."""
    rows = source.rows(domain)
    if unit_of(source) is not None:
        rows = rows.take(draw_order(rows.n, noise, "persons"))
    return PrivateSizeRows(rows, number.n, noise) if number.private else rows


def _settings(job: Job, domain: Domain, rows: PassCounter, *, step: float, coins: str, few_rows: bool) -> Settings:
    """Return the public settings of a run, after the rows were read."""
    delta, source = job.request.terms.delta, job.source
    return Settings(
        bound=bound_of(domain, job.request.bound.norm_bound),
        step=step,
        coins=coins,
        passes=rows.passes,
        sample=rows.sampled,
        columns=source.names,
        privacy_unit=unit_of(source),
        **_missing(job),
        delta=None if delta is None else float(delta),
        few_rows=few_rows,
    )


def _missing(job: Job) -> dict[str, Any]:
    """Return how missing values were treated: in which columns, or True for all columns if they have no names."""
    missing, names, d = job.request.missing, job.source.names, job.source.shape[1]
    if names is None and not missing.named:
        return {"imputed": missing.others is Missing.IMPUTE, "dropped": missing.others is Missing.DROP}
    columns = [f"column {j}" for j in range(d)] if names is None else names
    choices = list(zip(columns, missing.in_columns(names, d), strict=True))
    imputed = tuple(name for name, choice in choices if choice is Missing.IMPUTE)
    dropped = tuple(name for name, choice in choices if choice is Missing.DROP)
    filled = tuple((name, choice) for name, choice in choices if not isinstance(choice, Missing))
    return {"imputed": imputed or False, "dropped": dropped or False, "filled": filled}


def unit_of(source: Source) -> str | None:
    """Return the name of the key of persons; None if single rows are protected."""
    return source.unit if isinstance(source, InMemory) else None


@final
@dataclass(frozen=True, slots=True)
class _Number:
    """The public number of rows, with its description, its cost, and the remaining budget."""

    n: int
    words: str
    paid: tuple[Receipt, ...]
    left: Zcdp
    std: float = 0.0
    private: bool = False
    passes: int = 0
    present: Ints | None = None
    """The exact number of values in each column, if these are to be counted: for ``_values`` only."""


def _number(job: Job, noise: Noise) -> _Number:
    """Count the complete rows, with noise where their number is private."""
    request, source = job.request, job.source
    neighbours, budget, unit = request.terms.neighbours, request.terms.zcdp, unit_of(source)
    n, present = source.shape[0], None
    if passes := int(request.count_values or request.missing.drops):
        found = source.rows(job.setting.domain).answer(Present())
        n, present = int(found[-1]), found[:-1]
    left = left_for_mean(budget, neighbours, values=request.count_values)
    if neighbours is Neighbours.REPLACE_ONE:
        return _Number(n, number_in_words(n, neighbours, unit), (), left, passes=passes, present=present)
    for_count = budget.share(COUNT_SHARES[0], sum(COUNT_SHARES))
    about, receipt = count_rows(n, for_count, noise, "number", "rows" if unit is None else "persons")
    words, std = number_in_words(about, neighbours, unit), _count_std(budget)
    return _Number(about, words, (receipt,), left, std, private=True, passes=passes, present=present)


def _values(job: Job, number: _Number, noise: Noise) -> tuple[ValueCounts | None, tuple[Receipt, ...]]:
    """Return the noisy number of values in each column, if requested. It is only reported: nothing else uses it."""
    if not job.request.count_values or number.present is None:
        return None, ()
    price = job.request.terms.zcdp.share(COUNT_SHARES[0], sum(COUNT_SHARES))
    found, receipt = count_values(number.present, price, noise, "rows" if unit_of(job.source) is None else "persons")
    return ValueCounts(tuple(found.tolist()), math.sqrt(variance_at(len(found), price.rho))), (receipt,)


def expect(n: int, d: int, terms: Terms, rows: ExpectedRows) -> Outlook:
    """Forecast the refined mean of n rows in d dimensions."""
    shares, relation = BudgetShares.of(d, terms, rows), terms.neighbours
    need, ahead = rows_needed(d, shares.counted, relation), RowsAhead.of(d, rows)
    least = need.risky + _MARGIN * (_count_std(shares.group) if terms.private_size else 0.0)

    def error(number: int) -> float:
        return expected_error(number, ahead, shares.for_mean(number), relation)

    return make_outlook(
        n,
        d,
        terms,
        need,
        error=error(n),
        rows=rows.kind,
        budget_needed=float(terms.zcdp.rho) * (need.fine / n) ** 2,
        rows_to_match=rows_to_match(error),
        scales=forecast_scales(n, d, shares.group, shares.for_mean, rows.shaping, ahead.gain),
        contributions=rows.contributions,
        count_values=rows.count_values,
        variances=float(shares.variances(n) / shares.group.rho) if rows.population else None,
        rows_least=math.ceil(least),
        budget_least=float(terms.zcdp.rho) * (least / n) ** 2,
    )


def promise(n: int, d: int, terms: Terms, rows: ExpectedRows) -> Promise:
    """Forecast only the error of the refined mean, and whether there are enough rows."""
    shares, relation = BudgetShares.of(d, terms, rows), terms.neighbours
    error = expected_error(n, RowsAhead.of(d, rows), shares.for_mean(n), relation)
    return Promise(error, rows_needed(d, shares.counted, relation).verdict(n))


def _count_std(budget: Zcdp) -> float:
    """Return the standard deviation of the noise on a private number of rows."""
    return math.sqrt(1 / (2 * budget.share(COUNT_SHARES[0], sum(COUNT_SHARES)).rho))
