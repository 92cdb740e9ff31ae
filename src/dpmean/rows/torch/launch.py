"""Launching GPU kernels for queries over all rows: tile sizes, memory for answers, copies to the host."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, final

import numpy as np

from dpmean.numerics.grid import RADII_PER_OCTAVE
from dpmean.queries.queries import Ball, Distances, Ints, Pairs, Shells
from dpmean.queries.totals import ShellSums
from dpmean.rows.torch import triton_kernels
from dpmean.rows.torch.arithmetic import Arithmetic, Tensor

_WIDEST = 1024  # columns: more do not fit in a kernel
_MOST_ROWS = 1 << 30  # more cannot be counted in 32 bits
MOST_BALLS = 2
"""Queries with more balls are answered in blocks; estimators use them for few rows only."""
HALF_AN_OCTAVE = RADII_PER_OCTAVE // 2
"""The ladder of pairs begins this many rungs above that of rows."""
_BELOW_ALL = -(1 << 30)  # below all rungs in a kernel, which have 32 bits
_ELEMENTS = 4096  # values in the tile of one warp: some registers for each thread
_ROWS_TO_COUNT, _ROWS_TO_ADD = 8, 4  # for each warp
_WARPS_TO_COUNT, _WARPS_TO_ADD = 2, 1  # few, so that warps do not wait for each other
_PROGRAMS_TO_COUNT, _PROGRAMS_TO_ADD = 8, 16  # for each core of the device
_LINE_BYTES = 128
_LONGEST_SPAN = 64
_FEW_ROWS = 1 << 16  # up to this many share one line of totals; more use several, which are added up afterwards
_COPIES, _FEW_COPIES = 64, 8


def supports(n: int, d: int) -> bool:
    """Whether kernels support this number of rows and columns."""
    return d <= _WIDEST and n < _MOST_ROWS


@lru_cache(maxsize=64)
def _shape(d: int, size: int, most: int, warps: int) -> dict[str, int]:
    """Return the shape of a tile: at most ``most`` rows for each warp, fewer if rows are wide."""
    width = max(16, 1 << (d - 1).bit_length())
    rows = max(1, min(most, _ELEMENTS // width)) * warps
    return {"D": d, "WIDTH": width, "PIECE": min(width, _LINE_BYTES // size), "BLOCK_N": rows, "num_warps": warps}


@lru_cache(maxsize=64)
def _cores(device: Any) -> int:
    """Return the number of multiprocessors of a device."""
    import torch

    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 1


def _pack(arithmetic: Arithmetic, centre: Any, floats: tuple[float, ...], wholes: tuple[int, ...]) -> Tensor:
    """Copy public numbers to the device at once: a centre, floats and integers."""
    d, split = len(centre), len(centre) + len(floats)
    line = np.empty(split + len(wholes))
    line[:d], line[d:split] = centre, floats
    line[split:].view(np.int64)[:] = wholes
    return arithmetic.torch.from_numpy(line).to(arithmetic.device, non_blocking=True)


def count_rows(rows: Tensor, arithmetic: Arithmetic, view: Distances | Pairs, inmost: int) -> tuple[Ints, Any]:
    """Count rows, or pairs, on each rung of the ladder of a view; also return the positions of rows left out.

    Rows up to rung ``inmost`` are certainly not shortened; others are left out. The positions are None if there are
    none. For pairs, a second line counts the norms of their rows, on a ladder that begins half an octave lower.
    """
    torch, device, paired = arithmetic.torch, rows.device, isinstance(view, Pairs)
    n, d = (len(rows) // 2 if paired else len(rows)), int(rows.shape[1])
    shape = _shape(d, rows.element_size(), _ROWS_TO_COUNT, _WARPS_TO_COUNT)
    copies, size = _COPIES if n > _FEW_ROWS else 1, view.points + 2
    centre = np.zeros(d) if isinstance(view, Pairs) else view.centre
    numbers = _pack(arithmetic, centre, (), (view.low, max(inmost, _BELOW_ALL), view.points))
    counts = torch.zeros((copies, 2 if paired else 1, size), dtype=torch.int32, device=device)
    places = torch.empty(n, dtype=torch.int32, device=device)
    programs = min(-(-n // shape["BLOCK_N"]), _cores(device) * _PROGRAMS_TO_COUNT)
    given = (
        rows,
        numbers,
        arithmetic.lines,
        arithmetic.first_rung,
        arithmetic.rungs,
        places,
        counts,
        n,
        *rows.stride(),
    )
    kind = {"MAPPED": len(arithmetic.lines) > 1, "PAIRED": paired, "COPIES": copies, "BITS": arithmetic.bits}
    triton_kernels.count_rows[(programs,)](*given, **kind, **shape)
    found: Ints = (counts.sum(dim=0) if copies > 1 else counts[0]).cpu().numpy()
    return found[:, :-1], (places == view.points + 1).nonzero()[:, 0] if found[0, -1] else None


def add_rows(rows: Tensor, arithmetic: Arithmetic, question: Ball | Shells) -> Callable[[], tuple[Ints, Any]]:
    """Start adding up rows, and return a function that waits for the sums.

    It returns the sum of the rows within the smaller ball, and the positions of those outside of all balls, or None;
    with shells, also the sums of the rows between the balls, and of their directions.
    """
    torch, device, (n, d) = arithmetic.torch, rows.device, rows.shape
    large, small, length = _limits(question)
    parts, span = 3 if length else 1, min(1 << max(0, 30 - small.bit_length()), _LONGEST_SPAN)
    shape = _shape(d, rows.element_size(), _ROWS_TO_ADD, _WARPS_TO_ADD)
    tiles = -(-n // shape["BLOCK_N"])
    programs = min(tiles, _cores(device) * _PROGRAMS_TO_ADD)
    room = -(-tiles // programs) * shape["BLOCK_N"]  # positions that one program may list
    limits = (small**2, large**2, length, span, room)
    numbers = _pack(arithmetic, question.centre, (1.0 / question.unit, 2.0**arithmetic.bits - 1.0), limits)
    lines = _COPIES if n > _FEW_ROWS else _FEW_COPIES
    out = torch.zeros(2 + lines * parts * d + programs, dtype=torch.int64, device=device)
    start = programs * room if length else 0
    listed = torch.empty(start + n, dtype=torch.int32, device=device)
    given, strides = (rows, numbers, arithmetic.lines, out, listed), rows.stride()
    kind = {"MAPPED": len(arithmetic.lines) > 1, "PARTS": parts, "LINES": lines}
    triton_kernels.add_core[(programs,)](*given, n, *strides, **kind, **shape)
    if length:
        triton_kernels.add_ring[(programs,)](*given, *strides, **kind, **shape)
    sums, out = out[2 : out.numel() - programs].view(lines, parts * d), out[: out.numel() - programs]
    if n > _FEW_ROWS:
        out, lines = torch.cat((out[:2], sums.sum(dim=0))), 1

    def wait() -> tuple[Ints, Any]:
        found: Ints = out.cpu().numpy()
        count = int(found[0])
        return found[2:].reshape(lines, parts, d).sum(axis=0), listed[start : start + count] if count else None

    return wait


def _limits(question: Ball | Shells) -> tuple[int, int, int]:
    """Return the radii of the larger and the smaller ball, and the norm of directions, or 0 if there is one ball."""
    if isinstance(question, Ball):
        return question.radius, question.radius, 0
    large, small = question.radii
    return large, small, question.length


@final
class PendingSums(ShellSums):
    """Sums that a device is still computing: the first access waits for them."""

    __slots__ = ("_sums",)

    def __init__(self, wait: Callable[[], tuple[Ints, Ints]]) -> None:
        self._sums: Callable[[], tuple[Ints, Ints]]
        object.__setattr__(self, "_sums", cache(wait))
        object.__setattr__(self, "fine", 0)

    @property
    def inner(self) -> Ints:
        """The sums of rows, by shell."""
        return self._sums()[0]

    @property
    def outer(self) -> Ints:
        """The sums of directions, by shell."""
        return self._sums()[1]
