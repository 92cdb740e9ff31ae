"""Release the mean of the rows in a file with PipelineDP or PyDP. Runs in an environment of its own."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

import numpy as np
from pipeline_dp import PLDBudgetAccountant  # type: ignore[import-not-found]  # it is not installed where types are checked
from pipeline_dp.aggregate_params import MechanismType  # type: ignore[import-not-found]
from pipeline_dp.dp_computations import Sensitivities, create_additive_mechanism  # type: ignore[import-not-found]
from pydp.algorithms.laplacian import BoundedMean  # type: ignore[import-not-found]

_FOR_SUM, _FOR_COUNT = 3, 1
"""Weights, to which noise is inversely proportional: the count costs about a tenth of the budget."""


@cache
def _budgets(epsilon: float, delta: float) -> Any:
    """Return the budgets of a sum and of a count that together cost epsilon and delta; this takes seconds."""
    accountant = PLDBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
    budgets = [accountant.request_budget(MechanismType.GAUSSIAN, weight=weight) for weight in (_FOR_SUM, _FOR_COUNT)]
    accountant.compute_budgets()
    return budgets


def pipeline_dp(rows: Any, job: dict[str, Any]) -> list[float]:
    """Divide a noisy sum of clipped vectors by a noisy count, with the accountant and the noise of the library.

    It has a metric for this, VECTOR_SUM. In version 0.3.1 that raises an error with public partitions, and with private
    ones their selection would take half of the budget.
    """
    for_sum, for_count = (
        create_additive_mechanism(budget, Sensitivities(l2=sensitivity))
        for budget, sensitivity in zip(_budgets(job["epsilon"], job["delta"]), (job["norm"], 1.0), strict=True)
    )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    clipped = rows * np.minimum(1, job["norm"] / np.maximum(lengths, 1e-300))
    found: list[float] = (for_sum.add_noise(clipped.sum(axis=0)) / max(1.0, for_count.add_noise(len(rows)))).tolist()
    return found


def pydp(rows: Any, job: dict[str, Any]) -> list[float]:
    """Ask for the bounded mean of every column, each with its part of epsilon; without bounds it finds them itself."""
    found = []
    for column, lower, upper in zip(rows.T, job["lower"], job["upper"], strict=True):
        ends = {"lower_bound": lower, "upper_bound": upper} if job["bounded"] else {}
        algorithm = BoundedMean(epsilon=job["epsilon"] / rows.shape[1], dtype="float", **ends)
        algorithm.add_entries(column.tolist())
        found.append(float(algorithm.result()))
    return found


LIBRARIES = {"PipelineDP": pipeline_dp, "PyDP": pydp}

for line in sys.stdin:
    question = json.loads(line)
    try:
        answer: dict[str, Any] = {"mean": LIBRARIES[question["library"]](np.load(question["file"]), question)}
    except (RuntimeError, ValueError) as error:  # PyDP found no bounds
        answer = {"problem": str(error)}
    print(json.dumps(answer), flush=True)
