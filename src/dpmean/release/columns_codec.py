"""What a document may have of each column beside its mean: scales, counts of values, variances, intervals."""

from __future__ import annotations

import math
import operator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UnsetType

from dpmean.enums import ScaleKind, read_name
from dpmean.privacy.strict_json import shorten
from dpmean.release.intervals import POPULATION, ROWS, Interval
from dpmean.release.scales import Scales
from dpmean.release.schema import (
    IntervalDocument,
    ReleaseDocument,
    ScalesDocument,
    ValueCountsDocument,
    VariancesDocument,
)
from dpmean.release.value_counts import ValueCounts
from dpmean.release.variances import Variances

if TYPE_CHECKING:
    from dpmean.release.release import Release

_ROUNDING = 2.0**-9
"""What rounding may do to a mean square."""


def encode_columns(release: Release) -> dict[str, Any]:
    """Return the fields of a document that not every release has."""
    found: dict[str, Any] = {}
    if release.scales is not None:
        fields = asdict(release.scales) | {"kind": str(release.scales.kind)}
        found["scales"] = ScalesDocument(**{name: fields[name] for name in ScalesDocument.__struct_fields__})
    if release.value_counts is not None:
        found["value_counts"] = ValueCountsDocument(**asdict(release.value_counts))
    if release.variances is not None:
        found["variances"] = VariancesDocument(**asdict(release.variances))
    if release.intervals:
        found["intervals"] = tuple(_encode_interval(one) for one in release.intervals)
    return found


def read_columns(document: ReleaseDocument, *, in_box: bool) -> dict[str, Any]:
    """Return the same fields of a release, as far as a document has them."""
    found: dict[str, Any] = {}
    if not isinstance(document.scales, UnsetType):
        found["scales"] = _read_scales(document.scales, document.d, in_box=in_box)
    if not isinstance(document.value_counts, UnsetType):
        found["value_counts"] = _read_value_counts(document.value_counts, document.d)
    if not isinstance(document.variances, UnsetType):
        found["variances"] = _read_variances(document.variances, document.d)
    if not isinstance(document.intervals, UnsetType):
        columns = document.public.columns
        found["intervals"] = tuple(_read_interval(one, document.d, columns) for one in document.intervals)
    return found


def _encode_interval(found: Interval) -> IntervalDocument:
    lower, upper = tuple(found.lower.tolist()), tuple(found.upper.tolist())
    return IntervalDocument(of=found.of, confidence=found.confidence, lower=lower, upper=upper)


def _read_scales(document: ScalesDocument, d: int, *, in_box: bool) -> Scales:
    if not len(document.values) == len(document.errors) == len(document.units) == d:
        raise ValueError(f"its scales must have {d} values, errors and units, one for each column")
    if document.per_column is not in_box:
        raise ValueError("its scales are per column where columns have bounds, and only there")
    if not in_box and abs(math.hypot(*document.units) / math.sqrt(d) - 1) > _ROUNDING:
        raise ValueError("the units of its scales must have mean square one, as columns share a unit")
    kind = read_name(ScaleKind, shorten(document.kind), "kind")
    return Scales(document.values, document.errors, document.units, kind, document.per_column)


def _read_value_counts(document: ValueCountsDocument, d: int) -> ValueCounts:
    if len(document.counts) != d:
        raise ValueError(f"its counts of values must be {d} numbers, one for each column")
    return ValueCounts(document.counts, document.std)


def _read_variances(document: VariancesDocument, d: int) -> Variances:
    if not len(document.values) == len(document.noise_std) == d:
        raise ValueError(f"its variances must have {d} values and noise_std, one for each column")
    return Variances(document.values, document.noise_std, document.rows, document.clipped)


def _read_interval(document: IntervalDocument, d: int, columns: tuple[str, ...] | None) -> Interval:
    if not len(document.lower) == len(document.upper) == d:
        raise ValueError(f"its intervals must have {d} lower and upper ends, one for each column")
    if document.of not in (ROWS, POPULATION):
        raise ValueError('its intervals must be "of" rows or a population')
    if any(map(operator.gt, document.lower, document.upper)):
        raise ValueError("the lower ends of its intervals must not be above the upper ones")
    return Interval(np.array(document.lower), np.array(document.upper), document.confidence, document.of, columns)
