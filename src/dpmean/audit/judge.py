"""The judge of an audit: lower bounds on epsilon and on the divergence, from the scores of an attack.

A mechanism is run many times on each of two neighbours, and every output is reduced to one number, a score that
should distinguish them. Half of the runs choose an event (the score above or below a threshold); the other half bound
its two probabilities p and q. Any (epsilon, delta)-DP mechanism has p <= exp(epsilon) q + delta, so
ln((p - delta) / q) is a lower bound on epsilon that holds with the stated confidence. The same scores give a lower
bound on the divergence of the outputs (``separation``). If a bound exceeds the claim, the claim is wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.audit.separation import separation_at_least, separation_of
from dpmean.privacy.budgets import PureDp, Zcdp
from dpmean.privacy.conversions import tight_epsilon
from dpmean.privacy.renyi import ORDERS, Renyi
from dpmean.queries.queries import Floats

FALSE_ALARM = 1e-7
"""The probability that a correct mechanism is reported as broken: half by its epsilon, half by its separation."""


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """The lower bounds of an attack, and the claims.

    A separation is a divergence, expressed as the distance, in standard deviations, of two Gaussians that have it. Its
    order is 1, or 2 for Rényi curves. For zCDP it is at most sqrt(2 rho).
    """

    epsilon_found: float
    epsilon_claimed: float
    delta: float
    separation_found: float
    separation_claimed: float

    @property
    def caught(self) -> bool:
        """Whether the mechanism violated its claim."""
        return self.epsilon_found > self.epsilon_claimed or self.separation_found > self.separation_claimed

    @property
    def sharpness(self) -> float:
        """The part of the claim that the attack found; an attack that finds little proves nothing."""
        return max(self.epsilon_found / self.epsilon_claimed, self.separation_found / self.separation_claimed)


def judge(one: Floats, other: Floats, claim: Zcdp | PureDp | Renyi, delta: float = 0.01) -> Finding:
    """Judge the scores of a mechanism on two neighbours; a pure claim is judged with delta 0."""
    order, divergence, missed = 1, 0.0, 0.0
    if isinstance(claim, PureDp):
        delta, claimed = 0.0, float(claim.epsilon)
        divergence = claimed * math.tanh(claimed / 2)  # that of randomized response
    elif isinstance(claim, Renyi):
        claimed = float(claim.epsilon(delta))
        order, divergence, missed = ORDERS[0], claim.curve[0], float(claim.delta) + claim.distance
    else:
        claimed, divergence = float(tight_epsilon(claim, delta)), float(claim.rho)
    separation = separation_at_least(one, other, order, missed, FALSE_ALARM / 2)
    found = _epsilon_at_least(one, other, delta)
    return Finding(found, claimed, delta, separation, separation_of(divergence, order))


def _epsilon_at_least(one: Floats, other: Floats, delta: float) -> float:
    half = len(one) // 2
    best = (0.0, False, 0.0, False)
    thresholds = np.unique(np.quantile(np.concatenate((one[:half], other[:half])), np.linspace(0, 1, 401)))
    for swapped in (False, True):
        first, second = (other, one) if swapped else (one, other)
        for above in (False, True):
            for threshold in thresholds:
                p = _event(first[:half], threshold, above=above).mean()
                q = _event(second[:half], threshold, above=above).mean()
                found = _epsilon(p - 3 * math.sqrt(p / half), q + 3 * math.sqrt(q / half) + 5 / half, delta)
                if found > best[0]:
                    best = (found, swapped, float(threshold), above)
    _, swapped, threshold, above = best
    first, second = (other, one) if swapped else (one, other)
    p_low = _probability_at_least(_event(first[half:], threshold, above=above))
    q_high = 1 - _probability_at_least(~_event(second[half:], threshold, above=above))
    return _epsilon(p_low, q_high, delta)


def _event(scores: Floats, threshold: float, *, above: bool) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return scores > threshold if above else scores <= threshold


def _epsilon(p: float, q: float, delta: float) -> float:
    return math.log((p - delta) / q) if p - delta > q > 0 else 0.0


def _probability_at_least(happened: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """Return the Clopper-Pearson lower bound on a probability, wrong with probability FALSE_ALARM / 4."""
    n, k = len(happened), int(happened.sum())
    if k == 0:
        return 0.0
    log_choose = np.array([math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(k, n + 1)])
    successes = np.arange(k, n + 1)

    def tail(p: float) -> float:
        """Return P[at least k of n]."""
        return float(np.exp(log_choose + successes * math.log(p) + (n - successes) * math.log1p(-p)).sum())

    low, high = 0.0, k / n
    for _ in range(60):
        middle = (low + high) / 2
        if 0 < middle < 1 and tail(middle) > FALSE_ALARM / 4:
            high = middle
        else:
            low = middle
    return low
