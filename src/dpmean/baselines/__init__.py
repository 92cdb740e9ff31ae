"""Published estimators for comparison, with the same interface and the same receipts as ``dpmean.mean``.

>>> import numpy as np, dpmean.baselines
>>> rows = np.random.default_rng(0).normal(5, 1, (4000, 100))
>>> release = dpmean.baselines.coinpress_mean(rows, rho=0.5, norm_bound=500.0, rounds=4, seed=1)
>>> bool(abs(release.mean - 5).max() < 0.2)
True

They take ``rho`` (or ``epsilon`` and ``delta``), ``norm_bound``, ``nan`` and ``seed`` as ``dpmean.mean`` does.
"""

from dpmean.baselines.clipping import adaptive_clipping, gaussian_mechanism, quantile_clipping
from dpmean.baselines.coinpress import coinpress_covariance_mean, coinpress_mean
from dpmean.baselines.gaboardi import known_variance, unknown_variance
from dpmean.baselines.skewed import plan_mean

__all__ = [
    "adaptive_clipping",
    "coinpress_covariance_mean",
    "coinpress_mean",
    "gaussian_mechanism",
    "known_variance",
    "plan_mean",
    "quantile_clipping",
    "unknown_variance",
]
