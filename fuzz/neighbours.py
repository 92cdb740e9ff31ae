"""Pairs of inputs that differ in one record: all other records must come out the same, or the call is refused."""

from __future__ import annotations

import contextlib
import os
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import dpmean
from dpmean.errors import ArgumentError, DpMeanError, FormatWarning
from dpmean.rows.files import csv, npy, parquet
from dpmean.rows.files.reader import BLOCK_ROWS
from fuzz.alike import contributions, difference
from fuzz.forms import FORMS
from fuzz.lines import TEXTS, WRITTEN, mangle_line
from fuzz.records import Change, base, draw_change
from fuzz.seen import Seen, watch
from fuzz.setting import Setting

ALL = {**TEXTS, **FORMS}
CHANGES = 16
"""The number of neighbours of one input."""
_LIBRARY_OF_ITS_OWN = (ValueError, TypeError)  # scikit-learn raises errors of its own


@dataclass
class Finding:
    """A pair of neighbours whose other records differ."""

    form: str
    path: str
    seed: int
    execution: int
    what: str
    setting: Setting
    change: Change

    def __str__(self) -> str:
        again = f"python -m fuzz neighbours --form '{self.form}' --path '{self.path}' --seed {self.seed}"
        old = [] if self.change.what == "add" else [self.setting.base.records[self.change.place]]
        lines = [f"{self.form}, {self.path}: {self.what}", f"  {again} --only {self.execution}"]
        lines += [f"  keys: {self.setting.base.kinds}, labels {self.setting.base.labels!r}, {self.setting._picked}"]
        lines += [f"  {record!r}" for record in self.setting.base.records]
        return "\n".join([*lines, f"  {self.change.what} at {self.change.place}: {old} -> {self.change.new!r}"])


@dataclass
class Tally:
    """The outcomes of the executions of one form on one path."""

    executions: int = 0
    compared: int = 0
    refused: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)


def run(form: str, path: str, runs: int, seed: int, *, first: int = 0, most: int = 1, at: Any = None) -> Tally:
    """Run executions of one form on one path, from number ``first`` on; stop after ``most`` findings.

    ``at`` is set to the number of the next execution, in case it ends the process.
    """
    tally, start = Tally(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, _small_blocks():
        for number in range(first // CHANGES, -(-(first + runs) // CHANGES)):
            if at is not None:
                at.value = number * CHANGES
            for execution, setting, change, what in _try_neighbours(form, path, number, seed, Path(folder), tally):
                if not first <= execution < first + runs:
                    continue
                tally.executions += 1
                if what:
                    tally.findings.append(Finding(form, path, seed, execution, what, setting, change))
            if tally.findings and len(tally.findings) >= most:
                break
    tally.seconds = time.perf_counter() - start
    return tally


def _try_neighbours(
    form: str, path: str, number: int, seed: int, folder: Path, tally: Tally
) -> Iterator[tuple[int, Setting, Change, str]]:
    """Try some neighbours of one input."""
    name = f"{seed}/{form}/{path}/{number}"
    draw = random.Random(name)  # noqa: S311  cases are to be reproduced
    setting = Setting(path, base(draw, by_person=path.startswith("persons")), name, folder)
    _set_block_sizes(*setting.pick("block", (3, 64), (2048, 4 << 20)))
    before: dict[str, Any] = {}
    for change_number in range(CHANGES):
        draw = random.Random(f"{name}/{change_number}")  # noqa: S311
        change = draw_change(
            draw, setting.base, whole=form in ("lists", "scikit-learn") or setting.pick("vectors", False)
        )
        if form in WRITTEN and not WRITTEN[form].broken:
            change = mangle_line(draw, change, setting, WRITTEN[form])
        yield number * CHANGES + change_number, setting, change, _compare(form, setting, change, before, tally)


def _set_block_sizes(rows: int, size: int) -> None:
    """Set the number of rows, and of bytes of text, that readers read at a time."""
    for reader in (csv, parquet, npy):
        reader.BLOCK_ROWS = rows  # type: ignore[attr-defined]
    csv._CHUNK_BYTES = size  # type: ignore[attr-defined]


@contextlib.contextmanager
def _small_blocks() -> Iterator[None]:
    """Restore the block sizes of readers afterwards."""
    kept = BLOCK_ROWS, csv._CHUNK_BYTES
    try:
        yield
    finally:
        _set_block_sizes(*kept)


def _compare(form: str, setting: Setting, change: Change, known: dict[str, Any], tally: Tally) -> str:
    """Compare an input with a neighbour; return a description of the fault."""
    relation = "replace-one" if change.what == "change" else "add-or-remove-one"
    if relation not in known:
        known[relation] = _read_rows(form, setting, setting.base.records, relation)
    before, after = known[relation], _read_rows(form, setting, change.apply(setting.base.records), relation)
    for one in (before, after):
        if isinstance(one, Exception) and not _is_refusal(one, form):
            return f"{type(one).__name__} was raised"
    if before is None or after is None:  # an input that cannot be made is not a neighbour
        return ""
    if isinstance(before, Exception) or isinstance(after, Exception):
        tally.refused += 1
        named = form in TEXTS and not change.place  # the first line of a file may hold the names of columns
        by_argument = any(type(one) is ArgumentError for one in (before, after)) and not named
        accepted = any(isinstance(one, Seen) for one in (before, after))
        return "an argument is refused for one of them only" if by_argument and accepted else ""
    tally.compared += 1
    return difference(before, after, change, setting)


def _is_refusal(error: Exception, form: str) -> bool:
    own = form == "scikit-learn" and isinstance(error, _LIBRARY_OF_ITS_OWN)
    return isinstance(error, DpMeanError) or own


def _read_rows(form: str, setting: Setting, records: Any, relation: str) -> Seen | Exception | None:
    """Make an input and read it; return the rows for an estimator, the error, or None if it cannot be made."""
    try:
        X, named = ALL[form][0](setting, records)
    except Exception:  # a library that makes frames has errors of its own
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)
            return watch(_call(form, setting, X, named, relation))
    except Exception as error:
        return error


def _call(form: str, setting: Setting, X: Any, named: dict[str, Any], relation: str) -> Callable[[], object]:
    bound = setting.pick("bound", {"norm_bound": 1e6}, {"bounds": (-1e6, 1e6)})
    shared: dict[str, Any] = {"rho": 1.0, **bound, "neighbours": relation, "allow_few_rows": True}
    if form == "scikit-learn":
        from dpmean.sklearn import PrivateMean, PrivateNearestCentroid

        if setting.by_group:
            labels = list(setting.base.labels)
            return lambda: PrivateNearestCentroid(classes=labels, random_state=1, **shared).fit(X, **named)
        return lambda: PrivateMean(random_state=1, **shared).fit(X)
    nan = setting.pick("nan", "impute", "impute", "raise", "drop")
    shared |= {"nan": "impute" if nan == "drop" and relation == "replace-one" else nan, "seed": 1}
    if setting.by_group:
        shared |= {"contributions": contributions(setting)}
        return lambda: dpmean.mean_by(X, **{"groups": list(setting.base.labels), **shared, **named})
    return lambda: dpmean.mean(X, **shared, **named)


CLUSTERS = ("dask", "spark")


def shares(runs: int) -> dict[tuple[str, str], int]:
    """Divide executions: ``runs`` for text, as many for keys in other forms, and a tenth for rows in other forms."""
    every = [(form, path) for form, (_, paths) in ALL.items() for path in paths]
    kinds = {one: (one[0] in TEXTS, one[1] != "rows") for one in every}
    of = {kind: runs if any(kind) else runs // 10 for kind in kinds.values()}
    text = sum(kind[0] for kind in kinds.values())
    keyed = sum(kind == (False, True) for kind in kinds.values())
    plain = len(every) - text - keyed + len(CLUSTERS)
    each = {one: -(-of[kind] // (text if kind[0] else keyed if kind[1] else plain)) for one, kind in kinds.items()}
    return each | {(form, "rows"): -(-runs // 10 // plain) for form in CLUSTERS}


def campaign(runs: int, seed: int, form: str | None, path: str | None, only: int | None) -> int:
    """Run all forms and paths, or one, or one execution; return the number of findings."""
    os.environ.setdefault("DPMEAN_THREADS", "1")
    every = [one for one in shares(runs).items() if form in (None, one[0][0]) and path in (None, one[0][1])]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as several:
        found = list(several.map(lambda one: _run_in_process(*one[0], one[1], seed, only), every))
    return sum(found)


def _run_in_process(form: str, path: str, runs: int, seed: int, only: int | None) -> int:
    """Run in a separate process, as a record may crash it."""
    spawn = get_context("spawn")
    at, results = spawn.Value("q", 0), spawn.SimpleQueue()
    process = spawn.Process(target=_work, args=(form, path, runs, seed, only, at, results))
    process.start()
    process.join()
    if process.exitcode:
        words = f"{form}, {path}, seed {seed}: the process crashed in one of {CHANGES} executions from {at.value} on"
        _report(form, path, at.value, 1.0, 0, [words])
        return 1
    line = results.get()
    _report(form, path, *line)
    return len(line[-1])


def _work(form: str, path: str, runs: int, seed: int, only: int | None, at: Any, results: Any) -> None:
    """Run one form on one path in the separate process."""
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    if form in CLUSTERS:
        from fuzz import clusters

        done, compared, found = clusters.campaign(form, runs, seed)
    else:
        tally = run(form, path, runs if only is None else 1, seed, first=only or 0, at=at)
        done, compared, found = tally.executions, tally.compared, [str(one) for one in tally.findings]
    results.put((done, time.perf_counter() - start, compared, found))


def _report(form: str, path: str, executions: int, seconds: float, compared: int, findings: list[str]) -> None:
    rate, words = executions / max(seconds, 1e-9), "no finding" if not findings else "findings:"
    sys.stderr.write(f"{form}, {path}: {executions:,} executions, {rate:,.0f}/s, {compared:,} compared; {words}\n")
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
