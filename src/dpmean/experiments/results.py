"""Results as tidy rows: appended to one CSV file per figure while it runs, read back, summarised."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, final

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.types import Floats

TRIM = 0.1
FEWEST_TRIALS = 10
"""Fewer trials give no interval."""
_CERTAIN = 3.29  # standard deviations that a normal number exceeds once in a thousand times


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One measurement."""

    figure: str
    panel: float
    x: float
    method: str
    trial: int
    measure: str
    value: float
    seconds: float
    seed: int
    note: str
    versions: str

    @property
    def key(self) -> tuple[float, float, str, int, str]:
        """What was measured, within its figure."""
        return self.panel, self.x, self.method, self.trial, self.measure


_NAMES = [field.name for field in fields(Row)]
_CONDENSED = ["figure", "panel", "x", "method", "measure", "seconds", "note", "versions", "values"]


@final
class Journal:
    """The results of one figure on disk; what is written there survives whatever happens to the run."""

    def __init__(self, folder: Path, figure: str) -> None:
        self.path = folder / f"figure-{figure}.csv"
        self.rows: list[Row] = []
        if self.path.exists():
            self._mend()
        if self.path.exists():
            self.rows = list(read_rows(self.path))

    def append(self, rows: Iterable[Row]) -> None:
        """Write rows, whole lines at once."""
        new = list(rows)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            writer.writerow(_NAMES)
        writer.writerows([_cell(name, getattr(row, name)) for name in _NAMES] for row in new)
        with self.path.open("a") as file:
            file.write(text.getvalue())
        self.rows += new

    def _mend(self) -> None:
        """Cut off a last line that a crash left unfinished."""
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text:
            self.path.write_bytes(whole)
        if not whole:
            self.path.unlink()


def _cell(name: str, value: object) -> object:
    return f"{value:.6g}" if name in ("value", "seconds") else value


def read_rows(path: Path) -> Iterator[Row]:
    """Read the results of one figure, one trial a line or condensed."""
    kinds: dict[str, Any] = dict.fromkeys(("figure", "method", "measure", "note", "versions"), str)
    kinds |= {"trial": int, "seed": int}
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames not in (_NAMES, _CONDENSED):
            raise ArgumentError(f"{path} does not hold results of figures: its columns are {reader.fieldnames}")
        for line in reader:
            read = {name: kinds.get(name, float)(line[name]) for name in reader.fieldnames if name != "values"}
            if reader.fieldnames == _NAMES:
                yield Row(**read)
            else:
                for trial, value in enumerate(line["values"].split()):
                    yield Row(**read, trial=trial, value=float(value), seed=0)


def condense(folder: Path, out: Path) -> None:
    """Write the results of all figures again, one line for all trials of a method at a place, to four digits."""
    out.mkdir(parents=True, exist_ok=True)
    for figure, rows in read_folder(folder).items():
        groups: dict[tuple[float, float, str, str], list[Row]] = {}
        for row in sorted(rows, key=lambda row: (row.panel, row.x, row.trial)):
            groups.setdefault((row.panel, row.x, row.method, row.measure), []).append(row)
        with (out / f"figure-{figure}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_CONDENSED)
            for (panel, x, method, measure), found in groups.items():
                note = next((row.note for row in found if row.note), "")
                seconds = f"{float(np.mean([row.seconds for row in found])):.3g}"
                values = " ".join(f"{row.value:.4g}" for row in found)
                place = (figure, f"{panel:g}", f"{x:.12g}", method, measure)
                writer.writerow([*place, seconds, note, found[0].versions, values])


def read_folder(folder: Path) -> dict[str, list[Row]]:
    """Read the results of all figures in a folder."""
    found = {path.stem.removeprefix("figure-"): list(read_rows(path)) for path in sorted(folder.glob("figure-*.csv"))}
    if not found:
        raise ArgumentError(f"there are no results in {folder}: run `dpmean figure all --quick --out {folder}`, say")
    return found


def write_parquet(folder: Path) -> Path:
    """Put the results of all figures in a folder into one Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = [row for found in read_folder(folder).values() for row in found]
    columns = {name: [getattr(row, name) for row in rows] for name in _NAMES}
    path = folder / "figures.parquet"
    parquet.write_table(pa.table(columns), path, compression="zstd")
    return path


@final
class Table:
    """The trials of one figure by panel, place on the axis and method."""

    def __init__(self, rows: Iterable[Row], measure: str) -> None:
        cells: dict[tuple[float, float, str], dict[int, float]] = {}
        self.notes: dict[tuple[float, float, str], str] = {}
        for row in rows:
            if row.measure == measure:
                place = (row.panel, row.x, row.method)
                cells.setdefault(place, {})[row.trial] = row.value
                if row.note:
                    self.notes[place] = row.note
        self.cells = {key: np.array([trials[k] for k in sorted(trials)]) for key, trials in cells.items()}

    @property
    def places(self) -> list[tuple[float, float]]:
        """All (panel, x), in order."""
        return sorted({(panel, x) for panel, x, _ in self.cells})

    @property
    def methods(self) -> list[str]:
        """All methods, in order of appearance."""
        return list(dict.fromkeys(method for _, _, method in self.cells))

    def trials(self, panel: float, x: float, method: str) -> Floats | None:
        """Return the measurements of one method at one place, or None."""
        return self.cells.get((panel, x, method))

    def summary(self, panel: float, x: float, method: str) -> tuple[float, float, float] | None:
        """Return the trimmed mean and the band that holds 80 % of the trials."""
        values = self.trials(panel, x, method)
        if values is None:
            return None
        low, high = np.quantile(values, [0.1, 0.9])
        return trimmed_mean(values), float(low), float(high)


def trimmed_mean(values: Floats) -> float:
    """Return the mean of all but the largest and the smallest tenth."""
    cut = int(TRIM * len(values))
    return float(np.sort(values)[cut : len(values) - cut].mean())


def ratio(above: Floats, below: Floats) -> tuple[float, float, float]:
    """Return a ratio of trimmed means and a 99.9 % interval for it, from resampled trials.

    Trial k of both saw the same rows, so they are resampled together. With few trials nothing is certain.
    """
    paired = min(len(above), len(below))
    above, below = above[:paired], below[:paired]
    middle = trimmed_mean(above) / trimmed_mean(below)
    if paired < FEWEST_TRIALS or not 0 < middle < math.inf:
        return middle, 0.0, math.inf
    chosen = np.random.default_rng(0).integers(0, paired, (1000, paired))
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = float(np.std(np.log(_trimmed_means(above[chosen]) / _trimmed_means(below[chosen]))))
    factor = math.exp(min(_CERTAIN * spread, 50.0))
    return middle, middle / factor, middle * factor


def _trimmed_means(samples: Floats) -> Floats:
    cut = int(TRIM * samples.shape[1])
    means: Floats = np.sort(samples, axis=1)[:, cut : samples.shape[1] - cut].mean(axis=1)
    return means
