"""What was measured: one line each, as a table to read and as JSON to keep."""

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
    """A figure beside what is required of it."""

    job: str
    method: str
    measured: float | None
    """None where it cannot be measured on this system."""
    unit: str
    required: float
    at_least: bool = False
    beside: str = ""
    """The absolute figures behind it, or a competitor's."""

    def verdict(self, *, judged: bool) -> str:
        """Compare with what is required."""
        if not judged or self.measured is None:
            return "-"
        good = self.measured >= self.required if self.at_least else self.measured <= self.required
        return "ok" if good else "MISSED"

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return the line in words."""
        words = _IN_WORDS[self.unit]
        measured = "not measurable here" if self.measured is None else words(self.measured)
        required = f"{'>=' if self.at_least else '<='} {words(self.required)}"
        return self.job, self.method, measured, required, self.beside


def speed_table(lines: Sequence[Line], sizes: Sizes, others: float | None) -> Table:
    """Lay the lines out to be read."""
    caption = (
        f"best of {sizes.rounds}, competitors taking turns; N(5,1) float64, R = {COORDINATE_BOUND:g} sqrt(d), "
        f"rho = {RHO:g}, no seed, neighbours replace one row\n"
        f"we may use all {os.cpu_count()} cores, numpy.mean uses one"
    )
    if others is not None:
        caption += f"; others kept {others:.2f} of them busy meanwhile"
    if not sizes.judged:
        caption += "\nquick: sizes are too small for the requirements to apply"
    table = Table(title="Speed and memory", caption=caption)
    for column in ("job", "method", "measured", "required", "beside it", ""):
        table.add_column(column)
    for line in lines:
        verdict = line.verdict(judged=sizes.judged)
        table.add_row(*line.cells(), f"[bold red]{verdict}" if verdict == "MISSED" else verdict)
    return table


def as_json(lines: Sequence[Line], sizes: Sizes) -> list[dict[str, Any]]:
    """Return the lines as plain data."""
    return [{**asdict(line), "verdict": line.verdict(judged=sizes.judged)} for line in lines]
