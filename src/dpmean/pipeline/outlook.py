"""Outlooks: what ``dpmean.plan`` returns and prints.

This is one file because every number of the public class is explained and printed in the same place.
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
"""The description of each kind of rows, to follow the word "for"."""
_MORE = 0.98
"""If the forecast error is below this part of the requested one, the text says that less would be enough."""


@final
@dataclass(frozen=True, slots=True)
class Traffic:
    """What each user sends in the shuffle model.

    Attributes:
        variant: The method that finds the centre: the cheapest one that meets the accuracy.
        rounds: The number of rounds. Every user takes part in each.
        messages: The number of messages that a user sends, on average, in all rounds together.
        bytes: The number of bytes in these messages, frames included.
        sealed_bytes: The same with every message sealed to the analyzer.
        loosest: The largest bound, in spreads, that makes the error at most a quarter larger.

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
    """The cost of finding the scales of columns, or the gain from given ones.

    Attributes:
        norm_bound: The largest part of the budget that finding them takes, with a bound on the norm. None if they will
            not be estimated, because there are too few rows or the scales are given.
        bounds: The approximate part of the budget with bounds on columns, where each column is to be accurate in its
            own standard deviations. None as above.
        gain: The noise that follows given scales, divided by even noise (the same for all columns), where columns share
            a unit. None if no scales are given. The error shrinks by more than this, as rows are also clipped by these
            scales.
        rows_norm_bound: The smallest number of rows with which scales are estimated, with a bound on the norm; 0 if
            they are given.
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
                return "these scales are equal, so noise is the same for all columns"
            return f"noise that follows these scales is {self.gain:.2g} times as large as even noise"
        what, from_on = "finding the scales of columns takes", "they are found if there are at least {} rows"
        more_norm, more_box = from_on.format(self.rows_norm_bound), from_on.format(self.rows_bounds)
        if self.norm_bound is None:
            if self.bounds is None:
                return (
                    "too few rows to find the scales of columns: "
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
    """The forecast error, in spreads, and whether there are enough rows."""

    error: float
    verdict: Verdict


@final
@dataclass(frozen=True, slots=True)
class Goal:
    """A requested error, and the budget or number of rows that it needs.

    Attributes:
        error: The requested error, in spreads, or in the unit of ``scale``.
        name: The quantity that was found: ``"rho"``, ``"epsilon"`` or ``"n"``.
        amount: The smallest amount for which the forecast meets the error and there are as many rows as recommended. It
            is rounded up to four digits; a number of rows below 10000 is exact.
        delta: The delta that belongs to an epsilon.

    """

    error: float
    name: str
    amount: float
    delta: float | None = None

    def words(self, error: float, unit: str) -> str:
        """Return text that states the amount, given the error that it promises."""
        if self.name == "n":
            what, rest = plural(int(self.amount), "row"), "is the smallest number that"
        else:
            beside = "" if self.delta is None else f" (delta = {self.delta:g})"
            what, rest = f"{self.name} = {self.amount:.4g}{beside}", "is the smallest that"
        if error < _MORE * self.error:
            return f"{what} {rest} is recommended; an error of {self.error:.4g}{unit} would need less"
        return f"{what} {rest} promises an error of {self.error:.4g}{unit}"


@final
@dataclass(frozen=True, slots=True)
class Outlook:
    """The forecast for n rows in d dimensions and a budget. ``dpmean.plan`` returns it.

    Attributes:
        n: The number of rows, or of persons if all rows of a person are protected together (``privacy_unit``). For
            groups where a person may be in several, it is the number in one group.
        d: The number of columns.
        budget: The budget: zCDP, or pure differential privacy in the local model, or epsilon and delta in the shuffle
            model.
        trust: The trust model: central, local or shuffle.
        neighbours: The neighbour relation of the budget.
        verdict: Whether there are enough rows: fine, risky or hopeless.
        error: The error that privacy adds to the mean of the rows (root mean square of the l2 norm), in spreads. A
            spread is the root mean square distance of rows from their mean. The forecast is for rows of kind ``rows``
            whose mean is ten spreads away from the origin or the middle of the bounds. With a ``scale`` it is the error
            of one column, in the unit of the column.
        sampling_error: The sampling error of the rows, in the same unit: the error without any privacy.
        rows_needed: The number of rows that is recommended with this budget. The minimum that is required is smaller:
            ``TooFewRowsError`` states it.
        budget_needed: The rho, or epsilon, that is recommended with these rows; infinity if none is large enough.
        rows_to_match: The smallest number of rows with which privacy adds no more error than sampling, with this
            budget. It is 0 if there is no such number, and in the local and shuffle models, where it is not computed.
        traffic: What each user sends, in the shuffle model.
        scales: The cost of finding the scales of columns, or the gain from given ones, in the central model. None with
            ``shape="round"`` and for one column.
        rows: The expected kind of rows.
        scale: The expected standard deviation of the columns, if errors are in the unit of a column.
        goal: The requested error, and the budget or number of rows that it needs. None if both were given.
        contributions: The largest number of groups in which one person counts; with k, each group gets 1/k of the
            budget.
        count_values: Whether the values of columns are to be counted.
        variances: The part of the budget for the variances of columns, which population intervals need; None if these
            are not requested.
        rows_least: The number of rows that is required with this budget, plus a margin of two standard deviations for
            the noise on a private number of rows. With fewer rows a mean may be refused.
        budget_least: The smallest rho for which this number of rows is enough, in the central model; otherwise
            infinity.
        delta: The delta of a budget that was given as epsilon and delta.
        groups: The forecast for each group, if their sizes were given. Everything else is then about the smallest.

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
            Verdict.RISKY: "few rows: expect a larger error, sometimes a much larger one",
            Verdict.HOPELESS: "too few rows: the mean would be refused",
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
        if ratio > 1 and self.rows_to_match >= self.rows_needed:  # fewer rows are not recommended in any case
            lines.append(f"  with {self.rows_to_match} rows or more, privacy adds no more than sampling")
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
        """Return lines about the parts of the budget that do not go into the mean."""
        groups, lines = self.contributions, []
        if groups > 1:
            each = f"each group gets rho = {rho / groups:.4g}"
            lines.append(f"  {each}, as a person counts in up to {groups} groups; all numbers are for one group")
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
