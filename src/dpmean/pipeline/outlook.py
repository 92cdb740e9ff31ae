"""What there is to expect, in numbers and in words.

This is one file because every number of the public class is explained, and said, where it is.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, final

from dpmean.enums import RowKind, Trust, Verdict
from dpmean.errors import plural
from dpmean.pipeline.group_outlook import GroupOutlook, groups_in_words
from dpmean.privacy.budgets import ApproxDp, Number, PureDp, Zcdp

if TYPE_CHECKING:
    from dpmean.privacy.neighbours import Neighbours

ROWS_IN_WORDS: Mapping[RowKind, str] = MappingProxyType(
    {
        RowKind.NORMAL: "rows that look normal",
        RowKind.UNIFORM: "uniform columns",
        RowKind.BINARY: "binary columns",
        RowKind.MOSTLY_ZERO: "columns that are mostly zero",
        RowKind.LAPLACE: "columns with exponential tails",
        RowKind.SKEWED: "skewed columns",
        RowKind.LOGNORMAL: "lognormal columns",
        RowKind.HEAVY_TAILS: "columns with heavy tails",
        RowKind.CORRELATED: "correlated columns",
        RowKind.CLUSTERS: "rows in clusters",
        RowKind.SMALL_CLUSTER: "rows with a small cluster far away",
        RowKind.LINE: "rows along a line",
    }
)
"""What to call rows of a kind, after "for"."""
_MORE = 0.98
"""A promise below this part of what was asked for is said to be more than that."""


@final
@dataclass(frozen=True, slots=True)
class Traffic:
    """What the shuffle model asks of each user.

    Attributes:
        variant: How the centre is found, the cheapest way that meets the accuracy.
        rounds: The number of rounds. Every user takes part in each.
        messages: The number of messages that a user sends, on average, in all rounds together.
        bytes: The number of bytes in these messages, frames included.
        sealed_bytes: The same with every message sealed to the analyzer.
        loosest: The bound, in spreads, up to which it adds at most a quarter to the error.

    """

    variant: str
    rounds: int
    messages: float
    bytes: float
    sealed_bytes: float
    loosest: float

    def __str__(self) -> str:
        return (
            f"  variant {self.variant}: {self.rounds} rounds, {self.messages:.1f} messages and {self.bytes:.0f} bytes "
            f"per user, {self.sealed_bytes:.0f} when sealed;\n"
            f"    the bound may be up to {self.loosest:.3g} spreads"
        )


@final
@dataclass(frozen=True, slots=True)
class ScalesOutlook:
    """What the scales of columns cost, or gain.

    Attributes:
        norm_bound: The part of the budget that finding them takes at most, with a bound on the norm. None if they will
            not be asked for, as there are too few rows or the scales are given.
        bounds: About the same with bounds on the columns, where each is to be accurate in its own standard deviations.
        gain: The noise that follows given scales, in multiples of even noise (the same for all columns), where columns
            share a unit. None if no scales are given. The error shrinks by more, as rows are then clipped by their
            scales.
        rows_norm_bound: The number of rows from which on scales are asked for with a bound on the norm; 0 if they are
            given.
        rows_bounds: The same with bounds on the columns.

    """

    norm_bound: float | None
    bounds: float | None
    gain: float | None = None
    rows_norm_bound: int = 0
    rows_bounds: int = 0

    def __str__(self) -> str:
        return textwrap.fill(self._words(), 80, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)

    def _words(self) -> str:
        if self.gain is not None:
            if self.gain > 1 - 1e-9:
                return "these scales are all the same, so noise is the same for all columns"
            return f"noise that follows these scales is {self.gain:.2g} times even noise"
        what, from_on = "finding the scales of columns costs", "they are asked for from {} rows on"
        more_norm, more_box = from_on.format(self.rows_norm_bound), from_on.format(self.rows_bounds)
        if self.norm_bound is None:
            if self.bounds is None:
                return (
                    "too few rows to ask for the scales of columns: "
                    f"{self.rows_norm_bound} are needed with norm_bound, {self.rows_bounds} with bounds"
                )
            return f"{what} about {_percent(self.bounds)} of the budget with bounds; with norm_bound, {more_norm}"
        norm = f"{what} up to {_percent(self.norm_bound)} of the budget with norm_bound"
        rest = f"; with bounds, {more_box}" if self.bounds is None else f", about {_percent(self.bounds)} with bounds"
        return f"{norm}{rest}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


@final
@dataclass(frozen=True, slots=True)
class Promise:
    """The error to expect, in spreads, and whether there are enough rows."""

    error: float
    verdict: Verdict


@final
@dataclass(frozen=True, slots=True)
class Goal:
    """An error that was asked for, and what it takes.

    Attributes:
        error: The error, in spreads, or in the unit of ``scale``.
        name: What was found: ``"rho"``, ``"epsilon"`` or ``"n"``.
        amount: The smallest that promises the error, and with which there are as many rows as are recommended. It is
            rounded up to four digits; a number of rows below 10000 is exact.
        delta: The delta that belongs to an epsilon.

    """

    error: float
    name: str
    amount: float
    delta: float | None = None

    def words(self, error: float, unit: str) -> str:
        """Say what was found, if it promises this error."""
        if self.name == "n":
            what, rest = plural(int(self.amount), "row"), "are the fewest that"
        else:
            beside = "" if self.delta is None else f" (delta = {self.delta:g})"
            what, rest = f"{self.name} = {self.amount:.4g}{beside}", "is the least that"
        if error < _MORE * self.error:
            return f"{what} {rest} can be recommended; an error of {self.error:.4g}{unit} would take less"
        return f"{what} {rest} promise{'s' * (self.name != 'n')} an error of {self.error:.4g}{unit}"


@final
@dataclass(frozen=True, slots=True)
class Outlook:
    """What n rows in d dimensions and a budget promise.

    Attributes:
        n: The number of rows, or of persons if all rows of a person are protected together (``privacy_unit``); of those
            in one group, where a person counts in several.
        d: The number of columns.
        budget: The budget: zCDP, or pure differential privacy in the local model, or epsilon and delta in the shuffle
            model.
        trust: The trust model: central, local or shuffle.
        neighbours: Which pairs of data sets the budget is about.
        verdict: Whether there are enough rows: fine, risky, or hopeless.
        error: The error that privacy adds to the mean of the rows (l2 norm, root mean square), in multiples of their
            spread (the root mean square of their distances from the mean), for rows that look like ``rows`` around a
            mean that is ten spreads away from the origin or the middle of the bounds. With a ``scale`` it is the error
            of one column, in its unit.
        sampling_error: The error that the rows have anyway, as a sample, in the same unit.
        rows_needed: The number of rows that is recommended with this budget. The number that is needed at least, which
            is smaller, is the one in ``TooFewRowsError``.
        budget_needed: The rho, or epsilon, that is recommended with these rows. It is infinity if none is large enough.
        rows_to_match: The number of rows from which on privacy adds no more than sampling does, with this budget. It is
            0 where that is never so, in the local model, where it is hardly ever so, and in the shuffle model, which is
            planned for one number of users.
        traffic: What each user sends, in the shuffle model.
        scales: What the scales of columns cost, or gain, in the central model. None with ``shape="round"`` and for one
            column.
        rows: What the rows are expected to look like.
        scale: The standard deviation that columns are expected to have, if errors are in the unit of a column.
        goal: The error that was asked for, and the budget or the number of rows that it takes. None if both were given.
        contributions: In how many groups one person counts at most; with k, each group gets a k-th of the budget.
        count_values: Whether the values of columns are to be counted.
        variances: The part of the budget that the variances of columns will take, for intervals of a population; None
            if these are not asked for.
        rows_least: The number of rows that is needed with this budget, with what the noise on a private number may take
            from it (two standard deviations). With fewer a mean may be refused.
        budget_least: The rho with which as many rows as these are needed, in the central model; else infinity.
        delta: The delta that belonged to an epsilon.
        groups: What to expect of each group, if their sizes were given. Then everything else is about the smallest.

    """

    n: int
    d: int
    budget: Zcdp | PureDp | ApproxDp
    trust: Trust
    neighbours: Neighbours
    verdict: Verdict
    error: float
    sampling_error: float
    rows_needed: int
    budget_needed: float
    rows_to_match: int
    traffic: Traffic | None = None
    scales: ScalesOutlook | None = None
    rows: RowKind = RowKind.NORMAL
    scale: float | None = None
    goal: Goal | None = None
    contributions: int = 1
    count_values: bool = False
    variances: float | None = None
    rows_least: int = 1
    budget_least: float = math.inf
    delta: Number | None = None
    groups: tuple[GroupOutlook, ...] = ()

    def __str__(self) -> str:
        ratio, least = self.error / self.sampling_error, "at least " * (self.verdict is Verdict.HOPELESS)
        budget = self.budget
        notion = "rho" if isinstance(budget, Zcdp) else "epsilon"
        amount = float(budget.rho if isinstance(budget, Zcdp) else budget.epsilon)
        verdict = {
            Verdict.FINE: "enough rows",
            Verdict.RISKY: "few rows: expect a larger error, and now and then a much larger one",
            Verdict.HOPELESS: "too few rows: centre and radius could not be found",
        }[self.verdict]
        one = "row" if self.contributions == 1 else "person"
        if self.groups:
            return "\n".join([self._head_of_groups(one, amount), *groups_in_words(self, one, self._unit)])
        lines = [
            f"{plural(self.n, one)} in {plural(self.d, 'dimension')}, {notion} = {amount:.4g}"
            f"{f', {self.trust} model' * (self.trust is not Trust.CENTRAL)}: {verdict}",
            *([] if self.goal is None else [f"  {self.goal.words(self.error, self._unit)}"]),
            *self._shares(amount),
            f"  privacy adds an error of {least}{self.error:.3g}{self._unit} ({self._rows_in_words})",
            f"  the sampling error is {self.sampling_error:.3g}{self._unit}; "
            f"privacy adds {least}{ratio:.2g} times that",
        ]
        if ratio > 1 and self.rows_to_match >= self.rows_needed:  # fewer would not do well in any case
            lines.append(f"  from {self.rows_to_match} rows on, privacy adds no more than sampling")
        if self.verdict is not Verdict.FINE:
            other = f"or {notion} = {self.budget_needed:.3g} with these rows"
            if math.isinf(self.budget_needed):
                other = "and no budget is large enough for these rows"
            lines.append(f"  {self.rows_needed} rows are recommended with this budget, {other}")
        if self.scales is not None and self.verdict is not Verdict.HOPELESS:
            lines.append(str(self.scales))
        if self.traffic is not None:
            lines.append(str(self.traffic))
        return "\n".join(lines)

    def _head_of_groups(self, one: str, rho: float) -> str:
        sizes = sorted(group.n for group in self.groups)
        span = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
        too_few = sum(group.verdict is Verdict.HOPELESS for group in self.groups)
        which = "all" if too_few == len(sizes) else f"{too_few} of them"
        verdict = f"too few {one}s in {which}" if too_few else f"enough {one}s in each"
        head = f"{plural(len(sizes), 'group')} of {span} {one}s in {plural(self.d, 'dimension')}, rho = {rho:.4g}"
        return "\n".join([f"{head}: {verdict}", *([] if self.goal is None else [self._goal_words]), *self._shares(rho)])

    @property
    def _goal_words(self) -> str:
        return f"  {self.goal.words(self.error, self._unit)}, in the smallest group" if self.goal is not None else ""

    def _shares(self, rho: float) -> list[str]:
        """Say what does not go into the mean of these rows."""
        groups, lines = self.contributions, []
        if groups > 1:
            each = f"each group gets rho = {rho / groups:.4g}"
            lines.append(f"  {each}, as a person counts in up to {groups} groups; all numbers are about one group")
        if self.count_values:
            lines.append("  counting the values of columns takes 4 % of the budget")
        if self.variances is not None:
            lines.append(f"  finding the variances of columns takes {100 * self.variances:.2g} % of the budget")
        return lines

    @property
    def _unit(self) -> str:
        return " spreads" if self.scale is None else " per column" if self.d > 1 else ""

    @property
    def _rows_in_words(self) -> str:
        words = f"for {ROWS_IN_WORDS[self.rows]}"
        return f"l2 norm, {words}" if self.scale is None else f"{words}, of standard deviation {self.scale:g}"
