"""Run the kernels of a GPU in triton's interpreter, beside the loops of a CPU, and count the cases where they agree.

python -m tests.conformance.interpreted PART PARTS      one of so many parts of all cases
"""

import sys

import numpy as np
import torch

from dpmean.frame import Frame
from dpmean.grid import Grid
from dpmean.rows import launch
from dpmean.rows.device import TensorRows
from dpmean.rows.memory import MemoryRows
from dpmean.rows.once import RowsReadOnce

REACH, N = 64.0, 500
launch._ROWS_TO_COUNT = launch._ROWS_TO_ADD = 64  # few programs: the interpreter takes its time for each


def rows(dtype, d):
    values = np.random.default_rng(d).standard_t(2, (N, d)) * 3 + 5 / d**0.5
    values[3], values[4], values[5] = 5e-324, 0.0, -0.0
    values[7::50] = 3e30 if dtype != "int16" else 3e4
    values[9::50] = np.round(values[9::50] * 4) / 4
    return values.astype(dtype)


def cases():
    for dtype in ("float32", "float64", "int16"):
        for d in (1, 5, 33):
            yield from ((dtype, d, by_row) for by_row in (True, False))


def agree(dtype, d, by_row):
    frame, grid, array = Frame.within_norm(d, REACH, impute=True), Grid(2.0**-20, REACH, d), rows(dtype, d)
    tensor = torch.tensor(array if by_row else np.ascontiguousarray(array.T))
    there, here = RowsReadOnce(TensorRows(tensor if by_row else tensor.T, frame)), MemoryRows(array, frame)
    centre = grid.round(np.full(d, 5 / d**0.5))
    view = grid.distances(centre)
    some = np.flatnonzero(np.abs(array.astype(float)).max(axis=1) < 20)
    same = []
    for one, two in ((there, here), (there.take(some), here.take(some))):  # some rows beyond the bound, or none
        for question in (grid.pairs(), grid.distances(np.zeros(d))):  # the first may answer the second
            same.append(np.array_equal(one.histogram(question).counts, two.histogram(question).counts))
    same += [np.array_equal(there.histogram(view).counts, here.histogram(view).counts)]
    for radius in (1.0, 20.0, 50.0, 63.0):  # many rows outside, few, and a ball that is not within reach
        ball, shells = grid.ball(centre, radius), grid.shells(centre, [radius, radius * 0.84], N)
        same.append(np.array_equal(there.add_up(ball), here.add_up(ball)))
        one, two = there.add_up_shells(shells), here.add_up_shells(shells)
        same += [np.array_equal(one.inner, two.inner), np.array_equal(one.outer, two.outer)]
    return all(same)


if __name__ == "__main__":
    part, parts = map(int, sys.argv[1:])
    print(sum(agree(*case) for case in list(cases())[part::parts]))  # noqa: T201  what the test reads
