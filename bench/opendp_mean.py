"""OpenDP's way to a vector mean, and its exact noise."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import opendp.prelude as dp
from opendp.extras.numpy import array2_domain
from opendp.extras.numpy._make_np_mean import make_private_np_mean

from bench.problem import Floats

_REPLACE_ONE = 2  # one removal and one addition


def version() -> str:
    """Return the version that is installed."""
    return importlib.metadata.version("opendp")


def vector_mean(n: int, d: int, norm_bound: float, rho: float) -> Callable[[Floats], Floats]:
    """Return OpenDP's mean of an array with rows clamped to the bound; its noise scale is searched here, once."""
    dp.enable_features("contrib", "idealized-numerics")
    space = array2_domain(num_columns=d, size=n, T=float), dp.symmetric_distance()

    def make(scale: float) -> Any:
        return make_private_np_mean(*space, scale=scale, norm=norm_bound)

    scale = dp.binary_search_param(make, d_in=_REPLACE_ONE, d_out=rho, T=float)
    measurement: Callable[[Floats], Floats] = make(scale)
    return measurement


def gaussian_noise(std: float) -> Callable[[list[int]], list[int]]:
    """Return OpenDP's discrete Gaussian mechanism for whole numbers."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=int)
    mechanism: Callable[[list[int]], list[int]] = dp.m.make_gaussian(*space, scale=std)
    return mechanism
