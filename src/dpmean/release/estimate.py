"""An estimate: a private mean in working units, as estimators and collections make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpmean.privacy.receipts import Receipt
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Floats
from dpmean.release.diagnostics import Found
from dpmean.release.scales import Scales
from dpmean.release.variances import Variances


@final
@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A private mean in the working units of the estimator, before it is put back into the user's.

    Attributes:
        mean: The private mean, one number per column.
        noise_std: The standard deviation of the noise in each number.
        centre: The centre around which rows were clipped.
        radius: The clipping radius.
        receipts: What each step asked, with which mechanism, at which exact cost.
        found: What method refined measured privately on the way.
        moved: How far the mean is from what the rows were measured around, if that is not the centre.
        note: What went wrong on the way, as far as others may know.
        radius_unit: Words to follow the radius, if it is not in working units.
        step: The step of the grid, if the estimator chose it.
        domain: What the working units are, if the estimator chose them.
        scales: How widely each column varies, if it was found or given.
        variances: The variance of each column, in working units, if it was asked for.

    """

    mean: Floats
    noise_std: float
    centre: Floats
    radius: float
    receipts: tuple[Receipt, ...]
    found: Found | None = None
    moved: Floats | None = None
    note: str = ""
    radius_unit: str = ""
    step: float | None = None
    domain: Domain | None = None
    scales: Scales | None = None
    variances: Variances | None = None
