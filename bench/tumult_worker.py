"""Release the mean of the rows in a file with Tumult Analytics, on Spark. Runs in an environment of its own."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it has none

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from tmlt.analytics import (  # type: ignore[import-not-found]  # it is not installed where types are checked
    AddOneRow,
    QueryBuilder,
    RhoZCDPBudget,
    Session,
)

_LOCAL = {
    "spark.master": "local[1]",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.warehouse.dir": tempfile.mkdtemp(),
}
_FOR_BOUNDS = 0.25


def mean(spark: Any, rows: Any, job: dict[str, Any]) -> list[float]:
    """Ask for the average of every column, each with its part of rho; within bounds that are given or asked for."""
    names = [f"c{j}" for j in range(rows.shape[1])]
    frame = spark.createDataFrame(pd.DataFrame(rows, columns=names))
    session = Session.from_dataframe(
        privacy_budget=RhoZCDPBudget(job["rho"]), source_id="rows", dataframe=frame, protected_change=AddOneRow()
    )
    found, share = [], job["rho"] / len(names)
    for name, given_low, given_high in zip(names, job["lower"], job["upper"], strict=True):
        low, high, left = given_low, given_high, share
        if not job["bounded"]:
            ends = session.evaluate(
                QueryBuilder("rows").get_bounds(name), RhoZCDPBudget(_FOR_BOUNDS * share)
            ).toPandas()
            low, high = (float(ends[f"{name}_{end}_bound"].iloc[0]) for end in ("lower", "upper"))
            left = (1 - _FOR_BOUNDS) * share
        average = QueryBuilder("rows").average(name, low=low, high=high)
        answer = session.evaluate(average, RhoZCDPBudget(left * (1 - 1e-9))).toPandas()
        found.append(float(answer.iloc[0, 0]))
    return found


builder = SparkSession.builder
for key, value in _LOCAL.items():
    builder = builder.config(key, value)
here = builder.getOrCreate()
for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"mean": mean(here, np.load(question["file"]), question)}), flush=True)
