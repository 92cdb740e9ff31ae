"""The two questions that read all rows, each as one kernel for a GPU: rows are read once and nothing is kept of them.

Floats are subtracted and multiplied by powers of two, one operation after another, so that nothing can be contracted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl

from dpmean.rows.tensors import Arithmetic, Tensor
from dpmean.types import Ball, Distances, Ints, Pairs, Shells

WIDEST = 1024
"""Columns beyond this do not fit a kernel."""
MOST_ROWS = 1 << 30
"""More rows are not counted in 32 bits."""
MOST_BALLS = 2
"""Shells of more balls are left to operations on blocks; estimators ask for them where rows are few."""
_ELEMENTS = 4096  # of a tile: some registers for each thread
_PROGRAMS_PER_CORE = 4
_WARPS_TO_PLACE, _WARPS_TO_ADD = 4, 8  # measured on an H200
_LONGEST_SPAN = 64


@triton.jit
def _place_rows(
    x,
    centre,
    first_rung,
    rungs,
    places,
    n,
    stride_n,
    stride_d,
    low,
    inmost,
    beyond,
    PAIRED: tl.constexpr,
    BITS: tl.constexpr,
    D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Write the place of each row on the ladder; ``beyond + 1`` if it must be looked at. Pairs have a centre each."""
    rows = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    columns = tl.arange(0, BLOCK_D)
    there = (rows < n)[:, None] & (columns < D)[None, :]
    offsets = rows[:, None] * stride_n + columns[None, :] * stride_d
    values = tl.load(x + offsets, mask=there, other=0.0).to(tl.float64)
    if PAIRED:
        differences = values - tl.load(centre + rows[:, None] * D + columns[None, :], mask=there, other=0.0)
    else:
        differences = values - tl.load(centre + columns, mask=columns < D, other=0.0)[None, :]
    differences = tl.where(there, differences, 0.0)
    upper = (differences.to(tl.int64, bitcast=True) >> 32).to(tl.int32)  # sign, exponent, and the first digits
    farthest = tl.max(upper & 0x7FFFFFFF, axis=1).to(tl.int64)
    exponent = tl.maximum((farthest >> 20) - 1023, -900)
    scale = ((1022 + BITS - tl.minimum(exponent, 1023)) << 52).to(tl.float64, bitcast=True)
    wholes = (differences * scale[:, None]).to(tl.int32).to(tl.int64)
    total = tl.sum(wholes * wholes, axis=1)
    length = (total.to(tl.float64).to(tl.int64, bitcast=True) >> 52) - 1023
    shifts = tl.minimum(tl.maximum((61 - length) >> 1, 0), 31)
    raised = total << (2 * shifts)
    rung = tl.load(first_rung + tl.minimum(tl.maximum(raised >> 54, 0), 255))
    rung += (tl.load(rungs + rung) < raised).to(tl.int64)
    rung += 64 * (exponent - BITS + 31 - shifts)
    odd = (exponent == 1024) | ((rung > inmost) & (total != 0))
    place = tl.minimum(tl.maximum(rung - low, 0), beyond)
    place = tl.where(odd, beyond + 1, tl.where(total == 0, 0, place))
    tl.store(places + rows, place.to(tl.int32), mask=rows < n)


@triton.jit
def _add_core(
    x,
    centre,
    numbers,
    odd,
    out,
    n,
    stride_n,
    stride_d,
    inside,
    SPAN: tl.constexpr,
    D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Add up rows within a ball, and mark the others; SPAN tiles are added up in 32 bits, where they fit."""
    columns = tl.arange(0, BLOCK_D)
    middle = tl.load(centre + columns, mask=columns < D, other=0.0)
    per_unit, limit = tl.load(numbers), tl.load(numbers + 1)
    total = tl.zeros((BLOCK_N, BLOCK_D), dtype=tl.int64)
    missed = tl.zeros((BLOCK_N,), dtype=tl.int32)
    stride = tl.num_programs(0) * BLOCK_N
    for first in range(tl.program_id(0) * BLOCK_N, n, stride * SPAN):
        part = tl.zeros((BLOCK_N, BLOCK_D), dtype=tl.int32)
        for start in range(first, tl.minimum(first + stride * SPAN, n), stride):
            rows = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
            here = rows < n
            there = here[:, None] & (columns < D)[None, :]
            values = tl.load(x + rows[:, None] * stride_n + columns[None, :] * stride_d, mask=there, other=0.0)
            scaled = (values.to(tl.float64) - middle[None, :]) * per_unit
            wholes = tl.where(tl.abs(scaled) < limit, scaled, limit).to(tl.int32)  # NaN becomes the limit: outside
            wholes = tl.where(there, wholes, 0)
            wide = wholes.to(tl.int64)
            within = tl.sum(wide * wide, axis=1) <= inside
            tl.store(odd + rows, (~within).to(tl.int8), mask=here)
            missed += (here & ~within).to(tl.int32)
            part += tl.where(within[:, None], wholes, 0)
        total += part
    line = out + tl.program_id(0).to(tl.int64) * (D + 1)
    tl.store(line + columns, tl.sum(total, axis=0), mask=columns < D)
    tl.store(line + D, tl.sum(missed, axis=0).to(tl.int64))


@triton.jit
def _add_ring(
    x,
    centre,
    numbers,
    odd,
    out,
    n,
    stride_n,
    stride_d,
    large,
    small,
    length,
    D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Add up rows in the ring between two balls, and their directions; mark those outside both."""
    columns = tl.arange(0, BLOCK_D)
    middle = tl.load(centre + columns, mask=columns < D, other=0.0)
    per_unit, limit = tl.load(numbers), tl.load(numbers + 1)
    ring = tl.zeros((BLOCK_N, BLOCK_D), dtype=tl.int64)
    turned = tl.zeros((BLOCK_N, BLOCK_D), dtype=tl.int64)
    missed = tl.zeros((BLOCK_N,), dtype=tl.int64)
    first = tl.program_id(0) * BLOCK_N
    for start in range(first, n, tl.num_programs(0) * BLOCK_N):
        rows = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
        here = rows < n
        there = here[:, None] & (columns < D)[None, :]
        offsets = rows[:, None] * stride_n + columns[None, :] * stride_d
        values = tl.load(x + offsets, mask=there, other=0.0).to(tl.float64)
        scaled = tl.where(there, values - middle[None, :], 0.0) * per_unit
        scaled = tl.where(scaled < limit, scaled, limit)
        scaled = tl.where(scaled > -limit, scaled, -limit)
        wholes = scaled.to(tl.int32).to(tl.int64)
        squared = tl.sum(wholes * wholes, axis=1)
        outside = here & (squared > large)
        tl.store(odd + rows, outside.to(tl.int8), mask=here)
        missed += outside.to(tl.int64)
        between = here & (squared <= large) & (squared > small)
        root = tl.sqrt(squared.to(tl.float64)).to(tl.int64)
        root += (root * root < squared).to(tl.int64)
        root += (root * root < squared).to(tl.int64)
        factor = length // tl.maximum(root, 1)
        shell = tl.where(between[:, None], wholes, 0)
        ring += shell
        turned += shell * factor[:, None]
    line = out + tl.program_id(0).to(tl.int64) * (2 * D + 1)
    tl.store(line + columns, tl.sum(ring, axis=0), mask=columns < D)
    tl.store(line + D + columns, tl.sum(turned, axis=0), mask=columns < D)
    tl.store(line + 2 * D, tl.sum(missed, axis=0))


def _tile(d: int, warps: int) -> dict[str, int]:
    width = max(16, 1 << (d - 1).bit_length())
    return {"D": d, "BLOCK_D": width, "BLOCK_N": max(1, _ELEMENTS // width), "num_warps": warps}


def place_rows(rows: Tensor, does: Arithmetic, centre: Tensor, view: Distances | Pairs, inmost: int) -> Tensor:
    """Return the place of each row on the ladder of a view; ``points + 1`` if it must be looked at.

    The centre is one for all rows, or one for each.
    """
    n, d = rows.shape
    places = does.torch.empty(n, dtype=does.torch.int32, device=rows.device)
    tile = _tile(d, _WARPS_TO_PLACE)
    _place_rows[(triton.cdiv(n, tile["BLOCK_N"]),)](
        rows,
        centre,
        does.first_rung,
        does.rungs,
        places,
        n,
        *rows.stride(),
        view.low,
        inmost,
        view.points,
        PAIRED=centre.ndim == 2,
        BITS=does.bits,
        **tile,
    )
    return places


def add_core(rows: Tensor, does: Arithmetic, question: Ball | Shells) -> tuple[Ints, Any]:
    """Return the sum of the rows within the smallest ball, and marks of all others, or None if there are none."""
    radius = question.radius if isinstance(question, Ball) else question.radii[-1]
    span = 1 << max(0, 30 - radius.bit_length())
    sums, odd = _added(_add_core, rows, does, question, 1, radius**2, SPAN=min(span, _LONGEST_SPAN))
    return sums[0], odd


def add_ring(rows: Tensor, does: Arithmetic, shells: Shells) -> tuple[Ints, Any]:
    """Return the sums of the rows between two balls and of their directions, and marks of those outside, or None."""
    large, small = shells.radii
    return _added(_add_ring, rows, does, shells, 2, large**2, small**2, shells.length)


def _added(
    kernel: Any, rows: Tensor, does: Arithmetic, question: Ball | Shells, lines: int, *limits: int, **constants: int
) -> tuple[Ints, Any]:
    n, d = rows.shape
    tile = _tile(d, _WARPS_TO_ADD)
    cores = 1
    if rows.device.type == "cuda":
        cores = does.torch.cuda.get_device_properties(rows.device).multi_processor_count
    programs = min(triton.cdiv(n, tile["BLOCK_N"]), cores * _PROGRAMS_PER_CORE)
    odd = does.torch.empty(n, dtype=does.torch.int8, device=rows.device)
    out = does.torch.empty((programs, lines * d + 1), dtype=does.torch.int64, device=rows.device)
    numbers = does.there(np.array([1.0 / question.unit, 2.0**does.bits - 1.0]))
    centre = does.there(question.centre)
    kernel[(programs,)](rows, centre, numbers, odd, out, n, *rows.stride(), *limits, **constants, **tile)
    sums: Ints = out.sum(dim=0).cpu().numpy()
    return sums[:-1].reshape(lines, d), (odd if sums[-1] else None)
