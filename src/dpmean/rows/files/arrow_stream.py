"""Streams of Arrow batches that start again for every pass; every pass must see the same rows in the same order.

Each pass computes a fingerprint of all rows and their positions; if two passes differ, the call is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import DataError
from dpmean.queries.queries import Floats, Ints
from dpmean.rows.block_query import Kernel, copy_as_floats
from dpmean.rows.engine import CHANGED
from dpmean.rows.files.arrow import RAGGED, Columns
from dpmean.rows.fingerprint import fingerprint
from dpmean.rows.threads import run_parts, threads_to_use

_Held = TypeVar("_Held")
_MOVED = "the rows changed, or changed their order, while they were read, so nothing was released"


@final
@dataclass(slots=True, eq=False)
class StreamEngine:
    """Reads a stream of batches from its beginning for every query, on all cores, in constant memory."""

    begin: Callable[[], Any]
    """Returns an iterator over Arrow batches, with a method ``close``."""
    columns: Columns
    shape: tuple[int, int]
    attempt: Callable[[Callable[[], Any]], Any]
    """Reads from the iterator, and hides error messages of the library, which may quote a row."""
    cure: str
    """The cure if two passes differ."""
    threads: int = field(default_factory=threads_to_use)
    mark: int | None = None
    """The fingerprint of all rows and their positions, after the first pass."""

    def add_up(self, kernel: Kernel) -> tuple[Ints, int]:
        """Read all rows once."""
        found = self._read(kernel.zeros, lambda total, rows, _: kernel.add(rows, total))
        return sum(found, start=kernel.zeros()), self.shape[0]

    def gather(self, positions: Ints) -> NDArray[Any]:
        """Return the rows at the given positions."""

        def pick(found: dict[int, Floats], rows: Floats, start: int) -> None:
            first, last = np.searchsorted(positions, [start, start + len(rows)])
            if last > first:
                found[start] = rows[positions[first:last] - start]

        parts: dict[int, Floats] = {}
        for found in self._read(dict[int, Floats], pick):
            parts |= found
        return np.concatenate([parts[start] for start in sorted(parts)])

    def _read(self, make: Callable[[], _Held], use: Callable[[_Held, Floats, int], None]) -> list[_Held]:
        """Let every thread process blocks of rows, and return one result per thread; refuse a pass that differs."""
        batches = _Batches(self.begin(), self.attempt)

        def work(_: int) -> tuple[_Held, int]:
            held, mark = make(), 0
            try:
                for start, batch in batches:
                    for rows in self._blocks(batch):
                        mark += int(fingerprint(rows.view(np.uint64), start))
                        use(held, rows, start)
                        start += len(rows)
            except BaseException:
                batches.stop()
                raise
            return held, mark

        try:
            found = run_parts(work, list(range(self.threads)), self.threads)
        finally:
            batches.stop()
        if batches.start != self.shape[0]:
            raise DataError(CHANGED)
        mark = sum(mark for _, mark in found) % 2**64
        self.mark = mark if self.mark is None else self.mark
        if mark != self.mark:
            raise DataError(f"{_MOVED}: {self.cure}")
        return [held for held, _ in found]

    def _blocks(self, batch: Any) -> Iterator[Floats]:
        """Yield the rows of a batch as float64; a missing value in a batch then changes no bits of other rows."""
        for block in self.columns.blocks(batch):
            if len(block) and block.shape[1] != self.shape[1]:
                raise DataError(RAGGED)
            rows = np.empty(block.shape)
            copy_as_floats(block, rows)
            yield rows


@final
@dataclass(slots=True, eq=False)
class _Batches:
    """The batches of a reader, for several threads; each comes with the position of its first row."""

    reader: Any
    attempt: Callable[[Callable[[], Any]], Any]
    start: int = 0
    ended: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> tuple[int, Any]:
        with self.lock:
            batch = None if self.ended else self.attempt(lambda: next(self.reader, None))
            if batch is None:
                self.ended = True
                raise StopIteration
            start, self.start = self.start, self.start + batch.num_rows
            return start, batch

    def stop(self) -> None:
        """Stop reading, and close the reader: an open reader blocks other queries on its connection."""
        with self.lock:
            self.ended = True
            self.reader.close()
