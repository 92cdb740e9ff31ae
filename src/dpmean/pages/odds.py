"""What a privacy cost means to somebody who bets."""

from __future__ import annotations

import math
from fractions import Fraction

from dpmean.budget import PureDp, Zcdp
from dpmean.ledger import Release
from dpmean.renyi import Renyi

_DELTAS = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.3)


def is_pure(release: Release) -> bool:
    """Whether all was paid in pure differential privacy, which needs no delta."""
    return all(isinstance(cost, PureDp) for cost in _costs(release))


def pure_epsilon(release: Release) -> Fraction | None:
    """Return the epsilon that holds without a delta, if there is one: pure costs add up."""
    if not is_pure(release):
        return None
    return sum((cost.epsilon for cost in _costs(release) if isinstance(cost, PureDp)), start=Fraction(0))


def is_renyi(release: Release) -> bool:
    """Whether there is no rho, as in the shuffle model."""
    return any(isinstance(cost, Renyi) for cost in _costs(release))


def delta_of(release: Release) -> float:
    """Return the delta that was asked for, or a usual one."""
    return float(release.public.get("delta", 1e-6))


def best_guess(release: Release) -> float:
    """Return how often a guess between two neighbouring data sets, equally likely before, can be right, at most.

    It is (1 + t) / 2, if t is the statistical distance of the two releases. Under (epsilon, delta)-DP, for any pair
    that goes together, t is at most (e^epsilon - 1 + 2 delta) / (e^epsilon + 1). Under rho-zCDP the Kullback-Leibler
    divergence is at most rho, so t is at most sqrt(rho / 2) (Pinsker) and sqrt(1 - e^-rho) (Bretagnolle and Huber).
    """
    asked, pure = delta_of(release), pure_epsilon(release)
    distances = [1.0 if pure is None else math.tanh(float(pure) / 2)]
    for delta in (asked, *(delta for delta in _DELTAS if delta > asked)):
        epsilon = release.epsilon(delta)
        distances.append(math.tanh(epsilon / 2) + 2 * delta / (1 + math.exp(min(epsilon, 700.0))))
    if not is_renyi(release):
        rho = float(release.rho)
        distances += [math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho))]
    return (1 + min(distances)) / 2


def _costs(release: Release) -> list[Zcdp | PureDp | Renyi]:
    return [receipt.cost for receipt in release.receipts]
