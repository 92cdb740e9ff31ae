"""The shape of the rows: a scale for every column, which the noise follows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import ScaleKind, Shaping
from dpmean.estimators.refined.metric import Metric
from dpmean.numerics.grid import Grid
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Floats
from dpmean.release.estimate import Estimate
from dpmean.release.scales import SILENT, Scales

OrderedScales: TypeAlias = Shaping | tuple[float, ...]
"""The argument ``shape``: a keyword, or the scale of each column in order."""
FINEST = 2.0**-60
"""The smallest working unit of a column, relative to the unit with even scales."""
EXTREME = 2.0**400
"""With bounds beyond this, no scales are found."""
_FINE = 2.0**-20
"""The largest step of the grid for a table, in units of its columns, however loose the bounds are."""
_DIGITS = 2.0**10


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The scales of columns, and the domain and metric that use them: public after they were found."""

    domain: Domain
    metric: Metric
    stds: Floats
    """The standard deviations of the columns in the user's units; up to a common factor if ``relative``."""
    errors: Floats
    """The relative standard error of each."""
    kind: ScaleKind
    relative: bool = False
    unseen: NDArray[np.bool_] | None = None
    """Columns in which almost all rows are equal: their mean is reported at the middle unless it clearly differs."""

    @property
    def radius_unit(self) -> str:
        """The text that follows a radius."""
        return "" if self.domain.lower is None else " standard deviations"

    def scales(self, spread: float) -> Scales:
        """Return the scales for a release; ``spread`` is that of the rows in working units."""
        length = math.hypot(*(self.stds / self.domain.scale))
        by = spread / length if self.relative and length else 1.0
        return Scales(
            values=tuple((self.stds * by).tolist()),
            errors=tuple(np.minimum(self.errors, 1.0).tolist()),
            units=tuple(self.domain.scale.tolist()),
            kind=self.kind,
            per_column=self.domain.lower is not None,
        )


def shortened(values: Floats) -> Floats:
    """Round numbers to ten binary digits, so that they are equal on all machines despite different rounding of sums."""
    digits, exponents = np.frexp(values)
    found: Floats = np.ldexp(np.rint(digits * _DIGITS) / _DIGITS, exponents)
    return found


def takes_shape(domain: Domain) -> bool:
    """Whether a domain can be reshaped to scales down to ``FINEST``, whichever they are; public.

    If it could not, whether a call is refused would depend on the rows.
    """
    ends = (domain.ball,) if domain.ball is not None else domain.box
    far = all(np.all(np.abs(end) <= EXTREME) for end in (*ends, domain.middle))
    return bool(far and np.all(domain.scale >= 1 / EXTREME))


def in_shape(estimate: Estimate, shape: Shape, spread: float) -> Estimate:
    """Return an estimate with the scales of a shape, and its errors in the metric of that shape.

    The mean of a column in which almost all rows are equal is set to the middle, unless it clearly differs from it.
    """
    mean, found, scales = estimate.mean, estimate.found, shape.scales(spread)
    if shape.unseen is not None:
        silent = shape.unseen & (np.abs(mean) < SILENT * estimate.noise_std)
        mean = np.where(silent, 0.0, mean)
    if found is not None:
        counts = {name: getattr(found, name) * shape.metric.noise for name in ("bias", "bias_std", "tail")}
        lengths = {name: getattr(found, name) * scales.stretch for name in ("spread", "ceiling")}
        found = replace(found, **counts, **lengths)
    radius, unit = estimate.radius * scales.stretch, shape.radius_unit
    return replace(estimate, mean=mean, radius=radius, found=found, scales=scales, radius_unit=unit)


def grid_through(old: Grid, before: Domain, after: Domain) -> Grid:
    """Return a grid for rows in new working units that is at least as fine as the old one in every column."""
    if after is before:
        return old
    finest = float(np.min(before.scale / after.scale)) * old.step
    own = math.inf if after.lower is None else _FINE
    return Grid.at_least(min(finest, old.step * (after.reach / old.reach), own), after.reach, old.d)
