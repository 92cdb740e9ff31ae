"""OpenDP's vector mean and its exact noise, for comparison."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np
import opendp.prelude as dp
from opendp.extras.numpy import array2_domain
from opendp.extras.numpy._make_np_clamp import make_np_clamp
from opendp.extras.numpy._make_np_count import make_np_count
from opendp.extras.numpy._make_np_mean import make_private_np_mean
from opendp.extras.numpy._make_np_sum import make_private_np_sum

from bench.problem import Floats

_REPLACE_ONE = 2  # one removal and one addition
_ADD_OR_REMOVE_ONE = 1
_FOR_COUNT = 0.1


def version() -> str:
    """Return the installed version of OpenDP."""
    return importlib.metadata.version("opendp")


def vector_mean(n: int, d: int, norm_bound: float, rho: float) -> Callable[[Floats], Floats]:
    """Return OpenDP's mean of an array with rows clamped to the bound; its noise scale is found here, once."""
    dp.enable_features("contrib", "idealized-numerics")
    space = array2_domain(num_columns=d, size=n, T=float), dp.symmetric_distance()

    def make(scale: float) -> Any:
        return make_private_np_mean(*space, scale=scale, norm=norm_bound)

    scale = dp.binary_search_param(make, d_in=_REPLACE_ONE, d_out=rho, T=float)
    measurement: Callable[[Floats], Floats] = make(scale)
    return measurement


def vector_mean_of_unknown_size(d: int, norm_bound: float, rho: float) -> Callable[[Floats], Floats]:
    """Return a noisy sum of rows clamped to the bound, divided by a noisy count, which a tenth of the budget pays."""
    dp.enable_features("contrib", "idealized-numerics")
    space = array2_domain(num_columns=d, T=float), dp.symmetric_distance()
    clamp = make_np_clamp(*space, norm_bound, 2)
    measure = dp.zero_concentrated_divergence()

    def make_sum(scale: float) -> Any:
        return clamp >> make_private_np_sum(*clamp.output_space, measure, scale)

    def make_count(scale: float) -> Any:
        return make_np_count(*space) >> dp.m.then_gaussian(scale)

    costs = (1 - _FOR_COUNT) * rho, _FOR_COUNT * rho
    total, count = (
        make(dp.binary_search_param(make, d_in=_ADD_OR_REMOVE_ONE, d_out=cost, T=float))
        for make, cost in zip((make_sum, make_count), costs, strict=True)
    )

    def release(rows: Floats) -> Floats:
        mean: Floats = np.array(total(rows)) / max(1, count(rows))
        return mean

    return release


def gaussian_noise(std: float) -> Callable[[list[int]], list[int]]:
    """Return OpenDP's discrete Gaussian mechanism for integers."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=int)
    mechanism: Callable[[list[int]], list[int]] = dp.m.make_gaussian(*space, scale=std)
    return mechanism
