"""Reading files in parts: every thread reads its own parts block by block, and keeps only a total."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import DataError
from dpmean.queries.queries import Ints
from dpmean.rows.block_query import Kernel
from dpmean.rows.engine import CHANGED
from dpmean.rows.tables.keys import Keys
from dpmean.rows.threads import share_parts, threads_to_use

BLOCK_ROWS = 2048
"""The number of rows that are read at a time."""


class Reader(Protocol):
    """The interface of a reader of one kind of file."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the coordinates, if they have names."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        ...

    @property
    def parts(self) -> Sequence[range]:
        """The positions of the rows in each part."""
        ...

    def blocks(self, part: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of a part, some thousands at a time; a block may be overwritten by the next."""
        ...

    def pick(self, part: int, places: Ints) -> NDArray[Any]:
        """Return the rows of a part at the given places: ascending, and counted from its first row."""
        ...

    def keys(self, name: str) -> Keys:
        """Return the keys in a column, one per row."""
        ...

    def select(self, rows: NDArray[np.bool_]) -> Reader | None:
        """Return a reader of some rows that ignores all others; None if rows cannot be read independently."""
        ...

    def fingerprint(self) -> object:
        """Return a value that changes when the files change."""
        ...


@final
@dataclass(slots=True, eq=False)
class FileEngine:
    """Reads files on all cores, in constant memory."""

    reader: Reader
    threads: int = field(default_factory=threads_to_use)
    mark: object = field(init=False)

    def __post_init__(self) -> None:
        self.mark = self.reader.fingerprint()

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return self.reader.shape

    @property
    def n(self) -> int:
        """The number of rows; the length of their vectors need not be known."""
        return sum(map(len, self.reader.parts))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the coordinates, if they have names."""
        return self.reader.names

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return self.shape[1]

    def keys(self, name: str) -> Keys:
        """Return the keys in a column, one per row."""
        return self.reader.keys(name)

    def select(self, rows: NDArray[np.bool_]) -> FileEngine | None:
        """Return the table of some rows; None if rows cannot be read independently."""
        reader = self.reader.select(rows)
        if reader is None:
            return None
        part = FileEngine(reader, self.threads)
        part.mark = self.mark
        return part

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all rows, in order, some thousands at a time; a block may be overwritten by the next."""
        self._check_unchanged()
        for part in range(len(self.reader.parts)):
            yield from self.reader.blocks(part)
        self._check_unchanged()

    def add_up(self, kernel: Kernel) -> tuple[Ints, int]:
        """Read all rows once."""
        self._check_unchanged()
        reader = self.reader

        def summed(parts: Iterable[int]) -> tuple[Ints, int]:
            total, seen = kernel.zeros(), 0
            for part in parts:
                for block in reader.blocks(part):
                    kernel.add(block, total)
                    seen += len(block)
            return total, seen

        found = share_parts(summed, list(range(len(reader.parts))), self.threads)
        self._check_unchanged()
        return sum((total for total, _ in found), start=kernel.zeros()), sum(seen for _, seen in found)

    def gather(self, positions: Ints) -> NDArray[Any]:
        """Return the rows at the given positions."""
        self._check_unchanged()
        reader = self.reader
        ends = np.searchsorted(positions, [part.stop for part in reader.parts])
        starts = np.concatenate(([0], ends[:-1]))
        wanted = [part for part in range(len(reader.parts)) if ends[part] > starts[part]]
        found: dict[int, NDArray[Any]] = {}

        def picked(parts: Iterable[int]) -> None:
            for part in parts:
                places = positions[starts[part] : ends[part]] - reader.parts[part].start
                found[part] = reader.pick(part, places)

        share_parts(picked, wanted, self.threads)
        self._check_unchanged()
        return np.concatenate([found[part] for part in wanted])

    def _check_unchanged(self) -> None:
        if self.reader.fingerprint() != self.mark:
            raise DataError(CHANGED)


def stamp(path: Path) -> tuple[int, int, int]:
    """Return the size of a file, the time of its last change, and its inode number."""
    try:
        found = os.stat(path)
    except OSError:
        raise DataError(CHANGED) from None
    return found.st_size, found.st_mtime_ns, found.st_ino


def read_safely(work: Any, *arguments: Any, **named: Any) -> Any:
    """Read from a file, and hide the error messages of the library, which may quote a row."""
    try:
        return work(*arguments, **named)
    except ModuleNotFoundError:
        raise  # this message names a library only
    except Exception as error:
        kind = type(error).__name__
    raise DataError(f"the files cannot be read ({kind}), so nothing was released: check that they are complete")
