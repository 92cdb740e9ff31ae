"""What questions about pairs and about columns must be answered, in plain NumPy; and wrong ways to answer them."""

import numpy as np

from dpmean.numerics.grid import norm_bits


def differences(rows):
    """Return row i minus row i + n / 2, for rows in working units and within the bound."""
    half = len(rows) // 2
    return rows[:half] - rows[half : 2 * half]


def octaves_of(apart, octaves):
    """Count differences by their octave, column by column."""
    exponents = np.maximum(np.frexp(apart)[1] - 1, -1022)  # no octave begins below that
    places = np.where(np.abs(apart) >= np.ldexp(1.0, octaves.low), exponents - octaves.low, -1)
    places = np.minimum(places, octaves.points - 1)
    return np.stack([(places == k).sum(axis=0) for k in range(octaves.points)], axis=1)


def places_of(rows, columns):
    """Return the first point of its line that is not below each value."""
    with np.errstate(over="ignore"):
        return np.clip(np.ceil((rows - columns.low) / columns.spacing), 0, columns.last).astype(np.int64).T


def directions(apart, length, *, norm="l2", nearest=False, check=True):
    """Return the squares of each pair as integers of norm ``length`` or little less.

    The norm, how to round, and whether the result is checked in integers may be chosen wrongly.
    """
    found = np.zeros(apart.shape, dtype=np.int64)
    bits = norm_bits(apart.shape[1])
    for pair, whole in zip(apart, found, strict=True):
        exponent = max(int(np.frexp(np.abs(pair).max())[1]) - 1, -900)
        squares = np.trunc(np.clip(np.ldexp(pair, bits - 1 - exponent), 1 - 2.0**bits, 2.0**bits - 1)) ** 2
        if not squares.any():
            continue
        total = 0.0
        for square in squares:  # one after another: sums of floats depend on their order
            total += square * square
        longest = {"l2": np.sqrt(total), "largest": squares.max()}[norm]
        factor = length / longest
        while True:
            whole[:] = np.rint(squares * factor) if nearest else np.floor(squares * factor)
            if not check or sum(int(x) ** 2 for x in whole) <= length**2:
                break
            factor *= 1 - 2.0**-40
    return found


def ball_squares_of(rows, query):
    """Add up the squares of rows in a ball, in unbounded integers; rows are in working units and within the bound."""
    bits, total = norm_bits(rows.shape[1]), [0] * rows.shape[1]
    for apart in rows - query.centre:
        whole = [int(x) for x in np.trunc(np.clip(apart / query.unit, 1 - 2.0**bits, 2.0**bits - 1))]
        if sum(x * x for x in whole) > query.radius**2:
            exponent = max(int(np.frexp(np.abs(apart).max())[1]) - 1, -900)
            own = np.trunc(np.clip(np.ldexp(apart, bits - 1 - exponent), 1 - 2.0**bits, 2.0**bits - 1))
            factor = query.radius / np.sqrt(float(sum(int(x) ** 2 for x in own)))
            whole = [int(x) for x in np.trunc(own * factor)]
            while sum(x * x for x in whole) > query.radius**2:
                factor *= 1 - 2.0**-40
                whole = [int(x) for x in np.trunc(own * factor)]
        total = [a + (x * x >> query.shift) for a, x in zip(total, whole, strict=True)]
    return total


def squares_of(apart, squares):
    """Add up the directions of the squares of all pairs."""
    return directions(apart, squares.length).sum(axis=0)
