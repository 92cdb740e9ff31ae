"""How the refined mean divides its budget among rounds."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dpmean.estimators.refined import plan


@pytest.mark.parametrize(
    ("n", "d", "error"), [(4000, 16, 0.5), (4000, 64, 3.0), (4000, 64, 30.0), (20_000, 64, 1e3), (4000, 2, 1e4)]
)
def test_a_little_less_budget_changes_the_plan_a_little(n: int, d: int, error: float) -> None:
    plans = [plan.rounds(n, n, d, 10 ** (-2.5 + 3 * k / 400), error) for k in range(400)]
    assert max(abs(len(one) - len(other)) for one, other in pairwise(plans)) <= 2
    assert max(abs(one[-1].share - other[-1].share) for one, other in pairwise(plans)) < 0.17
