"""Queries over all rows, each as one GPU kernel: rows are read once, and no row is stored.

Floats are only subtracted, divided by scales and multiplied by powers of two, so no operations can be fused.
A tile of rows has three axes: pieces of a row, rows, and the columns of a piece, which are one cache line. So several
rows share a group of threads, and the squares of a row are added up in few steps.
Addresses are computed in 64 bits: a column may begin more than 2^31 elements after the first one.

This is one file because kernels are compiled together with the functions that they call, and share almost all of them.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dpmean.numerics.grid import RADII_PER_OCTAVE

HALF_AN_OCTAVE = tl.constexpr(RADII_PER_OCTAVE // 2)
"""The ladder of pairs begins this many rungs above that of rows."""


@triton.jit
def _lines(WIDTH: tl.constexpr, PIECE: tl.constexpr, BLOCK_N: tl.constexpr):
    """Return the row of each line of a tile: the first pieces of all rows come first, then the second ones."""
    return tl.arange(0, WIDTH // PIECE * BLOCK_N) % BLOCK_N


@triton.jit
def _tile(
    x, rows, here, stride_n, stride_d, D: tl.constexpr, WIDTH: tl.constexpr, PIECE: tl.constexpr, BLOCK_N: tl.constexpr
):
    """Load rows, given for each line, as (pieces, rows, columns); absent values are zero.

    In this order, all pieces of a row are loaded by the same threads.
    """
    pieces = tl.arange(0, WIDTH // PIECE * BLOCK_N) // BLOCK_N * PIECE
    columns = pieces[:, None] + tl.arange(0, PIECE)[None, :]
    there = here[:, None]
    if D < WIDTH:
        there = there & (columns < D)
    offsets = (rows.to(tl.int64) * stride_n)[:, None] + columns.to(tl.int64) * stride_d
    found = tl.load(x + offsets, mask=there, other=0.0)
    return found.reshape(WIDTH // PIECE, BLOCK_N, PIECE)


@triton.jit
def _from(
    x, start, n, stride_n, stride_d, D: tl.constexpr, WIDTH: tl.constexpr, PIECE: tl.constexpr, BLOCK_N: tl.constexpr
):
    """Load consecutive rows."""
    rows = start + _lines(WIDTH, PIECE, BLOCK_N)
    return _tile(x, rows, rows < n, stride_n, stride_d, D, WIDTH, PIECE, BLOCK_N)


@triton.jit
def _enlist(some, rows, listed, count):
    """Append the positions of some rows to a list, in any order."""
    many = some.to(tl.int32)
    first = tl.atomic_add(count, tl.sum(many, axis=0).to(tl.int64), sem="relaxed")
    tl.store(listed + first + tl.cumsum(many, axis=0) - 1, rows.to(tl.int32), mask=some)


@triton.jit
def _line(numbers, D: tl.constexpr, WIDTH: tl.constexpr, PIECE: tl.constexpr, other: tl.constexpr):
    """Load a number for each column, such as the centre, in the shape of a tile."""
    columns = tl.arange(0, WIDTH // PIECE)[:, None, None] * PIECE + tl.arange(0, PIECE)[None, None, :]
    return tl.load(numbers + columns, mask=columns < D, other=other)


@triton.jit
def _working(tile, lines, MAPPED: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, PIECE: tl.constexpr):
    """Return a tile in working units: finite values are clamped and scaled around the middle; others are unchanged.

    A float64 division is rounded once. Absent columns stay zero.
    """
    values = tile.to(tl.float64)
    if MAPPED:
        lower, upper = _line(lines + D, D, WIDTH, PIECE, 0.0), _line(lines + 2 * D, D, WIDTH, PIECE, 0.0)
        middle, scale = _line(lines + 3 * D, D, WIDTH, PIECE, 0.0), _line(lines + 4 * D, D, WIDTH, PIECE, 1.0)
        mapped = (tl.minimum(tl.maximum(values, lower), upper) - middle) / scale
        values = tl.where(tl.abs(values) < float("inf"), mapped, values)
    return values


@triton.jit
def _whole(numbers, place: tl.constexpr):
    """Load an integer that is stored among floats."""
    return tl.load(numbers + place).to(tl.int64, bitcast=True)


@triton.jit
def _rung(differences, first_rung, rungs, BITS: tl.constexpr):
    """Return the rung of each row: far below all others for zero, and far above them for non-finite rows."""
    upper = (differences.to(tl.int64, bitcast=True) >> 32).to(tl.int32)  # sign, exponent, and the first digits
    farthest = tl.max(tl.max(upper & 0x7FFFFFFF, axis=0), axis=1)
    exponent = tl.maximum((farthest >> 20) - 1023, -900)
    scale = ((1022 + BITS - tl.minimum(exponent, 1023)).to(tl.int64) << 52).to(tl.float64, bitcast=True)
    wholes = (differences * scale[None, :, None]).to(tl.int32).to(tl.int64)
    total = tl.sum(tl.sum(wholes * wholes, axis=0), axis=1)
    length = ((total.to(tl.float64).to(tl.int64, bitcast=True) >> 52) - 1023).to(tl.int32)
    shifts = tl.minimum(tl.maximum((61 - length) >> 1, 0), 31)
    raised = total << (2 * shifts).to(tl.int64)
    rung = tl.load(first_rung + tl.minimum(tl.maximum((raised >> 54).to(tl.int32), 0), 255)).to(tl.int32)
    rung += (tl.load(rungs + rung) < raised).to(tl.int32)
    rung += 64 * (exponent - BITS + 31 - shifts)
    return tl.where(exponent == 1024, 1 << 29, tl.where(total == 0, -(1 << 29), rung))


@triton.jit(do_not_specialize=["n"])
def count_rows(
    x,
    numbers,
    lines,
    first_rung,
    rungs,
    places,
    counts,
    n,
    stride_n,
    stride_d,
    MAPPED: tl.constexpr,
    PAIRED: tl.constexpr,
    COPIES: tl.constexpr,
    BITS: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    PIECE: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Write and count the place of each row, or pair, on the ladder; place ``beyond + 1`` is left to the caller.

    A pair is a row and the one n rows later; a second line counts the norms of all these rows, on a ladder that begins
    half an octave lower. The next rows are loaded while the current ones are processed.
    """
    low, inmost, beyond = _whole(numbers, D).to(tl.int32), _whole(numbers, D + 1), _whole(numbers, D + 2).to(tl.int32)
    inmost = inmost.to(tl.int32)
    program = tl.program_id(0).to(tl.int64)
    line = counts + (program % COPIES) * (2 if PAIRED else 1) * (beyond + 2)
    stride = tl.num_programs(0).to(tl.int64) * BLOCK_N
    first = program * BLOCK_N
    middle = _line(numbers, D, WIDTH, PIECE, 0.0)
    ahead = _from(x, first, n, stride_n, stride_d, D, WIDTH, PIECE, BLOCK_N)
    for start in range(first, n, stride):
        rows = start + tl.arange(0, BLOCK_N)
        values = _working(ahead, lines, MAPPED, D, WIDTH, PIECE)
        ahead = _from(x, start + stride, n, stride_n, stride_d, D, WIDTH, PIECE, BLOCK_N)
        if PAIRED:
            after = _from(x + n.to(tl.int64) * stride_n, start, n, stride_n, stride_d, D, WIDTH, PIECE, BLOCK_N)
            after = _working(after, lines, MAPPED, D, WIDTH, PIECE)
            one, other = _rung(values, first_rung, rungs, BITS), _rung(after, first_rung, rungs, BITS)
            farthest, rung = tl.maximum(one, other), _rung(values - after, first_rung, rungs, BITS)
            lengths = line + beyond + 2
            one, other = one - low + HALF_AN_OCTAVE, other - low + HALF_AN_OCTAVE
            tl.atomic_add(lengths + tl.minimum(tl.maximum(one, 0), beyond), 1, mask=rows < n, sem="relaxed")
            tl.atomic_add(lengths + tl.minimum(tl.maximum(other, 0), beyond), 1, mask=rows < n, sem="relaxed")
        else:
            rung = _rung(values - middle, first_rung, rungs, BITS)
            farthest = rung
        place = tl.where(farthest > inmost, beyond + 1, tl.minimum(tl.maximum(rung - low, 0), beyond))
        tl.store(places + rows, place, mask=rows < n)
        tl.atomic_add(line + place, 1, mask=rows < n, sem="relaxed")


@triton.jit(do_not_specialize=["n"])
def add_core(
    x,
    numbers,
    lines,
    out,
    listed,
    n,
    stride_n,
    stride_d,
    MAPPED: tl.constexpr,
    PARTS: tl.constexpr,
    LINES: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    PIECE: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Add up rows within a ball, and list the others; if there is a ring, every program has its own list.

    Several tiles at a time are added up in 32 bits, as long as they fit.
    """
    columns = tl.arange(0, WIDTH // PIECE)[:, None] * PIECE + tl.arange(0, PIECE)[None, :]
    middle = _line(numbers, D, WIDTH, PIECE, 0.0)
    per_unit, limit = tl.load(numbers + D), tl.load(numbers + D + 1)
    inside = _whole(numbers, D + 2)
    program = tl.program_id(0).to(tl.int64)
    stride = tl.num_programs(0).to(tl.int64) * BLOCK_N
    span = stride * _whole(numbers, D + 5)
    line = out + 2 + (program % LINES) * PARTS * D
    begin = program * BLOCK_N
    ahead = _from(x, begin, n, stride_n, stride_d, D, WIDTH, PIECE, BLOCK_N)
    for first in range(begin, n, span):
        part = tl.zeros((WIDTH // PIECE, BLOCK_N, PIECE), dtype=tl.int32)
        for start in range(first, tl.minimum(first + span, n), stride):
            rows = start + tl.arange(0, BLOCK_N)
            scaled = (_working(ahead, lines, MAPPED, D, WIDTH, PIECE) - middle) * per_unit
            ahead = _from(x, start + stride, n, stride_n, stride_d, D, WIDTH, PIECE, BLOCK_N)
            wholes = tl.where(tl.abs(scaled) < limit, scaled, limit).to(tl.int32)  # NaN becomes the limit: outside
            wide = wholes.to(tl.int64)
            squared = tl.sum(tl.sum(wide * wide, axis=0), axis=1)
            others = (rows < n) & (squared > inside)
            part += tl.where(((rows < n) & (squared <= inside))[None, :, None], wholes, 0)
            if tl.max(others.to(tl.int32), axis=0) > 0:
                if PARTS > 1:
                    mine = listed + program * _whole(numbers, D + 6)
                    _enlist(others, rows, mine, out + 2 + LINES * PARTS * D + program)
                else:
                    _enlist(others, rows, listed, out)
        tl.atomic_add(line + columns, tl.sum(part.to(tl.int64), axis=1), mask=columns < D, sem="relaxed")


@triton.jit
def add_ring(
    x,
    numbers,
    lines,
    out,
    listed,
    stride_n,
    stride_d,
    MAPPED: tl.constexpr,
    PARTS: tl.constexpr,
    LINES: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    PIECE: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Add up listed rows in the ring between two balls, and their directions; list those outside.

    The list follows the lists of ``add_core``, which must run with the same number of programs.
    """
    columns = tl.arange(0, WIDTH // PIECE)[:, None] * PIECE + tl.arange(0, PIECE)[None, :]
    middle = _line(numbers, D, WIDTH, PIECE, 0.0)
    per_unit, limit = tl.load(numbers + D), tl.load(numbers + D + 1)
    large, length = _whole(numbers, D + 3), _whole(numbers, D + 4)
    program = tl.program_id(0).to(tl.int64)
    line = out + 2 + (program % LINES) * PARTS * D + D
    ring = tl.zeros((WIDTH // PIECE, BLOCK_N, PIECE), dtype=tl.int64)
    turned = tl.zeros((WIDTH // PIECE, BLOCK_N, PIECE), dtype=tl.int64)
    room = _whole(numbers, D + 6)
    far = listed + tl.num_programs(0) * room
    listed += program * room
    count = tl.load(out + 2 + LINES * PARTS * D + program)
    for start in range(0, count, BLOCK_N):
        turns = start + _lines(WIDTH, PIECE, BLOCK_N)
        places = tl.load(listed + turns, mask=turns < count, other=0)
        values = _tile(x, places, turns < count, stride_n, stride_d, D, WIDTH, PIECE, BLOCK_N)
        scaled = (_working(values, lines, MAPPED, D, WIDTH, PIECE) - middle) * per_unit
        wide = tl.where(tl.abs(scaled) < limit, scaled, limit).to(tl.int32).to(tl.int64)
        squared = tl.sum(tl.sum(wide * wide, axis=0), axis=1)
        here = start + tl.arange(0, BLOCK_N) < count
        outside = here & (squared > large)
        if tl.max(outside.to(tl.int32), axis=0) > 0:
            rows = tl.load(listed + start + tl.arange(0, BLOCK_N), mask=here, other=0)
            _enlist(outside, rows, far, out)
        between = here & (squared <= large)
        root = tl.sqrt(squared.to(tl.float64)).to(tl.int64)
        root += (root * root < squared).to(tl.int64)
        root += (root * root < squared).to(tl.int64)
        factor = tl.where(between, length // tl.maximum(root, 1), 0)
        ring += tl.where(between[None, :, None], wide, 0)
        turned += wide * factor[None, :, None]
    tl.atomic_add(line + columns, tl.sum(ring, axis=1), mask=columns < D, sem="relaxed")
    tl.atomic_add(line + D + columns, tl.sum(turned, axis=1), mask=columns < D, sem="relaxed")
