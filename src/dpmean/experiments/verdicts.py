"""The rules that judge a claim: methods are compared at every place of a figure.

Ratios compare trimmed means, with simultaneous 99 % intervals (see ``ratio``). A claim that one method is never worse
than others fails if some interval is above 1, holds if all are below 1.03, and is too close to call otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import final

from dpmean.experiments import figures
from dpmean.experiments.methods import TOO_FEW_ROWS
from dpmean.experiments.results import Ratio, Row, Table, ratio

NOT_WORSE, CLOSE, STEADY = 1.03, 1.25, 1.1
RULES = (
    f"Never worse: all intervals below {NOT_WORSE:g}. Close: below {CLOSE:g}. Unchanged: between 1 / {STEADY:g} and "
    f"{STEADY:g}. An interval is for the ratio of a trimmed mean to that of the best rival, which is chosen "
    "afterwards; it is computed from resampled trials. All intervals of one claim hold simultaneously with probability "
    "99 %. With fewer than 20 trials there are no intervals."
)


class Verdict(StrEnum):
    """The verdict of the results about a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "too close to call"
    UNKNOWN = "not measured"


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, its verdict, and the numbers that support it."""

    name: str
    claim: str
    verdict: Verdict
    numbers: str = ""


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two methods, or of two places."""

    figure: str
    panel: float
    x: float
    ratio: Ratio
    refused: bool = False

    def __str__(self) -> str:
        figure = figures.read(self.figure)
        return f"{self.ratio} (figure {self.figure}, {figure.panel} = {self.panel:g}, {figure.axis} = {self.x:g})"


@final
class Results:
    """The results of all figures."""

    def __init__(self, rows: Mapping[str, Sequence[Row]]) -> None:
        self._rows = rows

    def table(self, name: str) -> Table:
        """Return the results of a figure, or an empty table."""
        figure = figures.read(name)
        return Table(self._rows.get(figure.runs, ()), figure.measure)

    def ratios(self, names: Iterable[str], method: str, others: Callable[[str], bool]) -> list[Comparison]:
        """Compare a method with the best of the others at every place."""
        pairs = []
        for name in names:
            table = self.table(name)
            for panel, x in table.places:
                mine = table.trials(panel, x, method)
                rivals = {other: table.trials(panel, x, other) for other in table.methods if others(other)}
                known = {other: values for other, values in rivals.items() if values}
                if mine and known:
                    refused = table.notes.get((panel, x, method)) == TOO_FEW_ROWS
                    pairs.append(((name, panel, x), mine, known, refused))
        return [Comparison(*place, ratio(mine, known, len(pairs)), refused) for place, mine, known, refused in pairs]


def never_worse(name: str, claim: str, ratios: list[Comparison], *, by: float = 1.0) -> Finding:
    """Judge the claim that a method is never worse than the best of the others by more than a factor."""
    if not ratios:
        return Finding(name, claim, Verdict.UNKNOWN)
    worse = sorted((one for one in ratios if one.ratio.low > by), key=lambda one: -one.ratio.middle)
    unsure = [one for one in ratios if one.ratio.low <= by and one.ratio.high >= NOT_WORSE]
    typical = math.exp(sum(math.log(one.ratio.middle) for one in ratios) / len(ratios))
    numbers = f"{typical:.3g} times the error of the best other method on average"
    if worse:
        named = "; ".join(map(str, worse[:3])) + (" and others" if len(worse) > 3 else "")
        numbers += f"; worse at {len(worse)} of {len(ratios)} places: {named}"
    else:
        numbers += f"; clearly worse at none of {len(ratios)} places; largest ratio {largest(ratios)}"
    if unsure:
        numbers += f"; {len(unsure)} places are too close to call"
    verdict = Verdict.FAILS if worse else Verdict.OPEN if unsure else Verdict.HOLDS
    return Finding(name, claim, verdict, numbers)


def largest(ratios: Iterable[Comparison]) -> Comparison:
    """Return the place where a method performs worst."""
    return max(ratios, key=lambda one: one.ratio.middle)
