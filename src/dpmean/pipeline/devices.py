"""Rows as devices, for a collection that is simulated in one process: all rows are read into memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmean.arguments.request import Request
from dpmean.arguments.rows import check_columns
from dpmean.errors import ArgumentTypeError
from dpmean.pipeline.opening import open_rows
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Floats
from dpmean.rows.engine import Streamed
from dpmean.rows.opening import InMemory


def read_devices(X: Any, request: Request) -> tuple[Floats, Domain, tuple[str, ...] | None]:
    """Return the rows of the devices, their domain, and the names of their columns."""
    source, model = open_rows(X, request), request.terms.model
    check_columns(source.shape[1], model)
    domain = request.bound.domain(source.shape[1], source.names, impute=True)  # a device always answers
    if isinstance(source, Streamed):
        array: NDArray[Any] = source.engine.gather(np.arange(source.shape[0]))
    elif isinstance(source, InMemory):
        array = source.array
    else:
        raise ArgumentTypeError(
            f"the {model.name} model is simulated in memory, got {type(X).__name__}: load the rows into an array first"
        )
    return _held(array, domain), domain, source.names


def _held(array: NDArray[Any], domain: Domain) -> Floats:
    """Return rows in working units, as devices hold them; a device clamps its values to the bounds."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows: Floats = (array.astype(np.float64) - domain.middle) / domain.scale
        return rows if domain.lower is None else np.clip(rows, -1.0, 1.0)
