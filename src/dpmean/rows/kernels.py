"""The hot loops: what happens to one block of rows, in whole numbers, row by row.

Whatever a row becomes depends on that row and on public numbers alone. Reals turn into whole numbers in a unit of
the row's own: a power of two that gives its largest coordinate ``bits`` bits, so that the sum of squares is exact
in 64 bits and a distance has the same relative precision near the centre and far away. A sum of whole numbers has
no order, so neither blocks nor threads can show in a result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmean.compiled import compiled
from dpmean.grid import RADII_PER_OCTAVE, squared_rungs
from dpmean.types import Floats, Ints

Scratch = NDArray[np.int32]
Indices = NDArray[np.int32] | NDArray[np.int64]

LANES = 16  # rows that are rotated together

_MAGNITUDE = 0x7FFFFFFFFFFFFFFF  # a float's bits without its sign: ordered like its magnitude
_INFINITY = 0x7FF0000000000000
_SMALLEST_EXPONENT = -900  # differences below 2^-900 count as zero
_RUNGS = squared_rungs()


@compiled
def _magnitude(x: float) -> int:
    """Return the bits of |x|, which order like |x| itself, with infinity and NaN on top."""
    return np.float64(x).view(np.int64) & _MAGNITUDE  # type: ignore[no-any-return]


@compiled
def _power(exponent: int) -> float:
    """Return 2^exponent."""
    return np.int64((1023 + exponent) << 52).view(np.float64)  # type: ignore[return-value]


@compiled
def _own_unit(block: Floats, i: int, centre: Floats, bits: int, guess: int) -> tuple[int, int, int]:
    """Return the largest |coordinate| of row i (as bits), and its squared distance from the centre as
    ``total * 4^(exponent - bits + 1)``.

    The exponent is that of the largest difference. ``guess`` saves a second look at the row when it is right, and
    has no influence on what is returned.
    """  # noqa: D205  the formula does not fit on the first line
    scale = _power(bits - 1 - guess)
    limit = _power(bits)
    largest = np.int64(0)
    farthest = np.int64(0)
    total = np.int64(0)
    for j in range(block.shape[1]):
        x = block[i, j]
        y = x - centre[j]
        largest = max(largest, _magnitude(x))
        farthest = max(farthest, _magnitude(y))
        whole = np.int64(np.int32(min(max(y * scale, -limit), limit)))
        total += whole * whole
    exponent = max((farthest >> 52) - 1023, _SMALLEST_EXPONENT)
    if exponent != guess and largest < _INFINITY:
        scale = _power(bits - 1 - exponent)
        total = np.int64(0)
        for j in range(block.shape[1]):
            whole = np.int64(np.int32((block[i, j] - centre[j]) * scale))
            total += whole * whole
    return largest, total, exponent


@compiled
def _rung(total: int, exponent: int, bits: int) -> int:
    """Return the first rung of the ladder of radii at or above the distance that ``_own_unit`` describes."""
    octave = exponent - bits + 31
    while total < (1 << 60):
        total <<= 2
        octave -= 1
    low, high = 0, RADII_PER_OCTAVE
    while low < high:
        middle = (low + high) >> 1
        if _RUNGS[middle] < total:
            low = middle + 1
        else:
            high = middle
    return RADII_PER_OCTAVE * octave + low


@compiled
def _enter(block: Floats, i: int, reach: float, impute: bool, bits: int, inside: Floats) -> bool:
    """Copy row i to ``inside``, brought within reach; return False if it is not finite and may not be imputed."""
    d = block.shape[1]
    for j in range(d):
        inside[0, j] = block[i, j]
        if _magnitude(inside[0, j]) >= _INFINITY:
            if not impute:
                return False
            inside[0, j] = 0.0
    _, total, exponent = _own_unit(inside, 0, np.zeros(d), bits, 0)
    norm = np.sqrt(np.float64(total)) * _power(exponent - bits + 1) if total else 0.0
    if norm > reach:
        shrink = reach / norm
        for j in range(d):
            inside[0, j] *= shrink
    return True


@compiled
def count_distances(
    block: Floats, reach: float, safe: int, impute: bool, centre: Floats, bits: int, low: int, counts: Ints
) -> bool:
    """Count rows by the rung of their distance from the centre; the last count is for rows beyond the ladder."""
    inside = np.empty((1, block.shape[1]))
    beyond = len(counts) - 1
    guess = 0
    for i in range(block.shape[0]):
        largest, total, exponent = _own_unit(block, i, centre, bits, guess)
        if largest > safe:
            if not _enter(block, i, reach, impute, bits, inside):
                return False
            _, total, exponent = _own_unit(inside, 0, centre, bits, guess)
        guess = exponent
        rung = _rung(total, exponent, bits) - low if total else 0
        counts[min(max(rung, 0), beyond)] += 1
    return True


@compiled
def _shrink(block: Floats, i: int, centre: Floats, bits: int, radius: int, whole: Scratch) -> None:
    """Shorten row i to the radius: whole numbers, rounded towards zero, checked in whole numbers."""
    _, total, exponent = _own_unit(block, i, centre, bits, 0)
    scale = _power(bits - 1 - exponent)
    factor = np.float64(radius) / np.sqrt(np.float64(total))
    square = np.int64(radius) * np.int64(radius)
    while True:
        length = np.int64(0)
        for j in range(block.shape[1]):
            own = np.float64(np.int32((block[i, j] - centre[j]) * scale))
            whole[j] = np.int32(own * factor)
            length += np.int64(whole[j]) * np.int64(whole[j])
        if length <= square:
            return
        factor *= 1.0 - 2.0**-40


@compiled
def add_clipped(
    block: Floats,
    reach: float,
    safe: int,
    impute: bool,
    centre: Floats,
    bits: int,
    unit: float,
    radius: int,
    total: Ints,
) -> bool:
    """Add up rows minus the centre, each in whole units and of norm at most ``radius`` of them."""
    d = block.shape[1]
    inside = np.empty((1, d))
    whole = np.empty(d, dtype=np.int32)
    square = np.int64(radius) * np.int64(radius)
    per_unit = 1.0 / unit
    limit = _power(bits)
    for i in range(block.shape[0]):
        largest = np.int64(0)
        length = np.int64(0)
        for j in range(d):
            x = block[i, j]
            largest = max(largest, _magnitude(x))
            units = np.int32(min(max((x - centre[j]) * per_unit, -limit), limit))
            whole[j] = units
            length += np.int64(units) * np.int64(units)
        if largest > safe:
            if not _enter(block, i, reach, impute, bits, inside):
                return False
            length = np.int64(0)
            for j in range(d):
                units = np.int32(min(max((inside[0, j] - centre[j]) * per_unit, -limit), limit))
                whole[j] = units
                length += np.int64(units) * np.int64(units)
            if length > square:
                _shrink(inside, 0, centre, bits, radius, whole)
        elif length > square:
            _shrink(block, i, centre, bits, radius, whole)
        for j in range(d):
            total[j] += whole[j]
    return True


@compiled
def index_rotated(
    block: Floats,
    reach: float,
    safe: int,
    impute: bool,
    bits: int,
    signs: Floats,
    step: float,
    first: int,
    low: float,
    spacing: float,
    points: int,
    indices: Indices,
    column: int,
) -> bool:
    """Rotate rows and store, for each of some rotated coordinates, the first point of the line not below it.

    All numbers are whole and below 2^53, so floats carry them exactly in any order. With ``size`` coordinates from
    ``first`` on, H = H_blocks (x) H_size: blocks of the row are first combined with the signs of one row of
    H_blocks, then transformed; LANES rows go side by side.
    """
    n, d = block.shape
    size = indices.shape[0]
    inside = np.empty((1, d))
    lanes = np.empty((size, LANES))
    per_step = 1.0 / step
    per_space = 1.0 / spacing
    which = first // size
    for start in range(0, n, LANES):
        count = min(LANES, n - start)
        lanes[:] = 0.0
        for lane in range(count):
            i = start + lane
            largest = np.int64(0)
            for j in range(d):
                largest = max(largest, _magnitude(block[i, j]))
                inside[0, j] = block[i, j]
            if largest > safe and not _enter(block, i, reach, impute, bits, inside):
                return False
            for part in range((d + size - 1) // size):
                parity = part & which
                sign = 1.0
                while parity:
                    sign = -sign
                    parity &= parity - 1
                for j in range(part * size, min((part + 1) * size, d)):
                    lanes[j - part * size, lane] += sign * signs[j] * np.rint(inside[0, j] * per_step)
        half = 1
        while half < size:
            for top in range(0, size, 2 * half):
                for j in range(top, top + half):
                    for lane in range(LANES):
                        a = lanes[j, lane]
                        b = lanes[j + half, lane]
                        lanes[j, lane] = a + b
                        lanes[j + half, lane] = a - b
            half *= 2
        for j in range(size):
            for lane in range(count):
                place = np.ceil((lanes[j, lane] - low) * per_space)
                indices[j, column + start + lane] = np.int64(min(max(place, 0.0), np.float64(points)))
    return True


@compiled
def count_at_most(indices: Indices, limits: Ints, counts: Ints) -> None:
    """For each line of ``indices``, count the entries at or below its limit."""
    for j in range(indices.shape[0]):
        limit = limits[j]
        count = np.int64(0)
        for i in range(indices.shape[1]):
            count += indices[j, i] <= limit
        counts[j] = count


@compiled
def rescale(block: Floats, lower: Floats, upper: Floats, middle: Floats, scale: Floats) -> None:
    """Clamp finite coordinates to their bounds and map these to [-1, 1], in place."""
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            if _magnitude(block[i, j]) < _INFINITY:
                clamped = min(max(block[i, j], lower[j]), upper[j])
                block[i, j] = (clamped - middle[j]) / scale[j]
