"""SciPy sparse matrices: rows are made dense one block at a time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentTypeError, DataError
from dpmean.queries.domain import Domain
from dpmean.rows.memory import MemoryRows
from dpmean.rows.registry import Selection


def open_source(matrix: Any, selection: Selection) -> SparseSource:  # noqa: ARG001  one signature for all engines
    """Read a sparse matrix or array of any format."""
    if matrix.dtype.kind not in "fiub":
        raise ArgumentTypeError(f"X must hold real numbers, got {matrix.dtype}: convert it with X.astype(float)")
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise DataError(f"X must have shape (n, d) with at least one column, got {matrix.ndim} dimensions")
    return SparseSource(_by_row(matrix))


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparseSource:
    """The rows of a sparse matrix."""

    matrix: Any

    names = None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    def rows(self, domain: Domain) -> MemoryRows:
        """Return the rows with a domain applied."""
        return MemoryRows(Dense(self.matrix), domain)


def _by_row(matrix: Any) -> Any:
    """Return the matrix in CSR format, the entries of each row in their original order.

    In COO format SciPy adds up duplicate entries in an order that depends on whether all rows are sorted. Declaring
    the entries canonical avoids this: duplicates are then added up when a row is made dense. Entries outside the matrix
    are refused: SciPy would put a column number that is too large into the next row.
    """
    with suppress(ValueError, IndexError):
        if matrix.format == "coo":
            matrix = type(matrix)((matrix.data, (matrix.row, matrix.col)), shape=matrix.shape)  # checks all places
            matrix.has_canonical_format = True
        elif hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        found = matrix.tocsr()
        found.check_format(full_check=True)
        return found
    raise DataError("X has an entry outside of its shape, so nothing was released: build the matrix again")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """A sparse matrix that returns the rows it is indexed with as a dense array."""

    matrix: Any

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: Any) -> NDArray[Any]:
        found: NDArray[Any] = np.asarray(self.matrix[where].toarray())
        return found
