"""The shape of the rows: a scale for every column, so that noise follows it."""

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
"""A word, or the scale of each column in order."""
FINEST = 2.0**-60
"""Of scales: a column is never seen in smaller units, in lengths that columns of even scale have."""
EXTREME = 2.0**400
"""Bounds beyond it have no shape."""
_FINE = 2.0**-20
"""The step of a table, in units of its columns, however loose their ranges are."""
_DIGITS = 2.0**10


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """How rows are seen from now on: public once it was found."""

    domain: Domain
    metric: Metric
    stds: Floats
    """The standard deviations of the columns in the user's units; up to a common factor if ``relative``."""
    errors: Floats
    """The standard error of each, as a part of it."""
    kind: ScaleKind
    relative: bool = False
    unseen: NDArray[np.bool_] | None = None
    """Columns in which hardly any rows differ: they are told to be in the middle, unless the noise says otherwise."""

    @property
    def radius_unit(self) -> str:
        """Words to follow a radius."""
        return "" if self.domain.lower is None else " standard deviations"

    def scales(self, spread: float) -> Scales:
        """Return the scales as a release has them, where rows are so far from their mean in working units."""
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
    """Return numbers rounded to ten binary digits: these are the same on all machines, whatever sums round to there."""
    digits, exponents = np.frexp(values)
    found: Floats = np.ldexp(np.rint(digits * _DIGITS) / _DIGITS, exponents)
    return found


def takes_shape(domain: Domain) -> bool:
    """Whether a domain can be reshaped to scales down to ``FINEST``, whichever they are; public.

    Otherwise it would depend on the rows whether a call is refused.
    """
    ends = (domain.ball,) if domain.ball is not None else domain.box
    far = all(np.all(np.abs(end) <= EXTREME) for end in (*ends, domain.middle))
    return bool(far and np.all(domain.scale >= 1 / EXTREME))


def in_shape(estimate: Estimate, shape: Shape, spread: float) -> Estimate:
    """Return an estimate with the scales of a shape, and lengths as errors count.

    In a column that hardly varies noise tells nothing: its mean is taken to be at the middle, if it may be there.
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
    """Return a grid for rows in new working units, in no column coarser than the old one."""
    if after is before:
        return old
    finest = float(np.min(before.scale / after.scale)) * old.step
    own = math.inf if after.lower is None else _FINE
    return Grid.at_least(min(finest, old.step * (after.reach / old.reach), own), after.reach, old.d)
