"""An array in a ``.npy`` file: read piece by piece into a buffer, never mapped as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentTypeError, DataError
from dpmean.rows.parted import BLOCK_ROWS, stamp
from dpmean.rows.streamed import CHANGED
from dpmean.types import Ints

_PART_ROWS = 16 * BLOCK_ROWS


@final
@dataclass(frozen=True, slots=True, eq=False)
class NpyReader:
    """The rows of one file."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    offset: int
    by_column: bool

    @staticmethod
    def open(path: Path) -> NpyReader:
        """Read the header of a file."""
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(mapped, np.memmap) or mapped.dtype.kind not in "fiub":
            raise ArgumentTypeError(f"{path.name} must hold one array of real numbers: convert it, with numpy.save")
        if mapped.ndim not in (1, 2) or not mapped.size:
            raise DataError(f"{path.name} must hold an (n, d) array with at least one row, got shape {mapped.shape}")
        shape = (len(mapped), 1 if mapped.ndim == 1 else mapped.shape[1])
        by_column = mapped.ndim == 2 and not mapped.flags.c_contiguous
        return NpyReader(path, mapped.dtype, shape, mapped.offset, by_column)

    @property
    def parts(self) -> list[range]:
        """The positions of the rows in each part."""
        n = self.shape[0]
        return [range(start, min(start + _PART_ROWS, n)) for start in range(0, n, _PART_ROWS)]

    def blocks(self, part: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of a part."""
        rows, d = self.parts[part], self.shape[1]
        if self.by_column:
            yield from self._across(rows)
            return
        buffer = np.empty((min(BLOCK_ROWS, len(rows)), d), dtype=self.dtype)
        with open(self.path, "rb", buffering=0) as file:
            file.seek(self.offset + rows.start * d * self.dtype.itemsize)
            for start in range(0, len(rows), BLOCK_ROWS):
                block = buffer[: min(BLOCK_ROWS, len(rows) - start)]
                _fill(file, block)
                yield block

    def _across(self, rows: range) -> Iterator[NDArray[Any]]:
        """Read a part column by column, as it is stored."""
        columns = np.empty((self.shape[1], len(rows)), dtype=self.dtype)
        with open(self.path, "rb", buffering=0) as file:
            for j, column in enumerate(columns):
                file.seek(self.offset + (j * self.shape[0] + rows.start) * self.dtype.itemsize)
                _fill(file, column)
        for start in range(0, len(rows), BLOCK_ROWS):
            yield columns[:, start : start + BLOCK_ROWS].T

    def pick(self, part: int, places: Ints) -> NDArray[Any]:
        """Return the rows of a part at some places."""
        order = "F" if self.by_column else "C"
        mapped = np.memmap(self.path, self.dtype, "r", self.offset, self.shape, order)  # type: ignore[call-overload]
        return np.array(mapped[self.parts[part].start + places])

    def fingerprint(self) -> object:
        """Return what tells whether the file has changed."""
        return stamp(self.path)


def _fill(file: Any, block: NDArray[Any]) -> None:
    """Fill a block from where a file stands."""
    left = memoryview(block.view(np.uint8).reshape(-1))  # type: ignore[arg-type]  # an array is a buffer
    while left:
        count = file.readinto(left)
        if not count:
            raise DataError(CHANGED)
        left = left[count:]
