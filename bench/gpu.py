"""Tensors on a CUDA device compared with ``torch.mean``: ``python -m bench.gpu``; needs only torch, numpy and numba.

Times are between CUDA events around the whole call, host and noise included. Written to docs/gpu.md.
"""

from __future__ import annotations

import argparse
import math
import platform
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpmean.estimators.clipped import ClippedMean
from dpmean.estimators.feasibility import Estimator
from dpmean.estimators.refined.estimator import RefinedMean
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.noise.public import PublicCoins
from dpmean.noise.source import secure, seeded
from dpmean.numerics.grid import Grid, power_of_two_at_most
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.domain import Domain
from dpmean.queries.interfaces import Rows
from dpmean.release.estimate import Estimate
from dpmean.rows.memory import MemoryRows
from dpmean.rows.torch.source import TensorSource
from dpmean.trust.central.curator import Curator

_PAGE = Path(__file__).parent.parent / "docs" / "gpu.md"
_BOUND = 50.0
_REQUIRED = 3.0
_DTYPES = ("float32", "float64", "bfloat16", "int32")
_METHODS = ("refined", "shifted", "clipped")


def _ask(rows: Rows, method: str, *, one_pass: bool = False, seed: int | None = None) -> Estimate:
    """Compute what ``dpmean.mean`` does, without the parts for messages of devices."""
    domain = _frame(rows.d)
    grid, coins = Grid(power_of_two_at_most(domain.reach / 2**28), domain.reach, rows.d), PublicCoins(f"gpu {seed}")
    estimators: dict[str, Estimator] = {
        "refined": RefinedMean(grid, coins, one_pass),
        "shifted": ShiftedClippedMean(grid, coins, one_pass),
        "clipped": ClippedMean(grid, coins, one_pass),
    }
    noise = secure() if seed is None else seeded(seed)
    return estimators[method](Curator(rows, Zcdp(0.5), noise, Neighbours.REPLACE_ONE))


def _frame(d: int) -> Domain:
    return Domain.within_norm(d, _BOUND * math.sqrt(d), impute=False)


def _same(torch: Any, n: int, d: int, device: str) -> list[str]:
    """Return, for every type and method, whether results on the device have the same bits as in memory."""
    lines = []
    for name in _DTYPES:
        values = torch.from_numpy(np.random.default_rng(1).standard_t(3, (n, d)) * 3 + 5)
        values[::7], values[3] = (values[::7] * 2**9).round() / 2**9, 5e-324
        tensor = values.to(getattr(torch, name))
        here = tensor.float().numpy() if name == "bfloat16" else tensor.numpy()
        for method in _METHODS:
            for one_pass in (False, True):
                wanted = _ask(MemoryRows(here, _frame(d)), method, one_pass=one_pass, seed=5)
                found = _ask(TensorSource(tensor.to(device)).rows(_frame(d)), method, one_pass=one_pass, seed=5)
                same = np.array_equal(wanted.mean, found.mean) and wanted.receipts == found.receipts
                passes = 1 if one_pass else 2
                lines.append(f"| {name} | {method} | {passes} | {'the same bits' if same else 'DIFFERENT'} |")
    return lines


def _timed(torch: Any, job: Callable[[], object]) -> float:
    """Return the milliseconds between events on the device."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    job()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end))


def _speed(torch: Any, n: int, d: int, rounds: int) -> list[str]:
    """Measure all methods and torch.mean in turns, as the speed of hosts varies."""
    X = torch.empty((n, d), dtype=torch.float32, device="cuda").normal_(5.0, 1.0)
    rows = TensorSource(X).rows(_frame(d))
    centre, grid = np.full(d, 5.0), Grid(power_of_two_at_most(_BOUND * math.sqrt(d) / 2**28), _BOUND * math.sqrt(d), d)
    view, shells = grid.distances(centre), grid.shells(centre, [16.0, 13.5], n)
    jobs: dict[str, Callable[[], object]] = {
        "torch.mean(dim=0)": lambda: X.mean(dim=0),
        "distances alone": lambda: rows.answer(view),
        "sums by shell alone": lambda: rows.answer(shells).inner,
        **{method: (lambda method=method: _ask(rows, method)) for method in _METHODS},  # type: ignore[misc]
        "refined, one pass": lambda: _ask(rows, "refined", one_pass=True),
    }
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(-3, rounds):  # the first rounds compile
        for name, job in jobs.items():
            if name != "refined, one pass" or turn % 20 == 0:
                time = _timed(torch, job)
                times[name] += [time] if turn >= 0 else []
    half, least = statistics.median(times["torch.mean(dim=0)"]), min(times["torch.mean(dim=0)"])
    return [
        f"| {name} | {statistics.median(found):.2f} | {min(found):.2f} | {statistics.median(found) / half:.2f}x | "
        f"{min(found) / least:.2f}x |"
        for name, found in times.items()
    ]


def main() -> None:
    """Compare, measure, print, and write the page."""
    import torch

    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description="Tensors compared with torch.mean.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--device", default="cuda", help="cpu: compare results only, to try the command")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("there is no CUDA device; give --device cpu to compare results only")
    device = torch.cuda.get_device_name() if arguments.device == "cuda" else platform.processor() or "a CPU"
    page = [f"# Rows on a GPU\n\nMeasured by `python -m bench.gpu` on {device}, torch {torch.__version__}.\n"]
    page += ["| type | method | passes | compared with rows in memory |", "|---|---|---|---|"]
    page += _same(torch, 30_000, 33, arguments.device)
    if arguments.device == "cuda":
        n, d = arguments.rows, arguments.columns
        page += [
            f"\n{n:,} x {d} float32, N(5, 1), rho = 0.5, bound 50 sqrt(d); milliseconds between CUDA events around"
        ]
        page += [f"the whole call, {arguments.rounds} rounds. Requirement for refined: at most {_REQUIRED:g}x.\n"]
        page += [
            "| job | median | best | median / that of torch.mean | best / that of torch.mean |",
            "|---|---|---|---|---|",
        ]
        page += _speed(torch, n, d, arguments.rounds)
        page += ["\nDo not give `passes=1` on a GPU: it is fifty times slower than two passes."]
        _PAGE.write_text("\n".join(page) + "\n")
    print("\n".join(page))


if __name__ == "__main__":
    main()
