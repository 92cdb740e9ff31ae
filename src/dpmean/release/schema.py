"""The documents of releases: which fields JSON has, of which types; a field that is not here is an error."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dpmean.privacy.codec import ReceiptDocument

FORMAT, GROUPED_FORMAT = "dpmean.release/1", "dpmean.grouped/1"
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Length = Annotated[float, Meta(ge=0)]
_Value = str | bool | int | float | None
_Label = _Value | tuple[_Value, ...]
"""A tuple is a group by several columns."""


class BoundDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A bound: norms up to a reach, or a box."""

    norm_bound: _Length | None = None
    reach: _Length | None = None
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None


class SettingsDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, rename={"version": "dpmean"}):
    """Settings as a document has them: those of a collection stand among the others."""

    bound: BoundDocument | None = None
    step: _Length | None = None
    coins: str | None = None
    passes: _Count | None = None
    sample: _Count | None = None
    rounds: _Count | None = None
    variant: str | None = None
    honest: _Count | None = None
    messages_per_user: _Count | _Length | None = None
    bytes_per_user: _Count | _Length | None = None
    sealed_bytes_per_user: _Count | _Length | None = None
    answered: _Count | None = None
    fidelity: str | None = None
    played_in_one_process: bool = False
    columns: tuple[str, ...] | None = None
    privacy_unit: str | None = None
    imputed: bool | tuple[str, ...] = False
    dropped: bool | tuple[str, ...] = False
    filled: tuple[tuple[str, float], ...] = ()
    delta: Annotated[float, Meta(gt=0, lt=1)] | None = None
    few_rows: bool = False
    version: str | None = None
    radius_unit: str = ""
    note: str = ""


class FoundDocument(msgspec.Struct, forbid_unknown_fields=True):
    """What method refined measured on the way."""

    spread: _Length
    ceiling: _Length
    rounds: int
    bias: _Length
    bias_std: _Length
    tail: _Length
    unseen: _Count
    noise_std: _Length


class ScalesDocument(msgspec.Struct, forbid_unknown_fields=True):
    """The scales of columns."""

    values: tuple[_Length, ...]
    errors: tuple[Annotated[float, Meta(ge=0, le=1)], ...]
    units: tuple[Annotated[float, Meta(gt=0)], ...]
    kind: str
    per_column: bool


class ValueCountsDocument(msgspec.Struct, forbid_unknown_fields=True):
    """How many values each column has."""

    counts: tuple[Annotated[int, Meta(ge=-(2**53), le=2**53)], ...]
    std: _Length


class VariancesDocument(msgspec.Struct, forbid_unknown_fields=True):
    """The variances of columns."""

    values: tuple[_Length, ...]
    noise_std: tuple[_Length, ...]
    rows: Annotated[int, Meta(ge=1, le=2**53)]
    clipped: Annotated[float, Meta(ge=0, le=1)]


class IntervalDocument(msgspec.Struct, forbid_unknown_fields=True):
    """Confidence intervals, one for each column."""

    of: str
    confidence: Annotated[float, Meta(gt=0, lt=1)]
    lower: tuple[float, ...]
    upper: tuple[float, ...]


class ReleaseDocument(msgspec.Struct, forbid_unknown_fields=True):
    """A release."""

    format: str
    mean: tuple[float, ...]
    noise_std: tuple[_Length, ...]
    centre: tuple[float, ...]
    radius: _Length
    receipts: Annotated[tuple[ReceiptDocument, ...], Meta(min_length=1)]
    n: Annotated[int, Meta(ge=1, le=2**53)]
    d: Annotated[int, Meta(ge=1, le=2**53)]
    method: str
    trust: str
    neighbours: str
    seeded: bool
    public: SettingsDocument = msgspec.field(default_factory=SettingsDocument)
    found: FoundDocument | None = None
    scales: ScalesDocument | UnsetType = UNSET
    value_counts: ValueCountsDocument | UnsetType = UNSET
    variances: VariancesDocument | UnsetType = UNSET
    intervals: tuple[IntervalDocument, ...] | UnsetType = UNSET


class GroupDocument(msgspec.Struct, forbid_unknown_fields=True):
    """A group of which there is a release, or of which one was refused."""

    label: _Label
    release: ReleaseDocument | UnsetType = UNSET
    refused: str | UnsetType = UNSET
    receipts: tuple[ReceiptDocument, ...] | UnsetType = UNSET
    rows_needed: _Count | UnsetType = UNSET


class GroupedDocument(msgspec.Struct, forbid_unknown_fields=True):
    """The releases of groups."""

    format: str
    by: str | Annotated[tuple[str, ...], Meta(min_length=1)]
    sizes: str
    neighbours: str
    seeded: bool
    delta: Annotated[float, Meta(gt=0, lt=1)]
    coins: str
    privacy_unit: str | None
    rho: str
    groups: Annotated[tuple[GroupDocument, ...], Meta(min_length=1)]
    contributions: Annotated[int, Meta(ge=2, le=2**53)] | UnsetType = UNSET
    """Left out where it is 1."""
