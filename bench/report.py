"""The report of a benchmark: one line per measurement, as a table and as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from rich.table import Table

from bench.problem import COORDINATE_BOUND, RHO, Sizes

_IN_WORDS: dict[str, Callable[[float], str]] = {
    "x": lambda value: f"{value:.3g}x",
    "%": lambda value: f"{value:.1f} %",
    "s": lambda value: f"{value:.3g} s",
    "MB": lambda value: f"{value:,.0f} MB",
    "/s": lambda value: f"{value:,.0f}/s",
}


@final
@dataclass(frozen=True, slots=True)
class Line:
    """A measurement, and the requirement for it."""

    job: str
    method: str
    measured: float | None
    """None if it cannot be measured on this system."""
    unit: str
    required: float
    at_least: bool = False
    beside: str = ""
    """The absolute figures, or those of a competitor."""

    def verdict(self, *, judged: bool) -> str:
        """Compare the measurement with the requirement."""
        if not judged or self.measured is None:
            return "-"
        good = self.measured >= self.required if self.at_least else self.measured <= self.required
        return "ok" if good else "MISSED"

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return the cells of the line as text."""
        words = _IN_WORDS[self.unit]
        measured = "not measurable here" if self.measured is None else words(self.measured)
        required = f"{'>=' if self.at_least else '<='} {words(self.required)}"
        return self.job, self.method, measured, required, self.beside


def speed_table(lines: Sequence[Line], sizes: Sizes, others: float | None) -> Table:
    """Return the lines as a table."""
    caption = (
        f"best of {sizes.rounds}, competitors in turns; N(5,1) float64, R = {COORDINATE_BOUND:g} sqrt(d), "
        f"rho = {RHO:g}, no seed, neighbours replace one row\n"
        f"dpmean may use all {os.cpu_count()} cores, numpy.mean uses one"
    )
    if others is not None:
        caption += f"; other processes kept {others:.2f} of them busy meanwhile"
    if not sizes.judged:
        caption += "\nquick: the requirements do not apply to such small sizes"
    table = Table(title="Speed and memory", caption=caption)
    for column in ("job", "method", "measured", "required", "details", ""):
        table.add_column(column)
    for line in lines:
        verdict = line.verdict(judged=sizes.judged)
        table.add_row(*line.cells(), f"[bold red]{verdict}" if verdict == "MISSED" else verdict)
    return table


def as_json(lines: Sequence[Line], sizes: Sizes) -> list[dict[str, Any]]:
    """Return the lines as plain data."""
    return [{**asdict(line), "verdict": line.verdict(judged=sizes.judged)} for line in lines]
