"""The compiled loops over blocks of rows: they process each row separately, in integers.

The result for a row depends on that row and on public numbers only. Each row is converted to integers in its own unit:
a power of two in which its largest coordinate has ``bits`` bits. So the sum of squares is exact in 64 bits, and a
distance has the same relative precision near the centre and far away. A sum of integers does not depend on the order,
so results are the same for any division into blocks and threads.

This is one file because compiled loops are inlined into each other, and cached on disk per file.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmean.noise.jit import compiled
from dpmean.numerics.grid import RADII_PER_OCTAVE, squared_rungs
from dpmean.queries.queries import Floats, Ints

Scratch = NDArray[np.int32]
Indices = NDArray[np.int32]
Rows = tuple[Floats, Floats, Floats, Floats, Floats]
"""The rows of one call to a loop, as five arrays:

1. the rows, one group of rows per line, in the user's units;
2. the lines of their domain;
3. a block that holds one group in working units: loops read from it;
4. the same block as one line: loops write to it;
5. the rows that are shortened: all groups in the user's units, or the block itself.

Without a map, the rows are the block, and nothing is written.
"""
Entry = tuple[float, bool, int, bool]
"""The largest norm of a row, whether to impute, ``bits``, and whether rows are mapped after they are shortened."""

LANES = 16  # rows that are rotated together

_MAGNITUDE = 0x7FFFFFFFFFFFFFFF  # the bits of a float without its sign: they order like its magnitude
_INFINITY = 0x7FF0000000000000
_SMALLEST_EXPONENT = -900  # differences below 2^-900 count as zero
BELOW_ALL_RUNGS = -(1 << 40)
RUNGS = np.append(squared_rungs(), 1 << 62)  # those of one octave, and the first of the next
# For the leading 8 bits of a number in [2^60, 2^62): the number of squared rungs below all numbers with these bits. At
# most one more can lie below the number itself, as squared rungs are 2.2 % apart and such numbers at most 1.6 %.
FIRST_RUNG = np.searchsorted(RUNGS, np.arange(256, dtype=np.int64) << 54)

UNCHANGED, MOVED, UNUSABLE = 0, 1, 2


@compiled
def _magnitude(x: float) -> int:
    """Return the bits of |x|, which order like |x| itself, with infinity and NaN on top."""
    return np.float64(x).view(np.int64) & _MAGNITUDE


@compiled
def _power(exponent: int) -> float:
    """Return 2^exponent."""
    return np.int64((1023 + exponent) << 52).view(np.float64)


@compiled
def count_present(block: Floats, counts: Ints) -> None:
    """Count the finite values of each column."""
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            counts[j] += _magnitude(block[i, j]) < _INFINITY


@compiled
def mark_complete_rows(block: Floats, columns: Ints, counted: NDArray[np.bool_]) -> int:
    """Write for each row whether it is finite in all of the given columns; return the number of such rows."""
    found = 0
    for i in range(block.shape[0]):
        farthest = np.int64(0)
        if len(columns) == block.shape[1]:
            for j in range(block.shape[1]):
                farthest = max(farthest, _magnitude(block[i, j]))
        else:
            for j in columns:
                farthest = max(farthest, _magnitude(block[i, j]))
        counted[i] = farthest < _INFINITY
        found += farthest < _INFINITY
    return found


@compiled
def _own_unit(block: Floats, i: int, centre: Floats, bits: int, guess: int) -> tuple[int, int]:
    """Return (total, exponent): row i is sqrt(total) * 2^(exponent - bits + 1) away from the centre.

    The exponent is that of the largest difference, or 1024 if one is not finite. A correct ``guess`` of the exponent
    saves a second pass over the row; it does not change the result.
    """
    scale = _power(bits - 1 - guess)
    limit = _power(bits) - 1.0  # non-finite values become this limit: d such squares must stay below 2^62, too
    farthest = np.int64(0)
    total = np.int64(0)
    for j in range(block.shape[1]):
        y = block[i, j] - centre[j]
        farthest = max(farthest, _magnitude(y))
        whole = np.int64(np.int32(_clamp(y * scale, limit)))
        total += whole * whole
    exponent = max((farthest >> 52) - 1023, _SMALLEST_EXPONENT)
    if exponent != guess:
        scale = _power(bits - 1 - min(exponent, 1023))
        total = np.int64(0)
        for j in range(block.shape[1]):
            whole = np.int64(np.int32(_clamp((block[i, j] - centre[j]) * scale, limit)))
            total += whole * whole
    return total, exponent


@compiled
def _clamp(x: float, limit: float) -> float:
    """Clamp x to [-limit, limit]; NaN becomes the limit."""
    x = x if x < limit else limit
    return x if x > -limit else -limit


@compiled
def _rung(total: int, exponent: int, bits: int) -> int:
    """Return the first rung of the ladder of radii at or above the distance that ``_own_unit`` describes."""
    if total == 0:
        return BELOW_ALL_RUNGS
    length = (np.float64(total).view(np.int64) >> 52) - 1023  # log2, sometimes rounded up
    shifts = max((61 - length) >> 1, 0)
    total <<= 2 * shifts  # now in [2^60, 2^62), or just below
    rung = FIRST_RUNG[total >> 54]
    rung += RUNGS[rung] < total
    return RADII_PER_OCTAVE * (exponent - bits + 31 - shifts) + rung


@compiled
def _enter(raw: Floats, i: int, lines: Floats, entry: Entry, origin: Floats, inside: Floats) -> int:
    """Bring row i within the bound: return UNCHANGED, MOVED (to ``inside``), or UNUSABLE (not finite, not imputed).

    The row in ``inside`` is in working units.
    """
    longest, impute, bits, maps_last = entry
    d = raw.shape[1]
    total, exponent = _own_unit(raw, i, origin, bits, 0)
    finite = exponent < 1024
    if not finite:
        if not impute:
            return UNUSABLE
        for j in range(d):
            x = raw[i, j]
            inside[0, j] = x if _magnitude(x) < _INFINITY else lines[0, j]
        total, exponent = _own_unit(inside, 0, origin, bits, 0)
    # Scale by 2^-exponent in two halves, so that neither the largest nor the smallest floats overflow.
    first, second = _power(-(exponent >> 1)), _power(-(exponent - (exponent >> 1)))
    norm = np.sqrt(np.float64(total)) * _power(1 - bits)
    limit = longest * first * second
    if norm > limit:
        for j in range(d):
            x = raw[i, j] if finite else inside[0, j]
            inside[0, j] = x * first * second * (longest / norm)
    elif finite:
        return UNCHANGED
    if maps_last:
        for j in range(d):
            inside[0, j] = np.divide(inside[0, j] - lines[3, j], lines[4, j])
    return MOVED


@compiled
def _place(group: int, i: int, block: Floats, raw: Floats) -> int:
    """Return the index of row i of a group among the rows that are shortened: those of all groups, or the block."""
    return min(group * block.shape[0], raw.shape[0] - block.shape[0]) + i


@compiled
def _rescale(wide: Floats, group: int, lines: Floats, line: Floats) -> None:
    """Write a group in working units: finite values are clamped to the box and scaled around its middle.

    Non-finite values stay as they are. ``np.divide`` is a plain IEEE division, so the loop is vectorised; ``/`` also
    checks for zeros.
    """
    for j in range(wide.shape[1]):
        x = wide[group, j]
        clamped = min(max(x, lines[1, j]), lines[2, j])
        y = np.divide(clamped - lines[3, j], lines[4, j])
        line[0, j] = y if _magnitude(x) < _INFINITY else x


@compiled
def count_distances(
    given: Rows,
    entry: Entry,
    centre: Floats,
    inner: int,
    low: int,
    counts: Ints,
) -> bool:
    """Count rows by the rung of their distance from the centre; the last count is of rows beyond the ladder.

    A row up to rung ``inner`` is certainly within the bound; only the others are checked.
    """
    wide, lines, block, line, raw = given
    bits = entry[2]
    d = block.shape[1]
    inside, origin = np.empty((1, d)), np.zeros(d)
    beyond = len(counts) - 1
    guess = 0
    mapped = len(lines) > 1
    for group in range(len(wide) if mapped else 1):
        if mapped:
            _rescale(wide, group, lines, line)
        for i in range(block.shape[0]):
            total, exponent = _own_unit(block, i, centre, bits, guess)
            rung = _rung(total, exponent, bits)
            if exponent == 1024 or rung > inner:
                entered = _enter(raw, _place(group, i, block, raw), lines, entry, origin, inside)
                if entered == UNUSABLE:
                    return False
                if entered == MOVED:
                    total, exponent = _own_unit(inside, 0, centre, bits, guess)
                    rung = _rung(total, exponent, bits)
            guess = min(exponent, 1023)
            counts[min(max(rung - low, 0), beyond)] += 1
    return True


@compiled
def count_sides(given: Rows, entry: Entry, centre: Floats, low: int, counts: Ints) -> bool:
    """Count numbers by the rung of their distance above the centre (line 0) and below it (line 1)."""
    wide, lines, block, line, raw = given
    bits = entry[2]
    inside, origin = np.empty((1, 1)), np.zeros(1)
    beyond = counts.shape[1] - 1
    mapped = len(lines) > 1
    for group in range(len(wide) if mapped else 1):
        if mapped:
            _rescale(wide, group, lines, line)
        for i in range(block.shape[0]):
            entered = _enter(raw, _place(group, i, block, raw), lines, entry, origin, inside)
            if entered == UNUSABLE:
                return False
            if entered == UNCHANGED:
                inside[0, 0] = block[i, 0]
            total, exponent = _own_unit(inside, 0, centre, bits, 0)
            place = min(max(_rung(total, exponent, bits) - low, 0), beyond)
            above = inside[0, 0] >= centre[0]
            counts[0, place if above else 0] += 1
            counts[1, 0 if above else place] += 1
    return True


@compiled
def _subtract_partner(
    given: Rows, partners_given: Rows, group: int, i: int, entry: Entry, origin: Floats, inside: Floats, apart: Floats
) -> bool:
    """Write row i of a group minus its partner to ``apart``, both brought within the bound."""
    _, lines, block, _, raw = given
    _, _, partners, _, partners_raw = partners_given
    d = block.shape[1]
    entered = _enter(partners_raw, _place(group, i, partners, partners_raw), lines, entry, origin, inside)
    if entered == UNUSABLE:
        return False
    for j in range(d):
        apart[0, j] = partners[i, j] if entered == UNCHANGED else inside[0, j]
    entered = _enter(raw, _place(group, i, block, raw), lines, entry, origin, inside)
    if entered == UNUSABLE:
        return False
    for j in range(d):
        apart[0, j] = (block[i, j] if entered == UNCHANGED else inside[0, j]) - apart[0, j]
    return True


@compiled
def count_pairs(given: Rows, entry: Entry, partners_given: Rows, low: int, counts: Ints) -> bool:
    """Count pairs of rows by the rung of the distance between them."""
    wide, lines, block, line, _ = given
    others, _, _, partners_line, _ = partners_given
    bits, d = entry[2], block.shape[1]
    inside, origin, apart = np.empty((1, d)), np.zeros(d), np.empty((1, d))
    beyond = counts.shape[1] - 1
    guess = 0
    mapped = len(lines) > 1
    for group in range(len(wide) if mapped else 1):
        if mapped:
            _rescale(wide, group, lines, line)
            _rescale(others, group, lines, partners_line)
        for i in range(block.shape[0]):
            if not _subtract_partner(given, partners_given, group, i, entry, origin, inside, apart):
                return False
            total, exponent = _own_unit(apart, 0, origin, bits, guess)
            guess = min(exponent, 1023)
            counts[0, min(max(_rung(total, exponent, bits) - low, 0), beyond)] += 1
    return True


@compiled
def _in_units(block: Floats, i: int, centre: Floats, per_unit: float, limit: float, whole: Scratch) -> int:
    """Write row i minus the centre as integers in the given unit, rounded towards zero; return its squared norm."""
    length = np.int64(0)
    for j in range(block.shape[1]):
        units = np.int32(_clamp((block[i, j] - centre[j]) * per_unit, limit))
        whole[j] = units
        length += np.int64(units) * np.int64(units)
    return length


@compiled
def _shrink(block: Floats, i: int, centre: Floats, bits: int, radius: int, whole: Scratch) -> None:
    """Shorten row i to the radius: its integers are rounded towards zero, and its norm is checked in integers."""
    total, exponent = _own_unit(block, i, centre, bits, 0)
    factor = np.float64(radius) / np.sqrt(np.float64(total))
    shrink_by(factor, block, i, centre, _power(bits - 1 - exponent), radius, whole)


@compiled
def shrink_by(factor: float, block: Floats, i: int, centre: Floats, scale: float, radius: int, whole: Scratch) -> None:
    """Multiply row i by the factor, or by a smaller one if its integers would still be too long."""
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
    given: Rows,
    entry: Entry,
    centre: Floats,
    roomy: bool,
    unit: float,
    radius: int,
    sums: Ints,
) -> bool:
    """Add up rows minus the centre, each as integers of norm at most ``radius`` in the given unit.

    If the ball is ``roomy``, all of it is within the bound, and only rows outside of the ball are checked.
    """
    wide, lines, block, line, raw = given
    bits = entry[2]
    d = block.shape[1]
    inside, origin = np.empty((1, d)), np.zeros(d)
    whole = np.empty(d, dtype=np.int32)
    square = np.int64(radius) * np.int64(radius)
    per_unit, limit = 1.0 / unit, _power(bits) - 1.0
    mapped = len(lines) > 1
    for group in range(len(wide) if mapped else 1):
        if mapped:
            _rescale(wide, group, lines, line)
        for i in range(block.shape[0]):
            length = _in_units(block, i, centre, per_unit, limit, whole)
            if length > square or not roomy:
                entered = _enter(raw, _place(group, i, block, raw), lines, entry, origin, inside)
                if entered == UNUSABLE:
                    return False
                if entered == MOVED:
                    if _in_units(inside, 0, centre, per_unit, limit, whole) > square:
                        _shrink(inside, 0, centre, bits, radius, whole)
                elif length > square:
                    _shrink(block, i, centre, bits, radius, whole)
            for j in range(d):
                sums[j] += whole[j]
    return True


@compiled
def add_ball_squares(
    given: Rows,
    entry: Entry,
    centre: Floats,
    roomy: bool,
    unit: float,
    radius: int,
    shift: int,
    sums: Ints,
) -> bool:
    """Add up the squares of rows minus the centre, column by column, in units of 2^shift square units, rounded down.

    Rows are clipped as in ``add_clipped``: the squares of a row add up to at most ``radius^2 >> shift``.
    """
    wide, lines, block, line, raw = given
    bits = entry[2]
    d = block.shape[1]
    inside, origin = np.empty((1, d)), np.zeros(d)
    whole = np.empty(d, dtype=np.int32)
    square = np.int64(radius) * np.int64(radius)
    per_unit, limit = 1.0 / unit, _power(bits) - 1.0
    mapped = len(lines) > 1
    for group in range(len(wide) if mapped else 1):
        if mapped:
            _rescale(wide, group, lines, line)
        for i in range(block.shape[0]):
            length = _in_units(block, i, centre, per_unit, limit, whole)
            if length > square or not roomy:
                entered = _enter(raw, _place(group, i, block, raw), lines, entry, origin, inside)
                if entered == UNUSABLE:
                    return False
                if entered == MOVED:
                    if _in_units(inside, 0, centre, per_unit, limit, whole) > square:
                        _shrink(inside, 0, centre, bits, radius, whole)
                elif length > square:
                    _shrink(block, i, centre, bits, radius, whole)
            for j in range(d):
                sums[j] += (np.int64(whole[j]) * np.int64(whole[j])) >> shift
    return True


@compiled
def _find_factor(squared: int, length: int) -> int:
    """Return an integer factor (almost the largest) that keeps a vector of this squared norm within ``length``."""
    norm = np.int64(np.sqrt(np.float64(squared)))
    while norm * norm < squared:
        norm += 1
    return length // norm


@compiled
def add_shells(
    given: Rows,
    entry: Entry,
    centre: Floats,
    roomy: bool,
    unit: float,
    radii: Ints,
    length: int,
    inner: Ints,
    outer: Ints,
) -> bool:
    """Add up rows minus the centre, and their directions, as integers, by the number of balls that contain the row.

    Whether a row lies in a ball is decided by its integers. A direction is an integer multiple of the row, of norm
    ``length`` or slightly less. Rows outside of all balls add their direction only (shortened to the largest ball
    first), rows inside all of them add themselves only, and the others add both.
    """
    wide, lines, block, line, raw = given
    bits = entry[2]
    d, balls = block.shape[1], len(radii)
    inside, origin = np.empty((1, d)), np.zeros(d)
    whole = np.empty(d, dtype=np.int32)
    squares = radii * radii  # the largest first
    per_unit, limit = 1.0 / unit, _power(bits) - 1.0
    mapped = len(lines) > 1
    for group in range(len(wide) if mapped else 1):
        if mapped:
            _rescale(wide, group, lines, line)
        for i in range(block.shape[0]):
            squared = _in_units(block, i, centre, per_unit, limit, whole)
            moved = False
            if squared > squares[0] or not roomy:
                entered = _enter(raw, _place(group, i, block, raw), lines, entry, origin, inside)
                if entered == UNUSABLE:
                    return False
                if entered == MOVED:
                    moved = True
                    squared = _in_units(inside, 0, centre, per_unit, limit, whole)
            shell = 0
            while shell < balls and squared <= squares[shell]:
                shell += 1
            if shell == balls:
                for j in range(d):
                    inner[shell, j] += whole[j]
            elif shell == 0:
                if moved:
                    _shrink(inside, 0, centre, bits, radii[0], whole)
                else:
                    _shrink(block, i, centre, bits, radii[0], whole)
                factor = np.int32(length // radii[0])
                for j in range(d):
                    outer[0, j] += np.int64(factor) * np.int64(whole[j])
            else:
                factor = np.int32(_find_factor(squared, length))
                for j in range(d):
                    inner[shell, j] += whole[j]
                    outer[shell, j] += np.int64(factor) * np.int64(whole[j])
    return True


@compiled
def add_bins(
    given: Rows,
    entry: Entry,
    centre: Floats,
    inmost: int,
    low: int,
    first: int,
    stride: int,
    radii: Ints,
    per_unit: Floats,
    length: int,
    counts: Ints,
    inner: Ints,
    outer: Ints,
) -> bool:
    """Count rows by the rung of their distance, and add up the rows and their directions in each bin.

    The bin of a row is decided by its integers in the unit of the bin; a row that is too long for the last bin is
    shortened to it. Directions are those of ``add_shells``; the first bin needs none.
    """
    wide, lines, block, line, raw = given
    bits = entry[2]
    d, last = block.shape[1], len(radii) - 1
    inside, origin = np.empty((1, d)), np.zeros(d)
    whole = np.empty(d, dtype=np.int32)
    beyond, limit = len(counts) - 1, _power(bits) - 1.0
    guess = 0
    mapped = len(lines) > 1
    for group in range(len(wide) if mapped else 1):
        if mapped:
            _rescale(wide, group, lines, line)
        for i in range(block.shape[0]):
            total, exponent = _own_unit(block, i, centre, bits, guess)
            rung = _rung(total, exponent, bits)
            moved = False
            if exponent == 1024 or rung > inmost:
                entered = _enter(raw, _place(group, i, block, raw), lines, entry, origin, inside)
                if entered == UNUSABLE:
                    return False
                if entered == MOVED:
                    moved = True
                    total, exponent = _own_unit(inside, 0, centre, bits, guess)
                    rung = _rung(total, exponent, bits)
            guess = min(exponent, 1023)
            counts[min(max(rung - low, 0), beyond)] += 1
            number = min(max(-((first - rung) // stride), 0), last)
            while True:
                if moved:
                    squared = _in_units(inside, 0, centre, per_unit[number], limit, whole)
                else:
                    squared = _in_units(block, i, centre, per_unit[number], limit, whole)
                if squared <= radii[number] * radii[number]:
                    break
                if number == last:
                    if moved:
                        _shrink(inside, 0, centre, bits, radii[last], whole)
                    else:
                        _shrink(block, i, centre, bits, radii[last], whole)
                    squared = np.int64(0)
                    for j in range(d):
                        squared += np.int64(whole[j]) * np.int64(whole[j])
                    break
                number += 1
            for j in range(d):
                inner[number, j] += whole[j]
            if number:
                factor = np.int32(_find_factor(squared, length))
                for j in range(d):
                    outer[number, j] += np.int64(factor) * np.int64(whole[j])
    return True


@compiled
def index_rotated(
    given: Rows,
    entry: Entry,
    signs: Floats,
    step: float,
    first: int,
    low: float,
    spacing: float,
    points: int,
    indices: Indices,
    column: int,
) -> bool:
    """Rotate rows and store, for each selected rotated coordinate, the first point of the line that is not below it.

    All numbers are integers below 2^53, so sums of floats are exact in any order. The ``size`` coordinates from
    ``first`` on need only a part of the transform H = H_blocks (x) H_size: the blocks of a row are added up with the
    signs of one row of H_blocks, then transformed with H_size. LANES rows are transformed side by side.
    """
    wide, lines, block, line, raw = given
    mapped, d, size = len(lines) > 1, block.shape[1], indices.shape[0]
    n = len(wide) * len(block) if mapped else len(block)
    inside, origin = np.empty((1, d)), np.zeros(d)
    wholes, lanes = np.zeros((LANES, d)), np.empty((size, LANES))
    factors = combine_signs(signs, d, size, first // size) / step
    per_space, last = 1.0 / spacing, np.float64(points)
    for start in range(0, n, LANES):
        count = min(LANES, n - start)
        for lane in range(count):
            group, i = divmod(start + lane, len(block))
            if mapped and i == 0:
                _rescale(wide, group, lines, line)
            entered = _enter(raw, _place(group, i, block, raw), lines, entry, origin, inside)
            if entered == UNUSABLE:
                return False
            if entered == UNCHANGED:
                for j in range(d):
                    wholes[lane, j] = np.rint(block[i, j] * factors[j])
            else:
                for j in range(d):
                    wholes[lane, j] = np.rint(inside[0, j] * factors[j])
        lanes[:] = 0.0
        for part in range(0, d, size):
            for j in range(part, min(part + size, d)):
                for lane in range(LANES):
                    lanes[j - part, lane] += wholes[lane, j]
        _hadamard(lanes)
        for j in range(size):
            for lane in range(count):
                place = np.ceil((lanes[j, lane] - low) * per_space)
                place = place if place < last else last
                indices[j, column + start + lane] = np.int32(place if place > 0.0 else 0.0)
    return True


@compiled
def combine_signs(signs: Floats, d: int, size: int, which: int) -> Floats:
    """Return the signs of D, times the signs with which line ``which`` of H_blocks adds up the blocks of a row."""
    factors = signs[:d].copy()
    for j in range(d):
        shared = (j // size) & which
        while shared:
            factors[j] = -factors[j]
            shared &= shared - 1
    return factors


@compiled
def _hadamard(lanes: Floats) -> None:
    """Apply the Hadamard transform to every lane in place, two levels at a time."""
    size = lanes.shape[0]
    half = 1
    while 4 * half <= size:
        for top in range(0, size, 4 * half):
            for j in range(top, top + half):
                for lane in range(LANES):
                    a, b = lanes[j, lane], lanes[j + half, lane]
                    c, d = lanes[j + 2 * half, lane], lanes[j + 3 * half, lane]
                    lanes[j, lane] = (a + b) + (c + d)
                    lanes[j + half, lane] = (a - b) + (c - d)
                    lanes[j + 2 * half, lane] = (a + b) - (c + d)
                    lanes[j + 3 * half, lane] = (a - b) - (c - d)
        half *= 4
    if half < size:
        for j in range(half):
            for lane in range(LANES):
                a, b = lanes[j, lane], lanes[j + half, lane]
                lanes[j, lane] = a + b
                lanes[j + half, lane] = a - b


@compiled
def count_at_most(indices: Indices | Ints, limits: Ints, counts: Ints) -> None:
    """For each line of ``indices``, count the entries at or below its limit."""
    for j in range(indices.shape[0]):
        limit = limits[j]
        count = np.int64(0)
        for i in range(indices.shape[1]):
            count += indices[j, i] <= limit
        counts[j] = count


@compiled
def transpose(columns: Floats, block: Floats) -> None:
    """Transpose columns that are contiguous in memory, eight at a time: one cache line of every row."""
    d, n = columns.shape
    for first in range(0, d, 8):
        last = min(first + 8, d)
        for i in range(n):
            for j in range(first, last):
                block[i, j] = columns[j, i]


@compiled
def count_octaves(given: Rows, entry: Entry, partners_given: Rows, low: int, counts: Ints) -> bool:
    """Count pairs by the octave of their difference, column by column; smaller differences are not counted."""
    wide, lines, block, line, _ = given
    others, _, _, partners_line, _ = partners_given
    d = block.shape[1]
    inside, origin, apart = np.empty((1, d)), np.zeros(d), np.empty((1, d))
    last = counts.shape[1] - 1
    mapped = len(lines) > 1
    for group in range(len(wide) if mapped else 1):
        if mapped:
            _rescale(wide, group, lines, line)
            _rescale(others, group, lines, partners_line)
        for i in range(block.shape[0]):
            if not _subtract_partner(given, partners_given, group, i, entry, origin, inside, apart):
                return False
            for j in range(d):
                octave = (_magnitude(apart[0, j]) >> 52) - 1023 - low
                if octave >= 0:
                    counts[j, min(octave, last)] += 1
    return True


@compiled
def add_squares(given: Rows, entry: Entry, partners_given: Rows, length: int, sums: Ints) -> bool:
    """Add up the squared differences of each pair, scaled to a vector of norm ``length`` or slightly less."""
    wide, lines, block, line, _ = given
    others, _, _, partners_line, _ = partners_given
    bits, d = entry[2], block.shape[1]
    inside, origin, apart = np.empty((1, d)), np.zeros(d), np.empty((1, d))
    squares, whole = np.empty(d), np.empty(d, dtype=np.int64)
    limit = _power(bits) - 1.0
    mapped = len(lines) > 1
    for group in range(len(wide) if mapped else 1):
        if mapped:
            _rescale(wide, group, lines, line)
            _rescale(others, group, lines, partners_line)
        for i in range(block.shape[0]):
            if not _subtract_partner(given, partners_given, group, i, entry, origin, inside, apart):
                return False
            total, exponent = _own_unit(apart, 0, origin, bits, 0)
            if total == 0:
                continue
            scale, norm = _power(bits - 1 - min(exponent, 1023)), 0.0
            for j in range(d):
                own = np.float64(np.int32(_clamp(apart[0, j] * scale, limit)))
                squares[j] = own * own
                norm += squares[j] * squares[j]
            _shorten(squares, np.float64(length) / np.sqrt(norm), length, whole)
            for j in range(d):
                sums[j] += whole[j]
    return True


@compiled
def _shorten(squares: Floats, factor: float, length: int, whole: Ints) -> None:
    """Multiply by the factor and round down; take a smaller factor if the integers are too long."""
    while True:
        total = np.int64(0)
        for j in range(len(squares)):
            whole[j] = np.int64(squares[j] * factor)
            total += whole[j] * whole[j]
        if total <= np.int64(length) * np.int64(length):
            return
        factor *= 1.0 - 2.0**-40


@compiled
def index_columns(
    given: Rows,
    entry: Entry,
    low: Floats,
    spacing: Floats,
    last: Ints,
    indices: Ints,
    first: int,
) -> bool:
    """Store for each value the index of the first point of its column that is not below it, or of the last point."""
    wide, lines, block, line, raw = given
    mapped, d = len(lines) > 1, block.shape[1]
    inside, origin = np.empty((1, d)), np.zeros(d)
    place = first
    for group in range(len(wide) if mapped else 1):
        if mapped:
            _rescale(wide, group, lines, line)
        for i in range(block.shape[0]):
            entered = _enter(raw, _place(group, i, block, raw), lines, entry, origin, inside)
            if entered == UNUSABLE:
                return False
            for j in range(d):
                x = block[i, j] if entered == UNCHANGED else inside[0, j]
                point = np.ceil(np.divide(x - low[j], spacing[j]))
                point = point if point < last[j] else np.float64(last[j])
                indices[j, place] = np.int64(point if point > 0.0 else 0.0)
            place += 1
    return True
