"""The smallest budget, or the smallest number of rows, for which the forecast meets a requested error."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import final

from dpmean.arguments.budgets import LARGEST_EPSILON
from dpmean.arguments.questions import ExpectedRows
from dpmean.arguments.terms import Terms
from dpmean.enums import Verdict
from dpmean.errors import ArgumentError
from dpmean.pipeline.dispatch import expect, promise
from dpmean.pipeline.group_outlook import GroupOutlook
from dpmean.pipeline.outlook import Goal, Outlook
from dpmean.privacy.budgets import ApproxDp, Number, PureDp, Zcdp
from dpmean.privacy.conversions import tight_epsilon, zcdp_that_implies

_RHOS = (1e-12, 1e12)
_EPSILONS = {PureDp: (0.02, 16.0), ApproxDp: (0.01, float(LARGEST_EPSILON))}
_MOST_ROWS = 10.0**15
_DIGITS = 4
_GUESSES = 12
"""After this many guesses, the search continues by bisection."""
_SMALLER = 0.99
"""The result times this factor does not meet the requested error."""

Excess = Callable[[float], float]
"""A function of the amount: the logarithm of the forecast error divided by the requested one."""


@final
@dataclass(frozen=True, slots=True)
class RequestedError:
    """A requested error, in spreads or in the unit of a scale, and the kind of rows."""

    error: float
    scale: float | None
    d: int
    rows: ExpectedRows

    def excess(self, n: int, terms: Terms) -> float:
        """Return by how much the forecast exceeds the requested error; infinity with fewer rows than recommended."""
        found = promise(n, self.d, terms, self.rows)
        if found.verdict is not Verdict.FINE:
            return math.inf
        return math.log(found.error * (self.scale or 1.0) / self.error)

    def unit(self) -> str:
        """Return the unit of the error, to follow its number in a text."""
        return " spreads" if self.scale is None else ""


def find_budget(wish: RequestedError, n: int, terms: Terms) -> Outlook:
    """Find the smallest budget that meets an error for n rows, and return its outlook."""
    if isinstance(terms.budget, Zcdp):
        limits, name, power = _RHOS, "rho", 0.5
    else:
        limits, name, power = _EPSILONS[type(terms.budget)], "epsilon", 1.0
    kind, delta = type(terms.budget), terms.delta

    def terms_at(amount: float) -> Terms:
        return replace(terms, budget=ApproxDp(amount, delta or 0) if kind is ApproxDp else kind(amount))

    found = _least(lambda amount: wish.excess(n, terms_at(amount)), limits, power)
    if found is None:
        most = promise(n, wish.d, terms_at(limits[1]), wish.rows)
        promised = f"promises {most.error * (wish.scale or 1.0):.3g}"
        if most.verdict is not Verdict.FINE:
            promised = "is too small for so few rows"
        raise ArgumentError(
            f"error={wish.error:g}{wish.unit()} is out of reach with n={n}: "
            f"even {name} = {limits[1]:g} {promised}. Raise error, or n"
        )
    if kind is Zcdp and delta is not None:
        name, found = "epsilon", _epsilon(found, delta, lambda rho: wish.excess(n, terms_at(rho)) <= 0)
        budget = zcdp_that_implies(ApproxDp(found, delta))
        chosen = replace(terms, budget=budget)
    else:
        chosen = terms_at(found)
    return _outlook(wish, n, chosen, Goal(wish.error, name, found, None if delta is None else float(delta)))


def find_rows(wish: RequestedError, terms: Terms) -> Outlook:
    """Find the smallest number of rows that meets an error with a budget, and return its outlook."""
    found = _least(lambda n: wish.excess(int(n), terms), (1.0, _MOST_ROWS), 1.0, integer=True)
    if found is None:
        raise ArgumentError(
            f"error={wish.error:g}{wish.unit()} is out of reach with {terms.budget}: even {_MOST_ROWS:.0e} rows do not "
            "promise it. Raise error, or the budget"
        )
    return _outlook(wish, int(found), terms, Goal(wish.error, "n", int(found)))


def outlook_for(wish: RequestedError, n: int, terms: Terms) -> Outlook:
    """Return the outlook for n rows and a budget."""
    return _outlook(wish, n, terms, None)


def add_groups(found: Outlook, wish: RequestedError, sizes: Sequence[int], terms: Terms) -> Outlook:
    """Return an outlook with the forecasts for groups of the given sizes added."""
    if isinstance(found.budget, Zcdp):
        terms = replace(terms, budget=found.budget)
    promised = {n: promise(n, wish.d, terms, wish.rows) for n in set(sizes)}
    unit = wish.scale or 1.0
    groups = (GroupOutlook(n, promised[n].verdict, promised[n].error * unit, unit / math.sqrt(n)) for n in sizes)
    return replace(found, groups=tuple(groups))


def _outlook(wish: RequestedError, n: int, terms: Terms, goal: Goal | None) -> Outlook:
    found = expect(n, wish.d, terms, wish.rows)
    unit = wish.scale or 1.0
    return replace(
        found, error=found.error * unit, sampling_error=found.sampling_error * unit, scale=wish.scale, goal=goal
    )


def _epsilon(rho: float, delta: Number, enough: Callable[[float], bool]) -> float:
    """Return the smallest epsilon, to four digits, whose implied rho is at least the given one, and enough."""
    epsilon = _round_up(float(tight_epsilon(Zcdp(rho), delta)))
    while not enough(float(zcdp_that_implies(ApproxDp(epsilon, delta)).rho)):
        epsilon = _round_up(math.nextafter(epsilon, math.inf))
    return epsilon


def _least(excess: Excess, limits: tuple[float, float], power: float, *, integer: bool = False) -> float | None:
    """Return the smallest amount, to four digits, without excess; None if there is none.

    Errors fall roughly like a power of the amount, so each guess extrapolates to the requested error. Where the error
    is infinite, or the guess leaves the bracket, bisection is used. A forecast may have small steps, so the result is
    tested: 1 % less must not be enough.
    """
    search = _Search(lru_cache(maxsize=None)(excess), limits, power, integer)
    found = search.crossing(limits[1])
    while found is not None and found > limits[0]:
        smaller = math.floor(_SMALLER * found) if integer else _SMALLER * found
        if smaller <= limits[0] or search.excess(smaller) > 0:
            return found
        found = search.crossing(smaller)
    return found


@final
@dataclass(frozen=True, slots=True)
class _Search:
    """A search for the amount at which the excess becomes zero."""

    excess: Excess
    limits: tuple[float, float]
    power: float
    integer: bool

    def crossing(self, high: float) -> float | None:
        """Return an amount that is enough, where slightly less is not; None if even the largest is not enough.

        The limits are evaluated only when a guess reaches them, as this can take long.
        """
        low, tried = self.limits[0], set[float]()
        guess = min(1000.0 if self.integer else 1.0, math.sqrt(low) * math.sqrt(high))
        while True:
            amount = min(max(_round_up(guess, integer=self.integer), low), high)
            if amount in tried or len(tried) > _GUESSES:
                amount = min(max(_round_up(math.sqrt(low) * math.sqrt(high), integer=self.integer), low), high)
            if amount in tried or (high in tried and high <= low * (1 + 3 * 10.0**-_DIGITS)):
                return high
            tried.add(amount)
            over = self.excess(amount)
            if amount == (high if over > 0 else low):
                return None if over > 0 else low
            low, high = (amount, high) if over > 0 else (low, amount)
            guess = self._aim(amount, over, low, high, tried)

    def _aim(self, amount: float, over: float, low: float, high: float, tried: set[float]) -> float:
        """Aim slightly beyond the requested error, so that the bracket closes on both sides; otherwise bisect."""
        step = 1 + 10.0**-_DIGITS
        guess = amount * math.exp(min(over / self.power, 300.0)) * (step if over > 0 else 1 / step)
        if low < guess < high:
            return guess
        if high not in tried and guess >= high:
            return high
        return low if low not in tried and guess <= low else math.sqrt(low) * math.sqrt(high)


def _round_up(value: float, *, integer: bool = False) -> float:
    """Round a number up to four digits, or to an integer if it is small."""
    if integer and value < 10**_DIGITS:
        return float(math.ceil(value))
    exponent = math.floor(math.log10(value)) - _DIGITS + 1
    unit = Fraction(10) ** exponent
    return float(math.ceil(Fraction(repr(value)) / unit) * unit)
