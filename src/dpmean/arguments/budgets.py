"""Privacy budgets in the notions of each trust model."""

from __future__ import annotations

from fractions import Fraction

from dpmean.errors import ArgumentError
from dpmean.privacy.budgets import ApproxDp, Number, PureDp, Zcdp
from dpmean.privacy.conversions import zcdp_that_implies
from dpmean.trust.local.randomizers import half_space
from dpmean.trust.registry import Budget, TrustModel

LARGEST_EPSILON = 20
"""In the shuffle model."""
_RHO_RANGE = (Fraction(1, 10**12), Fraction(10**12))


def read_budget(model: TrustModel, rho: Number | None, epsilon: Number | None, delta: Number | None) -> Budget:
    """Read a budget in a notion that the trust model supports."""
    if ApproxDp in model.notions:
        return _read_approx(model, rho, epsilon, delta)
    if PureDp in model.notions and rho is None and epsilon is not None and delta is None:
        budget = PureDp(epsilon)
        half_space(budget.epsilon)  # refuses an epsilon that is out of range
        return budget
    return read_zcdp(rho, epsilon, delta)


def read_zcdp(rho: Number | None, epsilon: Number | None, delta: Number | None) -> Zcdp:
    """Read a budget in zCDP, given as rho or as epsilon and delta."""
    budget = _choose_budget(rho, epsilon, delta)
    if not _RHO_RANGE[0] <= budget.rho <= _RHO_RANGE[1]:
        asked = f"epsilon={epsilon} and delta={delta}, that is " if rho is None else ""
        cure = "raise it" if budget.rho < 1 else "lower it"
        raise ArgumentError(f"rho must lie between 1e-12 and 1e12, got {asked}{float(budget.rho):g}: {cure}")
    return budget


def _choose_budget(rho: Number | None, epsilon: Number | None, delta: Number | None) -> Zcdp:
    if rho is not None and (epsilon is not None or delta is not None):
        raise ArgumentError("got rho and also epsilon or delta: give either rho, or epsilon and delta")
    if rho is not None:
        return Zcdp(rho)
    if epsilon is None and delta is None:
        raise ArgumentError("a privacy budget is missing: give rho=0.5, for example, or epsilon=1.0 and delta=1e-6")
    if epsilon is None:
        raise ArgumentError(f"delta={delta} needs an epsilon: give epsilon=1.0, for example")
    if delta is None:
        raise ArgumentError(
            f"epsilon={epsilon} needs a delta in the central model: give delta=1e-6, for example, well below one over "
            "the number of rows"
        )
    return zcdp_that_implies(ApproxDp(epsilon, delta))


def _read_approx(model: TrustModel, rho: Number | None, epsilon: Number | None, delta: Number | None) -> ApproxDp:
    """Read the budget of one user: epsilon and delta."""
    if rho is not None:
        raise ArgumentError(
            f"the {model.name} model needs epsilon and delta, got rho={rho}: give epsilon=1.0 and delta=1e-9, for "
            "example"
        )
    if epsilon is None or delta is None:
        raise ArgumentError(
            f"the {model.name} model needs epsilon and delta, got epsilon={epsilon} and delta={delta}: give "
            "epsilon=1.0 and delta=1e-9, for example"
        )
    budget = ApproxDp(epsilon, delta)
    if not Fraction(1, 100) <= budget.epsilon <= LARGEST_EPSILON:
        raise ArgumentError(
            f"in the {model.name} model epsilon must lie between 0.01 and {LARGEST_EPSILON}, got {epsilon}"
        )
    if not Fraction(1, 10**30) <= budget.delta <= Fraction(1, 100):
        raise ArgumentError(f"in the {model.name} model delta must lie between 1e-30 and 0.01, got {delta}")
    return budget
