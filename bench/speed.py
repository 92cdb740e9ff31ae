"""The time of a mean, in multiples of numpy.mean, and its growth with the number of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import dpmean
from bench.clock import best_of
from bench.problem import (
    COORDINATE_BOUND,
    METHODS,
    NARROW_COLUMNS,
    RHO,
    TABLE_COLUMNS,
    TALL_COLUMNS,
    WIDE_COLUMNS,
    Floats,
    Sizes,
    draw_rows,
    norm_bound,
    private_mean,
)
from bench.report import Line


def tall(sizes: Sizes) -> list[Line]:
    """Measure many rows of moderate width, compared with numpy and with a tenth of the rows."""
    rows = draw_rows(sizes.tall_rows, TALL_COLUMNS)
    some = rows[: len(rows) // 10]
    jobs = _competitors(rows)
    jobs |= {f"{method} of some": partial(private_mean, some, method) for method in METHODS}
    best = best_of(sizes.rounds, f"mean of {len(rows)} x {TALL_COLUMNS}", jobs)
    growth = f"time from {len(some):,} to {len(rows):,} x {TALL_COLUMNS}"
    return _beside_numpy(rows, best, {"refined": 2.5, "shifted": 2, "clipped": 2}) + [
        Line(
            job=growth,
            method=method,
            measured=best[method] / best[f"{method} of some"],
            unit="x",
            required=11,
            beside=f"{_ms(best[f'{method} of some'])} to {_ms(best[method])}",
        )
        for method in METHODS
    ]


def wide(sizes: Sizes) -> list[Line]:
    """Measure rows of the width of an image, compared with numpy."""
    rows = draw_rows(sizes.wide_rows, WIDE_COLUMNS)
    best = best_of(sizes.rounds, f"mean of {len(rows)} x {WIDE_COLUMNS}", _competitors(rows))
    return _beside_numpy(rows, best, {"refined": 8, "shifted": 5, "clipped": 5})


def bounded(sizes: Sizes) -> list[Line]:
    """Measure bounds on columns, whose rows must be mapped, and a bound on the norm, whose rows need not."""
    rows = draw_rows(sizes.tall_rows, TABLE_COLUMNS)
    bounds: dict[str, dict[str, Any]] = {
        "norm_bound=": {"norm_bound": norm_bound(TABLE_COLUMNS)},
        "bounds=": {"bounds": (-COORDINATE_BOUND, COORDINATE_BOUND)},
    }
    jobs: dict[str, Callable[[], object]] = {"numpy": partial(np.mean, rows, axis=0)}
    mean = partial(dpmean.mean, rows, rho=RHO, neighbours="replace-one")
    best = best_of(sizes.rounds, f"bounds of {len(rows)} x {TABLE_COLUMNS}", jobs | _each(mean, bounds))
    return [
        Line(
            job=f"mean of {len(rows):,} x {TABLE_COLUMNS} with {name}, over numpy.mean",
            method="refined",
            measured=best[name] / best["numpy"],
            unit="x",
            required=3.5,
            beside=f"{_ms(best[name])}, numpy {_ms(best['numpy'])}",
        )
        for name in bounds
    ]


def _each(job: Callable[..., object], settings: dict[str, dict[str, Any]]) -> dict[str, Callable[[], object]]:
    return {name: partial(job, **setting) for name, setting in settings.items()}


def private_number(sizes: Sizes) -> list[Line]:
    """Measure the cost of a private number of rows, compared with a public one, for many narrow rows."""
    rows, rounds = draw_rows(sizes.tall_rows, NARROW_COLUMNS), 8 * sizes.rounds  # each is short
    mean = partial(dpmean.mean, rows, rho=RHO, norm_bound=norm_bound(NARROW_COLUMNS))
    public, private = "replace-one", "add-or-remove-one"
    jobs: dict[str, Callable[[], object]] = {name: partial(mean, neighbours=name) for name in (public, private)}
    best = best_of(rounds, f"neighbours of {len(rows)} x {NARROW_COLUMNS}", jobs)
    return [
        Line(
            job=f"{private} over {public} at {len(rows):,} x {NARROW_COLUMNS}",
            method="refined",
            measured=best[private] / best[public],
            unit="x",
            required=1.2,
            beside=f"{_ms(best[private])}, {public} {_ms(best[public])}, best of {rounds}",
        )
    ]


def _competitors(rows: Floats) -> dict[str, Callable[[], object]]:
    jobs: dict[str, Callable[[], object]] = {"numpy": partial(np.mean, rows, axis=0)}
    return jobs | {method: partial(private_mean, rows, method) for method in METHODS}


def _beside_numpy(rows: Floats, best: dict[str, float], required: dict[str, float]) -> list[Line]:
    return [
        Line(
            job=f"mean of {rows.shape[0]:,} x {rows.shape[1]}, over numpy.mean",
            method=method,
            measured=best[method] / best["numpy"],
            unit="x",
            required=required[method],
            beside=f"{_ms(best[method])}, numpy {_ms(best['numpy'])}",
        )
        for method in METHODS
    ]


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"
