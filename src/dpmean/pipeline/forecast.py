"""What to expect, before any data are touched: ``dpmean.plan``."""

from __future__ import annotations

from dpmean.pipeline.outlook import Outlook
from dpmean.privacy.budgets import Number


def plan(
    n: int,
    d: int,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    trust: str = "central",
    rounds: str = "adaptive",
    honest: Number = 0.8,
    neighbours: str | None = None,
) -> Outlook:
    """Tell what the mean of n rows in d dimensions would be worth, before any data are touched.

    Args:
        n: The number of rows that there will be.
        d: The number of columns.
        rho: The privacy budget in zCDP. Give either ``rho`` or ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, in place of ``rho``. It needs a ``delta``,
            except in the local model.
        delta: The delta that belongs to ``epsilon``. It should be well below 1/n.
        trust: The trust model: ``"central"`` (the refined mean), ``"local"`` or ``"shuffle"``.
        rounds: The rounds of the local and the shuffle model: ``"adaptive"`` or ``"few"``.
        honest: The share of users in the shuffle model that take part and tell nobody what they sent.
        neighbours: Which data sets are neighbours. By default add-or-remove-one in the central model: the number of
            rows is private. With ``"replace-one"``, the default in the other models, it is public.

    Returns:
        An ``Outlook``: print it, or read its numbers.

    Example:
        >>> import dpmean
        >>> print(dpmean.plan(4000, 128, rho=0.5))
        4000 rows in 128 dimensions, rho = 0.5: enough rows
          privacy adds an error of 0.00305 spreads (l2 norm, for rows that look normal),
            0.19 times the 0.0158 that the rows have anyway as a sample

    """
    from dpmean.pipeline.expectation import expect  # here, as it loads the compiler

    return expect(n, d, (rho, epsilon, delta), trust=trust, rounds=rounds, honest=honest, neighbours=neighbours)
