"""PyTorch tensors as rows: GPU tensors stay on the GPU, and CPU tensors share their memory with NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentTypeError, DataError
from dpmean.queries.domain import Domain
from dpmean.queries.interfaces import Rows
from dpmean.rows.engine import Source
from dpmean.rows.memory import MemoryRows
from dpmean.rows.opening import InMemory
from dpmean.rows.registry import Selection
from dpmean.rows.tables.key_encoding import refuse
from dpmean.rows.tables.keyed_table import ArrayTable
from dpmean.rows.torch.arithmetic import Tensor
from dpmean.rows.torch.blocks import TensorRows


def open_source(tensor: Any, selection: Selection) -> Source:  # noqa: ARG001  one signature for all engines
    """Read a tensor on a CPU or a CUDA device."""
    import torch

    tensor = _rows_of(tensor)
    if not len(tensor):
        return InMemory(np.empty(tuple(tensor.shape)))
    if tensor.device.type == "cuda":
        return TensorSource(tensor)
    if tensor.device.type != "cpu":
        raise ArgumentTypeError(
            f"X is on {tensor.device.type}, which has no exact float64: move it to a CPU or CUDA device"
        )
    return TensorSource(tensor) if tensor.dtype == torch.bfloat16 else InMemory(tensor.numpy())


def open_table(tensor: Any, selection: Selection) -> ArrayTable:  # noqa: ARG001
    """Read a CPU tensor as a table; its keys are given separately."""
    import torch

    rows = _rows_of(tensor)
    if rows.device.type != "cpu":
        raise ArgumentTypeError(
            f"persons and groups need a tensor on a CPU, got a tensor on {rows.device.type}: give X.cpu()"
        )
    return ArrayTable((rows.float() if rows.dtype == torch.bfloat16 else rows).numpy())


def read_keys(tensor: Any, name: str) -> NDArray[Any]:
    """Return keys as an array; refuse types that NumPy does not have."""
    if str(tensor.dtype) == "torch.bfloat16":
        refuse(name, "bfloat16 numbers")
    if fault := _unlike_numbers(tensor).partition(":")[0] or "a meta tensor" * tensor.is_meta:
        refuse(name, fault)
    array: NDArray[Any] = tensor.detach().cpu().resolve_neg().numpy()
    return array


def _rows_of(tensor: Any) -> Tensor:
    """Return a tensor as rows of numbers; anything else is refused."""
    if fault := _unlike_numbers(tensor):
        raise ArgumentTypeError(f"X must be a dense tensor of real numbers, got {fault}")
    tensor = tensor.detach().resolve_neg()
    if tensor.ndim not in (1, 2):
        raise DataError(
            f"X must have shape (n, d), or (n,) for one dimension, got {tensor.ndim} dimensions: "
            "flatten each row, for example with X.reshape(len(X), -1)"
        )
    tensor = tensor[:, None] if tensor.ndim == 1 else tensor
    if not tensor.shape[1]:
        raise DataError("X must have shape (n, d) with at least one column, got none")
    return tensor


def _unlike_numbers(tensor: Any) -> str:
    """Return why a tensor of this kind cannot be read, and the cure; empty if it can."""
    import torch

    if not isinstance(tensor, torch.Tensor):
        return f"{type(tensor).__name__}: convert it"
    if tensor.layout != torch.strided:
        layout = str(tensor.layout).removeprefix("torch.")
        return f"a {layout} tensor: {'use X.to_dense()' if layout.startswith('sparse') else 'convert it'}"
    if tensor.dtype.is_complex:
        return f"{tensor.dtype}: convert it"
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize < 2:  # supported neither by NumPy nor by our kernels
        return f"{tensor.dtype}: use X.to(torch.float32)"
    return ""


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorSource:
    """The rows of a tensor."""

    tensor: Tensor

    names = None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return int(self.tensor.shape[0]), int(self.tensor.shape[1])

    def rows(self, domain: Domain) -> Rows:
        """Return the rows with a domain applied."""
        if self.tensor.device.type == "cpu":
            return MemoryRows(Widened(self.tensor), domain)
        rows = TensorRows(self.tensor, domain)
        if domain.dropped:  # kernels cannot drop rows
            return rows
        try:
            from dpmean.rows.torch.fused import read_once
        except ImportError:  # no triton on this system
            return rows
        return read_once(rows)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Widened:
    """A CPU tensor of a type that NumPy lacks; rows that are indexed are returned as float32."""

    tensor: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return int(self.tensor.shape[0]), int(self.tensor.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: Any) -> NDArray[Any]:
        found: NDArray[Any] = self.tensor[where].float().numpy()
        return found
