"""Opening rows: find the engine that recognises the caller's input, and let it open a source of rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, final

from numpy.typing import NDArray

from dpmean.errors import ArgumentTypeError
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Ints
from dpmean.release.grouped import GroupedRelease
from dpmean.release.release import Release
from dpmean.rows.engine import Source
from dpmean.rows.memory import MemoryRows
from dpmean.rows.registry import Selection, find_engine


@final
@dataclass(frozen=True, slots=True, eq=False)
class InMemory:
    """The rows of an array, or those at some positions."""

    array: NDArray[Any]
    names: tuple[str, ...] | None = None
    positions: Ints | None = None
    unit: str | None = None
    """The name of the key column if each row here is the mean of one person's rows; None if rows are single records."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        n, d = self.array.shape
        return n if self.positions is None else len(self.positions), d

    def rows(self, domain: Domain) -> MemoryRows:
        """Return the rows with a domain applied."""
        return MemoryRows(self.array, domain, self.positions)


def open_source(X: Any, selection: Selection) -> Source | None:
    """Return the source of rows that an engine reads; None for an array, which is read with the arguments."""
    refuse_names(X)
    engine = find_engine(X, selection).load()
    return None if engine is None else engine.open_source(X, selection)


def refuse_names(X: Any) -> None:
    """Refuse lists of file names, which would be read as rows of text, and other objects that are not rows."""
    if isinstance(X, Release | GroupedRelease):
        raise ArgumentTypeError(f"X is a {type(X).__name__}, which is private already: give the rows")
    if type(X).__module__.startswith("torch.utils.data"):
        raise ArgumentTypeError(
            f"X is a {type(X).__name__}, which gives rows together with labels, or in batches: give the tensor with "
            "the rows, such as dataset.tensors[0] of a TensorDataset (of a DataLoader, loader.dataset.tensors[0])"
        )
    if isinstance(X, list | tuple) and X and all(isinstance(one, str | os.PathLike) for one in X):
        from dpmean.rows.files.formats import is_kind

        if all(is_kind(one) for one in X):
            raise ArgumentTypeError("X is a list of files: give a folder or a pattern, such as 'data/*.parquet'")
