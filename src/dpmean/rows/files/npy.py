"""An array in a ``.npy`` file: it is memory-mapped piece by piece."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.queries.queries import Ints
from dpmean.rows.engine import CHANGED
from dpmean.rows.files.reader import BLOCK_ROWS, read_safely, stamp
from dpmean.rows.tables.keys import Keys

_PART_BYTES = 16 << 20  # bytes that a thread maps at a time


@final
@dataclass(frozen=True, slots=True, eq=False)
class NpyReader:
    """The rows of one file."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    offset: int
    by_column: bool
    parts: list[range]

    names = None

    def keys(self, name: str) -> Keys:
        """Refuse: the columns of an array have no names."""
        raise ArgumentError(f"there is no column {name!r}: {self.path.name} holds one array; pass one key per row")

    def select(self, rows: NDArray[np.bool_]) -> None:
        """Return None: rows are selected later, by their positions."""

    @staticmethod
    def open(path: Path) -> NpyReader:
        """Read the header of a file."""
        mapped = read_safely(np.load, path, mmap_mode="r", allow_pickle=False)
        if not isinstance(mapped, np.memmap) or mapped.dtype.kind not in "fiub":
            raise ArgumentTypeError(f"{path.name} must hold one array of real numbers: convert it with numpy.save")
        if mapped.ndim not in (1, 2):
            raise DataError(f"{path.name} must hold an array of shape (n, d), or (n,), got {mapped.ndim} dimensions")
        shape = (len(mapped), 1 if mapped.ndim == 1 else mapped.shape[1])
        if not shape[1]:
            raise DataError(f"{path.name} must hold at least one column")
        by_column = mapped.ndim == 2 and not mapped.flags.c_contiguous
        size = max(BLOCK_ROWS // 32, _PART_BYTES // (shape[1] * mapped.dtype.itemsize))
        parts = [range(start, min(start + size, shape[0])) for start in range(0, shape[0], size)]
        return NpyReader(path, mapped.dtype, shape, mapped.offset, by_column, parts)

    def blocks(self, part: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of a part: all at once if the file is in C order, otherwise some thousands at a time."""
        rows, d = self.parts[part], self.shape[1]
        if not self.by_column:
            yield self._mapped(rows.start * d, len(rows) * d).reshape(-1, d)
            return
        columns = [self._mapped(j * self.shape[0] + rows.start, len(rows)) for j in range(d)]
        for start in range(0, len(rows), BLOCK_ROWS):
            yield np.stack([column[start : start + BLOCK_ROWS] for column in columns], axis=1)

    def pick(self, part: int, places: Ints) -> NDArray[Any]:
        """Return the rows of a part at the given places."""
        first, d = self.parts[part].start, self.shape[1]
        if self.by_column:
            columns = [self._mapped(j * self.shape[0] + first, len(self.parts[part])) for j in range(d)]
            return np.stack([column[places] for column in columns], axis=1)
        if not hasattr(os, "pread"):
            return self._mapped(first * d, len(self.parts[part]) * d).reshape(-1, d)[places]
        size = d * self.dtype.itemsize
        with open(self.path, "rb", buffering=0) as file:
            read, handle = os.pread, file.fileno()
            found = b"".join([read(handle, size, self.offset + size * (first + place)) for place in places.tolist()])
        if len(found) != size * len(places):
            raise DataError(CHANGED)
        return np.frombuffer(found, dtype=self.dtype).reshape(-1, d)

    def _mapped(self, start: int, count: int) -> NDArray[Any]:
        """Map some numbers of the file while they are in use, so that no more of it is in memory."""
        begin, size = self.offset + start * self.dtype.itemsize, count * self.dtype.itemsize
        slack = begin % mmap.ALLOCATIONGRANULARITY
        how: dict[str, Any] = {"access": mmap.ACCESS_READ}
        if sys.platform != "win32" and hasattr(mmap, "MAP_POPULATE"):  # all pages at once, not one fault each
            how = {"flags": mmap.MAP_SHARED | mmap.MAP_POPULATE, "prot": mmap.PROT_READ}
        with open(self.path, "rb", buffering=0) as file:
            if begin + size > os.fstat(file.fileno()).st_size:
                raise DataError(CHANGED)
            where = mmap.mmap(file.fileno(), size + slack, offset=begin - slack, **how)
        return np.frombuffer(where, dtype=self.dtype, count=count, offset=slack)

    def fingerprint(self) -> object:
        """Return a value that changes when the file changes."""
        return stamp(self.path)
