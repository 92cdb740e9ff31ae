"""The central model: what an estimator returns."""

from dataclasses import dataclass

import numpy as np
import pytest

import dpmean
from dpmean.estimators.feasibility import ANY_NUMBER
from dpmean.estimators.registry import ESTIMATORS, Method
from dpmean.noise.public import PublicCoins
from dpmean.numerics.grid import Grid


@dataclass(frozen=True)
class Bare:
    """An estimator that returns an array."""

    grid: Grid
    coins: PublicCoins
    one_pass: bool = False
    name = "bare"

    def rows_needed(self, _budget, _neighbours):
        return ANY_NUMBER

    def __call__(self, curator):
        return np.zeros(curator.rows.d)


def test_an_estimator_that_returns_no_estimate_is_named(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "bare", Method("returns an array", Bare))
    with pytest.raises(TypeError, match="an estimator must return an Estimate, got ndarray from bare"):
        dpmean.mean(np.ones((50, 2)), rho=1.0, norm_bound=2.0, method="bare", seed=1)
