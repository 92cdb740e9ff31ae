"""The runner: every figure, method, cell and trial, on all cores; finished trials survive an interruption."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import platform
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from dpmean.errors import ArgumentError, TooFewRowsWarning
from dpmean.experiments import figures, mnist
from dpmean.experiments.data import draw
from dpmean.experiments.figures import Cell, Figure
from dpmean.experiments.methods import CALLS, Problem
from dpmean.experiments.results import Journal, Row
from dpmean.version import __version__

_VALUES_PER_JOB = 1 << 24
_ONE_THREAD = ("DPMEAN_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@final
@dataclass(frozen=True, slots=True)
class Job:
    """Some trials on rows of one kind; the rows of a trial are drawn once, and shared by cells and methods."""

    figure: Figure
    cells: tuple[Cell, ...]
    todo: tuple[tuple[int, tuple[tuple[int, str], ...]], ...]
    """For each trial: the cells to measure, by number, and the method for each."""
    seed: int

    @property
    def size(self) -> float:
        """The approximate amount of work: values that are read, in millions."""
        values = self.cells[0].n * self.cells[0].d / 1e6
        return values * sum(_passes(method, self.cells[0].d) for _, asked in self.todo for _, method in asked)


def _passes(method: str, d: int) -> float:
    """Return the approximate number of passes of a method over its rows; a matrix product counts as several."""
    return 8 + d / 4 if figures.methods()[method]["call"] == "coinpress_covariance_mean" else 8


def versions() -> str:
    """Return the software and hardware that measurements and times depend on, apart from the seed."""
    software = f"dpmean {__version__}, numpy {np.__version__}, Python {platform.python_version()}"
    return f"{software}, {platform.system()} {platform.machine()} with {cores()} cores"


def cores() -> int:
    """Return the number of processes to run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs(figure: Figure, done: set[tuple[float, float, str, int, str]], trials: int, seed: int) -> Iterator[Job]:
    """Divide the missing measurements into jobs of about a second."""
    alike: dict[tuple[tuple[str, float], ...], list[Cell]] = {}
    for cell in figure.cells():
        alike.setdefault(cell.rows, []).append(cell)
    for group in alike.values():
        cells = tuple(group)
        left = [(trial, _missing(figure, cells, trial, done)) for trial in range(trials)]
        todo = [(trial, asked) for trial, asked in left if asked]
        values = cells[0].n * cells[0].d * len(cells) * len(figure.methods)
        together = max(1, _VALUES_PER_JOB // values)
        for start in range(0, len(todo), together):
            yield Job(figure, cells, tuple(todo[start : start + together]), seed)


def _missing(
    figure: Figure, cells: Sequence[Cell], trial: int, done: set[tuple[float, float, str, int, str]]
) -> tuple[tuple[int, str], ...]:
    return tuple(
        (number, method)
        for number, cell in enumerate(cells)
        for method in figure.methods
        if any((cell.panel, cell.x, method, trial, measure) not in done for measure in figure.measures)
    )


def run_job(job: Job) -> list[Row]:
    """Run one job, and return its results."""
    rows: list[Row] = []
    figure = job.figure
    for trial, asked in job.todo:
        cells = job.cells
        options = {name: value for name, value in cells[0].rows if name not in ("n", "d")}
        drawn = [item for item in cells[0].rows if item[0] != "mu"]  # a translation moves the same rows
        generator = np.random.default_rng(_seed(job.seed, figure.data, drawn, trial))
        sample = draw(figure.data, generator, cells[0].n, cells[0].d, **options)
        problems: dict[int, Problem] = {}
        for number, method in asked:
            cell = cells[number]
            problem = problems.setdefault(number, Problem(figure, sample, cell))
            seed = _noise_seed(job.seed, method, cell, trial)
            how = dict(figures.methods()[method])
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TooFewRowsWarning)
                answer = CALLS[how.pop("call")](problem, seed, **how)
            seconds = time.perf_counter() - start
            for measure, value in problem.measure(answer).items():
                place = (figure.runs, cell.panel, cell.x, method, trial, measure)
                rows.append(Row(*place, value, seconds, seed, answer.note, versions()))
    return rows


def _noise_seed(seed: int, method: str, cell: Cell, trial: int) -> int:
    return _seed(seed, method, sorted(figures.methods()[method].items()), sorted(cell.parameters.items()), trial)


def _seed(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=6).digest())


def run(
    chosen: Sequence[Figure], folder: Path, *, trials: int | None, seed: int, processes: int | None
) -> Iterator[tuple[float, float]]:
    """Measure what is missing in the chosen figures; yield the finished and the total amount of work.

    Figures with the same runs are measured once.
    """
    journals: dict[str, Journal] = {}
    todo: list[Job] = []
    for figure in chosen:
        if figure.runs not in journals:
            journals[figure.runs] = Journal(folder, figure.runs)
            _check_origin(figure, journals[figure.runs], seed)
            done = {row.key for row in journals[figure.runs].rows}
            todo += jobs(figure, done, trials or figure.trials, seed)
    if any(job.figure.data == "mnist" for job in todo):
        mnist.check()
    total, finished = sum(job.size for job in todo), 0.0
    yield finished, total
    if not todo:
        return
    with (
        _one_thread_each(),
        multiprocessing.get_context("spawn").Pool(processes or cores(), _ignore_interrupts) as pool,
    ):
        for job, rows in pool.imap_unordered(_run_with_job, todo):
            journals[job.figure.runs].append(rows)
            finished += job.size
            yield finished, total


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Limit new processes to one thread each: one process per core is faster."""
    before = {variable: os.environ.get(variable) for variable in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for variable, value in before.items():
            os.environ.pop(variable)
            if value is not None:
                os.environ[variable] = value


def _check_origin(figure: Figure, journal: Journal, seed: int) -> None:
    """Refuse to add results to those of another seed or other settings."""
    cells = {(cell.panel, cell.x): cell for cell in figure.cells()}
    for row in journal.rows:
        cell = cells.get((row.panel, row.x))
        if cell is not None and row.seed != _noise_seed(seed, row.method, cell, row.trial):
            raise ArgumentError(
                f"{journal.path} holds results of another seed or other settings: give another folder with --out"
            )


def _run_with_job(job: Job) -> tuple[Job, list[Row]]:
    return job, run_job(job)


def _ignore_interrupts() -> None:
    """Ignore interrupts in workers: the main process stops them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
