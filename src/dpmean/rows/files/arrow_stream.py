"""Streams of batches of Arrow that begin anew for every pass; every pass must see the same rows in the same order.

So each pass computes a fingerprint of all rows and their positions, and one that differs ends the call.
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
from dpmean.rows.threads import each, threads_to_use

_Held = TypeVar("_Held")
_MOVED = "the rows changed or came in another order while they were read, so nothing was released"


@final
@dataclass(slots=True, eq=False)
class StreamEngine:
    """Reads a stream of batches from its beginning for every question, on all cores, in constant memory."""

    begin: Callable[[], Any]
    """Returns an iterator over batches of Arrow that can be closed."""
    columns: Columns
    shape: tuple[int, int]
    attempt: Callable[[Callable[[], Any]], Any]
    """Reads from the iterator; what a library says of an error may quote a row, so it is not passed on."""
    cure: str
    """What to do when passes do not agree."""
    threads: int = field(default_factory=threads_to_use)
    mark: int | None = None
    """The fingerprint of all rows and their positions, once they were read."""

    def add_up(self, kernel: Kernel) -> tuple[Ints, int]:
        """Read all rows once."""
        found = self._read(kernel.zeros, lambda total, rows, _: kernel.add(rows, total))
        return sum(found, start=kernel.zeros()), self.shape[0]

    def gather(self, positions: Ints) -> NDArray[Any]:
        """Return the rows at some positions."""

        def pick(found: dict[int, Floats], rows: Floats, start: int) -> None:
            first, last = np.searchsorted(positions, [start, start + len(rows)])
            if last > first:
                found[start] = rows[positions[first:last] - start]

        parts: dict[int, Floats] = {}
        for found in self._read(dict[int, Floats], pick):
            parts |= found
        return np.concatenate([parts[start] for start in sorted(parts)])

    def _read(self, make: Callable[[], _Held], use: Callable[[_Held, Floats, int], None]) -> list[_Held]:
        """Let every thread use blocks of rows, and return what each made of them; a pass that differs is refused."""
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
            found = each(work, list(range(self.threads)), self.threads)
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
        """Yield the rows of a batch as float64, so that a batch with a missing value gives the others the same bits."""
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
        """Read no more, and let what is read from go: no other query can run on a connection while this one is open."""
        with self.lock:
            self.ended = True
            self.reader.close()
