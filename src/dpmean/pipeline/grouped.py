"""One private mean per group."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpmean.arguments.choices import read_randomness
from dpmean.arguments.groups import Groups
from dpmean.arguments.request import Job, Request
from dpmean.enums import Sizes
from dpmean.errors import ArgumentError, TooFewRowsError, TooFewRowsWarning, hide_sizes
from dpmean.ledger.entries import relation_of
from dpmean.pipeline.central import run_job
from dpmean.pipeline.large_epsilon import warn_if_large
from dpmean.pipeline.opening import open_keyed
from dpmean.pipeline.payment import Payment
from dpmean.privacy.neighbours import Neighbours
from dpmean.release.grouped import MOVED, GroupedRelease, Refusal
from dpmean.release.refusals import NO_ROWS
from dpmean.release.release import Release
from dpmean.rows.tables.keyed_table import groups as rows_of_groups
from dpmean.trust.central.costs import COUNT_SHARES


def run_groups(X: Any, request: Request) -> GroupedRelease:
    """Release the mean of each group in ``X`` that the request lists, or a refusal with its reason."""
    if request.groups is None:
        raise ArgumentError("the request lists no groups")
    request.check_ledger()
    warn_if_large(request)
    groups = request.groups
    return hide_sizes(lambda: _run(X, request, groups))


def _run(X: Any, request: Request, groups: Groups) -> GroupedRelease:
    terms = request.terms
    each = _request_for_each(request, groups)
    _, coins = read_randomness(request.seed)
    table = open_keyed(X, each, groups.by)
    unit, most = request.privacy_unit, groups.contributions
    name, sources = rows_of_groups(table, groups.by, groups.labels, unit, each.finite, coins.key, most)
    jobs = {
        label: replace(each, seed=_seed(request.seed, label)).of(source)
        for label, source in zip(groups.labels, sources, strict=True)
    }
    one = sources[0].unit
    payment = Payment(request.ledger, request.terms.zcdp, relation_of(terms.neighbours, groups.sizes, name), one)
    payment.check()
    found = payment.charged(lambda: _ask(jobs, payment), "the sizes of groups, without a mean")
    release = GroupedRelease(
        name,
        found,
        groups.sizes,
        terms.neighbours,
        seeded=request.seed is not None,
        delta=1e-6 if terms.delta is None else float(terms.delta),
        coins=coins.key,
        unit=one,
        contributions=most,
    )
    if request.ledger is not None and release.rho:
        request.ledger.record(release, asked=request.terms.zcdp)
    return release


def _request_for_each(request: Request, groups: Groups) -> Request:
    """Return the request for each group, whose release is not recorded separately.

    A person may count in several groups, whose costs add up, so each group gets a part of the budget.
    """
    moves = groups.sizes is Sizes.PRIVATE and request.terms.neighbours is Neighbours.REPLACE_ONE
    budget = request.terms.zcdp.share(1, groups.contributions * (MOVED if moves else 1))
    terms = replace(request.terms, delta=None, budget=budget)
    if groups.sizes is Sizes.PRIVATE:
        terms = replace(terms, neighbours=Neighbours.ADD_OR_REMOVE_ONE)
    return replace(request, terms=terms, groups=None, ledger=None)


def _ask(jobs: Mapping[Any, Job], payment: Payment) -> dict[Any, Release | Refusal]:
    """Release the mean of each group, or a refusal with its reason."""
    for_number = payment.asked.share(COUNT_SHARES[0], sum(COUNT_SHARES))
    found: dict[Any, Release | Refusal] = {}
    for label, job in jobs.items():
        if job.source.shape[0] < job.request.fewest:
            found[label] = Refusal(NO_ROWS)
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TooFewRowsWarning)  # the release of the group says so
                found[label] = run_job(job, counted=lambda: payment.pay(for_number))
        except TooFewRowsError as error:
            found[label] = Refusal(_reason(str(error)), error.receipts, error.rows_needed)
    return found


def _reason(words: str) -> str:
    """Return the first sentence: the cures are for the caller, not for readers of the release."""
    return words.partition(". Use")[0]


def _seed(seed: int | None, label: Any) -> int | None:
    """Return a separate seed for each group: seeded noise, too, must differ between groups."""
    if seed is None:
        return None
    return int.from_bytes(hashlib.blake2b(f"{seed}/{label!r}".encode(), digest_size=8).digest())
