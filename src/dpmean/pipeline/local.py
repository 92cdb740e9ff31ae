"""The local model, simulated in one process: every row is a device that sends one randomized message."""

from __future__ import annotations

import math
from typing import Any

from dpmean.arguments.choices import read_randomness
from dpmean.arguments.questions import ExpectedRows
from dpmean.arguments.request import Request
from dpmean.arguments.rows import check_columns
from dpmean.arguments.terms import Terms
from dpmean.errors import plural
from dpmean.estimators.feasibility import Need
from dpmean.pipeline.assemble import bound_of, check_rows, in_user_units, make_outlook, warn
from dpmean.pipeline.devices import read_devices
from dpmean.pipeline.outlook import Outlook, Promise
from dpmean.privacy.budgets import PureDp, Zcdp
from dpmean.release.release import Release
from dpmean.release.settings import CollectionSettings, Settings
from dpmean.trust.local import division
from dpmean.trust.local.analyzer import LocalAnalyzer
from dpmean.trust.local.protocol import setup_for
from dpmean.trust.local.simulation import Fleet


def run(X: Any, request: Request) -> Release:
    """Release the mean of the rows of ``X``, each of which is a device that sends one message."""
    terms, budget = request.terms, _budget(request.terms)
    rows, domain, names = read_devices(X, request)
    n, d = rows.shape
    noise, coins = read_randomness(request.seed)
    need = Need(*division.users_needed(d, budget, few_rounds=terms.few_rounds))
    setting = f"d={d}, {budget} and the local model"
    few_rows = check_rows(need, n, plural(n, "row"), setting, allow_few_rows=request.allow_few_rows)
    warn(few_rows, terms.delta, n)

    fleet = Fleet(rows, noise)
    setup = setup_for(coins.digest(), n, d, domain.reach, budget, few_rounds=terms.few_rounds)
    analyzer = LocalAnalyzer(setup)
    estimate = fleet.play(analyzer)
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
            step=math.ldexp(1.0, analyzer.step),
            coins=coins.key,
            collection=CollectionSettings(
                rounds=len(analyzer.closed),
                messages_per_user=1,
                bytes_per_user=fleet.bytes / max(fleet.messages, 1),
                answered=int(analyzer.answered.sum()),
                played_in_one_process=True,
            ),
            columns=names,
            delta=None if terms.delta is None else float(terms.delta),
            few_rows=bool(few_rows),
        ),
    )
    if request.ledger is not None:
        request.ledger.record(release)
    return release


def expect(n: int, d: int, terms: Terms, rows: ExpectedRows) -> Outlook:
    """Forecast a collection from n devices with d columns."""
    check_columns(d, terms.model)
    budget = _budget(terms)
    need = Need(*division.users_needed(d, budget, few_rounds=terms.few_rounds))
    amount = budget.epsilon if isinstance(budget, PureDp) else budget.rho
    power = 1 if isinstance(budget, PureDp) else 2  # the users needed grow like 1 / epsilon^2, or 1 / rho
    return make_outlook(
        n,
        d,
        terms,
        need,
        error=division.expected_error(n, d, budget, few_rounds=terms.few_rounds),
        rows=rows.kind,
        budget_needed=float(amount) * (need.fine / n) ** (power / 2),
    )


def promise(n: int, d: int, terms: Terms, rows: ExpectedRows) -> Promise:  # noqa: ARG001  rows look normal
    """Forecast only the error of a collection from n devices, and whether there are enough."""
    check_columns(d, terms.model)
    budget = _budget(terms)
    need = Need(*division.users_needed(d, budget, few_rounds=terms.few_rounds))
    return Promise(division.expected_error(n, d, budget, few_rounds=terms.few_rounds), need.verdict(n))


def _budget(terms: Terms) -> Zcdp | PureDp:
    if not isinstance(terms.budget, Zcdp | PureDp):
        raise TypeError(f"the local model needs rho or epsilon, got {terms.budget}")
    return terms.budget
