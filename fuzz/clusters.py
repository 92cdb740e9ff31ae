"""Neighbours on clusters: many pairs in one table, as a job takes longer than reading rows."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dpmean
from dpmean.errors import DpMeanError
from fuzz.seen import watch
from fuzz.setting import cells_of

Rows = list[Any]
"""The values of one column that belong to a pair."""
Make = Callable[[list[Rows], str], tuple[Any, dict[str, Any]]]
"""A function from the rows of many pairs, and the kind of their column, to the input and arguments of the library."""
SPARK = ("float64", "float32", "int64", "Int64", "boolean", "vectors")
"""Kinds of columns that Spark has."""

KINDS = {
    "float64": (0.1, -2.5, 1e300, 5e-324, float("nan"), float("inf"), 2.0**60, -0.0),
    "float32": (0.5, 1.5, float("nan"), float("-inf"), 3.0),
    "int64": (2**53 + 1, -(2**53) - 1, 2**62 + 1, 2**63 - 1, -(2**63), 5),
    "Int64": (2**53 + 1, 2**62 + 1, None, 5),
    "int64[pyarrow]": (2**53 + 1, 2**62 + 1, None, 5),
    "boolean": (True, False, None),
    "vectors": ([1, 2], [0.5, 2**53 + 1], np.array([0.1, 2.5], dtype="f4"), np.array([2**53 + 1, 1]), (1.5, None)),
}
_ODD_VECTORS = (
    [],
    [1.0],
    ["1", "2"],
    ["x", "y"],
    [1j, 2],
    None,
    "ab",
    np.array(["1", "2.5"]),
    [[1, 2]],
    {"a": 1, "b": 2},
)


def dask_frame(parts: list[Rows], kind: str) -> tuple[Any, dict[str, Any]]:
    """Make a Dask data frame with one partition for each pair."""
    import dask
    import pandas as pd
    from dask import dataframe

    def framed(rows: Rows) -> Any:
        column = pd.Series(cells_of(rows)) if kind == "vectors" else pd.Series(rows, dtype=kind)
        return pd.DataFrame({"v": column})

    with dask.config.set({"dataframe.convert-string": False}):
        frames = [dask.delayed(framed(rows)) for rows in parts]
        whole = dataframe.from_delayed(frames, meta=framed(parts[0][:0]), verify_meta=False)
    return whole, {"vector_column": "v"} if kind == "vectors" else {}


def spark_frame(session: Any) -> Make:
    """Return a function that makes Spark data frames of a given type."""
    names = {"float64": "double", "float32": "float", "int64": "long", "Int64": "long", "boolean": "boolean"}

    def make(parts: list[Rows], kind: str) -> tuple[Any, dict[str, Any]]:
        if kind == "vectors":
            lines, schema = [[_doubles(row) for row in rows] for rows in parts], "v array<double>"
        else:
            lines, schema = parts, f"v {names[kind]}"
        spread = session.sparkContext.parallelize(lines, 2).flatMap(_lines)
        return session.createDataFrame(spread, schema), {"vector_column": "v"} if kind == "vectors" else {}

    return make


def _doubles(row: Any) -> list[float | None] | None:
    """Return a vector as Spark accepts it; None for other values."""
    try:
        return [None if one is None else float(one) for one in row]
    except (TypeError, ValueError):
        return None


def _lines(rows: Rows) -> list[tuple[Any]]:
    return [(row,) for row in rows]


def run(
    make: Make, runs: int, seed: int, *, kinds: tuple[str, ...] = tuple(KINDS), at_once: int = 32, odd: float = 0.1
) -> tuple[int, int, list[str]]:
    """Run pairs, some at once; return the number of pairs, the number compared, and the findings."""
    done, compared, found = 0, 0, []
    for number in range(-(-runs // at_once)):
        draw = random.Random(f"{seed}/clusters/{number}")  # noqa: S311  cases are to be reproduced
        kind = kinds[number % len(kinds)]
        pairs = [_pair(draw, kind, odd) for _ in range(min(at_once, runs - done))]
        done += len(pairs)
        for some in _bisect(make, kind, pairs):
            compared += len(some[0])
            found += [f"batch {number} of seed {seed}, {kind}: {pair}: {what}" for pair, what in some[1]]
    return done, compared, found


Pair = tuple[Rows, Rows, str, int]
"""The rows of two neighbours, the kind of change, and its place."""


def _pair(draw: random.Random, kind: str, odd: float) -> Pair:
    """Draw rows, and change one of them; a part ``odd`` of changed vectors is invalid, and must be refused."""
    rows = [draw.choice(KINDS[kind]) for _ in range(draw.randint(2, 6))]
    what, place, other = draw.choice(("change", "change", "add", "remove")), draw.randrange(len(rows)), list(rows)
    new = draw.choice(_ODD_VECTORS if kind == "vectors" and draw.random() < odd else KINDS[kind])
    if what == "remove":
        del other[place]
    elif what == "add":
        other.insert(place, new)
    else:
        other[place] = new
    return rows, other, what, place


def _bisect(make: Make, kind: str, pairs: list[Pair]) -> Iterator[tuple[list[Pair], list[tuple[Pair, str]]]]:
    """Compare pairs together; if a table is refused, compare halves, down to the single pair that is refused."""
    before, after = (_read(make, [pair[side] for pair in pairs], kind) for side in (0, 1))
    faults = [one for one in (before, after) if isinstance(one, Exception)]
    if not faults:
        yield pairs, _differences(pairs, before, after)
    elif len(pairs) > 1:
        half = len(pairs) // 2
        yield from _bisect(make, kind, pairs[:half])
        yield from _bisect(make, kind, pairs[half:])
    else:
        own = [f"{type(one).__name__} was raised" for one in faults if not isinstance(one, DpMeanError)]
        yield [], [(pairs[0], what) for what in own[:1]]


def _read(make: Make, parts: list[Rows], kind: str) -> Any:
    """Return the rows of every pair, or the error."""
    try:
        X, named = make(parts, kind)
        shared: dict[str, Any] = {"rho": 1.0, "norm_bound": 1e6, "nan": "impute", "seed": 1, "allow_few_rows": True}
        shared["neighbours"] = "replace-one"
        seen = watch(lambda: dpmean.mean(X, **shared, **named))
    except Exception as error:
        return error
    rows = iter(seen.releases[0])
    return [[next(rows, b"") for _ in part] for part in parts]


def _differences(pairs: list[Pair], before: list[Any], after: list[Any]) -> list[tuple[Pair, str]]:
    found = []
    for pair, old, new in zip(pairs, before, after, strict=True):
        _, _, what, place = pair
        kept = old if what == "add" else old[:place] + old[place + 1 :]
        left = new if what == "remove" else new[:place] + new[place + 1 :]
        if kept != left:
            found.append((pair, "other rows changed or moved"))
    return found


def campaign(form: str, runs: int, seed: int) -> tuple[int, int, list[str]]:
    """Start a cluster on this machine, and run."""
    if form == "dask":
        import dask

        with dask.config.set(scheduler="synchronous"):
            return run(dask_frame, runs, seed)
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}  # for its workers
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = (
        builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    try:
        return run(spark_frame(session), runs, seed, kinds=SPARK, at_once=512, odd=0.0)
    finally:
        session.stop()
