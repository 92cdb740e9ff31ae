"""The paper's own construction for the shuffle model (section 5.2), as an accounting: how much noise would it need.

A second random rotation makes all coordinates of a clipped vector small, about C sqrt(2 ln(nd)); each is then summed up
on its own by the protocol of Balle et al. (2020), whose noise is discrete Laplace, and advanced composition divides the
budget among them: epsilon' = epsilon / (2 sqrt(d ln(d / delta))), delta' = delta / d.
"""

from __future__ import annotations

import math

from dpmean.privacy.budgets import ApproxDp


def noise(n: int, d: int, budget: ApproxDp, failure: float = 1 / 6) -> float:
    """Return the noise on the mean in radii (l2 norm, standard deviations of all coordinates together).

    A rotated coordinate exceeds C sqrt(2 ln(2 n d / failure)) for none of the rows, but for this chance.
    """
    each = float(budget.epsilon) / (2 * math.sqrt(d * math.log(d / float(budget.delta))))
    largest = math.sqrt(2 * math.log(2 * n * d / failure))
    return 2 * largest * math.sqrt(2) / (each * n)
