"""The rows that reach the mechanisms: an estimator records the rows it gets, and releases nothing."""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import dpmean.estimators.registry
import dpmean.pipeline.central
from dpmean.errors import DataError, TooFewRowsError
from dpmean.estimators.feasibility import ANY_NUMBER
from dpmean.estimators.registry import Method
from dpmean.queries.queries import Present
from dpmean.rows.engine import CHANGED, StreamedRows
from dpmean.rows.pass_counter import PassCounter
from dpmean.rows.private_size import PrivateSizeRows

Vector = bytes
"""A row in working units, as the bytes of its float64 values: equal bytes cannot be distinguished."""


@dataclass
class Seen:
    """The rows of every release, in order, and whether a secret order was drawn."""

    releases: list[list[Vector]] = field(default_factory=list)
    secret: bool = False


@dataclass
class _Watcher:
    """An estimator that reads every row, and then raises TooFewRowsError."""

    seen: Seen
    name = "watcher"

    def rows_needed(self, budget: Any, neighbours: Any) -> Any:  # noqa: ARG002  an estimator's signature
        return ANY_NUMBER

    def __call__(self, curator: Any) -> Any:
        rows = curator._rows[curator.rows]
        while isinstance(rows, PassCounter | PrivateSizeRows):
            rows = rows.rows
        self.seen.releases.append(_read(rows))
        raise TooFewRowsError("seen", 1)


@dataclass
class Fingerprint:
    """A query whose answer is the sum of a hash of every row, so that it does not depend on the order."""

    domain: Any
    question = None
    shape = (2,)

    def zeros(self) -> Any:
        """Return the answer for zero rows."""
        return np.zeros(self.shape, dtype=np.int64)

    def add(self, rows: Any, total: Any) -> None:
        """Add the hashes of some rows."""
        with np.errstate(over="ignore"):
            for row in vectors(rows):
                total += np.frombuffer(hashlib.blake2b(row, digest_size=16).digest(), dtype=np.int64)


def vectors(block: Any) -> list[Vector]:
    """Return rows as bytes; all NaNs are equal, and minus zero is zero."""
    array = np.array(block, dtype=np.float64) + 0.0
    array[np.isnan(array)] = np.nan
    return [row.tobytes() for row in array]


def _read(rows: Any) -> list[Vector]:
    """Return all rows, also incomplete ones, and check that incomplete rows are left out one by one."""
    every, dropped = _read_all(rows.through(replace(rows.domain, dropped=()))), list(rows.domain.dropped)
    if dropped:
        wanted = [one for one in every if np.isfinite(np.frombuffer(one)[dropped]).all()]
        taken = rows.take(np.arange(rows.n))
        if [one for _, block in taken._blocks(range(taken.n)) for one in vectors(block)] != wanted:
            raise AssertionError("the rows that are left out are not those that lack a value")
        if rows.answer(Present())[-1] != len(wanted):
            raise AssertionError("the count of complete rows differs from the rows that are read")
    return every


def _read_all(rows: Any) -> list[Vector]:
    """Read all rows in both ways that estimators use: by position, and block by block."""
    if not isinstance(rows, StreamedRows):
        return [one for _, block in rows._blocks(range(rows.n)) for one in vectors(block)]
    question = Fingerprint(rows.domain)
    total, count = rows.engine.add_up(question)  # type: ignore[arg-type]
    if count != rows.n:
        raise DataError(CHANGED)
    taken = np.concatenate([block.copy() for _, block in rows.take(np.arange(rows.n))._blocks(range(rows.n))])
    expected = question.zeros()
    question.add(taken, expected)
    if not np.array_equal(total, expected):
        raise AssertionError("rows that are read by position differ from those of a complete pass")
    return vectors(taken)


def watch(call: Callable[[], object]) -> Seen:
    """Run a call of the library, and return the rows that its estimator gets."""
    seen = Seen()

    def in_order(n: int, noise: Any, step: str) -> Any:  # noqa: ARG001  the signature of the replaced function
        seen.secret = True
        return np.arange(n)

    with _replace_entry(dpmean.estimators.registry.ESTIMATORS, "refined", Method("watches", lambda *_: _Watcher(seen))):
        kept, dpmean.pipeline.central.draw_order = dpmean.pipeline.central.draw_order, in_order
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except TooFewRowsError:
            pass
        finally:
            dpmean.pipeline.central.draw_order = kept
    return seen


@contextlib.contextmanager
def _replace_entry(table: dict[str, Any], name: str, value: Any) -> Iterator[None]:
    kept, table[name] = table[name], value
    try:
        yield
    finally:
        table[name] = kept
