"""The catalogue of all attacks, by name."""

from __future__ import annotations

from fractions import Fraction

from dpmean.audit.attacks.central import (
    REPLACED,
    UNCOUNTED,
    bins_step,
    choice_step,
    gap_step,
    medians_step,
    number_step,
    octaves_step,
    outside_step,
    radius_step,
    release_step,
    squares_step,
    variances_step,
)
from dpmean.audit.attacks.collections import whole_collections
from dpmean.audit.attacks.devices import SHUFFLED, local_step, shuffle_step
from dpmean.audit.attacks.noise import repeatable
from dpmean.audit.attacks.target import MakeNoise, Target
from dpmean.audit.attacks.whole import whole_estimators
from dpmean.privacy.budgets import PureDp, Zcdp


def targets(make_noise: MakeNoise = repeatable) -> dict[str, Target]:
    """Return the attacks on each private step, and on each whole estimator and collection."""
    return {
        "noisy sum": release_step(REPLACED, make_noise),
        "noisy sum, private number": release_step(UNCOUNTED, make_noise),
        "private number": number_step(make_noise),
        "search for the radius": radius_step(make_noise),
        "choice of the radius": choice_step(make_noise),
        "bias gap": gap_step(make_noise),
        "sum by bins, in one pass": bins_step(make_noise),
        "squares of differences": squares_step(REPLACED, make_noise),
        "squares of differences, private number": squares_step(UNCOUNTED, make_noise),
        "octaves of differences": octaves_step(make_noise),
        "rows outside of an interval": outside_step(REPLACED, make_noise),
        "rows outside of an interval, private number": outside_step(UNCOUNTED, make_noise),
        "medians of columns": medians_step(REPLACED, make_noise),
        "medians of columns, private number": medians_step(UNCOUNTED, make_noise),
        "squares of rows": variances_step(REPLACED, make_noise),
        "squares of rows, private number": variances_step(UNCOUNTED, make_noise),
        "local bit": local_step("median", PureDp(1), make_noise),
        "local vector, zCDP": local_step("vector", Zcdp(Fraction(1, 2)), make_noise),
        "local vector, pure": local_step("vector", PureDp(1), make_noise),
        **{name: shuffle_step(stage, make_noise) for name, stage in SHUFFLED.items()},
        **whole_estimators(make_noise),
        **whole_collections(make_noise),
    }
