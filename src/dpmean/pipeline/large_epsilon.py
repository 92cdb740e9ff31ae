"""A warning if epsilon is so large that the guarantee is weak."""

from __future__ import annotations

import math

from dpmean.arguments.request import Request
from dpmean.arguments.terms import Terms
from dpmean.errors import LargeEpsilonWarning
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.conversions import rounded_up, tight_epsilon
from dpmean.release.settings import USUAL_DELTA
from dpmean.release.text import LARGE_EPSILON, four_digits_up
from dpmean.warning import warn_user

_LARGEST_ODDS = 10**9


def warn_if_large(request: Request) -> None:
    """Warn about a large epsilon, before anything is charged; not with a seed, as such a release protects nobody."""
    if request.seed is not None:
        return
    epsilon, at = _epsilon_of(request.terms)
    if epsilon <= LARGE_EPSILON:
        return
    one = "row" if request.privacy_unit is None else "person"
    warn_user(
        f"epsilon = {four_digits_up(epsilon):.4g}{at} is a weak guarantee: someone who would bet 1 to 1 about a {one} "
        f"could bet {_odds(epsilon)} to 1 after seeing this release. Most releases use epsilon = {LARGE_EPSILON} or "
        "less",
        LargeEpsilonWarning,
    )


def _epsilon_of(terms: Terms) -> tuple[float, str]:
    """Return the epsilon that a release will state, and text that says at which delta."""
    if not isinstance(terms.budget, Zcdp):
        return float(terms.budget.epsilon), ""
    delta = USUAL_DELTA if terms.delta is None else terms.delta
    rho = f"rho = {float(terms.budget.rho):.4g}, " if terms.delta is None else ""
    return rounded_up(tight_epsilon(terms.budget, delta)), f" ({rho}at delta = {float(delta):g})"


def _odds(epsilon: float) -> str:
    """Return e to the epsilon with two significant digits, with commas between thousands."""
    if epsilon > math.log(_LARGEST_ODDS):
        return f"over {_LARGEST_ODDS:,}"
    return f"{float(f'{math.exp(epsilon):.2g}'):,.0f}"
