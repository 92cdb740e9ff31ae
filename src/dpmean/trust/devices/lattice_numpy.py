"""Where many rows lie, in arrays: what ``lattice`` says of one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpmean.queries.queries import Floats, Ints
from dpmean.trust.devices.lattice import FARTHEST


def on_grid(rows: Floats, step: int, reach: int, centre: Sequence[int]) -> Ints:
    """Return rows in multiples of 2^step; long ones are shortened, those that are not finite put at the centre."""
    finite = np.all(np.isfinite(rows), axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.clip(rows / math.ldexp(1.0, step), -FARTHEST, FARTHEST)
    scaled[~finite] = 0.0
    squares = np.zeros(len(rows))
    for j in range(rows.shape[1]):
        squares += scaled[:, j] * scaled[:, j]
    lengths = np.sqrt(squares)
    long = lengths > reach
    whole = np.rint(scaled)
    whole[long] = np.trunc(scaled[long] * ((reach - 1) / lengths[long])[:, np.newaxis])
    found: Ints = whole.astype(np.int64)
    found[~finite] = centre or [0] * rows.shape[1]
    return found


def rotated(rows: Ints, signs: Sequence[int], lines: Ints) -> Ints:
    """Return one coordinate of each row, multiplied by signs and a Hadamard matrix."""
    d = rows.shape[1]
    parity = np.bitwise_count(lines[:, np.newaxis] & np.arange(d)).astype(np.int64) & 1
    found: Ints = np.sum((1 - 2 * parity) * np.array(signs[:d]) * rows, axis=1)
    return found


def moved(rows: Ints, centre: Sequence[int]) -> Ints:
    """Return rows minus the centre."""
    return rows - np.array(centre, dtype=np.int64) if centre else rows.copy()


def lengths(rows: Ints) -> Ints:
    """Return norms, rounded up."""
    return root_up(np.einsum("ij,ij->i", rows, rows))


def root_up(squares: Ints) -> Ints:
    """Return square roots, rounded up to integers."""
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    roots -= roots * roots >= squares  # floats may be off by one; now the root is below
    roots -= roots * roots >= squares
    roots += roots * roots < squares
    roots += roots * roots < squares
    found: Ints = np.where(squares > 0, roots, 0)
    return found
