"""The design of a collection, from public numbers alone: the error that each variant promises, and the cheapest one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

from dpmean.errors import ArgumentError
from dpmean.numerics.error_quantiles import length_quantile
from dpmean.privacy.budgets import ApproxDp
from dpmean.privacy.conversions import zcdp_that_implies
from dpmean.privacy.renyi import check_honest
from dpmean.trust.shuffle.costs import OUTSIDE, total_cost
from dpmean.trust.shuffle.encoder import twice_inner
from dpmean.trust.shuffle.schema import Counters, Stage, Sums, Variant
from dpmean.trust.shuffle.sizes import bytes_sent, messages_sent
from dpmean.trust.shuffle.stages import (
    CELLS,
    FOR_CENTRE,
    FOR_RADIUS,
    LINE_BITS,
    OCTAVES,
    TREE_CELLS,
    per_octave,
    stages_worth,
)
from dpmean.trust.shuffle.work import too_much

VARIANTS: tuple[Variant, ...] = ("mean", "twice", "two", "tree", "binary")
"""How the centre is found: a coarse mean; a second one, of rows clipped around the first; or medians: in two rounds of
34 cells, in one round with a tree of 32 by 32 cells, in 14 rounds of two cells."""
FEW_ROUNDS: tuple[Variant, ...] = ("mean", "tree")
CLIP, UNSEEN = 1.5, 3.5
"""How many rows are clipped, in multiples of what balances noise and bias at worst, and of the noise on that."""
LOOSE, FAIR, NEAR = 60.0, 20.0, 10.0
"""Bounds over spreads: to choose a variant for, to tell whether rows are enough, and to predict errors."""
_AS_GOOD, _PER_ROUND = 1.05, 0.02
"""Errors that count as equal, and what a round more must gain."""


@final
@dataclass(frozen=True, slots=True)
class Design:
    """All rounds of a collection.

    Attributes:
        variant: How the centre is found.
        users: The number of clients that are invited.
        honest: The number of clients that must be honest.
        d: The number of columns of a row.
        budget: What may be spent.
        stages: The rounds: centre, radius, mean.
        rho: What the noise is worth in zCDP, about.

    """

    variant: Variant
    users: int
    honest: int
    d: int
    budget: ApproxDp
    stages: tuple[Stage, ...]
    rho: float

    @property
    def messages(self) -> float:
        """How many messages a client sends, on average."""
        return sum(messages_sent(stage, self.honest) for stage in self.stages)

    def bytes(self, *, sealed: bool) -> float:
        """How many bytes a client sends, on average.

        Args:
            sealed: Whether messages are sealed.

        """
        return sum(bytes_sent(stage, self.honest, sealed=sealed) for stage in self.stages)

    def clipped(self, beyond: float) -> float:
        """Return how many rows are to be clipped.

        Args:
            beyond: The noise on the number of rows beyond the radius.

        """
        return max(CLIP * math.sqrt(2 * self.d / self._rho_of_mean), UNSEEN * beyond)

    @property
    def _rho_of_mean(self) -> float:
        last = self.stages[-1]
        return 2 * last.radius**2 / last.variance if isinstance(last, Sums) else self.rho

    def centre_error(self, loose: float) -> float:
        """Predict how far the centre is from the mean, in spreads.

        Args:
            loose: The bound, in spreads.

        """
        first = self.stages[0]
        if isinstance(first, Sums):
            away = loose * self._noise_of(first)
            second = self.stages[2]
            if self.variant == "twice" and isinstance(second, Sums):
                away = 1.5 * math.hypot(1, away) * self._noise_of(second)
            return away
        users = self.users / first.lines
        std = math.sqrt(first.blanket * self.users / self.honest)
        cells, summed = {"two": (CELLS**2 / 3, CELLS / 2), "tree": (TREE_CELLS, 32), "binary": (1 << LINE_BITS, 0.5)}[
            self.variant
        ]
        share = std * math.sqrt(summed) / users
        if share > 0.3:
            return math.inf
        cell = 2 * min(1.0, math.sqrt(2 * math.log(40 * first.lines) / first.lines)) * loose * math.sqrt(self.d) / cells
        return math.hypot(2.5 * share / (1 - 2 * share), 1.25 / math.sqrt(users), 0.15 * cell)

    def _noise_of(self, stage: Sums) -> float:
        """Return the noise on the mean of clipped vectors, in radii (l2 norm), if everybody takes part."""
        return math.sqrt(self.d * stage.variance / (self.honest * self.users)) / (twice_inner(stage.radius, self.d) / 2)

    def error(self, loose: float) -> float:
        """Predict the error of the mean in spreads, for rows that look normal.

        Clipping pulls the mean towards the centre, by the share of rows that are clipped and how far they stick out.

        Args:
            loose: The bound, in spreads.

        """
        counters, sums = self.stages[-2:]
        if not (isinstance(counters, Counters) and isinstance(sums, Sums)):
            raise AssertionError("the last two rounds find the radius and the mean")
        away = self.centre_error(loose)
        share = self.clipped(math.sqrt(counters.blanket * self.users / self.honest)) / self.users
        if not math.isfinite(away):
            return math.inf
        radius = length_quantile(self.d, 1 - min(max(share, 1e-9), 0.5)) / math.sqrt(self.d) * math.hypot(1, away)
        return math.hypot(self._noise_of(sums) * radius, 0.2 * min(share, 0.5) * away)


def honest_users(users: int, honest: Fraction) -> int:
    """Return how many clients must be honest."""
    return math.floor(users * honest)


def clients_needed(d: int, budget: ApproxDp, honest: Fraction) -> tuple[float, float]:
    """Return from how many clients on this does well, and from how many on it works at all.

    A coarse mean must be within half a spread (two spreads) if the bound is twenty, at most a tenth (three tenths) of
    the rows may be clipped, and a third of them must stand out from the noise on half of all radii, clearly (just so).
    """
    rho = float(zcdp_that_implies(ApproxDp(budget.epsilon, budget.delta * (1 - 2 * OUTSIDE))).rho)
    more = 1 / math.sqrt(honest)
    coarse = FAIR * 2 * math.sqrt(d / (2 * rho * FOR_CENTRE["mean"])) * more
    clipped = CLIP * math.sqrt(2 * d / (0.8 * rho))
    noise = math.sqrt(OCTAVES * per_octave(d) / 2 / (rho * FOR_RADIUS)) * more
    fewest = 20 / float(honest)
    return max(coarse / 0.5, clipped / 0.1, 15 * noise, fewest), max(coarse / 2, clipped / 0.3, 7 * noise, fewest)


@lru_cache(maxsize=64)
def design(users: int, d: int, budget: ApproxDp, honest: Fraction, *, few_rounds: bool = False) -> Design:
    """Return the best design, with as little noise as the budget allows.

    Args:
        users: The number of clients that are invited.
        d: The number of columns of a row.
        budget: What all rounds together may cost a client.
        honest: The share of clients that take part and tell nobody what they sent: one minus the silent and the
            colluding ones, at least 3/10.
        few_rounds: Whether to ask in 3 rounds. By default there are as many as serve best, 3 to 16.

    """
    names = FEW_ROUNDS if few_rounds else VARIANTS
    return chosen([calibrated(name, users, d, budget, honest) for name in names])


def chosen(every: list[Design]) -> Design:
    """Return the cheapest design, in sealed bytes, among those whose predicted error is nearly the smallest.

    Those that clients would refuse to work for are left out, unless there is no other: that one can only be played.
    """
    designs = [one for one in every if not too_much(one.stages, one.d, one.honest)] or every
    errors = [one.error(LOOSE) * (1 + _PER_ROUND * len(one.stages)) for one in designs]
    good = [one for one, error in zip(designs, errors, strict=True) if error <= _AS_GOOD * min(errors)]
    return min(good, key=lambda one: one.bytes(sealed=True))


@lru_cache(maxsize=256)
def calibrated(variant: Variant, users: int, d: int, budget: ApproxDp, honest: Fraction) -> Design:
    """Return the rounds of a variant with as little noise as the budget allows."""
    trusted = honest_users(users, honest)
    check_honest(trusted)
    rho = float(zcdp_that_implies(ApproxDp(budget.epsilon, budget.delta * (1 - 2 * OUTSIDE))).rho)
    enough = None
    low, high = 0.0, math.inf
    for _ in range(30):
        stages = stages_worth(variant, users, trusted, d, budget, rho)
        cost = total_cost(stages, d, trusted, budget).epsilon
        if cost <= budget.epsilon:
            enough, low = (stages, rho), rho
            if cost >= budget.epsilon * Fraction(9995, 10000):
                break
        else:
            high = rho
        guess = rho * float(budget.epsilon / cost) ** (2 if budget.epsilon < 2 else 1.5) * 0.9999
        rho = guess if low < guess < high else (low + high) / 2 if high < math.inf else 1.5 * low
        if high < math.inf and high - low <= 1e-4 * high:
            break
    if enough is None:
        raise ArgumentError(f"the shuffle model cannot serve {budget} with {trusted} honest clients")
    return Design(variant, users, trusted, d, budget, *enough)
