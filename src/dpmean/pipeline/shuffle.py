"""The shuffle model, simulated in one process: every row is a client, and the messages of all clients are mixed."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpmean.arguments.budgets import LARGEST_EPSILON
from dpmean.arguments.choices import read_randomness
from dpmean.arguments.questions import ExpectedRows
from dpmean.arguments.request import Request
from dpmean.arguments.rows import check_columns
from dpmean.arguments.terms import Terms
from dpmean.enums import Fidelity
from dpmean.errors import plural
from dpmean.estimators.feasibility import Need
from dpmean.pipeline.assemble import bound_of, check_rows, in_user_units, make_outlook, warn
from dpmean.pipeline.devices import read_devices
from dpmean.pipeline.outlook import Outlook, Promise, Traffic
from dpmean.privacy.budgets import ApproxDp
from dpmean.release.release import Release
from dpmean.release.settings import Settings
from dpmean.trust.shuffle.design import NEAR, Design, clients_needed, design
from dpmean.trust.shuffle.progress import Rounds, played_collection
from dpmean.trust.shuffle.simulation import Crowd


def run(X: Any, request: Request) -> Release:
    """Release the mean of the rows of ``X``, each of which is a client."""
    terms, budget = request.terms, _budget(request.terms)
    rows, domain, names = read_devices(X, request)
    n, d = rows.shape
    noise, coins = read_randomness(request.seed)
    need = Need(*clients_needed(d, budget, terms.honest))
    setting = f"d={d}, {budget} and the shuffle model"
    few_rows = check_rows(need, n, plural(n, "row"), setting, allow_few_rows=request.allow_few_rows)
    warn(few_rows, terms.delta, n)

    plan = design(n, d, budget, terms.honest, few_rounds=terms.few_rounds)
    rounds = Rounds(played_collection(plan, coins.digest(), domain.reach))
    crowd = Crowd(rows, noise, totals=terms.fidelity is Fidelity.TOTALS)
    estimate = crowd.play(rounds)
    release = in_user_units(
        estimate,
        domain,
        n=n,
        method="shifted",
        trust=terms.model.name,
        neighbours=terms.neighbours,
        seeded=noise.seeded,
        settings=Settings(
            bound=bound_of(domain, request.bound.norm_bound),
            step=math.ldexp(1.0, rounds.collection.step),
            coins=coins.key,
            collection=replace(rounds.traffic(), fidelity=terms.fidelity, played_in_one_process=True),
            columns=names,
            delta=float(budget.delta),
            few_rows=bool(few_rows),
        ),
    )
    if request.ledger is not None:
        request.ledger.record(release)
    return release


def expect(n: int, d: int, terms: Terms, rows: ExpectedRows) -> Outlook:
    """Forecast a collection from n clients with d columns."""
    check_columns(d, terms.model)
    budget, honest = _budget(terms), terms.honest
    need = Need(*clients_needed(d, budget, honest))
    chosen = _design(n, d, budget, terms)
    return make_outlook(
        n,
        d,
        terms,
        need,
        error=chosen.error(NEAR),
        rows=rows.kind,
        budget_needed=_epsilon_needed(n, d, budget, honest),
        traffic=_traffic(chosen),
    )


def promise(n: int, d: int, terms: Terms, rows: ExpectedRows) -> Promise:  # noqa: ARG001  rows look normal
    """Forecast only the error of a collection from n clients, and whether there are enough."""
    check_columns(d, terms.model)
    budget, honest = _budget(terms), terms.honest
    chosen = _design(n, d, budget, terms)
    return Promise(chosen.error(NEAR), Need(*clients_needed(d, budget, honest)).verdict(n))


def _design(n: int, d: int, budget: ApproxDp, terms: Terms) -> Design:
    users = max(n, math.ceil(20 / terms.honest))
    return design(users, d, budget, terms.honest, few_rounds=terms.few_rounds)


def _traffic(chosen: Design) -> Traffic:
    loosest, most = NEAR, 1.25 * chosen.error(NEAR)
    while loosest < 1e6 and chosen.error(2 * loosest) <= most:
        loosest *= 2
    return Traffic(
        chosen.variant,
        len(chosen.stages),
        chosen.messages,
        chosen.bytes(sealed=False),
        chosen.bytes(sealed=True),
        loosest,
    )


def _epsilon_needed(n: int, d: int, budget: ApproxDp, honest: Fraction) -> float:
    """Return an epsilon that is enough for n rows, to two digits and rounded up; infinity if none is."""
    low, high = float(budget.epsilon), float(LARGEST_EPSILON)

    def enough(epsilon: float) -> bool:
        return clients_needed(d, ApproxDp(epsilon, budget.delta), honest)[0] <= n

    if enough(low):
        return low
    if not enough(high):
        return math.inf
    while high - low > 0.005 * high:
        middle = round((low + high) / 2, 4)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _budget(terms: Terms) -> ApproxDp:
    if not isinstance(terms.budget, ApproxDp):
        raise TypeError(f"the shuffle model needs epsilon and delta, got {terms.budget}")
    return terms.budget
