"""An account of a ledger: the costs on one dataset, and the budget that is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import final

from dpmean.errors import ArgumentError, ArgumentTypeError, OverspendError, display_name
from dpmean.ledger.filter import Cost, epsilon_left, epsilon_spent, fits, only_pure
from dpmean.ledger.relations import (
    ADDED,
    STEPS_RHO,
    check_neighbours,
    convert_to_replace_one,
    has_private_size,
    is_convertible,
    refusal,
)
from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
from dpmean.privacy.conversions import tight_epsilon, zcdp_implied_by
from dpmean.privacy.renyi import Renyi


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger.

    Attributes:
        id: The hash of the JSON of a release, or a random number.
        when: The time of recording, in UTC.
        what: The method of a release, or the description of another cost.
        cost: The privacy cost, for these neighbours.
        n: The number of rows in the release, if it has one.
        d: The number of columns.
        columns: The names of the columns, if they have names.
        neighbours: The neighbour relation of the cost.
        unit: The column that identifies the person of each row, if all rows of one person are protected together.

    """

    id: str
    when: str
    what: str
    cost: Cost
    n: int | None = None
    d: int | None = None
    columns: tuple[str, ...] | None = None
    neighbours: str | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        if self.unit is not None and not isinstance(self.unit, str):
            raise ArgumentTypeError(
                f"unit must be the name of a column, got {self.unit!r}: give the column that identifies persons"
            )
        if self.neighbours is not None:
            check_neighbours(self.neighbours)

    @property
    def relation(self) -> tuple[str, str | None] | None:
        """The neighbours of the cost, and the column that identifies persons; None if they are not known."""
        return None if self.neighbours is None else (self.neighbours, self.unit)

    @property
    def protects(self) -> str:
        """What the cost protects, in words. The name of a column may be rows."""
        unit = "rows" if self.unit is None else "the column 'rows'" if self.unit == "rows" else display_name(self.unit)
        return f"{unit} ({self.neighbours})"

    def __str__(self) -> str:
        one = "row" if self.unit is None else "person"
        about = "about " if has_private_size(f"{self.what} {self.neighbours}") else ""
        rows = "" if self.n is None else f", {about}{self.n} {one}{'s' if self.n != 1 else ''}"
        wide = "" if self.d is None else f", {self.d} column{'s' if self.d != 1 else ''}"
        what = self.what if self.what.isprintable() else repr(self.what)  # a line must not look like several
        return f"{what}{rows}{wide}"


@final
@dataclass(frozen=True, slots=True)
class Account:
    """One dataset: its budget, its entries, and their neighbours, if these are known."""

    budget: Zcdp | ApproxDp
    entries: tuple[Entry, ...] = ()
    neighbours: str | None = None

    @property
    def kind(self) -> str | None:
        """The neighbours of all costs: those given, or else those of the first entry; None if there are none."""
        return self.neighbours or next((entry.neighbours for entry in self.entries if entry.neighbours), None)

    @property
    def costs(self) -> tuple[Cost, ...]:
        """The costs of all entries, in order."""
        return tuple(entry.cost for entry in self.entries)

    @property
    def spent(self) -> Fraction:
        """The total cost, in the unit of the budget; an epsilon is rounded up."""
        if isinstance(self.budget, ApproxDp):
            return epsilon_spent(self.budget, self.costs)
        return sum((cost.rho for cost in self.costs if isinstance(cost, Zcdp)), start=Fraction(0))

    @property
    def left(self) -> Fraction:
        """The largest cost of one more release, in the unit of the budget; an epsilon is rounded down."""
        if isinstance(self.budget, ApproxDp):
            return epsilon_left(self.budget, self.costs)
        return self.budget.rho - self.spent

    @property
    def left_of_added(self) -> Fraction | None:
        """The largest cost of one more release with add-or-remove-one, if it is charged four times its rho here."""
        if self.kind is None or not is_convertible(ADDED, self.kind) or self.pure:
            return None
        if isinstance(self.budget, ApproxDp):
            return epsilon_left(self.budget, self.costs, STEPS_RHO)
        return self.left / STEPS_RHO

    @property
    def prices(self) -> list[str]:
        """The cost of each entry by itself, in the unit of the budget, rounded up."""
        return [digits(_amount(cost, self.budget), up=True) for cost in self.costs]

    @property
    def unit(self) -> str:
        """The unit of the budget."""
        return "rho" if isinstance(self.budget, Zcdp) else "epsilon"

    @property
    def at_delta(self) -> str:
        """The delta of the budget, in words."""
        return f", at delta = {float(self.budget.delta):g}" if isinstance(self.budget, ApproxDp) else ""

    @property
    def validity(self) -> str:
        """Words that follow the amount spent, if its Rényi order was fixed beforehand."""
        return f"{self.at_delta}, at any time" if self.at_delta else ""

    @property
    def pure(self) -> str:
        """Words that follow the amount left, if only pure costs fit."""
        return ", for pure costs only" if only_pure(self.budget, self.costs) else ""

    def is_within(self) -> bool:
        """Return whether all entries are within the budget."""
        if isinstance(self.budget, ApproxDp):
            return fits(self.budget, self.costs)
        return self.left >= 0 and all(isinstance(cost, Zcdp) for cost in self.costs)

    def with_entry(self, entry: Entry, what: str) -> Account:
        """Return the account with one more entry; refuse an entry that exceeds the budget."""
        given, entry = entry, self._convert_entry(entry, what)
        after = replace(self, entries=(*self.entries, entry))
        if after.is_within():
            return after
        asked, left = _amount(entry.cost, self.budget), self.left
        if asked is None or asked <= left:  # another notion, or a larger delta
            raise OverspendError(
                f"{what} cannot be added to the earlier costs of this dataset: its cost is of another kind, or needs a "
                "larger delta. Use a dataset with a budget of its own for each kind"
            )
        most = digits(left, up=False)
        known = f"only {self.unit} = {most} is left"
        if isinstance(self.budget, ApproxDp) and not self.pure and most != "0":
            known = f"the largest next release may have {self.unit} = {most}"  # epsilons do not add up
        cure = "no further release is possible" if most == "0" else f"ask for at most {self.unit}={most}"
        here = ""
        if entry.neighbours != given.neighbours:
            steps = "4 rho" if isinstance(entry.cost, Zcdp) else "2 epsilon"
            here = f" in a ledger of replace-one ({steps}, because it is about {given.neighbours})"
            added = self.left_of_added if isinstance(entry.cost, Zcdp) else None
            more = f", or at most {self.unit}={digits(added, up=False)} without it" if added else ""
            cure = cure if most == "0" else f'{cure} and neighbours="replace-one"{more}'
        raise OverspendError(
            f"{what} costs {self.unit} = {digits(asked, up=True)}{here}, and {known}{self.at_delta}: {cure}"
        )

    def _convert_entry(self, entry: Entry, what: str) -> Entry:
        """Return an entry at its price in this account; refuse an entry that has none."""
        known = next((known for known in self.entries if known.relation is not None), None)
        kind, unit = self.kind, entry.unit if known is None else known.unit
        if kind is None or entry.neighbours is None or (entry.neighbours, entry.unit) == (kind, unit):
            return entry
        if entry.unit != unit or not is_convertible(entry.neighbours, kind):
            here = replace(entry, neighbours=kind, unit=unit)
            same = entry.unit == unit
            raise ArgumentError(refusal(what, entry.protects, here.protects, same_unit=same, first=known is None))
        cost, words = convert_to_replace_one(entry.cost)
        return replace(entry, cost=cost, neighbours=kind, what=f"{entry.what}, {words}" if entry.what else words)


def convert_cost(cost: Cost, budget: Zcdp | ApproxDp) -> Cost:
    """Return a cost as an account with this budget records it; refuse a cost without a rho if the budget is a rho."""
    if not isinstance(cost, Zcdp | PureDp | ApproxDp | Renyi):
        kind = type(cost).__name__
        raise ArgumentTypeError(
            f"cost must be a privacy cost, got an object of type {kind}: give dpmean.Zcdp(0.5) or release.cost, for "
            "example"
        )
    if isinstance(budget, ApproxDp):
        return cost
    if isinstance(cost, ApproxDp | Renyi):
        raise ArgumentError(
            "a cost in epsilon and delta, such as a release of the shuffle model, has no rho: use a ledger with a "
            "budget in epsilon and delta, for example Ledger(epsilon=3.0, delta=1e-6)"
        )
    return zcdp_implied_by(cost)


def digits(value: Fraction | None, *, up: bool) -> str:
    """Return a number with six digits, rounded up or down to the safe side."""
    if value is None:
        return "?"
    rounding = Context(prec=6, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{float(rounding.divide(Decimal(value.numerator), Decimal(value.denominator))):.6g}"


def _amount(cost: Cost, budget: Zcdp | ApproxDp) -> Fraction | None:
    """Return a cost by itself, in the unit of a budget; None if it has none at the delta of the budget."""
    if isinstance(budget, Zcdp):
        return cost.rho if isinstance(cost, Zcdp) else None
    if isinstance(cost, PureDp):
        return cost.epsilon
    if isinstance(cost, Zcdp):
        return tight_epsilon(cost, budget.delta)
    if isinstance(cost, ApproxDp):
        return cost.epsilon if cost.delta <= budget.delta else None
    try:
        return cost.epsilon(budget.delta)
    except ArgumentError:  # the curve needs a larger delta
        return None
