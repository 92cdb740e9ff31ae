"""Speed of files, databases and clusters, as ratios within one run: ``python -m bench.scale``; ``--quick`` to try."""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import dpmean
from bench import plain
from bench.clock import best_of, seconds
from bench.others import Others
from bench.problem import COORDINATE_BOUND, RHO
from bench.report import Line
from bench.tree import cpu_of_tree

_RESULTS = Path(__file__).parent.parent / "results"
_COLUMNS, _FEW_COLUMNS = 64, 8
_BOUND = COORDINATE_BOUND * math.sqrt(_COLUMNS)


def _mean(source: Any, **more: Any) -> dpmean.Release:
    return dpmean.mean(source, rho=RHO, norm_bound=_BOUND, neighbours="replace-one", **more)


def _files(folder: Path, rows: int, rounds: int) -> Iterator[Line]:
    """Measure files, compared with plain loops over them."""
    npy, size = folder / "rows.npy", f"{rows:,} x {_COLUMNS}"
    for kind in ("vectors", "wide"):
        plain.write_parquet(npy, folder / kind, rows, vectors=kind == "vectors")
    plainest: dict[str, tuple[Path, float, Callable[[Path], object]]] = {
        "npy": (npy, 2.0, plain.npy_mean),
        "parquet, vectors": (folder / "vectors", 2.5, plain.parquet_mean),
        "parquet, wide": (folder / "wide", 2.5, plain.parquet_mean),
    }
    for kind, (path, required, loop) in plainest.items():
        jobs: dict[str, Callable[[], object]] = {
            "plain": partial(loop, path),
            "refined": partial(_mean, path),
            "refined, one pass": partial(_mean, path, passes=1),
        }
        best = best_of(rounds if kind != "npy" else 5 * rounds, f"{kind} of {size}", jobs)
        for method in ("refined", "refined, one pass"):
            beside = f"{best[method]:.2f} s, plain loop {best['plain']:.2f} s"
            yield Line(
                f"{kind}, {size}, over a plain loop", method, best[method] / best["plain"], "x", required, beside=beside
            )
    for passes in (2, 1):
        command = [sys.executable, "-m", "bench.footprint", str(npy), str(_BOUND), str(passes)]
        grown = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1e6
        yield Line(f"peak memory over a bare interpreter, npy, passes={passes}", "refined", grown, "MB", 300)


def _growth(folder: Path, rows: int, rounds: int) -> Iterator[Line]:
    """Measure twice the rows: linear growth can be extrapolated."""
    small, large = folder / "rows.npy", folder / "twice.npy"
    plain.write_npy(large, 2 * rows, _COLUMNS)
    best = best_of(5 * rounds, "twice the rows", {"small": partial(_mean, small), "large": partial(_mean, large)})
    large.unlink()
    gigabytes = 8e-9 * rows * _COLUMNS
    slope = (best["large"] - best["small"]) / gigabytes
    beside = (
        f"{best['small']:.2f} s and {best['large']:.2f} s: 20 GB in {best['small'] + slope * (20 - gigabytes):.0f} s"
    )
    job = f"time of {2 * gigabytes:.0f} GB over twice that of {gigabytes:.0f} GB"
    yield Line(job, "refined", best["large"] / best["small"] / 2, "x", 1.1, beside=beside)


def _databases(folder: Path, rows: int, rounds: int) -> Iterator[Line]:
    """Measure a DuckDB relation over Parquet files, compared with the file engine on the same files."""
    import duckdb

    rows, narrow, tables = rows // 2, folder / "narrow.npy", folder / "narrow"
    plain.write_npy(narrow, rows, _FEW_COLUMNS)
    plain.write_parquet(narrow, tables, rows, vectors=False)
    with duckdb.connect() as connection:
        relation = connection.read_parquet(str(tables / "*.parquet"))
        for method, passes in (("refined", 2), ("refined, one pass", 1)):
            jobs: dict[str, Callable[[], object]] = {
                "files": partial(_mean, tables, passes=passes),
                "DuckDB": partial(_mean, relation, passes=passes),
                "DuckDB alone": partial(_drain, relation),
            }
            best = best_of(3 * rounds, f"DuckDB, {method}", jobs)
            beside = f"{best['DuckDB']:.2f} s, files {best['files']:.2f} s, a bare pass {best['DuckDB alone']:.2f} s"
            job = f"DuckDB, Parquet of {rows:,} x {_FEW_COLUMNS}, over files"
            yield Line(job, method, best["DuckDB"] / best["files"], "x", 3.0, beside=beside)


def _drain(relation: Any) -> None:
    """Read a relation once, without using its rows."""
    for _ in relation.to_arrow_reader(1 << 16):
        pass


def _clusters(folder: Path, rows: int, rounds: int) -> Iterator[Line]:
    """Measure the CPU time of clusters, over all processes, compared with the file engine on the same Parquet files."""
    for kind in ("vectors", "wide"):
        plain.write_parquet(folder / "rows.npy", folder / f"{kind} of a quarter", rows // 4, vectors=kind == "vectors")
    vectors, wide = folder / "vectors of a quarter", folder / "wide of a quarter"
    with _dask() as read:
        yield from _beside_files("Dask", read(wide, filesystem="arrow"), wide, 2.5, rounds)
        yield from _beside_files("Dask through fsspec, its default", read(wide), wide, 2.5, rounds)
    with _spark(folder) as read:
        yield from _beside_files("Spark", read(vectors), vectors, 5.0, rounds, vector_column="v")
        yield from _beside_files("Spark", read(wide), wide, 5.0, rounds)


def _beside_files(name: str, frame: Any, folder: Path, required: float, rounds: int, **more: Any) -> Iterator[Line]:
    for method, passes in (("refined", 2), ("refined, one pass", 1)):
        job = partial(_mean, frame, passes=passes, **more)
        job()  # workers load their libraries
        alone = min(_work_and_time(partial(_mean, folder, passes=passes))[0] for _ in range(rounds))
        work, time = (min(figures) for figures in zip(*(_work_and_time(job) for _ in range(rounds)), strict=True))
        beside = f"{work:.1f} s of cores in {time:.1f} s, files {alone:.1f} s of cores"
        yield Line(
            f"{name}, {folder.name}: work over that of files", method, work / alone, "x", required, beside=beside
        )


def _work_and_time(job: Callable[[], object]) -> tuple[float, float]:
    before = cpu_of_tree()
    time = seconds(job)
    return cpu_of_tree() - before, time


@contextmanager
def _dask() -> Iterator[Callable[..., Any]]:
    from dask.dataframe import read_parquet
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        yield read_parquet


@contextmanager
def _spark(folder: Path) -> Iterator[Callable[[Path], Any]]:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.local.dir", str(folder))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield lambda parquet: session.read.parquet(str(parquet))
    session.stop()


def _table(lines: list[Line], busy: float | None, *, judged: bool) -> Table:
    table = Table(
        title="Rows in files, databases and clusters",
        caption=f"other processes kept {busy or 0:.2f} of {os.cpu_count()} cores busy meanwhile",
    )
    for column in ("job", "method", "measured", "required", "details", ""):
        table.add_column(column)
    for line in lines:
        verdict = line.verdict(judged=judged)
        table.add_row(*line.cells(), f"[bold red]{verdict}" if verdict == "MISSED" else verdict)
    return table


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale", description="Rows in files, databases and on clusters."
    )
    parser.add_argument("--quick", action="store_true", help="few rows: requirements do not apply")
    parser.add_argument("--folder", type=Path, help="a folder for 8 GB of temporary files (default: the system's)")
    parser.add_argument("--only", choices=("files", "growth", "databases", "clusters"), help="run one part only")
    arguments = parser.parse_args()
    rows, rounds = (200_000, 1) if arguments.quick else (4_000_000, 3)
    folder = Path(tempfile.mkdtemp(prefix="dpmean-scale-", dir=arguments.folder))
    others = Others()
    parts = {"files": _files, "growth": _growth, "databases": _databases, "clusters": _clusters}
    lines = []
    try:
        plain.write_npy(folder / "rows.npy", rows, _COLUMNS)
        for name, part in parts.items():
            if arguments.only in (None, name):
                for line in part(folder, rows, rounds):
                    print(*line.cells(), sep=" | ", file=sys.stderr, flush=True)
                    lines.append(line)
    finally:
        shutil.rmtree(folder)
    busy = others.cores()
    Console(width=None if sys.stdout.isatty() else 170).print(_table(lines, busy, judged=not arguments.quick))
    _RESULTS.mkdir(exist_ok=True)
    file = _RESULTS / ("scale-quick.json" if arguments.quick else "scale.json")
    verdicts = [
        {
            "job": line.job,
            "measured": line.measured,
            "unit": line.unit,
            "required": line.required,
            "beside": line.beside,
        }
        for line in lines
    ]
    file.write_text(
        json.dumps({"cores": os.cpu_count(), "cores_kept_busy_by_others": busy, "lines": verdicts}, indent=2) + "\n"
    )


if __name__ == "__main__":
    main()
