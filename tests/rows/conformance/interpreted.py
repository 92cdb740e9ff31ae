"""Run the kernels of a GPU in triton's interpreter, beside the loops of a CPU, and count the cases where they agree.

python -m tests.rows.conformance.interpreted PART PARTS      one of so many parts of all cases
"""

import itertools
import sys
from itertools import islice

import numpy as np
import torch

from dpmean.numerics.grid import Grid, power_of_two_at_most
from dpmean.queries.domain import Domain
from dpmean.rows.memory import MemoryRows
from dpmean.rows.torch import launch
from dpmean.rows.torch.blocks import TensorRows
from dpmean.rows.torch.fused import RowsReadOnce
from tests.rows.conformance.problems import domains, far_apart

REACH, N = 64.0, 500
launch._ROWS_TO_COUNT = launch._ROWS_TO_ADD = 64  # few programs: the interpreter takes its time for each


def rows(dtype, d):
    values = np.random.default_rng(d).standard_t(2, (N, d)) * 3 + 5 / d**0.5
    values[3], values[4], values[5] = 5e-324, 0.0, -0.0
    values[7::50] = 3e30
    values[9::50] = np.round(values[9::50] * 4) / 4
    if np.dtype(dtype).kind == "f":
        return values.astype(dtype)
    ends = np.iinfo(dtype)
    found = values.clip(max(ends.min, -100), min(ends.max, 100)).astype(dtype)
    found[7::50], found[8::50] = ends.max, ends.min
    return found


def cases():
    """Yield rows in memory, the same rows as a tensor, and a domain."""
    for dtype in ("float32", "float64", "int16"):
        for d in (1, 5, 33):
            array = rows(dtype, d)
            yield array, torch.tensor(array), plain(d)
            yield array, torch.tensor(np.ascontiguousarray(array.T)).T, plain(d)
    for dtype in ("int8", "uint8", "uint16", "int32", "uint32", "int64", "uint64"):
        yield rows(dtype, 3)[:120], torch.tensor(rows(dtype, 3)[:120]), plain(3)
    for domain in (plain(4), domains(4)["box, reshaped"]):
        array = rows("int8", 4)[:120]
        yield array, far_apart(array), domain
        yield array[:4], far_apart(array[:4], by_row=True), domain
    for d in (1, 5, 33):
        kinds = ("box", "norm, reshaped", "norm, moved", "norm, beyond", "box, reshaped")
        for kind, dtype in itertools.product(kinds, ("float64", "int16")):
            array = rows(dtype, d)[:200]
            array[15::50] = domains(d)[kind].middle  # of one kind, where the middle itself is beyond the bound
            if dtype == "float64":
                array[11::30, d // 2], array[13::40] = np.nan, np.inf
            yield array, torch.tensor(array), domains(d)[kind]


def plain(d):
    return Domain.within_norm(d, REACH, impute=True)


def agree(array, tensor, domain):
    """Compare with rows in memory: centres and radii are those of N(5, 1) in a ball, brought into the domain."""
    d, size = array.shape[1], domain.reach / REACH
    grid = Grid(2.0**-20 * power_of_two_at_most(size), domain.reach, d)
    there, here = RowsReadOnce(TensorRows(tensor, plain(d))).through(domain), MemoryRows(array, domain)
    centre = grid.round((np.full(d, 5 / d**0.5) - domain.middle) / domain.scale)
    view = grid.distances(centre)
    with np.errstate(invalid="ignore"):
        some = np.flatnonzero(np.abs(array.astype(float)).max(axis=1) < 20)
    same = []
    for one, two in ((there, here), (there.take(some), here.take(some))):  # some rows beyond the bound, or none
        for question in (grid.pairs(), grid.distances(np.zeros(d))):  # the first may answer the second
            same.append(np.array_equal(one.answer(question).counts, two.answer(question).counts))
    same += [np.array_equal(there.answer(view).counts, here.answer(view).counts)]
    for radius in (1.0, 20.0, 50.0, 63.0):  # many rows outside, few, and a ball that is not within reach
        radius *= size
        ball, shells = grid.ball(centre, radius), grid.shells(centre, [radius, radius * 0.84], N)
        same.append(np.array_equal(there.answer(ball), here.answer(ball)))
        one, two = there.answer(shells), here.answer(shells)
        same += [np.array_equal(one.inner, two.inner), np.array_equal(one.outer, two.outer)]
    return all(same)


if __name__ == "__main__":
    part, parts = map(int, sys.argv[1:])
    print(sum(agree(*case) for case in islice(cases(), part, None, parts)))  # noqa: T201  what the test reads
