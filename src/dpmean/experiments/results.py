"""Results as tidy rows: they are appended to one CSV file per figure during the run, read back, and summarised."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, final

import numpy as np

from dpmean.errors import ArgumentError
from dpmean.numerics.error_quantiles import normal_quantile
from dpmean.queries.queries import Floats

TRIM = 0.1
FEWEST_TRIALS = 20
"""The number of trials that an interval needs."""
_MISSING = "-"


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
        """The key of the measurement within its figure."""
        return self.panel, self.x, self.method, self.trial, self.measure


_NAMES = [field.name for field in fields(Row)]
_CONDENSED = ["figure", "panel", "x", "method", "measure", "seconds", "note", "versions", "values"]


@final
class Journal:
    """The results of one figure on disk, which survive an interrupted run."""

    def __init__(self, folder: Path, figure: str) -> None:
        self.path = folder / f"figure-{figure}.csv"
        self.rows: list[Row] = []
        if self.path.exists():
            self._mend()
        if self.path.exists():
            self.rows = list(read_rows(self.path))

    def append(self, rows: Iterable[Row]) -> None:
        """Write rows as complete lines."""
        new = list(rows)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            writer.writerow(_NAMES)
        writer.writerows([_cell(name, getattr(row, name)) for name in _NAMES] for row in new)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            file.write(text.getvalue())
        self.rows += new

    def _mend(self) -> None:
        """Remove a last line that a crash left unfinished."""
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text:
            self.path.write_bytes(whole)
        if not whole:
            self.path.unlink()


def _cell(name: str, value: object) -> object:
    return f"{value:.6g}" if name in ("value", "seconds") else value


def read_rows(path: Path) -> Iterator[Row]:
    """Read the results of one figure, either one trial per line or condensed."""
    kinds: dict[str, Any] = dict.fromkeys(("figure", "method", "measure", "note", "versions"), str)
    kinds |= {"trial": int, "seed": int}
    whole = path.read_bytes().rpartition(b"\n")[0].decode()  # ignore a last line that a crash left unfinished
    reader = csv.DictReader(io.StringIO(whole))
    names = list(reader.fieldnames or ())
    if names not in (_NAMES, _CONDENSED):
        raise ArgumentError(f"{path} does not hold results of figures: its columns are {names}")
    for line in reader:
        try:
            read = {name: kinds.get(name, float)(line[name]) for name in names if name != "values"}
            if names == _NAMES:
                yield Row(**read)
            else:
                for trial, value in enumerate(line["values"].split()):
                    if value != _MISSING:
                        yield Row(**read, trial=trial, value=float(value), seed=0)
        except (TypeError, ValueError, AttributeError):
            raise ArgumentError(f"{path}, line {reader.line_num}: this is not a result") from None


def condense(folder: Path, out: Path) -> None:
    """Write the results of all figures in condensed form: one line per method and place, with four digits."""
    found = read_folder(folder)
    out.mkdir(parents=True, exist_ok=True)
    if out.resolve() == folder.resolve():
        raise ArgumentError(f"{out} is the folder of the results: give another folder with --out")
    for figure, rows in found.items():
        groups: dict[tuple[float, float, str, str], dict[int, Row]] = {}
        for row in sorted(rows, key=lambda row: (row.panel, row.x)):
            groups.setdefault((row.panel, row.x, row.method, row.measure), {})[row.trial] = row
        with (out / f"figure-{figure}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_CONDENSED)
            for (panel, x, method, measure), trials in groups.items():
                note = next((row.note for row in trials.values() if row.note), "")
                seconds = f"{float(np.mean([row.seconds for row in trials.values()])):.3g}"
                versions = "; ".join(sorted({row.versions for row in trials.values()}))
                numbers = (trials.get(trial) for trial in range(max(trials) + 1))
                values = " ".join(_MISSING if row is None else f"{row.value:.4g}" for row in numbers)
                place = (figure, f"{panel:.12g}", f"{x:.12g}", method, measure)
                writer.writerow([*place, seconds, note, versions, values])


def read_folder(folder: Path) -> dict[str, list[Row]]:
    """Read the results of all figures in a folder."""
    found = {path.stem.removeprefix("figure-"): list(read_rows(path)) for path in sorted(folder.glob("figure-*.csv"))}
    if not found:
        raise ArgumentError(f"there are no results in {folder}: run `dpmean figure all --quick --out {folder}` first")
    return found


def write_parquet(folder: Path) -> Path:
    """Write the results of all figures in a folder to one Parquet file."""
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
        self.cells: dict[tuple[float, float, str], dict[int, float]] = {}
        self.notes: dict[tuple[float, float, str], str] = {}
        for row in rows:
            if row.measure == measure:
                place = (row.panel, row.x, row.method)
                self.cells.setdefault(place, {})[row.trial] = row.value
                if row.note:
                    self.notes[place] = row.note

    @property
    def places(self) -> list[tuple[float, float]]:
        """All (panel, x), in order."""
        return sorted({(panel, x) for panel, x, _ in self.cells})

    @property
    def methods(self) -> list[str]:
        """All methods, in order of appearance."""
        return list(dict.fromkeys(method for _, _, method in self.cells))

    def trials(self, panel: float, x: float, method: str) -> dict[int, float]:
        """Return the measurements of one method at one place, by trial."""
        return self.cells.get((panel, x, method), {})

    def summary(self, panel: float, x: float, method: str) -> tuple[float, float, float] | None:
        """Return the trimmed mean, and the interval that contains 80 % of the trials."""
        values = np.array(list(self.trials(panel, x, method).values()))
        if not len(values):
            return None
        low, high = np.quantile(values, [0.1, 0.9])
        return trimmed_mean(values), float(low), float(high)


def trimmed_mean(values: Floats) -> float:
    """Return the mean without the largest and the smallest tenth."""
    return float(_trimmed_means(values[np.newaxis])[0])


def _trimmed_means(samples: Floats) -> Floats:
    cut = int(TRIM * samples.shape[1])
    means: Floats = np.sort(samples, axis=1)[:, cut : samples.shape[1] - cut].mean(axis=1)
    return means


@final
@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of a trimmed mean to that of the best rival, its interval, and the name of the rival."""

    middle: float
    low: float
    high: float
    rival: str

    def __str__(self) -> str:
        interval = "too few trials for an interval" if math.isinf(self.high) else f"{self.low:.2f} to {self.high:.2f}"
        return f"{self.middle:.2f} ({interval}) times that of {self.rival}"


def ratio(mine: Mapping[int, float], rivals: Mapping[str, Mapping[int, float]], comparisons: int = 1) -> Ratio:
    """Compare a trimmed mean with that of the best rival.

    Trial k of all methods used the same rows, so trials are paired and resampled together. Every rival gets an interval
    (a normal one for the logarithm, wider for few trials). The intervals of all rivals in all ``comparisons`` hold
    simultaneously with probability 99 %, so the best rival may be chosen afterwards. With fewer than 20 trials there is
    no interval.
    """
    shared = sorted(set(mine).intersection(*rivals.values()))
    above = np.array([mine[trial] for trial in shared])
    below = {name: np.array([values[trial] for trial in shared]) for name, values in rivals.items()}
    best = min(below, key=lambda name: trimmed_mean(below[name])) if shared else ""
    middle = trimmed_mean(above) / trimmed_mean(below[best]) if shared and trimmed_mean(below[best]) > 0 else math.nan
    if len(shared) < FEWEST_TRIALS or not 0 < middle < math.inf:
        return Ratio(middle, 0.0, math.inf, best)
    chosen = np.random.default_rng(0).integers(0, len(shared), (1000, len(shared)))
    tops = _trimmed_means(above[chosen])
    deviations = _student_quantile(1 - 0.005 / (comparisons * len(rivals)), len(shared) - 1)
    ends = []
    for values in below.values():
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = float(np.std(np.log(tops / _trimmed_means(values[chosen]))))
        centre = trimmed_mean(above) / max(trimmed_mean(values), 1e-300)
        factor = math.exp(min(deviations * spread, 500.0)) if math.isfinite(spread) else math.inf
        ends.append((centre / factor, centre * factor))
    return Ratio(middle, max(low for low, _ in ends), max(high for _, high in ends), best)


def _student_quantile(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t, by the first terms of its expansion around the normal quantile."""
    z = normal_quantile(probability)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
