"""Comparison of all methods on one problem: error and time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import final

import numpy as np
from rich.table import Table
from scipy.stats import trim_mean

from bench.clock import track
from bench.peers import COLUMNS, NUMPY, ORACLE, ROWS, all_peers
from bench.problem import COORDINATE_BOUND, DELTA, RHO, Sizes, draw_rows
from dpmean import Zcdp, tight_epsilon

_TRIMMED = 0.1


@final
@dataclass(slots=True)
class Record:
    """The results of one method over all trials."""

    name: str
    privacy: str
    problem: str = ""
    """The reason why it was not run, if any."""
    errors: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @property
    def error(self) -> float:
        """The trimmed mean of the errors."""
        return float(trim_mean(self.errors, _TRIMMED))

    @property
    def time(self) -> float:
        """The shortest time."""
        return min(self.times)


def compare(sizes: Sizes) -> list[Record]:
    """Run all methods on the same rows, in turns; each trial has new rows and new noise."""
    with ExitStack() as stack:
        peers = all_peers(stack, may_install=sizes.judged)
        records = {peer.name: Record(peer.name, peer.privacy) for peer in peers}
        for trial in track(range(sizes.trials), f"peers on {ROWS} x {COLUMNS}"):
            rows = draw_rows(ROWS, COLUMNS, seed=trial)
            truth = rows.mean(axis=0)
            for peer in peers:
                record = records[peer.name]
                if isinstance(peer.release, str):
                    record.problem = peer.release
                    continue
                mean, seconds = peer.release(rows)
                record.errors.append(float(np.linalg.norm(mean - truth)))
                record.times.append(seconds)
    return list(records.values())


def _yardsticks(records: Sequence[Record]) -> tuple[float, float]:
    """Return the oracle's error and numpy's time."""
    known = {record.name: record for record in records}
    return known[ORACLE.name].error, known[NUMPY.name].time


def comparison_table(records: Sequence[Record], sizes: Sizes) -> Table:
    """Return the records as a table."""
    oracle, numpy = _yardsticks(records)
    epsilon = float(tight_epsilon(Zcdp(RHO), DELTA))
    caption = (
        f"l2 error to the empirical mean, trimmed mean of {sizes.trials} trials; shortest time, in turns; "
        f"neighbours replace one row\nrho = {RHO:g} is epsilon = {epsilon:.3g} at delta = {DELTA:g}; "
        "setting a mechanism up is not timed for OpenDP and diffprivlib"
    )
    table = Table(title=f"Peers: {ROWS} x {COLUMNS}, N(5,1), R = {COORDINATE_BOUND:g} sqrt(d)", caption=caption)
    for column in ("route", "privacy"):
        table.add_column(column)
    for column in ("error", "over oracle", "time", "over numpy"):
        table.add_column(column, justify="right")
    for record in records:
        if record.problem:
            table.add_row(record.name, record.privacy, record.problem)
            continue
        error = f"{record.error:.3g}", f"{record.error / oracle:.3g}x"
        time = f"{1e3 * record.time:.3g} ms", f"{record.time / numpy:.3g}x"
        table.add_row(record.name, record.privacy, *error, *time)
    return table


def as_json(records: Sequence[Record], sizes: Sizes) -> list[dict[str, object]]:
    """Return the records as plain data."""
    oracle, numpy = _yardsticks(records)
    entries: list[dict[str, object]] = []
    for record in records:
        entry: dict[str, object] = {"route": record.name, "privacy": record.privacy}
        if record.problem:
            entry |= {"problem": record.problem}
        else:
            entry |= {"trials": sizes.trials, "error": record.error, "error_over_oracle": record.error / oracle}
            entry |= {"seconds": record.time, "seconds_over_numpy": record.time / numpy}
        entries.append(entry)
    return entries
