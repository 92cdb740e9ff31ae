"""Steps that all trust models share: check that there are enough rows, and convert the answer to the user's units."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpmean.arguments.terms import Terms
from dpmean.enums import RowKind, Trust, Verdict
from dpmean.errors import TooFewRowsError, TooFewRowsWarning
from dpmean.estimators.feasibility import Need
from dpmean.pipeline.outlook import Outlook, ScalesOutlook, Traffic
from dpmean.privacy.budgets import Number
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt, total_cost
from dpmean.queries.domain import Domain
from dpmean.release.estimate import Estimate
from dpmean.release.intervals import usual_intervals
from dpmean.release.release import Release
from dpmean.release.settings import BoxBounds, NormBound, Settings
from dpmean.release.value_counts import ValueCounts
from dpmean.version import __version__
from dpmean.warning import warn_user

TWO_SIDED = 1.2
"""The factor for noise on the number of rows: bounds assume a one-sided bias, but this noise has two sides."""


def check_rows(
    need: Need, n: int, rows: str, setting: str, *, allow_few_rows: bool, paid: tuple[Receipt, ...] = ()
) -> str:
    """Refuse too few rows; return a warning if there are so few that the answer is unreliable, otherwise "".

    ``rows`` is the text for their number, and ``paid`` the cost of a noisy number. Show the warning only after the
    release has been recorded, as it may contain the noisy number.
    """
    fine, risky = math.ceil(need.fine), math.ceil(need.risky)
    verdict, these = need.verdict(n), f"{rows} {'is' if n == 1 else 'are'}"
    if verdict is Verdict.FINE:
        return ""
    if verdict is Verdict.RISKY:
        return f"{these} few for {setting}: expect a larger error than usual. {fine} are recommended."
    if not allow_few_rows:
        spent = f". The noisy count cost rho = {float(total_cost(paid).rho):.4g}" if paid else ""
        better = f", {fine} are recommended" if fine > risky else ""
        raise TooFewRowsError(
            f"{these} too few for {setting}: at least {risky} are needed{better}. Use more rows (check that "
            "rows and columns are not swapped) or a larger budget, or continue at your own risk with "
            f"allow_few_rows=True{spent}",
            rows_needed=risky,
            receipts=paid,
        )
    return f"{these} too few for {setting}: the mean may be far off, even if noise_std is small."


def warn(few_rows: str, delta: Number | None, n: int) -> None:
    """Warn about few rows, and about a delta that is too large to protect single rows."""
    if few_rows:
        warn_user(few_rows, TooFewRowsWarning)
    if delta is not None and delta * n >= 1:
        warn_user(f"delta={delta} is not below 1/n: a release could reveal whole rows")


def in_user_units(
    estimate: Estimate,
    domain: Domain,
    *,
    n: int,
    method: str,
    trust: Trust,
    neighbours: Neighbours,
    seeded: bool,
    settings: Settings,
    number_std: float = 0.0,
    value_counts: ValueCounts | None = None,
) -> Release:
    """Convert an estimate to the user's units.

    If the number of rows is private, its noise (``number_std`` rows) also adds noise to the mean, because the sum
    relative to the centre was divided by that number.
    """
    domain, scales = domain if estimate.domain is None else estimate.domain, estimate.scales
    moved = (estimate.mean - estimate.centre if estimate.moved is None else estimate.moved) * (number_std / n)
    found = estimate.found
    if found is not None and number_std:
        counted = moved if scales is None else moved * scales.weights
        found = replace(found, bias_std=math.hypot(found.bias_std, TWO_SIDED * math.hypot(*counted)))
    unit = float(domain.scale[0])
    same = bool(np.all(domain.scale == unit))
    length, step = unit if same and scales is None else 1.0, estimate.step or settings.step
    radius_unit = estimate.radius_unit or ("" if same or scales is not None else " half-widths of the bounds")
    variances = estimate.variances
    if variances is not None:
        seen = np.array(variances.values) + (estimate.mean - estimate.centre) ** 2  # the quotient by the noisy number
        noise = np.hypot(variances.noise_std, seen * (number_std / n))
        variances = replace(variances, noise_std=tuple(noise.tolist())).times(domain.scale)
    release = Release(
        mean=domain.to_user(estimate.mean),
        noise_std=domain.scale * np.hypot(estimate.noise_std, moved),
        centre=domain.to_user(estimate.centre),
        radius=estimate.radius * length,
        receipts=estimate.receipts,
        n=n,
        d=domain.d,
        method=method,
        trust=trust,
        neighbours=neighbours,
        seeded=seeded,
        settings=replace(settings, step=step, version=__version__, radius_unit=radius_unit, note=estimate.note),
        found=found and found.times(length),
        scales=scales,
        value_counts=value_counts,
        variances=variances,
    )
    return replace(release, intervals=usual_intervals(release))


def bound_of(domain: Domain, norm_bound: float | None) -> NormBound | BoxBounds:
    """Return the bound in the form that a release stores."""
    if domain.lower is not None and domain.upper is not None:
        return BoxBounds(tuple(domain.lower.tolist()), tuple(domain.upper.tolist()))
    reach = float(domain.reach)
    return NormBound(reach, reach if norm_bound is None else float(norm_bound))


def make_outlook(
    n: int,
    d: int,
    terms: Terms,
    need: Need,
    *,
    error: float,
    rows: RowKind,
    budget_needed: float,
    rows_to_match: int = 0,
    traffic: Traffic | None = None,
    scales: ScalesOutlook | None = None,
    contributions: int = 1,
    count_values: bool = False,
    variances: float | None = None,
    rows_least: int = 0,
    budget_least: float = math.inf,
) -> Outlook:
    """Assemble the outlook for n rows from its parts."""
    return Outlook(
        n=n,
        d=d,
        budget=terms.budget,
        trust=terms.model.name,
        neighbours=terms.neighbours,
        verdict=need.verdict(n),
        error=error,
        sampling_error=1 / math.sqrt(n),
        rows_needed=math.ceil(need.fine),
        budget_needed=budget_needed,
        rows_to_match=rows_to_match,
        traffic=traffic,
        scales=scales,
        rows=rows,
        contributions=contributions,
        count_values=count_values,
        variances=variances,
        rows_least=rows_least or math.ceil(need.risky),
        budget_least=budget_least,
        delta=terms.delta,
    )
